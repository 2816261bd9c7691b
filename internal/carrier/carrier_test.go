package carrier_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// driver behaves as the test configures it.
type driver struct {
	rates    []ship.Rate
	purchase ship.Sale
	void     carrier.VoidResult
	heard    []carrier.TrackingUpdate
	address  ship.AddressCheck
	booking  ship.PickupBooking
	closing  ship.ManifestClosing
	proof    ship.Document
	points   []ship.ServicePoint
	err      error
	hang     bool
}

func (d *driver) wait(ctx context.Context) error {
	if d.hang {
		<-ctx.Done()
		return ctx.Err()
	}
	return d.err
}

func (d *driver) Check(ctx context.Context) error { return d.wait(ctx) }

func (d *driver) Rates(ctx context.Context, _ ship.Order) ([]ship.Rate, error) {
	return d.rates, d.wait(ctx)
}

func (d *driver) Buy(ctx context.Context, _ carrier.BuyOrder) (ship.Sale, error) {
	return d.purchase, d.wait(ctx)
}

func (d *driver) Find(ctx context.Context, _ carrier.BuyOrder) (ship.Sale, error) {
	return d.purchase, d.wait(ctx)
}

func (d *driver) Rehearse(ctx context.Context, _ carrier.BuyOrder) error { return d.wait(ctx) }

func (d *driver) Void(ctx context.Context, _ ship.Purchase) (carrier.VoidResult, error) {
	return d.void, d.wait(ctx)
}

func (d *driver) Track(ctx context.Context, _ []string) ([]carrier.TrackingUpdate, error) {
	return d.heard, d.wait(ctx)
}

func (d *driver) DecodePush(http.Header, []byte) (carrier.Push, error) {
	return carrier.Push{Updates: d.heard}, d.err
}

func (d *driver) Subscribe(ctx context.Context, _ carrier.Subscription) (time.Time, error) {
	return time.Time{}, d.wait(ctx)
}

func (d *driver) CheckAddress(ctx context.Context, _ ship.Address) (ship.AddressCheck, error) {
	return d.address, d.wait(ctx)
}

func (d *driver) BookPickup(ctx context.Context, _ carrier.PickupRequest) (ship.PickupBooking, error) {
	return d.booking, d.wait(ctx)
}

func (d *driver) FindPickup(ctx context.Context, _ carrier.PickupRequest) (ship.PickupBooking, error) {
	return d.booking, d.wait(ctx)
}

func (d *driver) CancelPickup(ctx context.Context, _ carrier.PickupRequest, _ ship.PickupBooking) error {
	return d.wait(ctx)
}

func (d *driver) CloseManifest(ctx context.Context, _ ship.ManifestOrder) (ship.ManifestClosing, error) {
	return d.closing, d.wait(ctx)
}

func (d *driver) FindManifest(ctx context.Context, _ ship.ManifestOrder) (ship.ManifestClosing, error) {
	return d.closing, d.wait(ctx)
}

func (d *driver) UploadDocument(ctx context.Context, _ carrier.DocumentRequest) (ship.DocumentReceipt, error) {
	return ship.DocumentReceipt{}, d.wait(ctx)
}

func (d *driver) FindDocument(ctx context.Context, _ carrier.DocumentRequest) (ship.DocumentReceipt, error) {
	return ship.DocumentReceipt{}, d.wait(ctx)
}

func (d *driver) FetchProof(ctx context.Context, _ ship.Purchase) (ship.Document, error) {
	return d.proof, d.wait(ctx)
}

func (d *driver) FindPoints(ctx context.Context, _ ship.PointQuery) ([]ship.ServicePoint, error) {
	return d.points, d.wait(ctx)
}

func (d *driver) EstimateDuties(ctx context.Context, _ ship.Order) (ship.LandedCost, error) {
	return ship.LandedCost{}, d.wait(ctx)
}

// bare is a driver without any optional ability.
type bare struct{}

func (bare) Check(context.Context) error { return nil }

var spec = carrier.Spec{
	Name: "pigeon", Title: "Pigeon Post",
	Services: []carrier.Service{{Code: "fly", Name: "Flying"}},
	Fields:   []carrier.Field{{Name: "secret", Secret: true, Required: true}, {Name: "account"}},

	AddressCoverage: carrier.AddressCoverage{Streets: []string{"US"}},
}

