package web

import (
	"net/http"
	"net/url"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
)

// carrierAccount is a carrier account that is asked for its rates.
type carrierAccount struct {
	Carrier    string
	Connection ship.ConnectionID
	Name       string // of the connection; the carrier's title without one
}

// address is where its rates come from. The offer that was ticked before stays
// ticked among the new ones.
func (a carrierAccount) address(f frame, chosen string) string {
	q := url.Values{"carrier": {a.Carrier}}
	if a.Connection != "" {
		q.Set("connection", string(a.Connection))
	}
	if chosen != "" {
		q.Set("chosen", chosen)
	}
	return f.To("shipments", "rates") + "?" + q.Encode()
}

// accountNames are what the client calls its accounts with carriers, of those
// carriers alone that it has several accounts with: there the carrier's name
// does not say which one is meant.
type accountNames map[ship.ConnectionID]string

func accountNamesOf(carriers []shipping.CarrierInfo) accountNames {
	names := accountNames{}
	for _, c := range carriers {
		if len(c.Connections) < 2 {
			continue
		}

		uses := map[string]int{}
		for _, own := range c.Connections {
			uses[own.Name]++
		}
		for _, own := range c.Connections {
			name := or(own.Name, short(string(own.ID)))
			if uses[own.Name] > 1 && own.Name != "" {
				name += " (" + short(string(own.ID)) + ")"
			}
			names[own.ID] = name
		}
	}
	return names
}

// accountNames reads them.
func (v *visit) accountNames() (accountNames, error) {
	carriers, err := v.Shipping.Carriers(v.ctx(), v.tenant())
	return accountNamesOf(carriers), err
}

// accountTitle is a carrier's name, and the account's where there are several.
func (p newShipment) accountTitle(carrier string, connection ship.ConnectionID) string {
	title := carrierTitle(carrier)
	if name := p.Accounts[connection]; name != "" {
		title += " (" + name + ")"
	}
	return title
}

// offerKey tells offers apart, whatever they cost now.
func offerKey(r ship.Rate) string {
	return r.Carrier + "/" + r.Service + "/" + string(r.Connection)
}

// chosenOffer is the offer that is ticked in the form; "" for the rules'.
func (v *visit) chosenOffer() string {
	rate, ok := v.Shipping.QuotedRate(v.tenant(), v.form("rate"))
	if !ok {
		return ""
	}
	return offerKey(rate)
}

// rates handles POST /app/{mode}/shipments/rates. The page gets a list in which
// every carrier account asks for itself, and shows each as it comes; without
// the script, all that came in time.
//
// All of them take quotes of the last minutes: the form asks again with every
// change, and most changes do not change the price.
func (s *Web) rates(v *visit) error {
	p := v.readShipmentForm()
	in := shipping.QuoteInput{
		Tenant:    v.tenant(),
		Account:   v.who.Account,
		Order:     p.Order,
		OneParcel: len(p.Order.Parcels) == 1,
		Recent:    true,
	}

	f := v.frame("New shipment", "shipments")
	switch {
	case !v.isPart():
		return v.allRates(p, in)
	case v.query("carrier") != "":
		return v.ratesOf(p, in)
	case v.query("rules") != "":
		return v.rulesRate(p, in)
	}

	p.Chosen = v.chosenOffer()
	accounts, err := v.whoIsAsked(p, in)
	if err != nil {
		wrong, fixable := problemsOf(err)
		if !fixable {
			return err
		}
		p.explain(wrong)
	}
	p.Asked = accounts
	return v.show(http.StatusOK, offers(f, p))
}

// noCarrier reports whether nothing can be bought in the mode, because no
// carrier is connected. Test mode has the simulated ones.
func (v *visit) noCarrier() (bool, error) {
	if !v.live {
		return false, nil
	}
	list, err := v.Shipping.Carriers(v.ctx(), v.tenant())
	return len(list) == 0, err
}

