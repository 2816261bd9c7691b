package carrier

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// Deadlines are how long each operation may take at the carrier. A client does
// not wait for them: it gets the quotes that are there after 4 s, and a pending
// shipment after 20 s, while the carrier goes on.
type Deadlines struct {
	Check, Rates, Buy, Find, Void, Track time.Duration

	// BuyPiece is added to Buy for each further piece, up to BuyMost in all.
	BuyPiece, BuyMost time.Duration
}

// defaultDeadlines are for carriers that set none of their own. A purchase that
// is cut off too early is uncertain, and several carriers do not give a label
// out twice, so Buy is generous.
var defaultDeadlines = Deadlines{
	Check: 10 * time.Second,
	Rates: 12 * time.Second,
	Buy:   45 * time.Second,
	Find:  15 * time.Second,
	Void:  20 * time.Second,
	Track: 15 * time.Second,
}

// or fills the deadlines that are not set.
func (d Deadlines) or(defaults Deadlines) Deadlines {
	d.Check = cmp.Or(d.Check, defaults.Check)
	d.Rates = cmp.Or(d.Rates, defaults.Rates)
	d.Buy = cmp.Or(d.Buy, defaults.Buy)
	d.Find = cmp.Or(d.Find, defaults.Find)
	d.Void = cmp.Or(d.Void, defaults.Void)
	d.Track = cmp.Or(d.Track, defaults.Track)
	return d
}

// BuyTime is how long a purchase of so many pieces may take.
func (c *Carrier) BuyTime(pieces int) time.Duration {
	d := c.Deadlines
	further := time.Duration(max(0, pieces-1)) * d.BuyPiece
	return min(d.Buy+further, max(d.Buy, d.BuyMost))
}

// Carrier is a driver made portable: whatever the driver, an operation ends by
// its deadline, an answer is whole, and an error tells what can be done about
// it and who said so. It is safe for concurrent use.
type Carrier struct {
	// Deadlines may be shortened before the first use.
	Deadlines Deadlines
	// Connection is the account's own that the driver was opened with; empty
	// for a simulated carrier.
	Connection ship.ConnectionID
	// Label is the client's own name for the connection.
	Label string
	// Observe is told of every call, if it is set before the first use.
	Observe func(op Operation, took time.Duration, err error)

	spec    Spec
	driver  Driver
	secrets []string
	instant bool
}

// instant is implemented by a driver that computes its answers itself, where a
// deadline's timer costs more than the answer.
type instant interface{ Instant() }

// New makes a driver portable.
func New(spec Spec, d Driver) *Carrier {
	_, isInstant := d.(instant)
	return &Carrier{Deadlines: spec.Deadlines.or(defaultDeadlines), spec: spec, driver: d, instant: isInstant}
}

// Open opens a carrier account. Credentials that are missing or unknown are an
// error of kind ship.Invalid.
func Open(spec Spec, o Opening) (*Carrier, error) {
	if err := spec.check(o.Credentials); err != nil {
		return nil, err
	}
	secrets := spec.secrets(o.Credentials)
	d, err := spec.Open(o)
	if err != nil {
		return nil, (&Carrier{spec: spec, secrets: secrets}).explain(err, ship.Internal)
	}
	c := New(spec, d)
	c.secrets = secrets
	return c, nil
}

// String names the carrier, and shows nothing of its secrets.
func (c *Carrier) String() string { return "carrier " + c.spec.Name }

// GoString is the same for %#v.
func (c *Carrier) GoString() string { return c.String() }

// Spec is the carrier's description.
func (c *Carrier) Spec() Spec { return c.spec }

// Permits reports whether the account may use the operation, as far as the
// last Check showed.
func (c *Carrier) Permits(op Operation) (permitted, known bool) {
	if d, ok := c.driver.(Permitter); ok {
		return d.Permits(op)
	}
	return false, false
}

