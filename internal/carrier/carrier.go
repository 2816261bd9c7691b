package carrier

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// Deadlines are how long each operation may take at the carrier. A client does
// not wait for them: it gets the quotes that are there after 4 s, and a pending
// shipment after 20 s, while the call to the carrier continues.
type Deadlines struct {
	Check, Rates, Buy, Find, Void, Track, CheckAddress time.Duration

	Pickup, Manifest, Document, Proof, Points, Duties time.Duration

	// BuyPiece is added to Buy for each further piece, up to BuyMost in all.
	BuyPiece, BuyMost time.Duration
}

// defaultDeadlines are for carriers that set none of their own. A purchase that
// is cut off too early is uncertain, and several carriers return a label only
// once, so Buy is generous.
var defaultDeadlines = Deadlines{
	Check: 10 * time.Second,
	Rates: 12 * time.Second,
	Buy:   45 * time.Second,
	Find:  15 * time.Second,
	Void:  20 * time.Second,
	Track: 15 * time.Second,

	CheckAddress: 5 * time.Second,

	Pickup:   30 * time.Second,
	Manifest: 60 * time.Second,
	Document: 60 * time.Second,
	Proof:    20 * time.Second,
	Points:   10 * time.Second,
	Duties:   15 * time.Second,
}

// or replaces deadlines that are not set with the defaults.
func (d Deadlines) or(defaults Deadlines) Deadlines {
	d.Check = cmp.Or(d.Check, defaults.Check)
	d.Rates = cmp.Or(d.Rates, defaults.Rates)
	d.Buy = cmp.Or(d.Buy, defaults.Buy)
	d.Find = cmp.Or(d.Find, defaults.Find)
	d.Void = cmp.Or(d.Void, defaults.Void)
	d.Track = cmp.Or(d.Track, defaults.Track)
	d.CheckAddress = cmp.Or(d.CheckAddress, defaults.CheckAddress)
	d.Pickup = cmp.Or(d.Pickup, defaults.Pickup)
	d.Manifest = cmp.Or(d.Manifest, defaults.Manifest)
	d.Document = cmp.Or(d.Document, defaults.Document)
	d.Proof = cmp.Or(d.Proof, defaults.Proof)
	d.Points = cmp.Or(d.Points, defaults.Points)
	d.Duties = cmp.Or(d.Duties, defaults.Duties)
	return d
}

// BuyTime returns how long a purchase of the given number of pieces may take.
func (c *Carrier) BuyTime(pieces int) time.Duration {
	d := c.Deadlines
	further := time.Duration(max(0, pieces-1)) * d.BuyPiece
	return min(d.Buy+further, max(d.Buy, d.BuyMost))
}

// Carrier is a driver made portable: whatever the driver, an operation ends by
// its deadline, an answer is complete, and an error says what can be done about
// it and where it comes from. It is safe for concurrent use.
type Carrier struct {
	// Deadlines may be shortened before the first use.
	Deadlines Deadlines
	// Connection is the account's connection that the driver was opened with;
	// empty for a simulated carrier.
	Connection ship.ConnectionID
	// Label is the client's own name for the connection.
	Label string
	// Observe is called after every operation, if it is set before the first
	// use.
	Observe func(op Operation, took time.Duration, err error)
	// Confirmed is called when an ability that was off has worked, if it is set
	// before the first use.
	Confirmed func(Ability)

	spec    Spec
	driver  Driver
	secrets []string
	instant InstantDriver // the driver, if it implements this
	gate    *gate
	unsent  func() Driver // the same driver without a way to the carrier; nil if it cannot be opened
}

// New makes a driver portable.
func New(spec Spec, driver Driver) *Carrier {
	instant, _ := driver.(InstantDriver)
	return &Carrier{
		Deadlines: spec.Deadlines.or(defaultDeadlines),
		spec:      spec,
		driver:    driver,
		instant:   instant,
		gate:      &gate{},
		unsent:    func() Driver { return nil },
	}
}