// whoIsAsked lists the carrier accounts, unless something is missing in the
// form: no carrier is asked before it is complete.
func (v *visit) whoIsAsked(p newShipment, in shipping.QuoteInput) (list []carrierAccount, err error) {
	if err := ship.InvalidFields(p.Unread); err != nil {
		return nil, err
	}
	if _, err := v.Shipping.CheckOrder(in); err != nil {
		return nil, err
	}

	carriers, err := v.Shipping.Carriers(v.ctx(), v.tenant())
	if err != nil {
		return nil, err
	}
	for _, c := range carriers {
		if len(c.Connections) == 0 {
			list = append(list, carrierAccount{Carrier: c.Name, Name: carrierTitle(c.Name)})
		}
		for _, own := range c.Connections {
			list = append(list, carrierAccount{Carrier: c.Name, Connection: own.ID, Name: or(own.Name, carrierTitle(c.Name))})
		}
	}
	if len(list) == 0 {
		return nil, ship.Coded(ship.Invalid, "no_carrier", "no carrier is connected in this mode: connect one under Carriers first")
	}
	return list, nil
}

// rulesRate answers with the offer that the rules choose.
func (v *visit) rulesRate(p newShipment, in shipping.QuoteInput) error {
	offer, err := v.Shipping.Offer(v.ctx(), shipping.TryInput{
		Tenant:    in.Tenant,
		Account:   in.Account,
		Order:     in.Order,
		OneParcel: in.OneParcel,
		Recent:    true,
	})
	why, fixable := problemsOf(err)
	if err != nil && !fixable {
		return err
	}
	if p.Accounts, err = v.accountNames(); err != nil {
		return err
	}
	return v.show(http.StatusOK, rulesOffer(p, offer, why.All))
}

// ratesOf answers with the offers of one carrier account, or why it has none.
func (v *visit) ratesOf(p newShipment, in shipping.QuoteInput) error {
	asked := carrierAccount{Carrier: v.query("carrier"), Connection: ship.ConnectionID(v.query("connection"))}
	in.Carriers, in.Connection = []string{asked.Carrier}, asked.Connection

	quotes, err := v.Shipping.Quote(v.ctx(), in)
	why, fixable := problemsOf(err)
	if err != nil && !fixable {
		return err
	}
	p.Quotes = &quotes
	if p.Accounts, err = v.accountNames(); err != nil {
		return err
	}
	return v.show(http.StatusOK, offersOf(p, asked, why))
}

// allRates answers with the whole page and what came in time.
func (v *visit) allRates(p newShipment, in shipping.QuoteInput) error {
	p.Chosen = v.chosenOffer()
	err := ship.InvalidFields(p.Unread)
	var quotes shipping.Quotes
	if err == nil {
		quotes, err = v.Shipping.Quote(v.ctx(), in)
	}

	wrong, fixable := problemsOf(err)
	switch {
	case err == nil:
		p.Quotes = &quotes
	case fixable:
		p.explain(wrong)
	default:
		return err
	}
	return v.showForm(http.StatusOK, p)
}

// isFastest reports whether no offer arrives on an earlier day than the i-th;
// of those that arrive on the same day, the cheapest is the one.
func (p newShipment) isFastest(i int) bool {
	rates, shipDate := p.Quotes.Rates, p.shipDate()
	arrives := rates[i].ArrivalDate(shipDate)
	if len(rates) < 2 || arrives == "" {
		return false
	}

	for k, r := range rates {
		other := r.ArrivalDate(shipDate)
		switch {
		case k == i || other == "" || other > arrives:
		case other < arrives, k < i: // they come cheapest first
			return false
		}
	}
	return true
}

func (p newShipment) shipDate() ship.Date { return ship.Date(or(string(p.Order.ShipDate), today())) }

// quoteProblems are why a carrier did not quote, in the words of the API.
func quoteProblems(e shipping.QuoteError) problems {
	return problems{All: sentence(e.Message)}
}
