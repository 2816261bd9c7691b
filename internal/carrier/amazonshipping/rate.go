package amazonshipping

import (
	"cmp"
	"context"
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Rates quotes the cheapest offer of every service.
func (d *driver) Rates(ctx context.Context, order ship.Order) ([]ship.Rate, error) {
	draft, err := d.newDraft(order, "quote", true)
	if err != nil {
		return nil, err
	}
	quoted, offers, err := d.quote(ctx, draft)
	if err != nil {
		return nil, err
	}

	list := make([]ship.Rate, 0, len(offers))
	for _, o := range offers {
		if slices.ContainsFunc(list, func(r ship.Rate) bool { return r.Service == o.service.code }) {
			continue // a cheaper one came before
		}
		list = append(list, o.rate())
	}
	if len(list) == 0 {
		return nil, noOffer(quoted)
	}
	return list, nil
}

// An offer is a rate that Buy can buy: a service of ours, its whole price, and
// what must be repeated to buy it.
type offer struct {
	rated   rate
	service service
	price   ship.Money
	extras  []extra
	expires time.Time // of the quote, by our clock when it was asked for
}

// quote asks for rates, and returns the offers among them, the cheapest first.
func (d *driver) quote(ctx context.Context, p draft) (quote, []offer, error) {
	var answer rateAnswer
	expires := time.Now().Add(quoteLife)
	err := d.do(ctx, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + "/shipping/v2/shipments/rates",
		Body:   p.request,
	}, &answer)
	if err != nil {
		return quote{}, nil, err
	}
	if answer.Payload == nil || answer.Payload.Token == "" {
		return quote{}, nil, ship.Errorf(ship.Unavailable, "Amazon Shipping sent no quote")
	}

	var offers []offer
	for _, offered := range answer.Payload.Rates {
		if o, ok := p.offerOf(offered); ok {
			o.expires = expires
			offers = append(offers, o)
		}
	}
	slices.SortStableFunc(offers, func(x, y offer) int { return cmp.Compare(x.price.Minor, y.price.Minor) })
	return *answer.Payload, offers, nil
}

// offerOf returns a rate as an offer; not ok if it is one of another carrier, or
// cannot be bought without asking somebody.
func (p draft) offerOf(offered rate) (offer, bool) {
	price, priced := parseMoney(offered.Total)
	if !priced || offered.NeedsInputs || !strings.HasPrefix(offered.CarrierName, "Amazon") {
		return offer{}, false
	}
	chosen, ok := p.chooseExtras(offered.Groups)
	if !ok {
		return offer{}, false
	}
	for _, e := range chosen {
		cost, ok := parseMoney(e.Cost)
		if !ok || cost.Currency != price.Currency {
			return offer{}, false
		}
		price.Minor += cost.Minor
	}
	return offer{rated: offered, service: serviceOf(offered.ServiceName), price: price, extras: chosen}, true
}

// chooseExtras returns the value-added services: the signature that the order
// asks for, and the cheapest of every other group that requires a choice.
func (p draft) chooseExtras(groups []extraGroup) (chosen []extra, ok bool) {
	needsSignature := p.signature != ""
	for _, group := range groups {
		signed := slices.IndexFunc(group.Services, func(e extra) bool { return isSignature(e, p.signature == "adult") })
		switch {
		case needsSignature && signed >= 0:
			chosen = append(chosen, group.Services[signed])
			needsSignature = false
		case group.IsRequired && len(group.Services) > 0:
			chosen = append(chosen, slices.MinFunc(group.Services, func(x, y extra) int { return cmp.Compare(costOf(x), costOf(y)) }))
		case group.IsRequired:
			return nil, false
		}
	}
	return chosen, !needsSignature
}

// isSignature reports whether a service is a signature, or that of an adult.
func isSignature(e extra, adult bool) bool {
	words := strings.ToUpper(e.ID + " " + e.Name)
	return strings.Contains(words, "SIGNATURE") && strings.Contains(words, "ADULT") == adult &&
		!strings.Contains(words, "NO_") && !strings.Contains(words, "WAIVE")
}

// costOf returns the cost of a service; one that cannot be read is the last.
func costOf(e extra) int64 {
	cost, ok := parseMoney(e.Cost)
	if !ok {
		return 1 << 60
	}
	return cost.Minor
}

// rate returns the offer for clients.
func (o offer) rate() ship.Rate {
	offered := ship.Rate{
		Service:             o.service.code,
		ServiceName:         o.service.name,
		Price:               o.price,
		DeliveryAt:          timeOf(o.rated.Promise.Delivery.End),
		Charges:             o.charges(),
		BillableWeightGrams: grams(o.rated.BilledWeight),
	}
	if chosen := o.selection(); len(chosen) <= ship.MaxSelection {
		offered.Selection = chosen
	}
	return offered
}

// selection is what a purchase needs to find the offer again, and to notice that
// its price has risen, and when the quote ends, in seconds since 1970:
// "6.91USD SWA-US-GND 1795010400".
func (o offer) selection() string {
	return o.price.Amount() + o.price.Currency + " " + o.rated.ServiceID + " " + strconv.FormatInt(o.expires.Unix(), 10)
}

// selected is what a selection says.
type selected struct {
	price     string
	serviceID string
	expires   time.Time // of the quote; zero for a selection that was made before selections had it
}

// parseSelection reads a selection; not ok if the service was chosen without a quote.
func parseSelection(text string) (selected, bool) {
	parts := strings.Fields(text)
	if len(parts) < 2 {
		return selected{}, false
	}
	chosen := selected{price: parts[0], serviceID: parts[1]}
	if len(parts) > 2 {
		if seconds, err := strconv.ParseInt(parts[2], 10, 64); err == nil {
			chosen.expires = time.Unix(seconds, 0)
		}
	}
	return chosen, true
}

// quoteLife is how long a quote can be bought, with the same request and the same
// key as often as needed.
//
// fact: token-life
const quoteLife = 10 * time.Minute

// noOffer is the error of a quote without an offer, in Amazon's words.
func noOffer(quoted quote) error {
	var refusal ship.Refusal
	var texts []string
	for _, service := range quoted.Ineligible {
		for _, reason := range service.Reasons {
			refusal.Code = cmp.Or(refusal.Code, reason.Code)
			if !slices.Contains(texts, reason.Message) {
				texts = append(texts, reason.Message)
			}
		}
	}
	refusal.Message = strings.Join(texts, "; ")
	return &ship.Error{
		Kind:    ship.Invalid,
		Message: "Amazon Shipping has no offer for this parcel between these addresses",
		Refusal: refusal,
	}
}

// parseMoney reads an amount, which is a number in JSON: the nearest minor unit.
func parseMoney(given money) (ship.Money, bool) {
	text := given.Value.String()
	if text == "" || len(text) > 30 || strings.Trim(text, "0123456789.") != "" {
		return ship.Money{}, false
	}
	amount, ok := new(big.Rat).SetString(text)
	if !ok {
		return ship.Money{}, false
	}
	return ship.ParseMoney(amount.FloatString(ship.Exponent(given.Unit)), given.Unit)
}

// timeOf reads a time with its zone; the zero time if it is none.
func timeOf(text string) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return at
}

// grams reads a weight; zero if there is none.
func grams(given weight) int64 {
	value, err := given.Value.Float64()
	if err != nil || value <= 0 {
		return 0
	}
	for unit, name := range weightUnits {
		if name == given.Unit {
			return unit.Grams(value)
		}
	}
	return 0
}
