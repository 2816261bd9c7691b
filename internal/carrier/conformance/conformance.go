// Package conformance defines what a carrier is: a suite that every driver
// passes, with faults injected between the driver and its carrier. None of
// them can be skipped. Tests of drivers run it by package carriertest, and
// "waybill carrier verify" runs it against a plug-in.
package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// Subject is a carrier under test.
type Subject struct {
	Spec carrier.Spec
	// Credentials open the carrier. The value of a secret field must be
	// distinctive: the suite looks for it in every error.
	Credentials carrier.Credentials
	// Service is a working emulator of the carrier; each case gets a new one.
	Service func(T) carrier.Doer
	// Order can be quoted, bought, found and voided.
	Order carrier.BuyOrder
	// Absent is an order that was never bought; the zero value means Order with
	// another reference.
	Absent carrier.BuyOrder
	// Refusal is how the carrier declines.
	Refusal Refusal
	// Addresses are what the carrier finds about addresses, at least a valid and
	// an invalid one; none if it does not check them. A valid one comes first.
	Addresses []AddressExample
	// AddressRefusal is how the carrier declines to check an address; the zero
	// value means Refusal, which at some carriers is a verdict.
	AddressRefusal Refusal
	// Pickup can be booked, found and cancelled; the zero value if the carrier
	// takes no bookings.
	Pickup carrier.PickupRequest
	// AbsentPickup was never booked; the zero value means Pickup with another
	// reference.
	AbsentPickup carrier.PickupRequest
	// Stateless says that the carrier keeps nothing between two calls: it cannot
	// know what was booked, cancelled or closed before. Instead it must give the
	// same answer to the same request every time.
	Stateless bool
	// Manifest is where and when the label of Order is handed over; the suite
	// adds the label. The zero value means Order's origin and ship date.
	Manifest ship.ManifestOrder
	// TrackingNumber is of a parcel that the carrier knows, for one that tracks
	// and does not sell; empty for one that sells.
	TrackingNumber string
	// Declared is an order for whose shipment a commercial invoice can be uploaded;
	// the zero value if the carrier takes no documents.
	Declared carrier.BuyOrder
	// Points is a place with service points.
	Points ship.PointQuery
	// Duties is an order whose duties can be estimated.
	Duties ship.Order
	// Refusals are how the carrier declines operations where that differs from
	// Refusal, by the operation's name.
	Refusals map[string]Refusal
	// Requests are how many requests an operation takes, where that is more than
	// one, by its name.
	Requests map[string]int
	// NoBody lists operations that the carrier confirms by the status of its
	// answer alone.
	NoBody []string
	// EmptyObject lists operations that the carrier confirms with an empty JSON
	// object.
	EmptyObject []string
	// Renew returns the subject for the next case at a carrier that remembers the
	// ones before, such as with other references; nil if Service gives each case
	// a new carrier.
	Renew func(Subject) Subject
	// Sign completes an answer of the carrier's own that a fault made up or
	// changed; nil for a carrier that does not sign its answers.
	Sign func(request *http.Request, answer *http.Response, body []byte)
	// ReadsBefore and ReadsAfter list the effects that take more than one request:
	// something is read before it, such as the quote that is bought, or after it,
	// such as the file of the label. Nothing may be bought if the first fails, and
	// the purchase is uncertain if the second does.
	ReadsBefore, ReadsAfter []string
	// TokenPaths are how the paths of the carrier's token requests end, none if
	// it has none. They are not counted, and faults of operations spare them.
	TokenPaths []string
	// Tokenless lists operations that need no token, at a carrier where others do.
	Tokenless []string
}

// openVia opens the carrier with its own sandbox's address, or with that of
// production if it has no sandbox: the requests go to via all the same. What via
// answers reaches the driver over the transport that the service uses.
func (s Subject) openVia(via carrier.Doer) (*carrier.Carrier, error) {
	return carrier.Open(s.Spec, carrier.Opening{
		Credentials: s.Credentials,
		BaseURL:     cmp.Or(s.Spec.TestURL, s.Spec.LiveURL),
		Via:         over(via),
	})
}

