package mcp

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/client"
)

// shipment is a shipment as the API answers it.
type shipment struct {
	client.Shipment
	Approval *approval `json:"approval"`
}

// approval is a person's decision about a purchase.
type approval struct {
	ID     string `json:"id"`
	Status string `json:"status" enum:"waiting,approved,denied,expired"`
}

// shipmentOut is a shipment without what others wrote.
type shipmentOut struct {
	ID                string        `json:"id"`
	Status            string        `json:"status" doc:"Where the parcel is: created, label_generated, picked_up, in_transit, out_for_delivery, delivered or exception."`
	LabelStatus       string        `json:"labelStatus" doc:"pending, ready, failed, needs_review, voiding, refund_pending or voided"`
	Carrier           string        `json:"carrier,omitempty"`
	Service           string        `json:"service,omitempty"`
	TrackingNumber    string        `json:"trackingNumber,omitempty"`
	Price             *client.Money `json:"price,omitempty" doc:"What was charged."`
	EstimatedDelivery string        `json:"estimatedDelivery,omitempty"`
	Reason            string        `json:"reason,omitempty"`
	IsReturn          bool          `json:"isReturn,omitempty"`
	ReturnOf          string        `json:"returnOf,omitempty"`
	Approval          *approval     `json:"approval,omitempty"`
	Livemode          bool          `json:"livemode"`
	Simulated         bool          `json:"simulated"`
	CreatedAt         string        `json:"createdAt"`
	VoidedAt          string        `json:"voidedAt,omitempty"`
}

func shownShipment(s shipment) shipmentOut {
	return shipmentOut{
		ID:                s.ID,
		Status:            s.Status,
		LabelStatus:       s.LabelStatus,
		Carrier:           s.Carrier,
		Service:           s.Service,
		TrackingNumber:    cleanNumber(s.TrackingNumber),
		Price:             s.Rate,
		EstimatedDelivery: timeText(s.EstimatedDeliveryDate),
		Reason:            s.Reason,
		IsReturn:          s.IsReturn,
		ReturnOf:          s.ReturnOf,
		Approval:          s.Approval,
		Livemode:          s.Livemode,
		Simulated:         s.Simulated,
		CreatedAt:         timeText(s.CreatedAt),
		VoidedAt:          timeText(s.VoidedAt),
	}
}

// texts are what others wrote about a shipment.
func (s shipment) texts() outside {
	var text outside
	text.set("orderId", s.OrderID)
	text.set("reference", s.Reference)
	if to := s.Destination; to != nil {
		for _, line := range printed(*to) {
			text.add(line)
		}
	}
	for _, warning := range s.Warnings {
		text.add("warning: " + warning)
	}
	if s.Routing != nil {
		for _, failed := range s.Routing.Failed {
			text.add(failed.Carrier + ": " + failed.Message)
		}
	}
	return text
}

// shipment fetches a shipment.
func (c *call) shipment(ctx context.Context, id string) (found shipment, err error) {
	answer, err := c.api(1).Call(ctx, "GET", "/v1/shipments/"+url.PathEscape(id), nil)
	if err != nil {
		return found, err
	}
	return found, json.Unmarshal(answer, &found)
}

type getShipmentIn struct {
	ShipmentID string `json:"shipmentId" minLength:"1" maxLength:"40"`
}

type getShipmentOut struct {
	Shipment        shipmentOut `json:"shipment"`
	Choice          *choiceOut  `json:"choice,omitempty" doc:"Why this carrier and service, and what it was compared with."`
	TrackingPageURL string      `json:"trackingPageUrl,omitempty"`
	Next            string      `json:"next,omitempty"`
	Untrusted       *outside    `json:"untrusted,omitempty"`
}

// choiceOut says why a carrier and service was chosen.
type choiceOut struct {
	Strategy string        `json:"strategy,omitempty"`
	Rule     string        `json:"rule,omitempty" doc:"The account's routing rule that decided."`
	Why      string        `json:"why,omitempty"`
	Offers   []comparedOut `json:"offers" doc:"What was compared, cheapest first."`
	Dropped  []droppedOut  `json:"dropped" doc:"Offers that could not be chosen."`
}

type comparedOut struct {
	Carrier     string `json:"carrier"`
	Service     string `json:"service"`
	Amount      string `json:"amount"`
	Currency    string `json:"currency"`
	TransitDays int    `json:"transitDays,omitempty"`
}

type droppedOut struct {
	Carrier string `json:"carrier"`
	Service string `json:"service"`
	Why     string `json:"why"`
	Rule    string `json:"rule,omitempty"`
}

