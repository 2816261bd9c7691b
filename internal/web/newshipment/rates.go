package newshipment

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"

	"github.com/waybillhq/waybill/internal/customs"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/web/offers"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// A carrierAccount is a carrier account whose rates are requested.
type carrierAccount struct {
	Carrier    string
	Connection ship.ConnectionID
	Name       string // of the connection; the carrier's title if it has none
}

// address returns the address that the account's rates are fetched from. The
// offer that was selected before stays selected among the new ones.
func (a carrierAccount) address(f site.Frame, chosen string) string {
	query := url.Values{"carrier": {a.Carrier}}
	if a.Connection != "" {
		query.Set("connection", string(a.Connection))
	}
	if chosen != "" {
		query.Set("chosen", chosen)
	}
	return f.To("shipments", "rates") + "?" + query.Encode()
}

// accountTitle returns a carrier's name, followed by the account's where there
// are several.
func (p Form) accountTitle(carrier string, connection ship.ConnectionID) string {
	title := parts.CarrierTitle(carrier)
	if name := p.Accounts[connection]; name != "" {
		title += " (" + name + ")"
	}
	return title
}

// offerKey identifies an offer independently of its current price.
func offerKey(rate ship.Rate) string {
	return rate.Carrier + "/" + rate.Service + "/" + string(rate.Connection)
}

// chosenOffer returns the key of the offer that is selected in the form; "" if
// the rules are to choose.
func chosenOffer(v *site.Visit) string {
	rate, ok := v.Quoting.QuotedRate(v.Context(), v.Tenant(), v.Form("rate"))
	if !ok {
		return ""
	}
	return offerKey(rate)
}

// getRates handles POST /app/{account}/{mode}/shipments/rates. The script
// receives a list in which every carrier account is fetched by a request of its
// own, and shows each as it arrives; without the script the page shows all that
// arrived in time.
//
// Quotes of the last minutes are accepted: the form asks again with every
// change, and most changes do not affect the price.
func getRates(v *site.Visit) error {
	page := ReadForm(v)
	in := quoting.Input{
		Tenant:    v.Tenant(),
		Account:   v.Who.Account,
		Order:     page.Order,
		OneParcel: len(page.Order.Parcels) == 1,
		Recent:    true,
	}

	frame := v.Frame("New shipment", "shipments")
	switch {
	case !v.IsPart():
		return allRates(v, page, in)
	case v.Query("carrier") != "":
		return ratesOf(v, page, in)
	case v.Query("rules") != "":
		return rulesRate(v, page, in)
	}

	page.Chosen = chosenOffer(v)
	accounts, err := accountsToQuote(v, page, in)
	if err != nil {
		problems, fixable := site.ProblemsOf(err)
		if !fixable {
			return err
		}
		page.Explain(problems)
	}

	page.Asked = accounts
	if len(accounts) > 0 {
		order, err := v.Quoting.CheckOrder(in)
		if err != nil {
			return err
		}
		page.warn(customs.Check(order))
	}
	return v.Show(http.StatusOK, offerList(frame, page))
}

// NoCarrier reports whether nothing can be bought in the mode, because no
// carrier is connected. Test mode always has the simulated ones.
func NoCarrier(v *site.Visit) (bool, error) {
	if !v.Live {
		return false, nil
	}

	carriers, err := v.Shipping.Carriers(v.Context(), v.Tenant())
	return len(carriers) == 0, err
}

// accountsToQuote lists the carrier accounts whose rates are requested. It
// fails if the form is incomplete: no carrier is called before it is filled in.
func accountsToQuote(v *site.Visit, page Form, in quoting.Input) (list []carrierAccount, err error) {
	if err := ship.InvalidFields(page.Unread); err != nil {
		return nil, err
	}
	order, err := v.Quoting.CheckOrder(in)
	if err != nil {
		return nil, err
	}

	carriers, err := v.Shipping.Carriers(v.Context(), v.Tenant())
	if err != nil {
		return nil, err
	}

	carriers = takingFrom(carriers, order.Origin.Country)
	for _, carrier := range carriers {
		title := parts.CarrierTitle(carrier.Name)
		if len(carrier.Connections) == 0 {
			list = append(list, carrierAccount{Carrier: carrier.Name, Name: title})
		}
		for _, connection := range carrier.Connections {
			list = append(list, carrierAccount{
				Carrier:    carrier.Name,
				Connection: connection.ID,
				Name:       cmp.Or(connection.Name, title),
			})
		}
	}

	if used := order.Location.Connections; len(used) > 0 {
		list = slices.DeleteFunc(list, func(a carrierAccount) bool { return !slices.Contains(used, a.Connection) })
	}

	if len(list) == 0 {
		return nil, ship.Coded(ship.Invalid, "no_carrier", "no carrier is connected in this mode: connect one under Carriers first")
	}
	return list, nil
}

