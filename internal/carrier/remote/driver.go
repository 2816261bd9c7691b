package remote

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/wire"
)

// driver is one account at a plug-in. Its type has every ability; Can says which
// of them the plug-in described.
type driver struct {
	description Description
	base        string
	via         carrier.Doer
	livemode    bool
	credentials map[string]string
	meaningOf   func(string) (ship.Status, string, bool)
	pushSecrets []string
}

func open(p Plugin, opening carrier.Opening) *driver {
	credentials := map[string]string(opening.Credentials)
	if credentials == nil {
		credentials = map[string]string{}
	}
	return &driver{
		description: p.Description,
		base:        opening.BaseURL,
		via:         signing{opening.Via, p.Secret},
		livemode:    opening.Live,
		credentials: credentials,
		meaningOf:   meanings(p.Description.Statuses),
		pushSecrets: opening.PushSecrets(),
	}
}

// Can is carrier.AbilityLister.
func (d *driver) Can(ability string) bool {
	switch ability {
	case "hear", "subscribe":
		return d.description.Can(abilityPush)
	}
	return d.description.Can(ability)
}

// Describe asks a plug-in what it can do. via must reach the plug-in alone.
func Describe(ctx context.Context, via carrier.Doer, url string, secret Secret) (Description, error) {
	d := &driver{base: url, via: signing{via, secret}}
	var description Description
	if err := d.post(ctx, "/describe", nil, &description); err != nil {
		return Description{}, err
	}
	return description, description.Check()
}

// request returns what every body begins with.
func (d *driver) request(ctx context.Context) request {
	begun := request{Livemode: d.livemode, Credentials: d.credentials}
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		if left > time.Second {
			left = left.Truncate(100 * time.Millisecond)
		}
		begun.TimeoutMs = max(1, left.Milliseconds())
	}
	return begun
}

// post makes a request that can be repeated.
func (d *driver) post(ctx context.Context, path string, body, answer any) error {
	return d.call(ctx, path, false, body, answer)
}

// effect makes a request that spends or returns money, or sends somebody out. If
// its answer is lost, the error is ship.Uncertain.
func (d *driver) effect(ctx context.Context, path string, body, answer any) error {
	return d.call(ctx, path, true, body, answer)
}

func (d *driver) call(ctx context.Context, path string, hasEffect bool, body, answer any) error {
	if body == nil {
		body = struct{}{}
	}
	var failure errorAnswer
	isReadable := false
	err := carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + path,
		Body:   body,
		Effect: hasEffect,
		Limit:  answerLimit,
		Refusal: func(body []byte) ship.Refusal {
			isReadable = json.Unmarshal(body, &failure) == nil
			return ship.Refusal{Code: failure.Error.Code, Message: failure.Error.Message}
		},
	}.Do(ctx, d.via, answer)

	switch {
	case errors.Is(err, carrierkit.Status(http.StatusUnprocessableEntity)):
		if !isReadable {
			failure = errorAnswer{}
		}
		return failure.explain(ship.ErrorOf(err), hasEffect)
	case errors.Is(err, carrierkit.Status(http.StatusUnauthorized)):
		refused := *ship.ErrorOf(err)
		refused.Message = "the plug-in does not accept the signature; register it again with the secret that it is configured with"
		return &refused
	case ship.KindOf(err) == ship.NotFound || ship.KindOf(err) == ship.Invalid:
		// Any other status of 4xx is not part of the contract.
		return lost(err, hasEffect)
	}
	return err
}

