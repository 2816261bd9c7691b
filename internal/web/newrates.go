package web

import (
	"net/http"
	"net/url"

	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
)

// A carrierAccount is a carrier account whose rates are requested.
type carrierAccount struct {
	Carrier    string
	Connection ship.ConnectionID
	Name       string // of the connection; the carrier's title if it has none
}

// address returns the address that the account's rates are fetched from. The
// offer that was selected before stays selected among the new ones.
func (a carrierAccount) address(f frame, chosen string) string {
	query := url.Values{"carrier": {a.Carrier}}
	if a.Connection != "" {
		query.Set("connection", string(a.Connection))
	}
	if chosen != "" {
		query.Set("chosen", chosen)
	}
	return f.To("shipments", "rates") + "?" + query.Encode()
}

// accountNames are the names that the client gave its carrier accounts, only
// of carriers with which it has several: there the carrier's name does not say
// which account is meant.
type accountNames map[ship.ConnectionID]string

func accountNamesOf(carriers []shipping.CarrierInfo) accountNames {
	names := accountNames{}
	for _, carrier := range carriers {
		if len(carrier.Connections) < 2 {
			continue
		}

		uses := map[string]int{}
		for _, connection := range carrier.Connections {
			uses[connection.Name]++
		}

		// Names need not be unique; the end of the ID tells two accounts of one
		// name apart.
		for _, connection := range carrier.Connections {
			name := or(connection.Name, short(string(connection.ID)))
			if uses[connection.Name] > 1 && connection.Name != "" {
				name += " (" + short(string(connection.ID)) + ")"
			}
			names[connection.ID] = name
		}
	}
	return names
}

// accountNames reads the names of the tenant's carrier accounts.
func (v *visit) accountNames() (accountNames, error) {
	carriers, err := v.Shipping.Carriers(v.ctx(), v.tenant())
	return accountNamesOf(carriers), err
}

// accountTitle returns a carrier's name, followed by the account's where there
// are several.
func (p newShipment) accountTitle(carrier string, connection ship.ConnectionID) string {
	title := carrierTitle(carrier)
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
func (v *visit) chosenOffer() string {
	rate, ok := v.Quoting.QuotedRate(v.tenant(), v.form("rate"))
	if !ok {
		return ""
	}
	return offerKey(rate)
}

// rates handles POST /app/{account}/{mode}/shipments/rates. The script receives a
// list in which every carrier account is fetched by a request of its own, and
// shows each as it arrives; without the script the page shows all that arrived in
// time.
//
// Quotes of the last minutes are accepted: the form asks again with every
// change, and most changes do not affect the price.
func (s *Web) rates(v *visit) error {
	page := v.readShipmentForm()
	in := quoting.Input{
		Tenant:    v.tenant(),
		Account:   v.who.Account,
		Order:     page.Order,
		OneParcel: len(page.Order.Parcels) == 1,
		Recent:    true,
	}

	frame := v.frame("New shipment", "shipments")
	switch {
	case !v.isPart():
		return v.allRates(page, in)
	case v.query("carrier") != "":
		return v.ratesOf(page, in)
	case v.query("rules") != "":
		return v.rulesRate(page, in)
	}

	page.Chosen = v.chosenOffer()
	accounts, err := v.accountsToQuote(page, in)
	if err != nil {
		problems, fixable := problemsOf(err)
		if !fixable {
			return err
		}
		page.explain(problems)
	}

	page.Asked = accounts
	return v.show(http.StatusOK, offers(frame, page))
}

// noCarrier reports whether nothing can be bought in the mode, because no
// carrier is connected. Test mode always has the simulated ones.
func (v *visit) noCarrier() (bool, error) {
	if !v.live {
		return false, nil
	}

	carriers, err := v.Shipping.Carriers(v.ctx(), v.tenant())
	return len(carriers) == 0, err
}

// accountsToQuote lists the carrier accounts whose rates are requested. It
// fails if the form is incomplete: no carrier is called before it is filled in.
func (v *visit) accountsToQuote(page newShipment, in quoting.Input) (list []carrierAccount, err error) {
	if err := ship.InvalidFields(page.Unread); err != nil {
		return nil, err
	}
	if _, err := v.Quoting.CheckOrder(in); err != nil {
		return nil, err
	}

	carriers, err := v.Shipping.Carriers(v.ctx(), v.tenant())
	if err != nil {
		return nil, err
	}

	for _, carrier := range carriers {
		title := carrierTitle(carrier.Name)
		if len(carrier.Connections) == 0 {
			list = append(list, carrierAccount{Carrier: carrier.Name, Name: title})
		}
		for _, connection := range carrier.Connections {
			list = append(list, carrierAccount{
				Carrier:    carrier.Name,
				Connection: connection.ID,
				Name:       or(connection.Name, title),
			})
		}
	}

	if len(list) == 0 {
		return nil, ship.Coded(ship.Invalid, "no_carrier", "no carrier is connected in this mode: connect one under Carriers first")
	}
	return list, nil
}

// rulesRate answers with the offer that the rules choose.
func (v *visit) rulesRate(page newShipment, in quoting.Input) error {
	offer, err := v.Quoting.Offer(v.ctx(), quoting.DryRunInput{
		Tenant:    in.Tenant,
		Account:   in.Account,
		Order:     in.Order,
		OneParcel: in.OneParcel,
		Recent:    true,
	})
	reason, fixable := problemsOf(err)
	if err != nil && !fixable {
		return err
	}

	if page.Accounts, err = v.accountNames(); err != nil {
		return err
	}
	return v.show(http.StatusOK, rulesOffer(page, offer, reason.All))
}

// ratesOf answers with the offers of one carrier account, or why it has none.
func (v *visit) ratesOf(page newShipment, in quoting.Input) error {
	asked := carrierAccount{
		Carrier:    v.query("carrier"),
		Connection: ship.ConnectionID(v.query("connection")),
	}
	in.Carriers = []string{asked.Carrier}
	in.Connection = asked.Connection

	quotes, err := v.Quoting.Quote(v.ctx(), in)
	reason, fixable := problemsOf(err)
	if err != nil && !fixable {
		return err
	}

	page.Quotes = &quotes
	if page.Accounts, err = v.accountNames(); err != nil {
		return err
	}
	return v.show(http.StatusOK, offersOf(page, asked, reason))
}

// allRates answers with the whole page and the quotes that arrived in time.
func (v *visit) allRates(page newShipment, in quoting.Input) error {
	page.Chosen = v.chosenOffer()

	var quotes quoting.Quotes
	err := ship.InvalidFields(page.Unread)
	if err == nil {
		quotes, err = v.Quoting.Quote(v.ctx(), in)
	}

	problems, fixable := problemsOf(err)
	switch {
	case err == nil:
		page.Quotes = &quotes
	case fixable:
		page.explain(problems)
	default:
		return err
	}
	return v.showForm(http.StatusOK, page)
}

// isFastest reports whether no offer arrives on an earlier day than the i-th;
// of those that arrive on the same day, only the cheapest counts.
func (p newShipment) isFastest(i int) bool {
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

func (p newShipment) shipDate() ship.Date { return ship.Date(or(string(p.Order.ShipDate), today())) }

// quoteProblems explains why a carrier did not quote, in the API's words.
func quoteProblems(e quoting.QuoteError) problems {
	return problems{All: sentence(e.Message)}
}
