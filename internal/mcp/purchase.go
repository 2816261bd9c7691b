package mcp

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"time"

	"github.com/waybillhq/waybill/client"
	"github.com/waybillhq/waybill/internal/ship"
)

type quoteIn struct {
	Goods
	Carriers []string `json:"carriers,omitempty" maxItems:"20" doc:"Ask these carriers only."`
	Limit    int      `json:"limit,omitempty" minimum:"1" maximum:"20" doc:"How many offers, cheapest first; 6 if left out."`
}

type quoteOut struct {
	Offers    []offerOut   `json:"offers" doc:"Cheapest first."`
	More      int          `json:"more" doc:"Number of further offers, which cost more."`
	Failed    []failedOut  `json:"failed" doc:"Carriers that made no offer."`
	Warnings  []fieldError `json:"warnings"`
	ExpiresAt string       `json:"expiresAt"`
	Next      string       `json:"next"`
	Untrusted *outside     `json:"untrusted,omitempty"`
}

type offerOut struct {
	RateID            string       `json:"rateId,omitempty" doc:"For prepare_purchase, exactly as it is. Estimates have none."`
	Carrier           string       `json:"carrier"`
	Service           string       `json:"service"`
	ServiceName       string       `json:"serviceName"`
	Price             client.Money `json:"price"`
	TransitDays       int          `json:"transitDays,omitempty"`
	EstimatedDelivery string       `json:"estimatedDelivery,omitempty"`
	Guaranteed        bool         `json:"guaranteed"`
	Estimate          bool         `json:"estimate"`
}

type failedOut struct {
	Carrier   string `json:"carrier"`
	Code      string `json:"code"`
	Retryable bool   `json:"retryable"`
}

const offersByDefault = 6

// quoteRates asks the carriers for prices.
func quoteRates(ctx context.Context, c *call, in quoteIn) (quoteOut, error) {
	request := in.rates()
	request.Carriers = in.Carriers
	rates, err := c.api(1).Rates(ctx, request)
	if err != nil {
		return quoteOut{}, err
	}

	limit := in.Limit
	if limit == 0 {
		limit = offersByDefault
	}
	out := quoteOut{
		Offers:    []offerOut{},
		Failed:    []failedOut{},
		Warnings:  warningsOf(rates.Warnings),
		More:      max(len(rates.Rates)-limit, 0),
		ExpiresAt: timeText(rates.ExpiresAt),
		Next:      "To buy an offer, call prepare_purchase with its rateId and the same order.",
	}
	for _, rate := range rates.Rates[:min(len(rates.Rates), limit)] {
		out.Offers = append(out.Offers, offerOf(rate))
	}

	var text outside
	for _, failed := range rates.Errors {
		out.Failed = append(out.Failed, failedOut{failed.Carrier, failed.Code, failed.Retryable})
		text.add(failed.Carrier + ": " + failed.Message)
		text.add(failed.CarrierMessage)
	}
	out.Untrusted = text.shown()
	return out, nil
}

func offerOf(rate client.Rate) offerOut {
	return offerOut{
		RateID:            rate.ID,
		Carrier:           rate.Carrier,
		Service:           rate.Service,
		ServiceName:       clean(rate.ServiceName, maxField),
		Price:             client.Money{Amount: rate.Amount, Currency: rate.Currency},
		TransitDays:       rate.TransitDays,
		EstimatedDelivery: timeText(rate.EstimatedDeliveryDate),
		Guaranteed:        rate.Guaranteed,
		Estimate:          rate.Estimate,
	}
}

func warningsOf(list []client.FieldError) []fieldError {
	out := []fieldError{}
	for _, warning := range list {
		out = append(out, fieldError{warning.Pointer, clean(warning.Detail, maxLine), clean(warning.Suggestion, maxField)})
	}
	return out
}

// timeText writes a time; empty for none.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

