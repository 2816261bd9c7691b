package web

import (
	"net/http"
	"net/url"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
)

// asked is a carrier account that is asked for its rates.
type asked struct {
	Carrier    string
	Connection ship.ConnectionID
	Name       string // of the connection; the carrier's title without one
}

// address is where its rates come from.
func (a asked) address(f frame) string {
	q := url.Values{"carrier": {a.Carrier}}
	if a.Connection != "" {
		q.Set("connection", string(a.Connection))
	}
	return f.To("shipments", "rates") + "?" + q.Encode()
}

// rates handles POST /app/{mode}/shipments/rates. The page gets a list in which
// every carrier account asks for itself, so that what is there is shown;
// without the script, all that came in time.
func (s *Web) rates(v *visit) error {
	p := v.shipmentForm()
	in := shipping.QuoteInput{Tenant: v.tenant(), Account: v.who.Account, Order: p.Order, OneParcel: true}
	f := v.frame("New shipment", "shipments")
	switch {
	case !v.isPart():
		return v.allRates(p, in)
	case v.query("carrier") != "":
		return v.ratesOf(f, p, in)
	case v.query("rules") != "":
		offer, err := s.Shipping.Offer(v.ctx(), shipping.TryInput{Tenant: in.Tenant, Account: in.Account, Order: in.Order, OneParcel: true})
		why, mendable := problemsOf(err)
		if err != nil && !mendable {
			return err
		}
		return v.show(http.StatusOK, rulesOffer(offer, why.All))
	}
	_, err := s.Shipping.CheckOrder(in)
	if p.Asked, err = v.whoIsAsked(err); err != nil {
		wrong, mendable := problemsOf(err)
		if !mendable {
			return err
		}
		p.Wrong = wrong
	}
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

// whoIsAsked lists the carrier accounts, unless the order is wrong.
func (v *visit) whoIsAsked(wrong error) (list []asked, err error) {
	if wrong != nil {
		return nil, wrong
	}
	carriers, err := v.Shipping.Carriers(v.ctx(), v.tenant())
	if err != nil {
		return nil, err
	}
	for _, c := range carriers {
		if len(c.Connections) == 0 {
			list = append(list, asked{Carrier: c.Name, Name: carrierTitle(c.Name)})
		}
		for _, own := range c.Connections {
			list = append(list, asked{Carrier: c.Name, Connection: own.ID, Name: or(own.Name, carrierTitle(c.Name))})
		}
	}
	if len(list) == 0 {
		return nil, ship.Coded(ship.Invalid, "no_carrier", "no carrier is connected in this mode: connect one under Carriers first")
	}
	return list, nil
}

// ratesOf answers with the offers of one carrier account, or why it has none.
func (v *visit) ratesOf(f frame, p newShipment, in shipping.QuoteInput) error {
	a := asked{Carrier: v.query("carrier"), Connection: ship.ConnectionID(v.query("connection"))}
	in.Carriers, in.Connection = []string{a.Carrier}, a.Connection
	quotes, err := v.Shipping.Quote(v.ctx(), in)
	why, mendable := problemsOf(err)
	if err != nil && !mendable {
		return err
	}
	p.Quotes = &quotes
	return v.show(http.StatusOK, offersOf(p, a, why.All))
}

// allRates answers with the whole page and what came in time.
func (v *visit) allRates(p newShipment, in shipping.QuoteInput) error {
	quotes, err := v.Shipping.Quote(v.ctx(), in)
	wrong, mendable := problemsOf(err)
	switch {
	case err == nil:
		p.Quotes = &quotes
	case mendable:
		p.Wrong = wrong
	default:
		return err
	}
	return v.showForm(http.StatusOK, p)
}