// explain returns the error that a plug-in answered with. refused has its own
// words.
func (a errorAnswer) explain(refused *ship.Error, hasEffect bool) error {
	kind, isKnown := kinds[a.Error.Kind]
	if !isKnown {
		return lost(refused, hasEffect)
	}

	switch {
	case kind == ship.Conflict && hasEffect:
		// The reference was used before, so there may be a purchase under it.
		kind = ship.Uncertain
	case kind == ship.NotFound && hasEffect:
		kind = ship.Invalid
	case kind == ship.Uncertain && !hasEffect:
		kind = ship.Unavailable
	}

	explained := *refused
	explained.Kind = kind
	explained.RetryAfter = time.Duration(min(max(a.Error.RetryAfter, 0), 86400)) * time.Second
	if kind != ship.Invalid {
		explained.Message = messages[kind]
		return &explained
	}
	if a.Error.Code == "pickup_too_late" {
		next := ship.TimeWindow{}
		if window := a.Error.NextWindow; window != nil {
			next = ship.TimeWindow{ReadyAt: window.ReadyAt, CloseAt: window.CloseAt}
		}
		return carrier.TooLate(explained.Refusal, next)
	}
	for _, field := range a.Error.Fields {
		explained.Fields = append(explained.Fields, ship.FieldError{Pointer: field.Pointer, Code: field.Code, Detail: field.Detail})
	}
	return &explained
}

// messages say what an error means. The plug-in's own words are the refusal.
var messages = map[ship.Kind]string{
	ship.Forbidden:   "the carrier does not accept the credentials",
	ship.NotFound:    "the carrier did not find the requested object",
	ship.Conflict:    "the carrier refuses this in the present state",
	ship.Unsupported: "the carrier does not support this",
	ship.Limited:     "the carrier is rate-limiting requests; try again later",
	ship.Unavailable: "the carrier is not available right now",
	ship.Uncertain:   "the carrier does not know whether it was done",
}

// lost is the error of an answer that the contract does not know.
func lost(cause error, hasEffect bool) error {
	kind := ship.Unavailable
	if hasEffect {
		kind = ship.Uncertain
	}
	return &ship.Error{Kind: kind, Message: "the plug-in's answer could not be understood", Err: cause}
}

// Check is carrier.Driver.
func (d *driver) Check(ctx context.Context) error {
	var answer struct {
		OK bool `json:"ok"`
	}
	if err := d.post(ctx, "/check", d.request(ctx), &answer); err != nil {
		return err
	}
	if !answer.OK {
		return lost(nil, false)
	}
	return nil
}

// takes refuses returns where the plug-in does not describe them.
func (d *driver) takes(o ship.Order) error {
	if o.IsReturn && !d.description.Can(abilityReturns) {
		return ship.Errorf(ship.Unsupported, "%s has no return labels", d.description.Title)
	}
	return nil
}

// Rates is carrier.Rater.
func (d *driver) Rates(ctx context.Context, o ship.Order) ([]ship.Rate, error) {
	if err := d.takes(o); err != nil {
		return nil, err
	}
	var answer ratesAnswer
	if err := d.post(ctx, "/rates", ratesRequest{d.request(ctx), orderOf(o)}, &answer); err != nil {
		return nil, err
	}

	var rates []ship.Rate
	for _, offered := range answer.Rates {
		i := slices.IndexFunc(d.description.Services, func(s Code) bool { return s.Code == offered.Service })
		if i < 0 {
			continue // it could not be bought
		}
		quoted := ship.Rate{
			Service:     offered.Service,
			ServiceName: d.description.Services[i].Name,
			Price:       moneyOf(offered.Price),
			TransitDays: max(0, offered.TransitDays),
			DeliveryAt:  offered.DeliveryAt,
			Guaranteed:  offered.Guaranteed,
			Selection:   offered.Selection,
		}
		if offered.ListPrice != nil {
			quoted.ListPrice = moneyOf(*offered.ListPrice)
		}
		rates = append(rates, quoted)
	}
	return rates, nil
}

func (d *driver) buyRequest(ctx context.Context, b carrier.BuyOrder) buyRequest {
	return buyRequest{
		request:   d.request(ctx),
		Reference: b.Reference,
		Shipment:  string(b.Shipment),
		Service:   b.Service,
		Selection: b.Selection,
		Order:     orderOf(b.Order),
	}
}