// tokenPaths returns the paths of the token requests that the operation needs.
func (s Subject) tokenPaths(op operation) []string {
	if slices.Contains(s.Tokenless, op.name) {
		return nil
	}
	return s.TokenPaths
}

// IsToken reports whether a request asks for a token.
func (s Subject) IsToken(r *http.Request) bool {
	return slices.ContainsFunc(s.TokenPaths, func(path string) bool { return strings.HasSuffix(r.URL.Path, path) })
}

// Refusal is an answer by which the carrier refuses a request.
type Refusal struct {
	Status int    // 4xx
	Body   string // with one %s, where the carrier's text goes
	Code   string // what the driver must read from the body
}

// T is what a requirement needs of whoever runs it; a *testing.T is one.
type T interface {
	// Context ends with the requirement.
	Context() context.Context
}

// A Case is one requirement for a carrier.
type Case struct {
	Name      string // "buy answer lost"
	Operation string // "buy"; empty if it is about none
	HasFault  bool   // something goes wrong between the driver and the carrier
	run       func(Subject, T) error
}

// Run returns why the subject does not meet the requirement; nil if it does.
func (c Case) Run(subject Subject, t T) error {
	if subject.Renew != nil {
		subject = subject.Renew(subject)
	}
	return c.run(subject, t)
}

// Cases lists every requirement for the subject.
func (s Subject) Cases() []Case {
	var list []Case
	for _, demand := range s.cases() {
		list = append(list, Case{
			Name:      demand.name,
			Operation: demand.operation,
			HasFault:  demand.hasFault,
			run:       demand.run,
		})
	}
	return list
}

// testCase is one requirement for a carrier. It returns an error instead of
// failing the test, so that the suite itself can be tested.
type testCase struct {
	name      string
	run       func(Subject, T) error
	operation string
	hasFault  bool
}

// operation is one of the things that a carrier may be able to do.
type operation struct {
	name   string
	effect bool // it spends or returns money
	run    func(context.Context, *carrier.Carrier, prepared) error
}

// prepared is what the operations need.
type prepared struct {
	order    carrier.BuyOrder
	purchase ship.Purchase
	address  ship.Address
	pickup   carrier.PickupRequest
	booking  ship.PickupBooking
	manifest ship.ManifestOrder
	document carrier.DocumentRequest
	points   ship.PointQuery
	duties   ship.Order
}

