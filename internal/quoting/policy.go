package quoting

import (
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/sheet"
	"github.com/waybillhq/waybill/internal/ship"
)

// A Policy is what an account decided about its routing.
type Policy struct {
	Version int               // of the rules; 0 if there are none
	Book    *routing.Compiled // never nil; one without rules chooses the cheapest
	// Sheet is the rate sheet that prices a carrier account, and its name; nil
	// if the carrier itself is asked.
	Sheet func(carrier string, connection ship.ConnectionID) (*sheet.Sheet, string)
}

// contract is the rate sheet that prices an order with a carrier account; nil
// if there is none for the day.
func (p Policy) contract(c *carrier.Carrier, o ship.Order) *sheet.Sheet {
	if p.Sheet == nil {
		return nil
	}
	contract, _ := p.Sheet(c.Spec().Name, c.Connection)
	if contract == nil || !contract.Covers(o.ShipDate) {
		return nil
	}
	return contract
}

// sheetOf is the name of the rate sheet that made an offer; "" if none did.
func (p Policy) sheetOf(r ship.Rate) string {
	if r.Source != "sheet" || p.Sheet == nil {
		return ""
	}
	_, name := p.Sheet(r.Carrier, r.Connection)
	return name
}
