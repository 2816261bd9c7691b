package ups

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// A draft is an order in UPS's words, as far as quotes and purchases share
// them.
type draft struct {
	shipment shipment
	order    ship.Order
	from, to string // countries as UPS counts them
	lane     lane
	today    time.Time
	warnings []string
}

// draft puts an order into UPS's words, or refuses what UPS does not take.
func (d *driver) draft(o ship.Order, now time.Time) (*draft, error) {
	origin, destination := local(o.Origin), local(o.Destination)
	sender, said, err := carrierkit.Fit(addressLimits, origin, "/origin")
	receiver, more, err2 := carrierkit.Fit(addressLimits, destination, "/destination")
	if err := both(err, err2); err != nil {
		return nil, err
	}
	w := &draft{
		order: o, from: origin.Country, to: destination.Country, lane: laneOf(origin.Country, destination.Country),
		today: now.UTC(), warnings: append(said, more...),
	}
	s := &w.shipment
	s.ShipmentRatingOptions.NegotiatedRatesIndicator = true
	s.Shipper, s.ShipTo = partyOf(sender), partyOf(receiver)
	s.ShipTo.Address.ResidentialAddressIndicator = present(receiver.Residential)
	if o.IsReturn {
		// The account's owner sends for the customer, and gets the parcel.
		from := s.Shipper
		s.ShipFrom = &from
		s.Shipper = partyOf(receiver)
	}
	s.Shipper.ShipperNumber = d.account
	if err := w.checkReturn(); err != nil {
		return nil, err
	}
	if s.Package, err = w.parcels(); err != nil {
		return nil, err
	}
	return w, w.options()
}

// both joins what is wrong with two addresses.
func both(a, b error) error {
	x, ok := errors.AsType[*ship.Error](a)
	y, ok2 := errors.AsType[*ship.Error](b)
	if ok && ok2 {
		return ship.InvalidFields(append(slices.Clone(x.Fields), y.Fields...))
	}
	return errors.Join(a, b)
}

// local is an address in the spelling of UPS: territories of the United
// States are countries, and North American postal codes have no separators.
func local(a ship.Address) ship.Address {
	if a.Country == "US" && slices.Contains(territories, a.State) {
		a.Country = a.State
	}
	northAmerican := a.Country == "US" || a.Country == "CA" || slices.Contains(territories, a.Country)
	if northAmerican || len(a.Zip) > addressLimits.Zip {
		a.Zip = strings.NewReplacer(" ", "", "-", "").Replace(a.Zip)
	}
	a.Email = "" // UPS would write to it
	return a
}

func partyOf(f carrierkit.FittedAddress) party {
	p := party{Name: f.Name, Address: address{
		AddressLine: f.Lines, City: f.City, StateProvinceCode: f.State, PostalCode: f.Zip, CountryCode: f.Country,
	}}
	if f.Company != "" {
		p.Name, p.AttentionName = f.Company, f.Name
	}
	if n := digits(f.Phone); n != "" {
		if home := laneOf(f.Country, f.Country); home != laneHome && len(n) == 11 && n[0] == '1' {
			n = n[1:] // area code and number alone
		}
		p.Phone = &phone{Number: n}
	}
	return p
}

func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

// checkReturn refuses the returns that UPS does not sell.
func (w *draft) checkReturn() error {
	switch o := w.order; {
	case !o.IsReturn:
		return nil
	case declared(w.from, w.to):
		return ship.Errorf(ship.Unsupported, "UPS returns across a customs border are not supported")
	case len(o.Parcels) > 1 && (w.from == "US" || w.from == "PR"):
		return invalid("/parcels", "too_long", "a UPS return from the United States is one parcel")
	case o.Options.Signature != "":
		return invalid("/options/signature", "unsupported", "UPS takes no signature for a return")
	}
	return nil
}

// options adds the extra services of the shipment.
func (w *draft) options() error {
	var s shipmentOptions
	given := w.order.Options
	s.SaturdayDeliveryIndicator = present(given.SaturdayDelivery)
	if given.Signature != "" && signatures[given.Signature].parcel == "" {
		return invalid("/options/signature", "unsupported", "is not a signature that UPS takes")
	}
	if given.Signature != "" && !w.signsParcels() {
		s.DeliveryConfirmation = &confirmation{DCISType: signatures[given.Signature].shipment}
	}
	if s != (shipmentOptions{}) {
		w.shipment.ShipmentServiceOptions = &s
	}
	return nil
}

// signsParcels reports whether signatures are asked for each parcel; elsewhere
// they are asked for the shipment, under other codes.
func (w *draft) signsParcels() bool {
	return w.lane == laneUS || w.lane == lanePR || w.lane == laneCA
}

// charges says who pays.
func (d *driver) charges(w *draft) ([]charge, error) {
	c, err := d.transport(w)
	if err != nil {
		return nil, err
	}
	list := []charge{c}
	customs := w.order.Customs
	if customs != nil && customs.Incoterm == "DDP" && declared(w.from, w.to) {
		list = append(list, charge{Type: "02", BillShipper: &payer{AccountNumber: d.account}})
	}
	return list, nil
}

// transport says who pays for the way.
func (d *driver) transport(w *draft) (charge, error) {
	b := w.order.Billing
	c := charge{Type: "01"}
	if b == nil || b.Type == "sender" {
		if b != nil && b.Account != "" && !strings.EqualFold(b.Account, d.account) {
			return c, invalid("/billing/account", "invalid", "UPS bills the sender on the account of the connection alone")
		}
		c.BillShipper = &payer{AccountNumber: d.account}
		return c, nil
	}
	if len(b.Account) != 6 {
		return c, invalid("/billing/account", "invalid", "a UPS account number has six letters and digits")
	}
	p := &payer{AccountNumber: strings.ToUpper(b.Account)}
	switch {
	case b.Type == "recipient" && w.order.IsReturn:
		return c, invalid("/billing/type", "unsupported", "UPS does not bill a return to its recipient")
	case b.Type == "recipient":
		zip := local(ship.Address{Zip: b.Zip, Country: w.to}).Zip
		if zip == "" {
			zip = w.shipment.ShipTo.Address.PostalCode
		}
		p.Address = &payerAddress{PostalCode: zip}
		c.BillReceiver = p
	case b.Country == "":
		return c, invalid("/billing/country", "required", "UPS needs the country of the account that pays")
	default:
		p.Address = &payerAddress{PostalCode: local(ship.Address{Zip: b.Zip, Country: b.Country}).Zip, CountryCode: b.Country}
		c.BillThirdParty = p
	}
	return c, nil
}