type prepareIn struct {
	RateID string  `json:"rateId" minLength:"1" maxLength:"600" doc:"Of an offer of quote_rates."`
	Order  orderIn `json:"order" doc:"The order, with the same addresses and parcels as in the quote."`
}

type prepareOut struct {
	Token             string       `json:"token" doc:"For buy_label, exactly as it is. It buys this once, for this price at most."`
	ExpiresAt         string       `json:"expiresAt"`
	Livemode          bool         `json:"livemode" doc:"Whether money is spent."`
	Price             client.Money `json:"price" doc:"The most that the label may cost."`
	Carrier           string       `json:"carrier,omitempty"`
	Service           string       `json:"service,omitempty"`
	ServiceName       string       `json:"serviceName,omitempty"`
	TransitDays       int          `json:"transitDays,omitempty"`
	EstimatedDelivery string       `json:"estimatedDelivery,omitempty"`
	Parcels           []string     `json:"parcels" doc:"The weights in both systems of units."`
	AddressVerdict    string       `json:"addressVerdict,omitempty" doc:"valid, corrected, ambiguous, invalid or unknown"`
	Limits            *limitsOut   `json:"limits,omitempty"`
	Warnings          []fieldError `json:"warnings"`
	Next              string       `json:"next"`
	Untrusted         *outside     `json:"untrusted,omitempty" doc:"The order's number and the address as it is printed."`
}

// preparePurchase checks everything about a purchase that can be checked without
// buying, and returns a token that buys it.
func preparePurchase(ctx context.Context, c *call, in prepareIn) (prepareOut, error) {
	quoted, ok := c.QuotedRate(ctx, c.caller.Tenant, in.RateID)
	if !ok {
		return prepareOut{}, refused("invalid_rate", "Call quote_rates, and use a rateId of its answer exactly as it is.", "the rateId is not one of this account")
	}
	if err := c.requireLimit(); err != nil {
		return prepareOut{}, err
	}
	if err := c.requireCountry(in.Order.Destination.Country); err != nil {
		return prepareOut{}, err
	}
	if err := c.requireFirst(ctx, in.Order.OrderID); err != nil {
		return prepareOut{}, err
	}

	// The offer is asked for again: for this order, at the price of now.
	request := in.Order.rates()
	request.Carriers = []string{quoted.Carrier}
	request.Services = []string{quoted.Service}
	request.ConnectionID = string(quoted.Connection)
	rates, err := c.api(1).Rates(ctx, request)
	if err != nil {
		return prepareOut{}, err
	}
	at := slices.IndexFunc(rates.Rates, func(rate client.Rate) bool {
		return rate.ID != "" && rate.Service == quoted.Service && rate.ConnectionID == string(quoted.Connection)
	})
	if at < 0 {
		return prepareOut{}, noOffer(rates)
	}
	rate := rates.Rates[at]
	price, ok := ship.ParseMoney(rate.Amount, rate.Currency)
	if !ok {
		return prepareOut{}, noOffer(rates)
	}
	if price.Currency != quoted.Price.Currency || price.Minor > quoted.Price.Minor {
		return prepareOut{}, refused("price_changed", "Quote this order again and show the new price.",
			"the offer was quoted for %s and costs %s now, for the order as it is given here; nothing was prepared", quoted.Price, price)
	}
	if err := c.requirePrice(price); err != nil {
		return prepareOut{}, err
	}

	limits, err := c.limits(ctx)
	if err != nil {
		return prepareOut{}, err
	}
	if err := limits.allow(price); err != nil {
		return prepareOut{}, err
	}
	return c.prepared(ctx, in.Order, rate, rates.Warnings, limits)
}