// Buy is carrier.Buyer.
func (d *driver) Buy(ctx context.Context, b carrier.BuyOrder) (ship.Sale, error) {
	if err := d.takes(b.Order); err != nil {
		return ship.Sale{}, err
	}
	var answer sale
	if err := d.effect(ctx, "/buy", d.buyRequest(ctx, b), &answer); err != nil {
		return ship.Sale{}, err
	}
	if !answer.isOf(b.Reference) {
		return ship.Sale{}, lost(nil, true)
	}

	return saleOf(answer), nil
}

// Find is carrier.Finder.
func (d *driver) Find(ctx context.Context, b carrier.BuyOrder) (ship.Sale, error) {
	var answer sale
	if err := d.post(ctx, "/find", d.buyRequest(ctx, b), &answer); err != nil {
		return ship.Sale{}, err
	}
	if !answer.isOf(b.Reference) {
		return ship.Sale{}, lost(nil, false)
	}
	return saleOf(answer), nil
}

// Void is carrier.Voider.
func (d *driver) Void(ctx context.Context, p ship.Purchase) (carrier.VoidResult, error) {
	var answer voidAnswer
	if err := d.effect(ctx, "/void", d.purchaseRequest(ctx, p), &answer); err != nil {
		return carrier.VoidResult{}, err
	}
	switch answer.Status {
	case "voided":
		return carrier.VoidResult{State: ship.StateVoided}, nil
	case "refund_pending":
		return carrier.VoidResult{State: ship.StateRefundPending}, nil
	}
	return carrier.VoidResult{}, lost(nil, true)
}

func (d *driver) purchaseRequest(ctx context.Context, p ship.Purchase) purchaseRequest {
	return purchaseRequest{
		request:         d.request(ctx),
		CarrierRef:      p.CarrierRef,
		TrackingNumbers: numbersOf(p),
		Service:         p.Service,
	}
}

// Track is carrier.Tracker.
func (d *driver) Track(ctx context.Context, numbers []string) ([]carrier.TrackingUpdate, error) {
	var answer trackingUpdates
	if err := d.post(ctx, "/track", trackRequest{d.request(ctx), numbers}, &answer); err != nil {
		return nil, err
	}
	if answer.Updates == nil {
		return nil, lost(nil, false)
	}
	return d.updatesOf(answer), nil
}

// updatesOf gives the codes their meanings.
func (d *driver) updatesOf(answer trackingUpdates) []carrier.TrackingUpdate {
	updates := make([]carrier.TrackingUpdate, 0, len(answer.Updates))
	for _, given := range answer.Updates {
		// Codes that begin with a dot are the service's own.
		if len(given.Code) > 50 || given.Code != "" && given.Code[0] == '.' {
			continue
		}

		status, reason, _ := d.meaningOf(given.Code)
		raw, err := json.Marshal(given)
		if err != nil {
			continue // a time that JSON cannot write
		}
		updates = append(updates, carrier.TrackingUpdate{
			TrackingNumber: given.TrackingNumber,
			EstimateAt:     given.EstimatedDeliveryAt,
			Raw:            raw,
			Scan: ship.Scan{
				Code:        given.Code,
				At:          given.At,
				Status:      status,
				Reason:      reason,
				Description: given.Description,
				Location:    given.Location,
			},
		})
	}
	return updates
}

// Subscribe is carrier.Subscriber. The plug-in signs its pushes with the secret
// that it is given here.
func (d *driver) Subscribe(ctx context.Context, s carrier.Subscription) (time.Time, error) {
	if len(d.pushSecrets) == 0 {
		return time.Time{}, ship.Errorf(ship.Unsupported, "pushes are not verified here")
	}
	body := subscribeRequest{
		request:         d.request(ctx),
		URL:             s.URL,
		PushSecret:      pushSecret(d.pushSecrets[0]).Reveal(),
		TrackingNumbers: s.Numbers,
	}
	var answer subscribeAnswer
	if err := d.post(ctx, "/subscribe", body, &answer); err != nil {
		return time.Time{}, err
	}
	if !answer.Subscribed {
		return time.Time{}, lost(nil, false)
	}
	return answer.Until, nil
}