// Open opens a carrier account. Credentials that are missing or unknown are an
// error of kind ship.Invalid.
func Open(spec Spec, opening Opening) (*Carrier, error) {
	if err := spec.check(opening.Credentials); err != nil {
		return nil, err
	}

	// The driver's error may repeat a credential, so it is redacted too.
	secrets := spec.secrets(opening.Credentials)
	secrets = append(secrets, opening.PushSecrets()...)
	driver, err := spec.Open(opening)
	if err != nil {
		return nil, (&Carrier{spec: spec, secrets: secrets}).explain(err, ship.Internal)
	}
	c := New(spec, driver)
	c.secrets = secrets
	c.unsent = sync.OnceValue(func() Driver {
		opening.Via = unsentDoer{}
		unsent, err := spec.Open(opening)
		if err != nil {
			return nil
		}
		return unsent
	})
	return c, nil
}

// String names the carrier, and shows nothing of its secrets.
func (c *Carrier) String() string { return "carrier " + c.spec.Name }

// GoString is the same for %#v.
func (c *Carrier) GoString() string { return c.String() }

// Spec returns the carrier's description.
func (c *Carrier) Spec() Spec { return c.spec }

// TakesFrom reports whether parcels can be sent from the country.
func (c *Carrier) TakesFrom(country string) bool { return c.spec.TakesFrom(country) }

// Simulated reports whether the carrier is one of test mode's, which belong to
// no account.
func (c *Carrier) Simulated() bool { return c.Connection == "" }

// Instant reports whether the carrier answers everything about the order at
// once, in this process and without money: so no response can be lost and no
// purchase has to be looked up.
func (c *Carrier) Instant(order ship.Order) bool {
	return c.Simulated() && c.instant != nil && c.instant.Instant(order)
}

// Permits reports whether the account may use the operation, as far as the
// last Check showed.
func (c *Carrier) Permits(op Operation) (permitted, known bool) {
	if permitter, ok := c.driver.(Permitter); ok {
		return permitter.Permits(op)
	}
	return false, false
}

// abilityOf returns the driver as one that has the ability T, which Abilities
// calls by the name.
func abilityOf[T any](c *Carrier, name string) (able T, ok bool) {
	able, ok = c.driver.(T)
	if limited, isLister := c.driver.(AbilityLister); ok && isLister && !limited.Can(name) {
		var none T
		return none, false
	}
	return able, ok
}

// Abilities lists what the carrier can do: "rates", "buy", "rehearse", "find",
// "void", "track", "hear", "subscribe", "addresses", "pickups", "find_pickups",
// "cancel_pickups", "manifests", "find_manifests", "documents", "find_documents",
// "proof", "points", "duties".
func (c *Carrier) Abilities() []string {
	var list []string
	add := func(name string, can bool) {
		if can {
			list = append(list, name)
		}
	}

	_, canRate := abilityOf[Rater](c, "rates")
	_, canBuy := abilityOf[Buyer](c, "buy")
	_, canRehearse := abilityOf[Rehearser](c, "rehearse")
	_, canFind := abilityOf[Finder](c, "find")
	_, canVoid := abilityOf[Voider](c, "void")
	_, canTrack := abilityOf[Tracker](c, "track")
	_, canDecode := abilityOf[PushDecoder](c, "hear")
	_, canSubscribe := abilityOf[Subscriber](c, "subscribe")
	_, canCheckAddress := abilityOf[AddressChecker](c, "addresses")
	_, canBookPickup := abilityOf[PickupBooker](c, "pickups")
	_, canFindPickup := abilityOf[PickupFinder](c, "find_pickups")
	_, canCancelPickup := abilityOf[PickupCanceller](c, "cancel_pickups")
	_, canManifest := abilityOf[Manifester](c, "manifests")
	_, canFindManifest := abilityOf[ManifestFinder](c, "find_manifests")
	_, canUpload := abilityOf[DocumentUploader](c, "documents")
	_, canFindDocument := abilityOf[DocumentFinder](c, "find_documents")
	_, canProve := abilityOf[ProofFetcher](c, "proof")
	_, canFindPoints := abilityOf[PointFinder](c, "points")
	_, canEstimate := abilityOf[DutyEstimator](c, "duties")

	add("rates", canRate)
	add("buy", canBuy)
	add("rehearse", canRehearse)
	add("find", canFind)
	add("void", canVoid)
	add("track", canTrack)
	add("hear", canDecode)
	add("subscribe", canSubscribe)
	add("addresses", canCheckAddress)
	add("pickups", canBookPickup)
	add("find_pickups", canFindPickup)
	add("cancel_pickups", canCancelPickup)
	add("manifests", canManifest)
	add("find_manifests", canFindManifest)
	add("documents", canUpload)
	add("find_documents", canFindDocument)
	add("proof", canProve)
	add("points", canFindPoints)
	add("duties", canEstimate)
	return list
}