// prepared makes the token of a purchase that was checked.
func (c *call) prepared(ctx context.Context, order orderIn, rate client.Rate, warnings []client.FieldError, limits *limitsOut) (prepareOut, error) {
	price := client.Money{Amount: rate.Amount, Currency: rate.Currency}
	buy := &client.ShipmentRequest{
		OrderID:          order.OrderID,
		Destination:      order.Destination.address(),
		Parcels:          order.parcels(),
		Origin:           order.origin(),
		Carrier:          rate.Carrier,
		Service:          rate.Service,
		ConnectionID:     rate.ConnectionID,
		MaxAmount:        &price,
		ShipDate:         order.ShipDate,
		DeliverBy:        order.DeliverBy,
		LabelFormat:      order.LabelFormat,
		Reference:        order.Reference,
		Customs:          order.Customs,
		Options:          order.Options,
		OnDuplicateOrder: "reject",
		Metadata:         c.metadata(),
	}
	token, err := c.seal(purchaseToken, pass{Buy: buy})
	if err != nil {
		return prepareOut{}, err
	}

	out := prepareOut{
		Token:             token,
		ExpiresAt:         timeText(c.now().Add(tokenLife)),
		Livemode:          c.caller.Tenant.Livemode,
		Price:             price,
		Carrier:           rate.Carrier,
		Service:           rate.Service,
		ServiceName:       clean(rate.ServiceName, maxField),
		TransitDays:       rate.TransitDays,
		EstimatedDelivery: timeText(rate.EstimatedDeliveryDate),
		Parcels:           []string{},
		Limits:            limits,
		Warnings:          warningsOf(warnings),
		Next:              "Nothing is bought yet. Show price, carrier, address and weights to the person; then call buy_label with the token.",
	}
	for _, parcel := range buy.Parcels {
		out.Parcels = append(out.Parcels, weightText(parcel.Weight, parcel.WeightUnit))
	}

	var text outside
	text.set("orderId", order.OrderID)
	for _, line := range printed(buy.Destination) {
		text.add(line)
	}
	// A check that is not available does not keep anybody from buying: the purchase
	// warns again.
	if check, err := c.api(1).ValidateAddress(ctx, buy.Destination, ""); err == nil {
		out.AddressVerdict = check.Verdict
		for _, change := range check.Changes {
			text.add("the address check suggests " + change.Pointer + ": " + change.To)
		}
	}
	out.Untrusted = text.shown()
	return out, nil
}

// metadata marks what is bought here. The client's name is its own claim.
func (c *call) metadata() map[string]string {
	marks := map[string]string{ship.MetadataVia: ship.ViaMCP}
	if c.client != "" {
		marks[ship.MetadataMCPClient] = c.client
	}
	return marks
}

// noOffer says why an offer is not there any more.
func noOffer(rates client.Rates) error {
	gone := refused("offer_unavailable", "Quote again and choose another offer.", "the carrier does not make this offer for the order as it is given here")
	var text outside
	for _, failed := range rates.Errors {
		gone.Carrier = failed.Carrier
		text.add(failed.Message)
		text.add(failed.CarrierMessage)
		for _, field := range failed.Errors {
			text.add(field.Pointer + ": " + field.Detail)
		}
	}
	for _, removed := range rates.Removed {
		text.add(removed.Pointer + ": " + removed.Message)
	}
	gone.Outside = text.shown()
	return gone
}

// requireFirst refuses an order that has a label already. The purchase refuses it
// too, under a lock; this check answers before a person is asked to confirm.
func (c *call) requireFirst(ctx context.Context, orderID string) error {
	if !c.caller.Can("shipments:read") {
		return nil
	}
	page, err := c.api(1).ShipmentsPage(ctx, client.ShipmentsRequest{OrderID: orderID, Limit: 20})
	if err != nil {
		return err
	}
	for _, shipment := range page.Data {
		if shipment.LabelStatus != "voided" && shipment.LabelStatus != "failed" {
			return refused("duplicate_order", nextSteps["duplicate_order"], "the order has the shipment %s already, whose label is %s", shipment.ID, shipment.LabelStatus)
		}
	}
	return nil
}

type tokenIn struct {
	Token string `json:"token" minLength:"1" maxLength:"3000" doc:"Of the prepare tool, exactly as it is."`
}