// whole returns a complete purchase.
func whole() ship.Sale {
	return ship.Sale{TrackingNumber: "N", CarrierRef: "R", Label: ship.Label{Format: "pdf", Data: []byte("%PDF")}}
}

// operations runs each operation and returns its error.
var operations = []struct {
	name string
	lost ship.Kind
	run  func(context.Context, *carrier.Carrier) error
}{
	{"check", ship.Unavailable, func(ctx context.Context, c *carrier.Carrier) error { return c.Check(ctx) }},
	{"rates", ship.Unavailable, func(ctx context.Context, c *carrier.Carrier) error { _, err := c.Rates(ctx, ship.Order{}); return err }},
	{"buy", ship.Uncertain, func(ctx context.Context, c *carrier.Carrier) error {
		_, err := c.Buy(ctx, carrier.BuyOrder{})
		return err
	}},
	{"rehearse", ship.Unavailable, func(ctx context.Context, c *carrier.Carrier) error {
		return c.Rehearse(ctx, carrier.BuyOrder{})
	}},
	{"find", ship.Unavailable, func(ctx context.Context, c *carrier.Carrier) error {
		_, err := c.Find(ctx, carrier.BuyOrder{})
		return err
	}},
	{"void", ship.Uncertain, func(ctx context.Context, c *carrier.Carrier) error {
		_, err := c.Void(ctx, ship.Purchase{})
		return err
	}},
	{"track", ship.Unavailable, func(ctx context.Context, c *carrier.Carrier) error { _, err := c.Track(ctx, nil); return err }},
	{"address", ship.Unavailable, func(ctx context.Context, c *carrier.Carrier) error {
		_, err := c.CheckAddress(ctx, ship.Address{Country: "US"})
		return err
	}},
	{"pickup", ship.Uncertain, func(ctx context.Context, c *carrier.Carrier) error {
		_, err := c.BookPickup(ctx, carrier.PickupRequest{})
		return err
	}},
	{"find pickup", ship.Unavailable, func(ctx context.Context, c *carrier.Carrier) error {
		_, err := c.FindPickup(ctx, carrier.PickupRequest{})
		return err
	}},
	{"cancel pickup", ship.Uncertain, func(ctx context.Context, c *carrier.Carrier) error {
		return c.CancelPickup(ctx, carrier.PickupRequest{}, ship.PickupBooking{Confirmation: "N"})
	}},
	{"manifest", ship.Uncertain, func(ctx context.Context, c *carrier.Carrier) error {
		_, err := c.CloseManifest(ctx, ship.ManifestOrder{})
		return err
	}},
	{"find manifest", ship.Unavailable, func(ctx context.Context, c *carrier.Carrier) error {
		_, err := c.FindManifest(ctx, ship.ManifestOrder{})
		return err
	}},
	{"document", ship.Uncertain, func(ctx context.Context, c *carrier.Carrier) error {
		_, err := c.UploadDocument(ctx, carrier.DocumentRequest{})
		return err
	}},
	{"find document", ship.Unavailable, func(ctx context.Context, c *carrier.Carrier) error {
		_, err := c.FindDocument(ctx, carrier.DocumentRequest{})
		return err
	}},
	{"proof", ship.Unavailable, func(ctx context.Context, c *carrier.Carrier) error {
		_, err := c.FetchProof(ctx, ship.Purchase{})
		return err
	}},
	{"points", ship.Unavailable, func(ctx context.Context, c *carrier.Carrier) error {
		_, err := c.FindPoints(ctx, ship.PointQuery{})
		return err
	}},
	{"duties", ship.Unavailable, func(ctx context.Context, c *carrier.Carrier) error {
		_, err := c.EstimateDuties(ctx, ship.Order{})
		return err
	}},
}

func TestWhatADriverCannotDoIsUnsupported(t *testing.T) {
	c := carrier.New(spec, bare{})
	for _, op := range operations[1:] {
		if err := op.run(t.Context(), c); ship.KindOf(err) != ship.Unsupported {
			t.Errorf("%s: %v, want unsupported", op.name, err)
		}
	}
	if _, err := c.DecodePush(nil, nil); ship.KindOf(err) != ship.Unsupported {
		t.Errorf("hear: %v, want unsupported", err)
	}
	if got := c.Abilities(); got != nil {
		t.Errorf("abilities %v", got)
	}
	want := []string{
		"rates", "buy", "rehearse", "find", "void", "track", "hear", "subscribe", "addresses",
		"pickups", "find_pickups", "cancel_pickups", "manifests", "find_manifests", "documents", "find_documents",
		"proof", "points", "duties",
	}
	if got := carrier.New(spec, &driver{}).Abilities(); !slices.Equal(got, want) {
		t.Errorf("abilities %v, want %v", got, want)
	}
}