// Check verifies that the credentials work.
func (c *Carrier) Check(ctx context.Context) (err error) {
	ctx, done := c.begin(ctx, OpCheck, c.Deadlines.Check)
	defer func() { done(err) }()
	return c.explain(c.driver.Check(ctx), ship.Unavailable)
}

// Rates quotes an order. Every rate it returns can be bought: it has a service
// and a price. No rate at all is an error.
func (c *Carrier) Rates(ctx context.Context, order ship.Order) (_ []ship.Rate, err error) {
	rater, ok := abilityOf[Rater](c, "rates")
	if !ok {
		return nil, c.errorf(ship.Unsupported, "%s does not quote prices; import a rate sheet with the prices of your contract", c.spec.Title)
	}

	ctx, done := c.begin(ctx, OpRates, c.Deadlines.Rates)
	defer func() { done(err) }()
	rates, err := rater.Rates(ctx, order)
	if err != nil {
		return nil, c.explain(err, ship.Unavailable)
	}

	usable := rates[:0]
	for _, rate := range rates {
		if rate.Service == "" || rate.Price.Minor <= 0 || len(rate.Price.Currency) != 3 || len(rate.Selection) > ship.MaxSelection {
			continue // one invalid rate does not discard the others
		}
		rate.Carrier = c.spec.Name
		usable = append(usable, rate)
	}
	if len(usable) == 0 {
		return nil, c.errorf(ship.Unavailable, "%s sent no usable rate", c.spec.Title)
	}
	return usable, nil
}

// Buy purchases a label. The purchase it returns is complete, or err says why
// there is none. While it is off, nothing is sent.
func (c *Carrier) Buy(ctx context.Context, request BuyOrder) (_ ship.Sale, err error) {
	buyer, ok := abilityOf[Buyer](c, "buy")
	if !ok {
		return ship.Sale{}, c.errorf(ship.Unsupported, "%s does not sell labels", c.spec.Title)
	}

	// Drivers need not check what their Spec declares: nothing is sent that the
	// service could only ignore.
	if err := c.checkService(&request.Order, request.Service); err != nil {
		return ship.Sale{}, err
	}
	if err := c.require(ctx, AbilityBuy); err != nil {
		return ship.Sale{}, err
	}

	ctx, done := c.begin(ctx, OpBuy, c.BuyTime(len(request.Order.Parcels)))
	defer func() { done(err) }()
	purchase, err := buyer.Buy(ctx, request)
	if err != nil {
		return ship.Sale{}, c.explain(err, ship.Uncertain)
	}
	if !c.complete(&purchase, request) {
		// Money may be spent, so this is not a plain failure.
		return ship.Sale{}, c.errorf(ship.Uncertain, "%s sent an incomplete label", c.spec.Title)
	}
	c.worked(AbilityBuy)
	return purchase, nil
}

// Repeats says whether the purchase, whose answer was lost, may be sent again as the
// same purchase.
func (c *Carrier) Repeats(request BuyOrder) Repetition {
	if repeater, ok := abilityOf[Repeater](c, "repeat"); ok {
		return repeater.Repeats(request)
	}
	return RepeatsNever
}

// Rehearse has the carrier check a purchase without making it; nil means that it
// would sell the order.
func (c *Carrier) Rehearse(ctx context.Context, request BuyOrder) (err error) {
	rehearser, ok := abilityOf[Rehearser](c, "rehearse")
	if !ok {
		return c.errorf(ship.Unsupported, "%s cannot check a purchase without making it", c.spec.Title)
	}
	if err := c.checkService(&request.Order, request.Service); err != nil {
		return err
	}

	ctx, done := c.begin(ctx, OpCheck, c.Deadlines.Rates)
	defer func() { done(err) }()
	return c.explainRead(rehearser.Rehearse(ctx, request))
}