type boughtOut struct {
	Outcome   string      `json:"outcome" enum:"bought,pending,waiting_for_approval,needs_review,not_bought"`
	Repeated  bool        `json:"repeated" doc:"Whether the token was used before: this is the same shipment, and nothing was bought again."`
	Shipment  shipmentOut `json:"shipment"`
	Next      string      `json:"next"`
	Untrusted *outside    `json:"untrusted,omitempty"`
}

// buyAttempts is how often a purchase is asked for while the same one is under way.
const buyAttempts = 8

// buyLabel does what a token of prepare_purchase or prepare_return allows.
func buyLabel(ctx context.Context, c *call, in tokenIn) (boughtOut, error) {
	allowed, err := c.open(purchaseToken, in.Token)
	if err != nil {
		return boughtOut{}, err
	}

	path := "/v1/shipments"
	var body any = allowed.Buy
	if allowed.Return != nil {
		path += "/" + url.PathEscape(allowed.Target) + "/return"
		body = allowed.Return
	}
	request, err := json.Marshal(body)
	if err != nil {
		return boughtOut{}, err
	}
	answer, err := c.api(buyAttempts).Call(ctx, "POST", path, request, client.IdempotencyKey(allowed.idempotencyKey()))
	if err != nil {
		return boughtOut{}, err
	}
	var bought shipment
	if err := json.Unmarshal(answer, &bought); err != nil {
		return boughtOut{}, err
	}

	out := boughtOut{
		Repeated:  c.replayed,
		Shipment:  shownShipment(bought),
		Untrusted: bought.texts().shown(),
	}
	out.Outcome, out.Next = nextOf(bought)
	return out, nil
}

// nextOf returns what became of a purchase, and what to do next.
func nextOf(s shipment) (outcome, next string) {
	if s.Approval != nil && s.Approval.Status == "waiting" {
		return "waiting_for_approval", "Waiting for approval by a person in the dashboard. Do not buy again; ask get_shipment."
	}
	switch s.LabelStatus {
	case "pending":
		return "pending", "The carrier has not answered yet. Do not buy again; ask get_shipment."
	case "needs_review":
		return "needs_review", "It is not known whether the carrier sold the label; a person must look at it in the dashboard. Do not buy again."
	case "failed":
		return "not_bought", "Nothing was bought. Quote again if the person wants to."
	case "voided", "voiding", "refund_pending":
		return "not_bought", "The label was taken back. Quote again if the person wants to."
	}
	return "bought", "The label is bought. get_label returns a link to it."
}

type prepareReturnIn struct {
	ShipmentID string       `json:"shipmentId" minLength:"1" maxLength:"40" doc:"The shipment whose parcels come back."`
	MaxAmount  client.Money `json:"maxAmount" doc:"The most that the return label may cost. Ask the person."`
	Carrier    string       `json:"carrier,omitempty" maxLength:"50" doc:"Use this carrier only; the account's rules choose if left out."`
}