// Abilities lists what the carrier can do: "rates", "buy", "find", "void",
// "track", "hear", "subscribe".
func (c *Carrier) Abilities() []string {
	var list []string
	add := func(name string, can bool) {
		if can {
			list = append(list, name)
		}
	}
	_, rater := c.driver.(Rater)
	_, buyer := c.driver.(Buyer)
	_, finder := c.driver.(Finder)
	_, voider := c.driver.(Voider)
	_, tracker := c.driver.(Tracker)
	_, listener := c.driver.(Listener)
	_, subscriber := c.driver.(Subscriber)
	add("rates", rater)
	add("buy", buyer)
	add("find", finder)
	add("void", voider)
	add("track", tracker)
	add("hear", listener)
	add("subscribe", subscriber)
	return list
}

// Check proves that the credentials work.
func (c *Carrier) Check(ctx context.Context) (err error) {
	ctx, done := c.begin(ctx, OpCheck, c.Deadlines.Check)
	defer func() { done(err) }()
	return c.explain(c.driver.Check(ctx), ship.Unavailable)
}

// Rates quotes o. Every rate it returns can be bought: it has a service and a
// price. No rate at all is an error.
func (c *Carrier) Rates(ctx context.Context, o ship.Order) (_ []ship.Rate, err error) {
	rater, ok := c.driver.(Rater)
	if !ok {
		return nil, c.errorf(ship.Unsupported, "%s does not quote prices", c.spec.Title)
	}
	ctx, done := c.begin(ctx, OpRates, c.Deadlines.Rates)
	defer func() { done(err) }()
	rates, err := rater.Rates(ctx, o)
	if err != nil {
		return nil, c.explain(err, ship.Unavailable)
	}
	whole := rates[:0]
	for _, r := range rates {
		if r.Service == "" || r.Price.Minor <= 0 || len(r.Price.Currency) != 3 || len(r.Selection) > ship.MaxSelection {
			continue // one bad line does not lose the others
		}
		r.Carrier = c.spec.Name
		whole = append(whole, r)
	}
	if len(whole) == 0 {
		return nil, c.errorf(ship.Unavailable, "%s sent no usable rate", c.spec.Title)
	}
	return whole, nil
}

// Buy purchases b, whole: the purchase it returns is complete, or err says why
// there is none.
func (c *Carrier) Buy(ctx context.Context, b BuyOrder) (_ ship.Purchase, err error) {
	buyer, ok := c.driver.(Buyer)
	if !ok {
		return ship.Purchase{}, c.errorf(ship.Unsupported, "%s does not sell labels", c.spec.Title)
	}
	ctx, done := c.begin(ctx, OpBuy, c.BuyTime(len(b.Order.Parcels)))
	defer func() { done(err) }()
	p, err := buyer.Buy(ctx, b)
	if err != nil {
		return ship.Purchase{}, c.explain(err, ship.Uncertain)
	}
	if !c.complete(&p, b) {
		// Money may be spent, so this is not a plain failure.
		return ship.Purchase{}, c.errorf(ship.Uncertain, "%s sent an incomplete label", c.spec.Title)
	}
	return p, nil
}

// Find returns the purchase made under b.Reference, or an error of kind
// ship.NotFound if there is none. It lacks its label where the carrier loses
// labels.
func (c *Carrier) Find(ctx context.Context, b BuyOrder) (_ ship.Purchase, err error) {
	finder, ok := c.driver.(Finder)
	if !ok {
		return ship.Purchase{}, c.errorf(ship.Unsupported, "%s cannot look purchases up", c.spec.Title)
	}
	ctx, done := c.begin(ctx, OpFind, c.Deadlines.Find)
	defer func() { done(err) }()
	p, err := finder.Find(ctx, b)
	if err != nil {
		return ship.Purchase{}, c.explain(err, ship.Unavailable)
	}
	if !c.complete(&p, b) && !(c.spec.LosesLabel && p.TrackingNumber != "" && p.CarrierRef != "") {
		return ship.Purchase{}, c.errorf(ship.Unavailable, "%s sent an incomplete label", c.spec.Title)
	}
	return p, nil
}