// Find returns the purchase made under the reference of the request, or an
// error of kind ship.NotFound if there is none. It has no label if the carrier
// does not return labels again. While it is off, an absence is not believed: it is
// an error of kind ship.Unavailable.
func (c *Carrier) Find(ctx context.Context, request BuyOrder) (_ ship.Sale, err error) {
	finder, ok := abilityOf[Finder](c, "find")
	if !ok {
		return ship.Sale{}, c.errorf(ship.Unsupported, "%s cannot look up purchases", c.spec.Title)
	}

	ctx, done := c.begin(ctx, OpFind, c.Deadlines.Find)
	defer func() { done(err) }()
	purchase, err := finder.Find(ctx, request)
	if ship.KindOf(err) == ship.NotFound && c.require(ctx, AbilityFind) != nil {
		return ship.Sale{}, c.errorf(ship.Unavailable, "%s found no such purchase, and that is not believed before its look-ups are confirmed on this connection", c.spec.Title)
	}
	if err != nil {
		return ship.Sale{}, c.explain(err, ship.Unavailable)
	}

	// Where the carrier returns a label only once, the numbers alone prove the
	// purchase.
	isComplete := c.complete(&purchase, request)
	isEnough := c.spec.LookupLacksLabel && c.isNumbered(purchase)
	if !isComplete && !isEnough {
		return ship.Sale{}, c.errorf(ship.Unavailable, "%s sent an incomplete label", c.spec.Title)
	}
	c.worked(AbilityFind)
	return purchase, nil
}

// Void voids the label. The result is ship.StateVoided or
// ship.StateRefundPending; a refusal is an error of kind ship.Invalid. While it is
// off, nothing is sent.
func (c *Carrier) Void(ctx context.Context, purchase ship.Purchase) (_ VoidResult, err error) {
	voider, ok := abilityOf[Voider](c, "void")
	if !ok {
		return VoidResult{}, c.errorf(ship.Unsupported, "%s cannot void labels", c.spec.Title)
	}
	if err := c.require(ctx, AbilityVoid); err != nil {
		return VoidResult{}, err
	}

	ctx, done := c.begin(ctx, OpVoid, c.Deadlines.Void)
	defer func() { done(err) }()
	result, err := voider.Void(ctx, purchase)
	if err != nil {
		return VoidResult{}, c.explain(err, ship.Uncertain)
	}
	// The label may be voided nevertheless, so this is not a refusal.
	if result.State != ship.StateVoided && result.State != ship.StateRefundPending {
		return VoidResult{}, c.errorf(ship.Uncertain, "%s did not confirm whether the label was voided", c.spec.Title)
	}
	c.worked(AbilityVoid)
	return result, nil
}

// CheckVoid returns the carrier's refusal to void the label of a parcel with
// the status, where that is known without asking; nil if the void may be tried.
func (c *Carrier) CheckVoid(status ship.Status) error {
	checker, ok := c.driver.(VoidChecker)
	if !ok {
		return nil
	}
	return c.explain(checker.CheckVoid(status), ship.Invalid)
}

// Reprint makes the documents of a purchase again. There are none where the
// carrier gives documents only with the label.
func (c *Carrier) Reprint(order ship.Order, trackingNumber string) []ship.Document {
	reprinter, ok := c.driver.(Reprinter)
	if !ok {
		return nil
	}
	return reprinter.Reprint(order, trackingNumber)
}

// Track returns everything that the carrier knows of the numbers. While it is off,
// nothing is sent.
func (c *Carrier) Track(ctx context.Context, numbers []string) (_ []TrackingUpdate, err error) {
	tracker, ok := abilityOf[Tracker](c, "track")
	if !ok {
		return nil, c.errorf(ship.Unsupported, "%s does not offer tracking", c.spec.Title)
	}
	if err := c.require(ctx, AbilityTrack); err != nil {
		failure := ship.ErrorOf(err)
		failure.Kind = ship.Unavailable
		failure.RetryAfter = unconfirmedRetry
		return nil, failure
	}

	ctx, done := c.begin(ctx, OpTrack, c.Deadlines.Track)
	defer func() { done(err) }()
	updates, err := tracker.Track(ctx, numbers)
	if err != nil {
		return nil, c.explain(err, ship.Unavailable)
	}
	if updates = usableUpdates(updates); len(updates) > 0 {
		c.worked(AbilityTrack)
	}
	return updates, nil
}

