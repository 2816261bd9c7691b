package shipping_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// bench is a service on a real Postgres with the simulated carriers, its waits
// a thousand times shorter than in production.
type bench struct {
	*shipping.Service
	quotes  *quoting.Service
	store   *store.Store
	account ship.Account
	tenant  ship.Tenant
	url     string // of the database
}

func newBench(t *testing.T) bench {
	t.Helper()
	return newBenchWith(t, settings{})
}

// settings are those of the two services, which share the accounts.
type settings struct {
	shipping.Config
	quoting quoting.Config
}

// open makes the services of the settings.
func (s settings) open() (*quoting.Service, *shipping.Service) {
	s.quoting.Accounts, s.quoting.SigningKey = s.Accounts, s.SigningKey
	s.Quoting = quoting.New(s.quoting)
	return s.Quoting, shipping.New(s.Config)
}

// simulated are the carriers of the sandbox.
func simulated(t *testing.T) (list []*carrier.Carrier) {
	t.Helper()
	for _, spec := range sandbox.Specs() {
		c, err := carrier.Open(spec, carrier.Opening{})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return list
}

// newBenchWith adds what is common to c.
func newBenchWith(t *testing.T, c settings) bench {
	t.Helper()
	address := storetest.URL(t)
	st, err := store.Open(t.Context(), store.Options{URL: address, Connections: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	a, err := account.New(st).Create(t.Context(), account.Settings{Name: new("Test shop")})
	if err != nil {
		t.Fatal(err)
	}
	labels, err := label.NewRenderer("")
	if err != nil {
		t.Fatal(err)
	}
	c.Waits = shipping.Waits{
		Answer: cmp.Or(c.Waits.Answer, 50*time.Millisecond), Settle: 3 * time.Second, Look: 500 * time.Millisecond,
		Rebuy: time.Minute, Review: 2 * time.Second, SandboxAge: time.Hour,
	}
	c.quoting.SoftDeadline = 100 * time.Millisecond
	c.Store, c.Accounts, c.Labels = st, carrier.Accounts{Simulated: simulated(t)}, labels
	c.SigningKey, c.BaseURL, c.Log = []byte("test"), "http://test", slog.New(slog.DiscardHandler)
	quotes, service := c.open()
	return bench{Service: service, quotes: quotes, store: st, account: a, tenant: ship.Tenant{Account: a.ID}, url: address}
}

func (b bench) input(name string) shipping.BuyInput {
	return shipping.BuyInput{Tenant: b.tenant, Account: b.account, OneParcel: true, Order: ship.Order{
		OrderID:     "order-1",
		Destination: ship.Address{Name: name, Address1: "350 5th Avenue", City: "New York", State: "NY", Zip: "10118", Country: "US"},
		Parcels:     []ship.Parcel{{Weight: 2.5}},
	}}
}

func keyed(in shipping.BuyInput, key string) shipping.BuyInput {
	in.IdempotencyKey = key
	in.Fingerprint = sha256.Sum256(fmt.Append(nil, in.Order.OrderID, in.Order.Destination))
	return in
}

// expectEvents compares what the log tells of the shipment. Other tests'
// transactions hold the log's horizon up, so it may take a moment.
func (b bench) expectEvents(t *testing.T, id ship.ShipmentID, want string) {
	t.Helper()
	var got string
	for range 200 {
		list, _, err := b.store.Log(t.Context(), b.tenant, store.Position{}, nil, 100)
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for _, e := range list {
			if e.Event.Shipment == id {
				kinds = append(kinds, fmt.Sprintf("%d %s %s", e.Event.Sequence, e.Event.Kind, e.Event.Snapshot.State))
			}
		}
		if got = fmt.Sprint(kinds); got == want {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("events %s, want %s", got, want)
}

func (b bench) settle(t *testing.T, id ship.ShipmentID, want ship.State) ship.Shipment {
	t.Helper()
	for range 600 {
		if _, err := b.Settle(t.Context(), b.tenant, id); err != nil {
			t.Fatal(err)
		}
		sh, err := b.store.Shipment(t.Context(), b.tenant, id)
		if err != nil {
			t.Fatal(err)
		}
		if sh.State == want {
			return sh
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("shipment %s never became %s", id, want)
	return ship.Shipment{}
}

func TestBuyChoosesTheCheapest(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	got, err := b.Buy(t.Context(), b.input("Jane Doe"))
	if err != nil {
		t.Fatal(err)
	}
	sh := got.Shipment
	q, err := b.quotes.Quote(t.Context(), quoting.Input{Tenant: b.tenant, Account: b.account, OneParcel: true, Order: b.input("Jane Doe").Order})
	if err != nil {
		t.Fatal(err)
	}
	if best := q.Rates[0]; sh.Purchase.Carrier != best.Carrier || sh.Purchase.Service != best.Service || sh.Purchase.Price != best.Price {
		t.Errorf("bought %s %s for %v, the cheapest is %+v", sh.Purchase.Carrier, sh.Purchase.Service, sh.Purchase.Price, best)
	}
	if sh.Progress.Status != ship.Created || sh.State != ship.StatePurchased {
		t.Errorf("answer says %s and %s, want created and purchased", sh.Progress.Status, sh.State)
	}
	b.expectEvents(t, sh.ID, "[1 shipment.created purchased 2 label.generated purchased]")
	read, err := b.Shipment(t.Context(), b.tenant, sh.ID)
	if err != nil || read.Progress.Status != ship.LabelGenerated {
		t.Errorf("later it is %s (%v), want label_generated", read.Progress.Status, err)
	}
}

func TestBuyWithARateBuysThatRateForThatOrderOnly(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := b.input("Jane Doe")
	q, err := b.quotes.Quote(t.Context(), quoting.Input{Tenant: b.tenant, Account: b.account, OneParcel: true, Order: in.Order})
	if err != nil {
		t.Fatal(err)
	}
	dearest := q.Rates[len(q.Rates)-1]
	if len(dearest.ID) > 600 {
		t.Errorf("a rate id has %d characters", len(dearest.ID))
	}
	in.RateID = dearest.ID
	got, err := b.Buy(t.Context(), in)
	if err != nil || got.Shipment.Purchase.Service != dearest.Service || got.Shipment.Purchase.Price != dearest.Price {
		t.Errorf("bought %s for %v (%v), want %s for %v", got.Shipment.Purchase.Service, got.Shipment.Purchase.Price, err, dearest.Service, dearest.Price)
	}
	in.Order.Parcels = []ship.Parcel{{Weight: 9}}
	if _, err := b.Buy(t.Context(), in); ship.CodeOf(err) != "rate_mismatch" {
		t.Errorf("another parcel: %v, want rate_mismatch", err)
	}
	other := b.input("Jane Doe")
	other.Tenant.Account, other.RateID = ship.NewAccountID(1, time.Now()), dearest.ID
	if _, err := b.Buy(t.Context(), other); ship.CodeOf(err) != "validation_failed" {
		t.Errorf("another account's rate: %v, want it refused", err)
	}
}

func TestSameKeyMakesOneShipment(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := keyed(b.input("Jane Doe"), "k1")
	ids := make(chan ship.ShipmentID, 50)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			got, err := b.Buy(context.Background(), in)
			if err != nil {
				t.Error(err)
			}
			ids <- got.Shipment.ID
		})
	}
	wg.Wait()
	close(ids)
	first := <-ids
	for id := range ids {
		if id != first {
			t.Fatalf("two shipments, %s and %s", first, id)
		}
	}
	in.Fingerprint[0]++
	if _, err := b.Buy(t.Context(), in); ship.CodeOf(err) != "idempotency_key_reused" {
		t.Errorf("another body: %v, want idempotency_key_reused", err)
	}
	live := in
	live.Tenant.Livemode = true
	if _, err := b.Buy(t.Context(), live); ship.CodeOf(err) != "origin_required" {
		t.Errorf("the same key in live mode: %v, want it to be another key", err)
	}
}

func TestRefusedByAllLeavesNothingToSee(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := keyed(b.input("FAULT REFUSE"), "k1")
	_, err := b.Buy(t.Context(), in)
	if ship.CodeOf(err) != "carrier_rejected" {
		t.Fatalf("err = %v, want carrier_rejected", err)
	}
	list, _, err := b.Shipments(t.Context(), b.tenant, shipping.Filter{Page: ship.Page{Limit: 10}})
	if err != nil || len(list) != 0 {
		t.Errorf("%d shipments to see (%v), want none", len(list), err)
	}
	if _, err := b.Buy(t.Context(), in); ship.CodeOf(err) != "carrier_rejected" {
		t.Errorf("again: %v, want the same refusal", err)
	}
}

func TestOneCarrierRefusesAndTheNextSells(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := b.input("FAULT REFUSE UPS")
	in.Service = "" // whichever is cheapest; UPS must be tried and passed over if it is
	got, err := b.Buy(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if got.Shipment.Purchase.Carrier == "ups" || got.Pending {
		t.Errorf("bought from %s, pending %v", got.Shipment.Purchase.Carrier, got.Pending)
	}
	in.Carrier = "ups"
	if _, err := b.Buy(t.Context(), in); ship.CodeOf(err) != "carrier_rejected" {
		t.Errorf("with the carrier named: %v, want carrier_rejected", err)
	}
}

func TestUnavailableThenTheSameKeyTriesAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := keyed(b.input("FAULT UNAVAILABLE"), "k1")
	for range 2 {
		if _, err := b.Buy(t.Context(), in); ship.CodeOf(err) != "carrier_unavailable" {
			t.Fatalf("err = %v, want carrier_unavailable", err)
		}
	}
	m, err := b.store.IdempotencyRecord(t.Context(), b.tenant, "k1")
	if err != nil {
		t.Fatal(err)
	}
	attempts, err := b.store.Attempts(t.Context(), b.tenant, m.Shipment)
	if err != nil || len(attempts) < 2 {
		t.Errorf("%d attempts of the one shipment (%v), want one for every try", len(attempts), err)
	}
	seen := map[string]bool{}
	for _, a := range attempts {
		if seen[a.Reference] {
			t.Errorf("two attempts have the reference %s", a.Reference)
		}
		seen[a.Reference] = true
	}
}

func TestBuyLosesTheAnswerThenSettles(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := keyed(b.input("FAULT TIMEOUT AFTER PURCHASE"), "k1")
	got, err := b.Buy(t.Context(), in)
	if err != nil || !got.Pending || got.Shipment.State.LabelStatus() != "pending" {
		t.Fatalf("Buy = %s, pending %v, %v; want pending", got.Shipment.State, got.Pending, err)
	}
	again, err := b.Buy(t.Context(), in)
	if err != nil || !again.Pending || again.Shipment.ID != got.Shipment.ID {
		t.Fatalf("the same key = %s, pending %v, %v; want the same shipment, pending", again.Shipment.ID, again.Pending, err)
	}
	sh := b.settle(t, got.Shipment.ID, ship.StatePurchased)
	if sh.Purchase.TrackingNumber == "" {
		t.Error("settled without a tracking number")
	}
	b.expectEvents(t, sh.ID, "[1 shipment.created uncertain 2 label.generated purchased]")
	done, err := b.Buy(t.Context(), in)
	if err != nil || done.Pending || done.Shipment.Purchase.TrackingNumber != sh.Purchase.TrackingNumber || done.Shipment.Progress.Status != ship.Created {
		t.Errorf("the same key after = %+v, %v; want 201 with the number", done, err)
	}
	if _, err := b.Label(t.Context(), b.tenant, sh.ID, label.Options{Format: label.PDF, Size: label.Size4x6, DPI: 203}); err != nil {
		t.Errorf("label: %v", err)
	}
}

func TestNotBoughtIsBoughtAgainOnlyAfterTwoAbsences(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	got, err := b.Buy(t.Context(), keyed(b.input("FAULT TIMEOUT"), "k1"))
	if err != nil || !got.Pending {
		t.Fatalf("Buy: pending %v, %v", got.Pending, err)
	}
	looked := time.Now()
	if _, err := b.Settle(t.Context(), b.tenant, got.Shipment.ID); err != nil {
		t.Fatal(err)
	}
	attempts, err := b.store.Attempts(t.Context(), b.tenant, got.Shipment.ID)
	if err != nil || len(attempts) != 1 {
		t.Fatalf("after one absence there are %d attempts (%v), want 1", len(attempts), err)
	}
	if again, err := b.Settle(t.Context(), b.tenant, got.Shipment.ID); err != nil || again == 0 && time.Since(looked) < 500*time.Millisecond {
		t.Fatalf("a look at the same moment: again in %s, %v", again, err)
	}
	time.Sleep(550 * time.Millisecond)
	if _, err := b.Settle(t.Context(), b.tenant, got.Shipment.ID); err != nil {
		t.Fatal(err)
	}
	attempts, err = b.store.Attempts(t.Context(), b.tenant, got.Shipment.ID)
	if err != nil || len(attempts) != 2 || attempts[0].Outcome != "not_found" {
		t.Errorf("after two absences: %+v (%v), want a second attempt", attempts, err)
	}
}

func TestNeverConfirmedGoesToAPerson(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	got, err := b.Buy(t.Context(), b.input("FAULT NO CONFIRMATION"))
	if err != nil || !got.Pending {
		t.Fatalf("Buy: pending %v, %v", got.Pending, err)
	}
	sh := b.settle(t, got.Shipment.ID, ship.StateNeedsReview)
	if sh.Progress.Status != ship.Exception || sh.Progress.Reason != ship.ReasonPurchaseUnconfirmed {
		t.Errorf("it is %s because of %s", sh.Progress.Status, sh.Progress.Reason)
	}
	b.expectEvents(t, sh.ID, "[1 shipment.created uncertain 2 shipment.exception needs_review]")
}

func TestADearerLabelIsGivenBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := keyed(b.input("FAULT PRICE CHANGED"), "k1")
	q, err := b.quotes.Quote(t.Context(), quoting.Input{Tenant: b.tenant, Account: b.account, OneParcel: true, Order: in.Order})
	if err != nil {
		t.Fatal(err)
	}
	in.RateID = q.Rates[0].ID
	_, err = b.Buy(t.Context(), in)
	if ship.CodeOf(err) != "price_changed" {
		t.Fatalf("err = %v, want price_changed", err)
	}
	in.RateID, in.IdempotencyKey = "", "k2"
	if got, err := b.Buy(t.Context(), in); err != nil || got.Pending {
		t.Errorf("without a limit: %v, want it bought", err)
	}
}

func TestVoidEndsTheLabel(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, want := range map[string]ship.State{"Jane Doe": ship.StateVoided, "FAULT VOID PENDING": ship.StateRefundPending, "FAULT VOID TIMEOUT": ship.StateVoiding} {
		got, err := b.Buy(t.Context(), b.input(name))
		if err != nil {
			t.Fatal(err)
		}
		sh, err := b.Void(t.Context(), b.tenant, got.Shipment.ID)
		if err != nil || sh.State != want {
			t.Errorf("%s: %s, %v; want %s", name, sh.State, err, want)
		}
	}
	got, err := b.Buy(t.Context(), b.input("FAULT VOID REFUSED"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Void(t.Context(), b.tenant, got.Shipment.ID); ship.CodeOf(err) != "void_refused" {
		t.Errorf("refused: %v, want void_refused", err)
	}
	if sh, err := b.Shipment(t.Context(), b.tenant, got.Shipment.ID); err != nil || sh.State != ship.StatePurchased {
		t.Errorf("after a refused void it is %s (%v), want purchased", sh.State, err)
	}
}

func TestALinkOpensOneFormatUntilTheVoid(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	got, err := b.Buy(t.Context(), b.input("Jane Doe"))
	if err != nil {
		t.Fatal(err)
	}
	id := got.Shipment.ID
	link, err := b.LabelLink(t.Context(), b.tenant, id, label.PDF, 0)
	if err != nil {
		t.Fatal(err)
	}
	pdf, png := label.Options{Format: label.PDF, Size: label.Size4x6, DPI: 203}, label.Options{Format: label.PNG, Size: label.Size4x6, DPI: 203}
	if f, err := b.LabelByToken(t.Context(), id, pdf, link.Token); err != nil || string(f.Data[:4]) != "%PDF" {
		t.Errorf("the link: %v", err)
	}
	for what, open := range map[string]func() error{
		"another format": func() error { _, err := b.LabelByToken(t.Context(), id, png, link.Token); return err },
		"another shipment": func() error {
			_, err := b.LabelByToken(t.Context(), ship.NewShipmentID(0, time.Now()), pdf, link.Token)
			return err
		},
		"an altered token": func() error {
			_, err := b.LabelByToken(t.Context(), id, pdf, link.Token[:len(link.Token)-2]+"AA")
			return err
		},
	} {
		if err := open(); ship.CodeOf(err) != "invalid_token" {
			t.Errorf("%s: %v, want invalid_token", what, err)
		}
	}
	if _, err := b.Void(t.Context(), b.tenant, id); err != nil {
		t.Fatal(err)
	}
	if _, err := b.LabelByToken(t.Context(), id, pdf, link.Token); ship.CodeOf(err) != "label_voided" {
		t.Errorf("after the void: %v, want label_voided", err)
	}
}

func TestADuplicateOrderIsAllowedReturnedOrRejected(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, err := b.Buy(t.Context(), b.input("Jane Doe"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.Buy(t.Context(), b.input("Jane Doe"))
	if err != nil || second.Shipment.DuplicateOf != first.Shipment.ID {
		t.Errorf("second names %q as duplicate (%v), want %s", second.Shipment.DuplicateOf, err, first.Shipment.ID)
	}
	in := b.input("Jane Doe")
	in.OnDuplicate = "return"
	if got, err := b.Buy(t.Context(), in); err != nil || !got.Existing || got.Shipment.ID != second.Shipment.ID {
		t.Errorf("return: %s existing %v (%v), want %s", got.Shipment.ID, got.Existing, err, second.Shipment.ID)
	}
	in.OnDuplicate = "reject"
	if _, err := b.Buy(t.Context(), in); ship.CodeOf(err) != "duplicate_order" {
		t.Errorf("reject: %v, want duplicate_order", err)
	}
	for _, id := range []ship.ShipmentID{first.Shipment.ID, second.Shipment.ID} {
		if _, err := b.Void(t.Context(), b.tenant, id); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := b.Buy(t.Context(), in); err != nil || got.Existing {
		t.Errorf("after both are voided: %v, existing %v; want a new one", err, got.Existing)
	}
}

func TestManyRejectingDuplicatesAtOnceBuyOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := b.input("Jane Doe")
	in.OnDuplicate = "return"
	ids := make(chan ship.ShipmentID, 20)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			got, err := b.Buy(context.Background(), in)
			if err != nil {
				t.Error(err)
			}
			ids <- got.Shipment.ID
		})
	}
	wg.Wait()
	close(ids)
	first := <-ids
	for id := range ids {
		if id != first {
			t.Fatalf("two shipments of one order, %s and %s", first, id)
		}
	}
}

func TestSlowQuotesAreLeftOut(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	q, err := b.quotes.Quote(t.Context(), quoting.Input{Tenant: b.tenant, Account: b.account, OneParcel: true, Order: b.input("FAULT SLOW QUOTE").Order})
	if err != nil {
		t.Fatal(err)
	}
	if !q.Partial || len(q.Rates) == 0 || len(q.Errors) != 1 || q.Errors[0].Carrier != "fedex" {
		t.Errorf("partial %v, %d rates, errors %+v; want fedex left out", q.Partial, len(q.Rates), q.Errors)
	}
	if _, err := b.quotes.Quote(t.Context(), quoting.Input{Tenant: b.tenant, Account: b.account, OneParcel: true, Order: b.input("FAULT QUOTE").Order}); ship.CodeOf(err) != "carrier_unavailable" {
		t.Errorf("all fail: %v, want carrier_unavailable", err)
	}
}