var operations = []operation{
	{"check", false, func(ctx context.Context, c *carrier.Carrier, _ prepared) error { return c.Check(ctx) }},
	{"rates", false, func(ctx context.Context, c *carrier.Carrier, p prepared) error {
		_, err := c.Rates(ctx, p.order.Order)
		return err
	}},
	{"buy", true, func(ctx context.Context, c *carrier.Carrier, p prepared) error {
		_, err := c.Buy(ctx, p.order)
		return err
	}},
	{"rehearse", false, func(ctx context.Context, c *carrier.Carrier, p prepared) error {
		return c.Rehearse(ctx, p.order)
	}},
	{"find", false, func(ctx context.Context, c *carrier.Carrier, p prepared) error {
		_, err := c.Find(ctx, p.order)
		return err
	}},
	{"void", true, func(ctx context.Context, c *carrier.Carrier, p prepared) error {
		_, err := c.Void(ctx, p.purchase)
		return err
	}},
	{"track", false, func(ctx context.Context, c *carrier.Carrier, p prepared) error {
		_, err := c.Track(ctx, []string{p.purchase.TrackingNumber})
		return err
	}},
	{"addresses", false, func(ctx context.Context, c *carrier.Carrier, p prepared) error {
		_, err := c.CheckAddress(ctx, p.address)
		return err
	}},
	{"pickups", true, func(ctx context.Context, c *carrier.Carrier, p prepared) error {
		_, err := c.BookPickup(ctx, p.pickup)
		return err
	}},
	{"find_pickups", false, func(ctx context.Context, c *carrier.Carrier, p prepared) error {
		_, err := c.FindPickup(ctx, p.pickup)
		return err
	}},
	{"cancel_pickups", true, func(ctx context.Context, c *carrier.Carrier, p prepared) error {
		return c.CancelPickup(ctx, p.pickup, p.booking)
	}},
	{"manifests", true, func(ctx context.Context, c *carrier.Carrier, p prepared) error {
		_, err := c.CloseManifest(ctx, p.manifest)
		return err
	}},
	{"find_manifests", false, func(ctx context.Context, c *carrier.Carrier, p prepared) error {
		_, err := c.FindManifest(ctx, p.manifest)
		return err
	}},
	{"documents", true, func(ctx context.Context, c *carrier.Carrier, p prepared) error {
		_, err := c.UploadDocument(ctx, p.document)
		return err
	}},
	{"find_documents", false, func(ctx context.Context, c *carrier.Carrier, p prepared) error {
		_, err := c.FindDocument(ctx, p.document)
		return err
	}},
	{"proof", false, func(ctx context.Context, c *carrier.Carrier, p prepared) error {
		_, err := c.FetchProof(ctx, p.purchase)
		return err
	}},
	{"points", false, func(ctx context.Context, c *carrier.Carrier, p prepared) error {
		_, err := c.FindPoints(ctx, p.points)
		return err
	}},
	{"duties", false, func(ctx context.Context, c *carrier.Carrier, p prepared) error {
		_, err := c.EstimateDuties(ctx, p.duties)
		return err
	}},
}

// cases lists every requirement for the subject.
func (s Subject) cases() []testCase {
	list := []testCase{{name: "the description is whole", run: Subject.testSpec}}
	probe, err := s.openVia(brokenDoer{})
	if err != nil {
		return append(list, testCase{name: "it opens", run: func(Subject, T) error { return err }})
	}

	able := append(probe.Abilities(), "check")
	for _, op := range operations {
		if !slices.Contains(able, op.name) {
			list = append(list, testCase{name: op.name + " is unsupported", run: func(_ Subject, t T) error {
				return wantKind(op.run(t.Context(), probe, prepared{}), ship.Unsupported)
			}})
			continue
		}

		list = append(list, testCase{name: op.name + " works", operation: op.name, run: func(s Subject, t T) error {
			return s.testWorks(t, op, nil)
		}})
		for name, change := range compressions {
			list = append(list, testCase{name: op.name + " works when the " + name, operation: op.name, run: func(s Subject, t T) error {
				return s.testWorks(t, op, change)
			}})
		}
		list = append(list, s.faultCases(op)...)
	}

	list = append(list, testCase{name: "purchases are whole", run: Subject.testPurchase}, testCase{name: "many at once", run: Subject.testParallel})
	if slices.Contains(able, "rehearse") {
		list = append(list, testCase{name: "a rehearsal buys nothing", operation: "rehearse", run: Subject.testRehearsal})
	}
	if slices.Contains(able, "find") {
		list = append(list, testCase{name: "finds what was bought and nothing else", operation: "find", run: Subject.testFind})
	}
	if slices.Contains(able, "addresses") {
		list = append(list, s.addressCases()...)
	}
	return append(list, dayCases(able)...)
}