// pushSecret is a connection's push secret as a key of signatures.
func pushSecret(text string) Secret { return Secret{[]byte(text)} }

// DecodePush is carrier.PushDecoder.
func (d *driver) DecodePush(header http.Header, body []byte) (carrier.Push, error) {
	isVerified := slices.ContainsFunc(d.pushSecrets, func(secret string) bool {
		return pushSecret(secret).Verify(header, time.Now(), body) == nil
	})
	if !isVerified {
		return carrier.Push{}, ship.Errorf(ship.Forbidden, "%w", errSignature)
	}

	var pushed trackingUpdates
	if json.Unmarshal(body, &pushed) != nil {
		return carrier.Push{}, ship.Errorf(ship.Invalid, `the push must be JSON such as {"updates": [...]}`)
	}
	return carrier.Push{Updates: d.updatesOf(pushed), Verified: true}, nil
}

// CheckAddress is carrier.AddressChecker.
func (d *driver) CheckAddress(ctx context.Context, a ship.Address) (ship.AddressCheck, error) {
	var answer addressAnswer
	if err := d.post(ctx, "/address", addressRequest{d.request(ctx), wire.AddressOf(a)}, &answer); err != nil {
		return ship.AddressCheck{}, err
	}

	check := ship.AddressCheck{
		Verdict:     ship.AddressVerdict(answer.Verdict),
		Address:     a,
		Residential: answer.Residential,
		Messages:    answer.Messages,
	}
	if answer.Address != nil {
		check.Address = placeOf(*answer.Address)
	}
	for _, candidate := range answer.Candidates {
		check.Candidates = append(check.Candidates, placeOf(candidate))
	}
	return check, nil
}

func (d *driver) pickupRequest(ctx context.Context, r carrier.PickupRequest) pickupRequest {
	return pickupRequest{request: d.request(ctx), Reference: r.Reference, Pickup: pickupOf(r.Order)}
}

// BookPickup is carrier.PickupBooker.
func (d *driver) BookPickup(ctx context.Context, r carrier.PickupRequest) (ship.PickupBooking, error) {
	var answer booking
	err := d.effect(ctx, "/pickups/book", d.pickupRequest(ctx, r), &answer)
	return bookingOf(answer), err
}

// FindPickup is carrier.PickupFinder.
func (d *driver) FindPickup(ctx context.Context, r carrier.PickupRequest) (ship.PickupBooking, error) {
	var answer booking
	err := d.post(ctx, "/pickups/find", d.pickupRequest(ctx, r), &answer)
	return bookingOf(answer), err
}

// CancelPickup is carrier.PickupCanceller.
func (d *driver) CancelPickup(ctx context.Context, r carrier.PickupRequest, booked ship.PickupBooking) error {
	body := d.pickupRequest(ctx, r)
	body.Booking = &bookingRef{Confirmation: booked.Confirmation, Details: booked.Details}
	var answer cancelAnswer
	if err := d.effect(ctx, "/pickups/cancel", body, &answer); err != nil {
		return err
	}
	if !answer.Cancelled {
		return lost(nil, true)
	}
	return nil
}

func (d *driver) manifestRequest(ctx context.Context, o ship.ManifestOrder) manifestRequest {
	body := manifestRequest{
		request:  d.request(ctx),
		Address:  wire.AddressOf(o.Address),
		ShipDate: string(o.ShipDate),
	}
	for _, label := range o.Labels {
		body.Labels = append(body.Labels, manifestLabel{
			Shipment:        string(label.Shipment),
			Service:         label.Service,
			TrackingNumbers: label.Numbers,
		})
	}
	return body
}

