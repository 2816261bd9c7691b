package easypost

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/ship"
)

// A draftRate is a rate with what buys it. Tokens are longer than the columns in
// which clients keep rate ids, so a rate has a short id here.
type draftRate struct {
	ID    string     `json:"id"`
	Token string     `json:"token"`
	At    time.Time  `json:"at"`
	Rate  ship.Rate  `json:"rate"`
	List  ship.Money `json:"list"` // the published price; zero if the carrier does not say it
}

// rateObject is a carrier's offer.
type rateObject struct {
	head
	Service                string  `json:"service"`
	Carrier                string  `json:"carrier"`
	CarrierAccountID       string  `json:"carrier_account_id"`
	ShipmentID             string  `json:"shipment_id"`
	Rate                   string  `json:"rate"`
	Currency               string  `json:"currency"`
	ListRate               string  `json:"list_rate"`
	ListCurrency           string  `json:"list_currency"`
	RetailRate             string  `json:"retail_rate"`
	RetailCurrency         string  `json:"retail_currency"`
	DeliveryDays           *int    `json:"delivery_days"`
	EstDeliveryDays        *int    `json:"est_delivery_days"`
	DeliveryDate           *string `json:"delivery_date"`
	DeliveryDateGuaranteed bool    `json:"delivery_date_guaranteed"`
	BillingType            string  `json:"billing_type"`
}

// messageObject says why a carrier gave no rate, or what was not used.
type messageObject struct {
	Carrier          string  `json:"carrier"`
	CarrierAccountID *string `json:"carrier_account_id"`
	Type             string  `json:"type"`
	Message          string  `json:"message"`
}

// rateOf is a rate as clients see it.
func rateOf(t ship.Tenant, shipment string, quoted draftRate) rateObject {
	rate := quoted.Rate
	list := rate.Price
	if !quoted.List.IsZero() {
		list = quoted.List
	}
	at := timestamp(quoted.At)
	out := rateObject{
		head:                   head{ID: quoted.ID, Object: "Rate", Mode: mode(t), CreatedAt: at, UpdatedAt: &at},
		Service:                theirService(rate.Carrier, rate.Service),
		Carrier:                theirCarrier(rate.Carrier),
		CarrierAccountID:       carrierAccountID(rate),
		ShipmentID:             shipment,
		Rate:                   rate.Price.Amount(),
		Currency:               rate.Price.Currency,
		ListRate:               list.Amount(),
		ListCurrency:           list.Currency,
		RetailRate:             list.Amount(),
		RetailCurrency:         list.Currency,
		DeliveryDate:           timeOrNull(rate.DeliveryAt),
		DeliveryDateGuaranteed: rate.Guaranteed,
		BillingType:            "carrier",
	}
	days := rate.TransitDays
	if days == 0 && !rate.DeliveryAt.IsZero() {
		days = max(int(rate.DeliveryAt.Sub(quoted.At).Hours()/24), 1)
	}
	if days > 0 {
		out.DeliveryDays = &days
		out.EstDeliveryDays = &days
	}
	return out
}

func ratesOf(t ship.Tenant, id string, quoted []draftRate) []rateObject {
	list := make([]rateObject, len(quoted))
	for i, rate := range quoted {
		list[i] = rateOf(t, id, rate)
	}
	return list
}

// quote asks carriers for rates and puts them into the draft. A carrier that gives
// none is named in the messages: a shipment without rates is not an error there.
func (s *server) quote(ctx context.Context, in *request, d *draft, id, reference string) error {
	order, err := d.order(in.tenant, in.caller.Account, id, reference)
	if err != nil {
		return err
	}

	d.Rates = []draftRate{}
	d.Messages = []messageObject{}
	for name, value := range d.Options {
		isDefault := name == "date_advance" && fmt.Sprint(value) == "0"
		if !slices.Contains(usedOptions, name) && !isDefault {
			d.Messages = append(d.Messages, messageObject{Type: "option_not_used", Message: "The option " + name + " is kept but not used."})
		}
	}
	if format := values(d.Options).text("label_format"); format != "" && labelFormats[strings.ToUpper(format)] == "" {
		d.Messages = append(d.Messages, messageObject{Type: "option_not_used", Message: "Labels are PDF, PNG or ZPL, not " + format + "."})
	}
	slices.SortFunc(d.Messages, func(a, b messageObject) int { return strings.Compare(a.Message, b.Message) })

	quotes, err := s.Quoting.Quote(ctx, quoting.Input{
		Tenant:    in.tenant,
		Account:   in.caller.Account,
		Order:     order,
		OneParcel: true,
	})
	if err != nil {
		problem := ship.ErrorOf(err)
		switch problem.Code {
		case "no_rate", "no_carrier", "carrier_rejected", "carrier_unavailable":
			d.Messages = append(d.Messages, messageObject{
				Carrier: theirCarrier(problem.Carrier),
				Type:    "rate_error",
				Message: firstOf(problem.Refusal.Message, sentence(problem.Message)),
			})
			return nil
		}
		return err
	}

	now := time.Now().UTC().Truncate(time.Millisecond)
	d.Quotes++
	for _, quoted := range quotes.Rates {
		if !d.allows(quoted.Rate) || len(d.Rates) == maxRates {
			continue
		}
		d.Rates = append(d.Rates, draftRate{
			ID:    rateID(id, d.Quotes, len(d.Rates)+1),
			Token: quoted.ID,
			At:    now,
			Rate:  quoted.Rate,
			List:  quoted.ListPrice,
		})
	}
	for _, failed := range quotes.Errors {
		d.Messages = append(d.Messages, messageObject{
			Carrier: theirCarrier(failed.Carrier),
			Type:    "rate_error",
			Message: firstOf(failed.Refusal.Message, sentence(failed.Message)),
		})
	}
	return nil
}