// DecodePush verifies and decodes one request that the carrier pushed.
func (c *Carrier) DecodePush(header http.Header, body []byte) (Push, error) {
	listener, ok := abilityOf[PushDecoder](c, "hear")
	if !ok {
		return Push{}, c.errorf(ship.Unsupported, "%s does not send push updates", c.spec.Title)
	}

	if err := CheckJSON(body); err != nil {
		return Push{}, c.errorf(ship.Invalid, "the push of %s cannot be decoded: %v", c.spec.Title, err)
	}

	push, err := listener.DecodePush(header, body)
	if err != nil {
		return Push{}, c.explain(err, ship.Invalid)
	}
	push.Updates = usableUpdates(push.Updates)
	return push, nil
}

// Subscribe asks the carrier to push tracking updates.
func (c *Carrier) Subscribe(ctx context.Context, subscription Subscription) (until time.Time, err error) {
	subscriber, ok := abilityOf[Subscriber](c, "subscribe")
	if !ok {
		return time.Time{}, c.errorf(ship.Unsupported, "%s does not offer push subscriptions", c.spec.Title)
	}

	ctx, done := c.begin(ctx, OpTrack, c.Deadlines.Track)
	defer func() { done(err) }()
	until, err = subscriber.Subscribe(ctx, subscription)
	if err != nil {
		// Whoever knows the address can push to it, and carriers repeat it in
		// their errors.
		discreet := *c
		discreet.secrets = append(slices.Clone(c.secrets), subscription.URL)
		return time.Time{}, discreet.explain(err, ship.Unavailable)
	}
	return until, nil
}

// begin gives ctx the operation's name and deadline, unless the driver computes
// its answers: a deadline's timer costs more than they do. The operation ends
// with done.
func (c *Carrier) begin(ctx context.Context, op Operation, deadline time.Duration) (_ context.Context, done func(error)) {
	start := time.Now()
	cancel := func() {}
	var last *atomic.Pointer[answer]
	if c.instant == nil {
		ctx, last = withAnswers(ctx)
		ctx, cancel = context.WithTimeout(WithOperation(c.redactExchanges(ctx), op), deadline)
	}

	return ctx, func(err error) {
		cancel()
		if c.Observe == nil {
			return
		}
		if err != nil && last != nil {
			err = withAnswer(err, last.Load())
		}
		c.Observe(op, time.Since(start), err)
	}
}

// complete fills in what the carrier need not repeat, and reports whether the
// purchase can be recorded, printed, tracked and voided.
func (c *Carrier) complete(purchase *ship.Sale, request BuyOrder) bool {
	purchase.Carrier = c.spec.Name
	if purchase.Service == "" {
		purchase.Service = request.Service
	}
	if purchase.ServiceName == "" {
		service, _ := c.spec.Service(purchase.Service)
		purchase.ServiceName = service.Name
	}

	plainTexts(&purchase.Service, &purchase.ServiceName, &purchase.Label.Format)
	purchase.Documents = plainDocuments(purchase.Documents)
	for i, warning := range purchase.Warnings {
		purchase.Warnings[i] = plain(warning)
	}
	return c.isNumbered(*purchase) && len(purchase.Label.Data) > 0
}

// isNumbered reports whether a purchase has the numbers by which it is tracked and
// voided.
func (c *Carrier) isNumbered(purchase ship.Sale) bool {
	for _, number := range purchase.Pieces {
		if !isNumber(number) {
			return false
		}
	}
	return isNumber(purchase.TrackingNumber) && purchase.CarrierRef != "" && plain(purchase.CarrierRef) == purchase.CarrierRef
}

// usableUpdates drops updates without a parcel, a code or a time: duplicates of
// such updates could not be recognized. Their texts are a carrier's, or of whoever
// pushes in its name.
func usableUpdates(updates []TrackingUpdate) []TrackingUpdate {
	usable := updates[:0]
	for _, update := range updates {
		scan := &update.Scan
		scan.Code = readable(scan.Code)
		scan.Description = readable(scan.Description)
		scan.Location = readable(scan.Location)
		if update.TrackingNumber != "" && update.Scan.Code != "" && !update.Scan.At.IsZero() {
			usable = append(usable, update)
		}
	}
	return usable
}