func choiceOf(r *client.Routing) *choiceOut {
	if r == nil {
		return nil
	}
	out := &choiceOut{
		Strategy: r.Strategy,
		Rule:     clean(r.Rule, maxField),
		Why:      clean(r.Why, maxLine*2),
		Offers:   comparedOf(r.Offers),
		Dropped:  []droppedOut{},
	}
	for _, dropped := range r.Dropped[:min(len(r.Dropped), pageSize)] {
		out.Dropped = append(out.Dropped, droppedOut{dropped.Carrier, dropped.Service, dropped.Why, clean(dropped.Rule, maxField)})
	}
	return out
}

func comparedOf(offers []client.Offer) []comparedOut {
	list := []comparedOut{}
	for _, offer := range offers[:min(len(offers), pageSize)] {
		list = append(list, comparedOut{offer.Carrier, offer.Service, offer.Amount, offer.Currency, offer.TransitDays})
	}
	return list
}

// getShipment shows a shipment as it is now.
func getShipment(ctx context.Context, c *call, in getShipmentIn) (getShipmentOut, error) {
	found, err := c.shipment(ctx, in.ShipmentID)
	if err != nil {
		return getShipmentOut{}, err
	}
	out := getShipmentOut{
		Shipment:        shownShipment(found),
		Choice:          choiceOf(found.Routing),
		TrackingPageURL: found.TrackingPageURL,
		Untrusted:       found.texts().shown(),
	}
	if outcome, next := nextOf(found); outcome != "bought" {
		out.Next = next
	}
	return out, nil
}

// pageSize is how many rows a tool answers: more would fill the context of a model.
const pageSize = 20

type findIn struct {
	OrderID        string `json:"orderId,omitempty" maxLength:"100"`
	TrackingNumber string `json:"trackingNumber,omitempty" maxLength:"60"`
	Query          string `json:"query,omitempty" maxLength:"100" doc:"Part of an order or tracking number, or words of the recipient's name, company, e-mail address or city."`
	Status         string `json:"status,omitempty" enum:"created,label_generated,picked_up,in_transit,out_for_delivery,delivered,exception"`
	Carrier        string `json:"carrier,omitempty" maxLength:"50"`
	From           string `json:"from,omitempty" format:"date" doc:"Created on this day (UTC) or later."`
	To             string `json:"to,omitempty" format:"date" doc:"Created on this day (UTC) or earlier."`
	Cursor         string `json:"cursor,omitempty" maxLength:"500" doc:"nextCursor of the answer before."`
}

type findOut struct {
	Shipments  []shipmentOut `json:"shipments" doc:"Newest first, 20 at most."`
	NextCursor string        `json:"nextCursor,omitempty"`
	Untrusted  *outside      `json:"untrusted,omitempty" doc:"The order numbers by shipment id."`
}

// findShipments lists shipments.
func findShipments(ctx context.Context, c *call, in findIn) (findOut, error) {
	request := client.ShipmentsRequest{
		OrderID:        in.OrderID,
		TrackingNumber: in.TrackingNumber,
		Query:          in.Query,
		Status:         in.Status,
		Carrier:        in.Carrier,
		Limit:          pageSize,
		Cursor:         in.Cursor,
	}
	var err error
	if request.CreatedAfter, err = day(in.From, 0); err != nil {
		return findOut{}, err
	}
	if request.CreatedBefore, err = day(in.To, 1); err != nil {
		return findOut{}, err
	}
	page, err := c.api(1).ShipmentsPage(ctx, request)
	if err != nil {
		return findOut{}, err
	}

	out := findOut{Shipments: []shipmentOut{}, NextCursor: page.NextCursor}
	var text outside
	for _, found := range page.Data {
		out.Shipments = append(out.Shipments, text.listed(found))
	}
	out.Untrusted = text.shown()
	return out, nil
}

// listed shows a shipment in a list, and adds its order's number to the texts.
func (o *outside) listed(s client.Shipment) shipmentOut {
	o.set(s.ID, s.OrderID)
	return shownShipment(shipment{Shipment: s})
}

// day reads a day, and adds days to it; an empty text is the zero time.
func day(text string, add int) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return at, refused("invalid_arguments", "", "a day must be written as 2026-03-31")
	}
	return at.AddDate(0, 0, add), nil
}

type problemsOut struct {
	Parcels  []shipmentOut `json:"parcels" doc:"Parcels with the status exception, newest first."`
	Labels   []shipmentOut `json:"labels" doc:"Among the newest 200 shipments, those whose label is not ready: pending, needs_review, failed, voiding or refund_pending."`
	Webhooks []webhookOut  `json:"webhooks" doc:"Webhooks that fail; empty if the key may not see them."`
	Next     string        `json:"next"`

	Untrusted *outside `json:"untrusted,omitempty" doc:"The order numbers by shipment id."`
}

type webhookOut struct {
	ID           string `json:"id"`
	Enabled      bool   `json:"enabled"`
	Parked       bool   `json:"parked"`
	Failures     int    `json:"failures"`
	FailingSince string `json:"failingSince,omitempty"`
}