func TestEveryOperationEndsByItsDeadline(t *testing.T) {
	want := map[string]time.Duration{
		"check": 10 * time.Second, "rates": 12 * time.Second, "buy": 45 * time.Second, "rehearse": 12 * time.Second, "find": 15 * time.Second,
		"void": 20 * time.Second, "track": 15 * time.Second, "address": 5 * time.Second,
		"pickup": 30 * time.Second, "find pickup": 15 * time.Second, "cancel pickup": 20 * time.Second,
		"manifest": 60 * time.Second, "find manifest": 15 * time.Second,
		"document": 60 * time.Second, "find document": 15 * time.Second,
		"proof": 20 * time.Second, "points": 10 * time.Second, "duties": 15 * time.Second,
	}
	for _, op := range operations {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			err := op.run(t.Context(), carrier.New(spec, &driver{hang: true}))
			if took := time.Since(began); ship.KindOf(err) != op.lost || took != want[op.name] {
				t.Errorf("%s: %v after %v; want %s after %v", op.name, err, took, op.lost, want[op.name])
			}
		})
	}
}

// TestACarrierMayHaveDeadlinesOfItsOwn: a deadline that it does not set has the
// default, and many pieces may take longer, up to a limit.
func TestACarrierMayHaveDeadlinesOfItsOwn(t *testing.T) {
	own := spec
	own.Deadlines = carrier.Deadlines{Find: 30 * time.Second, BuyPiece: 4 * time.Second, BuyMost: 120 * time.Second}
	c := carrier.New(own, &driver{})
	if c.Deadlines.Find != 30*time.Second || c.Deadlines.Rates != 12*time.Second {
		t.Errorf("deadlines %+v", c.Deadlines)
	}
	for pieces, want := range map[int]time.Duration{0: 45 * time.Second, 1: 45 * time.Second, 6: 65 * time.Second, 20: 120 * time.Second, 50: 120 * time.Second} {
		if got := c.BuyTime(pieces); got != want {
			t.Errorf("%d pieces: %s, want %s", pieces, got, want)
		}
	}
	if got := carrier.New(spec, &driver{}).BuyTime(50); got != 45*time.Second {
		t.Errorf("without such a limit: %s", got)
	}
}

func TestAnIncompletePurchaseIsUncertain(t *testing.T) {
	for name, spoil := range map[string]func(*ship.Sale){
		"no number":    func(p *ship.Sale) { p.TrackingNumber = "" },
		"no reference": func(p *ship.Sale) { p.CarrierRef = "" },
		"no label":     func(p *ship.Sale) { p.Label.Data = nil },
	} {
		p := whole()
		spoil(&p)
		c := carrier.New(spec, &driver{purchase: p})
		if _, err := c.Buy(t.Context(), carrier.BuyOrder{}); ship.KindOf(err) != ship.Uncertain {
			t.Errorf("%s: Buy: %v, want uncertain", name, err)
		}
		if _, err := c.Find(t.Context(), carrier.BuyOrder{}); ship.KindOf(err) != ship.Unavailable {
			t.Errorf("%s: Find: %v, want unavailable", name, err)
		}
	}
	p, err := carrier.New(spec, &driver{purchase: whole()}).Buy(t.Context(), carrier.BuyOrder{Service: "fly"})
	if err != nil || p.Carrier != "pigeon" || p.Service != "fly" || p.ServiceName != "Flying" {
		t.Errorf("Buy = %+v, %v", p, err)
	}
}