func (s Subject) testSpec(T) error {
	// A carrier that only tracks sells no services.
	needsServices := s.TrackingNumber == ""
	if s.Spec.Name == "" || s.Spec.Title == "" || needsServices && len(s.Spec.Services) == 0 {
		return errors.New("the spec needs a name, a title and services")
	}
	if s.Refusal.Status < 400 || s.Refusal.Status > 499 || strings.Count(s.Refusal.Body, "%s") != 1 || s.Refusal.Code == "" {
		return errors.New("the subject needs a refusal")
	}
	for _, secret := range s.secrets() {
		if len(secret) < 8 {
			return errors.New("secrets of the subject must be distinctive: 8 characters or more")
		}
	}
	return nil
}

// testWorks requires that the operation succeeds with change applied to each
// exchange, including those for tokens.
func (s Subject) testWorks(t T, op operation, change fault) error {
	service := s.Service(t)
	w := &wire{subject: s, service: service, op: op, fault: change, tokenFault: change, part: everything}
	c, needed, err := s.open(t, op, service, w)
	if err != nil {
		return err
	}
	if err := op.run(t.Context(), c, needed); err != nil {
		return err
	}
	return w.complaint(op)
}

// testRehearsal requires that the carrier does not find a purchase that was rehearsed
// alone, and sells the order afterwards.
func (s Subject) testRehearsal(t T) error {
	c, err := s.openVia(s.Service(t))
	if err != nil {
		return err
	}
	if err := c.Rehearse(t.Context(), s.Order); err != nil {
		return err
	}
	if slices.Contains(c.Abilities(), "find") {
		if _, err := c.Find(t.Context(), s.Order); ship.KindOf(err) != ship.NotFound {
			return fmt.Errorf("after a rehearsal, a look-up of the purchase says %w", cmp.Or(err, errors.New("that it was made")))
		}
	}
	_, err = c.Buy(t.Context(), s.Order)
	return err
}

func (s Subject) testPurchase(t T) error {
	c, err := s.openVia(s.Service(t))
	if err != nil {
		return err
	}
	if !slices.Contains(c.Abilities(), "buy") {
		return nil
	}

	bought, err := c.Buy(t.Context(), s.Order)
	if err != nil {
		return err
	}
	if n := len(s.Order.Order.Parcels); n > 1 && len(bought.Pieces) != n {
		return fmt.Errorf("%d parcels have %d numbers", n, len(bought.Pieces))
	}
	// A carrier that does not quote may not say what it charges either: the price
	// is then that of the account's rate sheet.
	hasPrices := slices.Contains(c.Abilities(), "rates")
	isPrice := bought.Price.Minor > 0 && len(bought.Price.Currency) == 3
	if !isPrice && (hasPrices || bought.Price != (ship.Money{})) {
		return fmt.Errorf("the price is %v", bought.Price)
	}
	if bought.Carrier != s.Spec.Name || bought.Service != s.Order.Service {
		return fmt.Errorf("bought %s %s, want %s %s", bought.Carrier, bought.Service, s.Spec.Name, s.Order.Service)
	}
	return nil
}

func (s Subject) testFind(t T) error {
	c, err := s.openVia(s.Service(t))
	if err != nil {
		return err
	}
	bought, err := c.Buy(t.Context(), s.Order)
	if err != nil {
		return err
	}

	// A look-up may lack the price, but must not return a different one.
	found, err := c.Find(t.Context(), s.Order)
	if err != nil {
		return err
	}
	if found.TrackingNumber != bought.TrackingNumber || found.CarrierRef != bought.CarrierRef || !found.Price.IsZero() && found.Price != bought.Price {
		return fmt.Errorf("bought %s, found %s", bought.TrackingNumber, found.TrackingNumber)
	}

	absent := s.Absent
	if absent.Reference == "" {
		absent = s.Order
		absent.Reference += "X"
	}
	_, err = c.Find(t.Context(), absent)
	return wantKind(err, ship.NotFound)
}