// takingFrom leaves out carriers that never take parcels in the country, unless no
// other is left: those say why.
func takingFrom(carriers []shipping.CarrierInfo, country string) []shipping.CarrierInfo {
	taking := slices.DeleteFunc(slices.Clone(carriers), func(c shipping.CarrierInfo) bool {
		return len(c.Origins) > 0 && !slices.Contains(c.Origins, country)
	})
	if len(taking) == 0 {
		return carriers
	}
	return taking
}

// rulesRate answers with the offer that the rules choose.
func rulesRate(v *site.Visit, page Form, in quoting.Input) error {
	offer, err := v.Quoting.Offer(v.Context(), quoting.DryRunInput{
		Tenant:    in.Tenant,
		Account:   in.Account,
		Order:     in.Order,
		OneParcel: in.OneParcel,
		Recent:    true,
	})
	reason, fixable := site.ProblemsOf(err)
	if err != nil && !fixable {
		return err
	}

	if page.Accounts, err = offers.ReadAccountNames(v); err != nil {
		return err
	}
	return v.Show(http.StatusOK, rulesOffer(page, offer.Rate, reason.All))
}

// ratesOf answers with the offers of one carrier account, or why it has none.
func ratesOf(v *site.Visit, page Form, in quoting.Input) error {
	asked := carrierAccount{
		Carrier:    v.Query("carrier"),
		Connection: ship.ConnectionID(v.Query("connection")),
	}
	in.Carriers = []string{asked.Carrier}
	in.Connection = asked.Connection

	quotes, err := v.Quoting.Quote(v.Context(), in)
	reason, fixable := site.ProblemsOf(err)
	if err != nil && !fixable {
		return err
	}

	page.Quotes = &quotes
	if page.Accounts, err = offers.ReadAccountNames(v); err != nil {
		return err
	}
	return v.Show(http.StatusOK, offersOf(page, asked, reason))
}

// allRates answers with the whole page and the quotes that arrived in time.
func allRates(v *site.Visit, page Form, in quoting.Input) error {
	page.Chosen = chosenOffer(v)

	var quotes quoting.Quotes
	err := ship.InvalidFields(page.Unread)
	if err == nil {
		quotes, err = v.Quoting.Quote(v.Context(), in)
	}

	problems, fixable := site.ProblemsOf(err)
	switch {
	case err == nil:
		page.Quotes = &quotes
		page.warn(quotes.Warnings)
	case fixable:
		page.Explain(problems)
	default:
		return err
	}
	return showForm(v, http.StatusOK, page)
}

// isFastest reports whether no offer arrives on an earlier day than the i-th;
// of those that arrive on the same day, only the cheapest counts.
func (p Form) isFastest(i int) bool {
	rates := p.Quotes.Rates
	shipDate := p.shipDate()
	arrival := rates[i].ArrivalDate(shipDate)
	if len(rates) < 2 || arrival == "" {
		return false
	}

	for k, rate := range rates {
		other := rate.ArrivalDate(shipDate)
		switch {
		case k == i || other == "" || other > arrival:
		case other < arrival, k < i: // rates are sorted by price, cheapest first
			return false
		}
	}
	return true
}

func (p Form) shipDate() ship.Date { return ship.Date(cmp.Or(string(p.Order.ShipDate), today())) }

// quoteProblems explains why a carrier did not quote, in the API's words.
func quoteProblems(e quoting.QuoteError) site.Problems {
	return site.Problems{All: parts.Sentence(e.Message)}
}