// Void takes the label back. The result is ship.StateVoided or
// ship.StateRefundPending; a refusal is an error of kind ship.Invalid.
func (c *Carrier) Void(ctx context.Context, d ship.Deal) (_ VoidResult, err error) {
	voider, ok := c.driver.(Voider)
	if !ok {
		return VoidResult{}, c.errorf(ship.Unsupported, "%s cannot void labels", c.spec.Title)
	}
	ctx, done := c.begin(ctx, OpVoid, c.Deadlines.Void)
	defer func() { done(err) }()
	v, err := voider.Void(ctx, d)
	if err != nil {
		return VoidResult{}, c.explain(err, ship.Uncertain)
	}
	if v.State != ship.StateVoided && v.State != ship.StateRefundPending {
		return VoidResult{}, c.errorf(ship.Uncertain, "%s did not say whether the label is void", c.spec.Title)
	}
	return v, nil
}

// Track returns all that the carrier knows of the numbers.
func (c *Carrier) Track(ctx context.Context, numbers []string) (_ []Heard, err error) {
	tracker, ok := c.driver.(Tracker)
	if !ok {
		return nil, c.errorf(ship.Unsupported, "%s cannot be asked where a parcel is", c.spec.Title)
	}
	ctx, done := c.begin(ctx, OpTrack, c.Deadlines.Track)
	defer func() { done(err) }()
	heard, err := tracker.Track(ctx, numbers)
	if err != nil {
		return nil, c.explain(err, ship.Unavailable)
	}
	return audible(heard), nil
}

// Hear verifies and decodes one request that the carrier pushed.
func (c *Carrier) Hear(header http.Header, body []byte) (Push, error) {
	listener, ok := c.driver.(Listener)
	if !ok {
		return Push{}, c.errorf(ship.Unsupported, "%s does not push", c.spec.Title)
	}
	push, err := listener.Hear(header, body)
	if err != nil {
		return Push{}, c.explain(err, ship.Invalid)
	}
	push.Heard = audible(push.Heard)
	return push, nil
}

// Subscribe has the carrier push what becomes of parcels.
func (c *Carrier) Subscribe(ctx context.Context, s Subscription) (until time.Time, err error) {
	subscriber, ok := c.driver.(Subscriber)
	if !ok {
		return time.Time{}, c.errorf(ship.Unsupported, "%s cannot be asked to push", c.spec.Title)
	}
	ctx, done := c.begin(ctx, OpTrack, c.Deadlines.Track)
	defer func() { done(err) }()
	until, err = subscriber.Subscribe(ctx, s)
	if err != nil {
		return time.Time{}, c.explain(err, ship.Unavailable)
	}
	return until, nil
}

// begin gives ctx the operation's name and deadline, unless the driver answers
// at once. The operation ends with done.
func (c *Carrier) begin(ctx context.Context, op Operation, d time.Duration) (_ context.Context, done func(error)) {
	start := time.Now()
	cancel := func() {}
	if !c.instant {
		ctx, cancel = context.WithTimeout(WithOperation(c.cleaned(ctx), op), d)
	}
	return ctx, func(err error) {
		cancel()
		if c.Observe != nil {
			c.Observe(op, time.Since(start), err)
		}
	}
}

// complete fills in what the carrier need not repeat, and reports whether p
// can be printed, tracked and voided.
func (c *Carrier) complete(p *ship.Purchase, b BuyOrder) bool {
	p.Carrier = c.spec.Name
	if p.Service == "" {
		p.Service = b.Service
	}
	if p.ServiceName == "" {
		s, _ := c.spec.Service(p.Service)
		p.ServiceName = s.Name
	}
	return p.TrackingNumber != "" && p.CarrierRef != "" && len(p.Label.Data) > 0
}

// audible drops what names no parcel or no moment: it could not be kept apart
// from its repeats.
func audible(heard []Heard) []Heard {
	whole := heard[:0]
	for _, h := range heard {
		if h.TrackingNumber != "" && h.Scan.Code != "" && !h.Scan.At.IsZero() {
			whole = append(whole, h)
		}
	}
	return whole
}