// testParallel gives the race detector something to see.
func (s Subject) testParallel(t T) error {
	c, err := s.openVia(s.Service(t))
	if err != nil {
		return err
	}

	errs := make([]error, 8)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() { errs[i] = c.Check(t.Context()) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// Prepare makes an operation ready at service, such as the label that is voided,
// and returns what runs it, any number of times. Its own requests go over via. It
// returns nil for an operation that the carrier does not have.
func (s Subject) Prepare(t T, name string, service, via carrier.Doer) (run func() error, err error) {
	index := slices.IndexFunc(operations, func(op operation) bool { return op.name == name })
	probe, err := s.openVia(brokenDoer{})
	if err != nil || index < 0 || !slices.Contains(probe.Abilities(), name) {
		return nil, err
	}

	op := operations[index]
	opened, needed, err := s.open(t, op, service, via)
	if err != nil {
		return nil, err
	}
	return func() error { return op.run(t.Context(), opened, needed) }, nil
}

// open opens the subject over w, with what op needs prepared over the clean
// service.
func (s Subject) open(t T, op operation, service, via carrier.Doer) (*carrier.Carrier, prepared, error) {
	needed := prepared{order: s.Order, pickup: s.Pickup, points: s.Points, duties: s.Duties}
	if len(s.Addresses) > 0 {
		needed.address = resident(s.Addresses[0].Address)
	}
	clean, err := s.openVia(service)
	if err != nil {
		return nil, needed, err
	}

	switch op.name {
	case "void", "find", "track", "proof", "manifests", "find_manifests":
		if s.TrackingNumber != "" {
			needed.purchase = ship.Purchase{Carrier: s.Spec.Name, TrackingNumber: s.TrackingNumber}
			break
		}
		needed.purchase, err = s.buy(t, clean)
		if err != nil {
			return nil, needed, err
		}
		needed.manifest = s.manifestOf(needed.purchase)
	case "documents", "find_documents":
		needed.document, err = s.documentOf(t, clean)
		if err != nil {
			return nil, needed, err
		}
	case "cancel_pickups", "find_pickups":
		needed.booking, err = clean.BookPickup(t.Context(), s.Pickup)
		if err != nil {
			return nil, needed, err
		}
	}
	if op.name == "find_documents" {
		if _, err := clean.UploadDocument(t.Context(), needed.document); err != nil {
			return nil, needed, err
		}
	}
	if op.name == "find_manifests" {
		if _, err := clean.CloseManifest(t.Context(), needed.manifest); err != nil {
			return nil, needed, err
		}
	}

	c, err := s.openVia(via)
	return c, needed, err
}

// buy buys the subject's order.
func (s Subject) buy(t T, c *carrier.Carrier) (ship.Purchase, error) {
	return buyOrder(t, c, s.Order)
}

func buyOrder(t T, c *carrier.Carrier, order carrier.BuyOrder) (ship.Purchase, error) {
	bought, err := c.Buy(t.Context(), order)
	if err != nil {
		return ship.Purchase{}, err
	}
	return ship.Purchase{
		Carrier:        bought.Carrier,
		Service:        bought.Service,
		ServiceName:    bought.ServiceName,
		CarrierRef:     bought.CarrierRef,
		TrackingNumber: bought.TrackingNumber,
		Pieces:         bought.Pieces,
		Price:          bought.Price,
		BoughtAt:       time.Now(),
		Selection:      order.Selection,
	}, nil
}

func (s Subject) secrets() []string {
	var list []string
	for _, field := range s.Spec.Fields {
		if field.Secret && s.Credentials[field.Name] != "" {
			list = append(list, s.Credentials[field.Name])
		}
	}
	return list
}

func wantKind(err error, kinds ...ship.Kind) error {
	if got := ship.KindOf(err); !slices.Contains(kinds, got) {
		return fmt.Errorf("err = %v: kind %q, want %q", err, got, kinds)
	}
	return nil
}

// brokenDoer is for cases that may not send anything.
type brokenDoer struct{}

func (brokenDoer) Do(*http.Request) (*http.Response, error) {
	return nil, errors.New("conformance: nothing may be sent here")
}