// listProblems collects what needs somebody's attention.
func listProblems(ctx context.Context, c *call, _ nothing) (problemsOut, error) {
	out := problemsOut{Parcels: []shipmentOut{}, Labels: []shipmentOut{}, Webhooks: []webhookOut{}}
	api := c.api(1)
	late, err := api.ShipmentsPage(ctx, client.ShipmentsRequest{Status: "exception", Limit: pageSize})
	if err != nil {
		return out, err
	}
	var text outside
	for _, found := range late.Data {
		out.Parcels = append(out.Parcels, text.listed(found))
	}

	cursor := ""
	for range 2 {
		page, err := api.ShipmentsPage(ctx, client.ShipmentsRequest{Limit: 100, Cursor: cursor})
		if err != nil {
			return out, err
		}
		for _, found := range page.Data {
			if !slices.Contains([]string{"ready", "voided"}, found.LabelStatus) && len(out.Labels) < pageSize {
				out.Labels = append(out.Labels, text.listed(found))
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}

	if c.caller.Can("webhooks") {
		hooks, err := api.Webhooks(ctx)
		if err != nil {
			return out, err
		}
		for _, hook := range hooks {
			if hook.Parked || hook.Failures > 0 || hook.DisabledReason != "" && hook.DisabledReason != "client" {
				out.Webhooks = append(out.Webhooks, webhookOut{hook.ID, hook.Enabled, hook.Parked, hook.Failures, timeText(hook.FailingSince)})
			}
		}
	}
	out.Next = "get_shipment and track_parcel say more about one of them. Nothing is bought or voided without being asked for."
	out.Untrusted = text.shown()
	return out, nil
}

type spendIn struct {
	From string `json:"from,omitempty" format:"date" doc:"First day (UTC); six days before to if left out."`
	To   string `json:"to,omitempty" format:"date" doc:"Last day (UTC); today if left out."`
}

type spendOut struct {
	From     string     `json:"from"`
	To       string     `json:"to"`
	Rows     []spendRow `json:"rows" doc:"By day, carrier and currency."`
	Totals   []spendRow `json:"totals" doc:"By currency."`
	Complete bool       `json:"complete" doc:"False if there were more than 2,000 shipments: the oldest are missing."`
}

type spendRow struct {
	Day      string `json:"day,omitempty"`
	Carrier  string `json:"carrier,omitempty"`
	Labels   int    `json:"labels" doc:"Labels that were not voided."`
	Voided   int    `json:"voided"`
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
}

// spendPages is how many pages of 100 shipments a report reads.
const spendPages = 20

// spendReport adds up what labels cost.
func spendReport(ctx context.Context, c *call, in spendIn) (spendOut, error) {
	to, err := day(in.To, 0)
	if err != nil {
		return spendOut{}, err
	}
	if to.IsZero() {
		to = c.now().UTC().Truncate(24 * time.Hour)
	}
	from, err := day(in.From, 0)
	if err != nil {
		return spendOut{}, err
	}
	if from.IsZero() {
		from = to.AddDate(0, 0, -6)
	}
	if from.After(to) || to.Sub(from) > 92*24*time.Hour {
		return spendOut{}, refused("invalid_arguments", "", "from must be before to, and at most 92 days before it")
	}

	sums := map[spendRow]*sum{} // by day, carrier and currency
	totals := map[spendRow]*sum{}
	request := client.ShipmentsRequest{CreatedAfter: from, CreatedBefore: to.AddDate(0, 0, 1), Limit: 100}
	api := c.api(1)
	for range spendPages {
		page, err := api.ShipmentsPage(ctx, request)
		if err != nil {
			return spendOut{}, err
		}
		for _, found := range page.Data {
			if found.Rate == nil || found.LabelStatus == "failed" {
				continue
			}
			row := spendRow{Day: found.CreatedAt.UTC().Format(time.DateOnly), Carrier: found.Carrier, Currency: found.Rate.Currency}
			addTo(sums, row, found)
			addTo(totals, spendRow{Currency: found.Rate.Currency}, found)
		}
		if request.Cursor = page.NextCursor; request.Cursor == "" {
			break
		}
	}
	return spendOut{
		From:     from.Format(time.DateOnly),
		To:       to.Format(time.DateOnly),
		Rows:     rowsOf(sums),
		Totals:   rowsOf(totals),
		Complete: request.Cursor == "",
	}, nil
}

func rowsOf(sums map[spendRow]*sum) []spendRow {
	rows := []spendRow{}
	for row, s := range sums {
		row.Labels = s.labels
		row.Voided = s.voided
		row.Amount = s.amount()
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b spendRow) int {
		return strings.Compare(a.Day+" "+a.Carrier+" "+a.Currency, b.Day+" "+b.Carrier+" "+b.Currency)
	})
	return rows
}