// maxRates is how many rates a shipment shows: as many as have an id of their own.
const maxRates = 99

// rateID returns the id of a rate: that of its shipment, which of its quotes it is
// from, and its place among them. So a rate is found by its id, and a new quote
// never gives an old id another price.
func rateID(shipment string, quote, place int) string {
	return prefixRate + strings.TrimPrefix(shipment, prefixShipment) + fmt.Sprintf("%02d%02d", quote%100, place%100)
}

// shipmentOfRate returns the id of the shipment that a rate belongs to.
func shipmentOfRate(rate string) (string, bool) {
	text, ok := strings.CutPrefix(rate, prefixRate)
	if !ok || len(text) != 30 {
		return "", false
	}
	return prefixShipment + text[:26], true
}

// allows reports whether the client's choice of carrier accounts has the rate's.
func (d *draft) allows(rate ship.Rate) bool {
	return len(d.Accounts) == 0 || slices.Contains(d.Accounts, carrierAccountID(rate))
}

// selectedRate is the rate that was bought, at the price that was paid. It need not
// be among the rates any more.
func selectedRate(t ship.Tenant, id string, d draft, bought ship.Shipment) *rateObject {
	purchase := bought.Purchase
	quoted := draftRate{ID: rateID(id, 0, 0), At: bought.CreatedAt(), Rate: ship.Rate{
		Carrier:    purchase.Carrier,
		Connection: purchase.Connection,
		Service:    purchase.Service,
	}}
	for _, rate := range d.Rates {
		if rate.Rate.Carrier == purchase.Carrier && rate.Rate.Service == purchase.Service && rate.Rate.Connection == purchase.Connection {
			quoted = rate
		}
	}
	quoted.Rate.Price = purchase.Price
	return new(rateOf(t, id, quoted))
}

func (s *server) rerate(ctx context.Context, in *request) (answer, error) {
	object, d, err := s.find(ctx, in, in.id)
	if err != nil {
		return answer{}, err
	}
	id := object.ID.IDWithPrefix(prefixShipment)
	if object.Shipment == "" {
		if err := s.quote(ctx, in, &d, id, object.Reference); err != nil {
			return answer{}, err
		}
		if object.Body, err = d.encode(time.Now()); err != nil {
			return answer{}, err
		}
		if err := s.Compat.Save(ctx, in.tenant, object); err != nil {
			return answer{}, err
		}
	}
	return answer{status: http.StatusOK, body: map[string]any{"rates": ratesOf(in.tenant, id, d.Rates)}}, nil
}

func (s *server) getRate(ctx context.Context, in *request) (answer, error) {
	id, ok := shipmentOfRate(in.id)
	if !ok {
		return answer{}, notFound()
	}
	_, d, err := s.find(ctx, in, id)
	if err != nil {
		return answer{}, err
	}
	for _, rate := range d.Rates {
		if rate.ID == in.id {
			return answer{status: http.StatusOK, body: rateOf(in.tenant, id, rate)}, nil
		}
	}
	return answer{}, notFound()
}

// statelessRates quotes without storing a shipment.
func (s *server) statelessRates(ctx context.Context, in *request) (answer, error) {
	given := in.body.object("shipment")
	if given == nil {
		return answer{}, required("shipment")
	}
	unstored := s.newDrafts(in.tenant)
	d, err := unstored.draftFrom(ctx, given)
	if err != nil {
		return answer{}, err
	}
	if err := s.quote(ctx, in, &d, "", ""); err != nil {
		return answer{}, err
	}
	list := ratesOf(in.tenant, "", d.Rates)
	out := make([]statelessRate, len(list))
	for i, rate := range list {
		out[i] = statelessRate{
			Object: "Rate", Service: rate.Service, Carrier: rate.Carrier, CarrierAccountID: rate.CarrierAccountID,
			Rate: rate.Rate, Currency: rate.Currency, ListRate: rate.ListRate, ListCurrency: rate.ListCurrency,
			RetailRate: rate.RetailRate, RetailCurrency: rate.RetailCurrency, DeliveryDays: rate.DeliveryDays,
			EstDeliveryDays: rate.EstDeliveryDays, DeliveryDate: rate.DeliveryDate,
			DeliveryDateGuaranteed: rate.DeliveryDateGuaranteed, BillingType: rate.BillingType,
		}
	}
	return answer{status: http.StatusOK, body: map[string]any{"rates": out, "messages": d.Messages}}, nil
}

// statelessRate is a rate that cannot be bought: it has no id and no shipment.
type statelessRate struct {
	Object                 string  `json:"object"`
	Service                string  `json:"service"`
	Carrier                string  `json:"carrier"`
	CarrierAccountID       string  `json:"carrier_account_id"`
	Rate                   string  `json:"rate"`
	Currency               string  `json:"currency"`
	ListRate               string  `json:"list_rate"`
	ListCurrency           string  `json:"list_currency"`
	RetailRate             string  `json:"retail_rate"`
	RetailCurrency         string  `json:"retail_currency"`
	DeliveryDays           *int    `json:"delivery_days"`
	EstDeliveryDays        *int    `json:"est_delivery_days"`
	DeliveryDate           *string `json:"delivery_date"`
	DeliveryDateGuaranteed bool    `json:"delivery_date_guaranteed"`
	BillingType            string  `json:"billing_type"`
}