func TestAnIncompleteBookingOrManifestIsUncertain(t *testing.T) {
	c := carrier.New(spec, &driver{})
	if _, err := c.BookPickup(t.Context(), carrier.PickupRequest{}); ship.KindOf(err) != ship.Uncertain {
		t.Errorf("BookPickup: %v, want uncertain", err)
	}
	if _, err := c.FindPickup(t.Context(), carrier.PickupRequest{}); ship.KindOf(err) != ship.Unavailable {
		t.Errorf("FindPickup: %v, want unavailable", err)
	}
	if _, err := c.CloseManifest(t.Context(), ship.ManifestOrder{}); ship.KindOf(err) != ship.Uncertain {
		t.Errorf("CloseManifest: %v, want uncertain", err)
	}
	if err := c.CancelPickup(t.Context(), carrier.PickupRequest{}, ship.PickupBooking{}); ship.KindOf(err) != ship.Unsupported {
		t.Errorf("CancelPickup without a number: %v, want unsupported", err)
	}

	existed := carrier.New(spec, &driver{booking: ship.PickupBooking{Existed: true}, closing: ship.ManifestClosing{Existed: true}})
	if _, err := existed.BookPickup(t.Context(), carrier.PickupRequest{}); err != nil {
		t.Errorf("BookPickup of one that existed: %v", err)
	}
	if _, err := existed.CloseManifest(t.Context(), ship.ManifestOrder{}); err != nil {
		t.Errorf("CloseManifest of one that existed: %v", err)
	}
}

func TestABadRateDoesNotLoseTheOthers(t *testing.T) {
	usd := func(n int64) ship.Money { return ship.Money{Minor: n, Currency: "USD"} }
	d := &driver{rates: []ship.Rate{
		{Service: "fly", Price: usd(0)}, {Price: usd(1)}, {Service: "fly", Price: usd(7)}, {Service: "fly", Price: ship.Money{Minor: 1}},
	}}
	rates, err := carrier.New(spec, d).Rates(t.Context(), ship.Order{})
	if err != nil || len(rates) != 1 || rates[0].Price.Minor != 7 || rates[0].Carrier != "pigeon" {
		t.Errorf("Rates = %+v, %v", rates, err)
	}
	d.rates = nil
	if _, err := carrier.New(spec, d).Rates(t.Context(), ship.Order{}); ship.KindOf(err) != ship.Unavailable {
		t.Errorf("no rate at all: %v, want unavailable", err)
	}
}

func TestAVoidThatSaysNothingIsUncertain(t *testing.T) {
	for state, want := range map[ship.State]ship.Kind{
		"": ship.Uncertain, ship.StatePurchased: ship.Uncertain, ship.StateVoided: "", ship.StateRefundPending: "",
	} {
		c := carrier.New(spec, &driver{void: carrier.VoidResult{State: state}})
		if _, err := c.Void(t.Context(), ship.Purchase{}); ship.KindOf(err) != want {
			t.Errorf("state %q: %v, want %q", state, err, want)
		}
	}
}

func TestWhatCannotBeToldFromItsRepeatsIsNotHeard(t *testing.T) {
	at := time.Now()
	d := &driver{heard: []carrier.TrackingUpdate{
		{Scan: ship.Scan{Code: "X", At: at}},
		{TrackingNumber: "1", Scan: ship.Scan{At: at}},
		{TrackingNumber: "2", Scan: ship.Scan{Code: "X"}},
		{TrackingNumber: "3", Scan: ship.Scan{Code: "X", At: at}},
	}}
	heard, err := carrier.New(spec, d).Track(t.Context(), []string{"3"})
	if err != nil || len(heard) != 1 || heard[0].TrackingNumber != "3" {
		t.Errorf("Track = %+v, %v", heard, err)
	}
}

func TestAnErrorThatNobodyUnderstoodIsUncertainForMoney(t *testing.T) {
	bug := errors.New("index out of range")
	for _, op := range operations {
		want := ship.Internal
		if op.lost == ship.Uncertain {
			want = ship.Uncertain
		}
		err := op.run(t.Context(), carrier.New(spec, &driver{err: bug}))
		e, ok := errors.AsType[*ship.Error](err)
		if !ok || e.Kind != want || e.Carrier != "pigeon" || !errors.Is(err, bug) || strings.Contains(e.Message, "index") {
			t.Errorf("%s: %#v, want %s", op.name, e, want)
		}
	}
}

func TestAnErrorIsNotChangedForOtherCallers(t *testing.T) {
	shared := ship.Errorf(ship.Invalid, "no")
	if err := carrier.New(spec, &driver{err: shared}).Check(t.Context()); err.Error() != "pigeon: no" || shared.Carrier != "" {
		t.Errorf("err = %v, shared %+v", err, shared)
	}
}