// prepareReturn prepares the purchase of a label that brings parcels back.
func prepareReturn(ctx context.Context, c *call, in prepareReturnIn) (prepareOut, error) {
	if err := c.requireLimit(); err != nil {
		return prepareOut{}, err
	}
	price, ok := ship.ParseMoney(in.MaxAmount.Amount, in.MaxAmount.Currency)
	if !ok || price.Minor <= 0 {
		return prepareOut{}, refused("invalid_arguments", "", "maxAmount must be a decimal amount and a currency, such as 12.50 and USD")
	}
	sent, err := c.shipment(ctx, in.ShipmentID)
	if err != nil {
		return prepareOut{}, err
	}
	if sent.LabelStatus != "ready" || sent.IsReturn {
		return prepareOut{}, refused("not_returnable", "", "only a shipment that was bought, was not voided and is no return itself can be returned")
	}
	limits, err := c.limits(ctx)
	if err != nil {
		return prepareOut{}, err
	}
	if err := limits.allow(price); err != nil {
		return prepareOut{}, err
	}

	token, err := c.seal(purchaseToken, pass{
		Target: sent.ID,
		Return: &client.ReturnRequest{
			Carrier:   in.Carrier,
			MaxAmount: &in.MaxAmount,
			Metadata:  c.metadata(),
		},
	})
	if err != nil {
		return prepareOut{}, err
	}
	out := prepareOut{
		Token:     token,
		ExpiresAt: timeText(c.now().Add(tokenLife)),
		Livemode:  c.caller.Tenant.Livemode,
		Price:     in.MaxAmount,
		Carrier:   in.Carrier,
		Parcels:   []string{},
		Limits:    limits,
		Warnings:  []fieldError{},
		Next:      "Nothing is bought yet. Show the most that it may cost to the person; then call buy_label with the token.",
	}
	for _, parcel := range sent.Parcels {
		out.Parcels = append(out.Parcels, weightText(parcel.Weight, parcel.WeightUnit))
	}
	var text outside
	text.set("orderId", sent.OrderID)
	if sent.Origin != nil {
		for _, line := range printed(*sent.Origin) {
			text.add(line)
		}
	}
	out.Untrusted = text.shown()
	return out, nil
}

type prepareVoidIn struct {
	ShipmentID string `json:"shipmentId" minLength:"1" maxLength:"40"`
}

type prepareVoidOut struct {
	Token     string      `json:"token" doc:"For void_label, exactly as it is."`
	ExpiresAt string      `json:"expiresAt"`
	Shipment  shipmentOut `json:"shipment"`
	Next      string      `json:"next"`
	Untrusted *outside    `json:"untrusted,omitempty"`
}

// prepareVoid shows what a void would take back, and returns a token that does it.
func prepareVoid(ctx context.Context, c *call, in prepareVoidIn) (prepareVoidOut, error) {
	found, err := c.shipment(ctx, in.ShipmentID)
	if err != nil {
		return prepareVoidOut{}, err
	}
	if found.LabelStatus != "ready" {
		return prepareVoidOut{}, refused("not_voidable", "", "the label is %s; only a label that is ready can be voided", found.LabelStatus)
	}
	token, err := c.seal(voidToken, pass{Target: found.ID})
	if err != nil {
		return prepareVoidOut{}, err
	}

	out := prepareVoidOut{
		Token:     token,
		ExpiresAt: timeText(c.now().Add(tokenLife)),
		Shipment:  shownShipment(found),
		Next:      "Nothing is voided yet. Show the shipment to the person; then call void_label with the token.",
		Untrusted: found.texts().shown(),
	}
	if found.Status != "created" && found.Status != "label_generated" {
		out.Next = "The parcel is on its way (" + found.Status + "): carriers usually refuse to void its label. " + out.Next
	}
	return out, nil
}

type voidedOut struct {
	Outcome   string      `json:"outcome" enum:"voided,voiding,refund_pending"`
	Shipment  shipmentOut `json:"shipment"`
	Next      string      `json:"next"`
	Untrusted *outside    `json:"untrusted,omitempty"`
}

// voidLabel does what a token of prepare_void allows.
func voidLabel(ctx context.Context, c *call, in tokenIn) (voidedOut, error) {
	allowed, err := c.open(voidToken, in.Token)
	if err != nil {
		return voidedOut{}, err
	}
	answer, err := c.api(buyAttempts).Call(ctx, "POST", "/v1/shipments/"+url.PathEscape(allowed.Target)+"/void", nil, client.IdempotencyKey(allowed.idempotencyKey()))
	if err != nil {
		return voidedOut{}, err
	}
	var voided shipment
	if err := json.Unmarshal(answer, &voided); err != nil {
		return voidedOut{}, err
	}

	out := voidedOut{Outcome: voided.LabelStatus, Shipment: shownShipment(voided), Next: "The label was voided.", Untrusted: voided.texts().shown()}
	if voided.LabelStatus != "voided" {
		out.Next = "The carrier has not confirmed it yet; ask get_shipment."
	}
	return out, nil
}