// CloseManifest is carrier.Manifester.
func (d *driver) CloseManifest(ctx context.Context, o ship.ManifestOrder) (ship.ManifestClosing, error) {
	var answer closing
	err := d.effect(ctx, "/manifests/close", d.manifestRequest(ctx, o), &answer)
	return closingOf(answer), err
}

// FindManifest is carrier.ManifestFinder.
func (d *driver) FindManifest(ctx context.Context, o ship.ManifestOrder) (ship.ManifestClosing, error) {
	var answer closing
	if err := d.post(ctx, "/manifests/find", d.manifestRequest(ctx, o), &answer); err != nil {
		return ship.ManifestClosing{}, err
	}
	if answer.Number == "" && len(answer.Documents) == 0 {
		return ship.ManifestClosing{}, lost(nil, false)
	}
	return closingOf(answer), nil
}

// FindPoints is carrier.PointFinder.
func (d *driver) FindPoints(ctx context.Context, q ship.PointQuery) ([]ship.ServicePoint, error) {
	var answer pointsAnswer
	if err := d.post(ctx, "/points", pointsRequest{d.request(ctx), PointsQuery(q)}, &answer); err != nil {
		return nil, err
	}
	if answer.Points == nil {
		return nil, lost(nil, false)
	}
	points := make([]ship.ServicePoint, len(answer.Points))
	for i, found := range answer.Points {
		points[i] = pointOf(found)
	}
	return points, nil
}

// FetchProof is carrier.ProofFetcher.
func (d *driver) FetchProof(ctx context.Context, p ship.Purchase) (ship.Document, error) {
	var answer proofAnswer
	if err := d.post(ctx, "/proof", d.purchaseRequest(ctx, p), &answer); err != nil {
		return ship.Document{}, err
	}
	if answer.Document == nil {
		return ship.Document{}, lost(nil, false)
	}
	proof := ship.Document(*answer.Document)
	proof.Type = "proof_of_delivery"
	return proof, nil
}

// EstimateDuties is carrier.DutyEstimator.
func (d *driver) EstimateDuties(ctx context.Context, o ship.Order) (ship.LandedCost, error) {
	var answer dutiesAnswer
	if err := d.post(ctx, "/duties", ratesRequest{d.request(ctx), orderOf(o)}, &answer); err != nil {
		return ship.LandedCost{}, err
	}

	items := 0
	if o.Customs != nil {
		items = len(o.Customs.Items)
	}
	cost, ok := costOf(answer, items)
	if !ok {
		return ship.LandedCost{}, lost(nil, false)
	}
	return cost, nil
}

func (d *driver) documentRequest(ctx context.Context, r carrier.DocumentRequest) documentRequest {
	return documentRequest{
		purchaseRequest: d.purchaseRequest(ctx, r.Purchase),
		Reference:       r.Reference,
		Order:           orderOf(r.Order),
		Document:        document(r.Document),
	}
}

// UploadDocument is carrier.DocumentUploader.
func (d *driver) UploadDocument(ctx context.Context, r carrier.DocumentRequest) (ship.DocumentReceipt, error) {
	var answer receipt
	if err := d.effect(ctx, "/documents/upload", d.documentRequest(ctx, r), &answer); err != nil {
		return ship.DocumentReceipt{}, err
	}
	if !answer.Received {
		return ship.DocumentReceipt{}, lost(nil, true)
	}
	return ship.DocumentReceipt{ID: answer.ID}, nil
}

// FindDocument is carrier.DocumentFinder.
func (d *driver) FindDocument(ctx context.Context, r carrier.DocumentRequest) (ship.DocumentReceipt, error) {
	var answer receipt
	if err := d.post(ctx, "/documents/find", d.documentRequest(ctx, r), &answer); err != nil {
		return ship.DocumentReceipt{}, err
	}
	if !answer.Received {
		return ship.DocumentReceipt{}, lost(nil, false)
	}
	return ship.DocumentReceipt{ID: answer.ID}, nil
}