func TestSecretsAreTakenOutOfErrors(t *testing.T) {
	const secret, escaped = "feathers+seeds/1", "feathers%2Bseeds%2F1"
	leak := &ship.Error{
		Kind: ship.Invalid, Message: "bad " + secret, Refusal: ship.Refusal{Code: secret, Message: "you sent ?key=" + escaped},
		Err: fmt.Errorf("sent %s", secret),
	}
	open := spec
	open.Open = func(carrier.Opening) (carrier.Driver, error) { return &driver{err: leak}, nil }
	c, err := carrier.Open(open, carrier.Opening{Credentials: carrier.Credentials{"secret": secret}})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Check(t.Context())
	e, _ := errors.AsType[*ship.Error](err)
	if text := fmt.Sprintf("%v %+v %v", err, *e, e.Err); strings.Contains(text, secret) || strings.Contains(text, escaped) || !strings.Contains(text, "[secret]") {
		t.Errorf("err = %s", text)
	}
	open.Open = func(carrier.Opening) (carrier.Driver, error) { return nil, leak }
	if _, err := carrier.Open(open, carrier.Opening{Credentials: carrier.Credentials{"secret": secret}}); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("Open: %v", err)
	}
}

// subscriber is a driver whose carrier repeats a subscription in its error, with
// the secret and the address.
type subscriber struct {
	driver
	secret string
}

func (d *subscriber) Subscribe(_ context.Context, s carrier.Subscription) (time.Time, error) {
	detail := "a subscription with listenerURL " + s.URL + " and secret " + d.secret + " exists already"
	return time.Time{}, &ship.Error{Kind: ship.Conflict, Message: detail, Refusal: ship.Refusal{Message: detail}, Err: errors.New(detail)}
}

func TestErrorsOfSubscriptionsHoldNeitherSecretNorAddress(t *testing.T) {
	const secret = "Wb7pushpushpushpushpushpushpushp"
	open := spec
	open.Open = func(o carrier.Opening) (carrier.Driver, error) { return &subscriber{secret: o.PushSecret}, nil }
	c, err := carrier.Open(open, carrier.Opening{Credentials: carrier.Credentials{"secret": "s3cret-of-the-account"}, PushSecret: secret})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Subscribe(t.Context(), carrier.Subscription{URL: "https://ship.example.com/in/con_1/token-of-the-address"})
	failure, ok := errors.AsType[*ship.Error](err)
	if !ok {
		t.Fatalf("error %v", err)
	}
	if text := fmt.Sprintf("%v %+v %v", err, *failure, failure.Err); strings.Contains(text, secret) || strings.Contains(text, "token-of-the-address") {
		t.Errorf("the error shows a secret: %s", text)
	}

	// Some carriers are subscribed to without an address.
	_, err = c.Subscribe(t.Context(), carrier.Subscription{})
	if failure, ok = errors.AsType[*ship.Error](err); !ok || !strings.Contains(failure.Message, "a subscription with listenerURL") {
		t.Errorf("without an address the error is unreadable: %v", err)
	}
}

func TestOpenChecksTheCredentials(t *testing.T) {
	_, err := carrier.Open(spec, carrier.Opening{Credentials: carrier.Credentials{"secret": " ", "colour": "grey"}})
	e, ok := errors.AsType[*ship.Error](err)
	if !ok || e.Kind != ship.Invalid || len(e.Fields) != 2 || e.Fields[0].Pointer != "/colour" || e.Fields[1].Code != "required" {
		t.Errorf("err = %+v", e)
	}
}

// quick is a driver without a network.
type quick struct{ driver }

func (*quick) Instant(ship.Order) bool { return true }

func BenchmarkBuy(b *testing.B) {
	for name, d := range map[string]carrier.Driver{"network": &driver{purchase: whole()}, "instant": &quick{driver{purchase: whole()}}} {
		b.Run(name, func(b *testing.B) {
			c, ctx := carrier.New(spec, d), b.Context()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Buy(ctx, carrier.BuyOrder{Service: "fly"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestCredentialsAreNeverPrinted(t *testing.T) {
	const secret = "hush-hush-hush"
	open := spec
	open.Open = func(carrier.Opening) (carrier.Driver, error) { return &driver{}, nil }
	o := carrier.Opening{Credentials: carrier.Credentials{"secret": secret}}
	c, err := carrier.Open(open, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format+format, c, o); strings.Contains(text, secret) {
			t.Errorf("%s shows %s", format, text)
		}
	}
}
