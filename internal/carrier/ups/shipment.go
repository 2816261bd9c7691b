package ups

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// A draft is an order in UPS's words, as far as quotes and purchases share
// them. It collects everything that UPS would refuse, so that the client gets
// all of it in one answer.
type draft struct {
	shipment shipment
	order    ship.Order
	from, to string // countries as UPS counts them
	lane     lane
	crosses  bool      // a customs border
	entersEU bool      // from outside
	today    time.Time // where the parcel starts
	warnings []string
	problems []ship.FieldError
}

// refuse adds a problem with one field of the order.
func (w *draft) refuse(pointer, code, detail string, args ...any) {
	w.problems = append(w.problems, ship.FieldError{
		Pointer: pointer,
		Code:    code,
		Detail:  fmt.Sprintf(detail, args...),
	})
}

// err lists all problems; nil if there are none.
func (w *draft) err() error { return carrierkit.InvalidOrder("UPS", w.problems) }

// draft puts an order into UPS's words. What UPS does not take is in the
// problems of the draft; the error is for orders that UPS does not carry at
// all.
func (d *driver) draft(o ship.Order, now time.Time) (*draft, error) {
	origin := local(o.Origin)
	destination := local(o.Destination)

	start := carrierkit.PlaceOf(o.Origin)
	end := carrierkit.PlaceOf(o.Destination)
	w := &draft{
		order:    o,
		from:     origin.Country,
		to:       destination.Country,
		lane:     laneOf(origin.Country, destination.Country),
		crosses:  carrierkit.CrossesCustoms(start, end),
		entersEU: !start.InEU() && end.InEU(),
		today:    today(start, now),
	}
	if o.IsReturn && w.crosses {
		return nil, ship.Errorf(ship.Unsupported, "UPS returns across a customs border are not supported")
	}

	sender := w.fit(origin, "/origin")
	receiver := w.fit(destination, "/destination")

	s := &w.shipment
	s.ShipmentRatingOptions.NegotiatedRatesIndicator = true
	s.Shipper = partyOf(sender)
	s.ShipTo = partyOf(receiver)
	s.ShipTo.Address.ResidentialAddressIndicator = present(receiver.Residential)
	if o.IsReturn {
		// The account's owner sends for the customer, and gets the parcel.
		from := s.Shipper
		s.ShipFrom = &from
		s.Shipper = partyOf(receiver)
	}
	s.Shipper.ShipperNumber = d.account

	w.checkReturn()
	w.addParcels()
	w.addOptions()
	return w, nil
}

// today is the day by the clocks of a place, as its start in UTC.
func today(place carrierkit.Place, now time.Time) time.Time {
	return ship.Date(now.In(place.ClosestZone()).Format(time.DateOnly)).Time()
}

// fit is an address as UPS takes it; what does not fit becomes a problem.
func (w *draft) fit(a ship.Address, pointer string) carrierkit.FittedAddress {
	fitted, warnings, err := carrierkit.Fit(addressLimits, a, pointer)
	w.warnings = append(w.warnings, warnings...)

	if wrong, ok := errors.AsType[*ship.Error](err); ok {
		w.problems = append(w.problems, wrong.Fields...)
	}
	return fitted
}

// local is an address in the spelling of UPS: territories of the United States
// and of France, and the Canary Islands, are countries; North American postal
// codes have no separators; a Vietnamese province has its country before it.
func local(a ship.Address) ship.Address {
	switch territory := carrierkit.PlaceOf(a).Territory(); territory {
	case carrierkit.CeutaMelilla, "AX":
		// UPS has no code for Ceuta, Melilla and the Åland Islands: they stay
		// in Spain and Finland.
	default:
		a.Country = cmp.Or(territory, a.Country)
	}

	if carrierkit.IsUSTerritory(a.Country) {
		a.State = a.Country
	}
	if a.Country == "VN" && len(a.State) == 2 {
		a.State = "VN-" + a.State
	}
	if isUnitedStates(a.Country) || a.Country == "CA" || len(a.Zip) > addressLimits.Zip {
		a.Zip = strings.NewReplacer(" ", "", "-", "").Replace(a.Zip)
	}
	a.Email = "" // UPS would write to it
	return a
}

func partyOf(f carrierkit.FittedAddress) party {
	p := party{
		Name: f.Name,
		Address: address{
			AddressLine:       append([]string{}, f.Lines...), // UPS wants the list, even if it is empty
			City:              f.City,
			StateProvinceCode: f.State,
			PostalCode:        f.Zip,
			CountryCode:       f.Country,
		},
	}
	if f.Company != "" {
		p.Name = f.Company
		p.AttentionName = f.Name
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
func (w *draft) checkReturn() {
	o := w.order
	if !o.IsReturn {
		return
	}
	if len(o.Parcels) > 1 && (w.from == "US" || w.from == "PR") {
		w.refuse("/parcels", "too_long", "UPS allows one parcel per return from the United States; this one has %d", len(o.Parcels))
	}
	if o.Options.Signature != "" {
		w.refuse("/options/signature", "unsupported", "UPS does not take a signature for a return")
	}
}

// addOptions adds the extra services of the shipment.
func (w *draft) addOptions() {
	var s shipmentOptions
	given := w.order.Options
	s.SaturdayDeliveryIndicator = present(given.SaturdayDelivery)

	codes, known := signatures[given.Signature]
	switch {
	case given.Signature == "":
	case !known:
		w.refuse("/options/signature", "unsupported", "UPS takes the signatures standard and adult")
	case !w.signsParcels():
		s.DeliveryConfirmation = &confirmation{DCISType: codes.shipment}
	}

	if s != (shipmentOptions{}) {
		w.shipment.ShipmentServiceOptions = &s
	}
}

// serviceOptions are the extra services of the shipment, made if there are
// none yet.
func (w *draft) serviceOptions() *shipmentOptions {
	if w.shipment.ShipmentServiceOptions == nil {
		w.shipment.ShipmentServiceOptions = &shipmentOptions{}
	}
	return w.shipment.ShipmentServiceOptions
}

// signsParcels reports whether signatures are asked for each parcel; elsewhere
// they are asked for the shipment, under other codes.
func (w *draft) signsParcels() bool {
	return w.lane == laneUS || w.lane == lanePR || w.lane == laneCA
}

// charges says who pays: the way first, then duties if the sender pays them.
func (d *driver) charges(w *draft) []charge {
	list := []charge{d.transport(w)}
	customs := w.order.Customs
	if customs != nil && customs.Incoterm == "DDP" && w.crosses {
		list = append(list, charge{Type: "02", BillShipper: &payer{AccountNumber: d.account}})
	}
	return list
}

// transport says who pays for the way.
func (d *driver) transport(w *draft) charge {
	b := w.order.Billing
	c := charge{Type: "01"}
	if b == nil || b.Type == "sender" {
		if b != nil && b.Account != "" && !strings.EqualFold(b.Account, d.account) {
			w.refuse("/billing/account", "invalid", "UPS bills the sender on the account of the connection alone")
		}
		c.BillShipper = &payer{AccountNumber: d.account}
		return c
	}

	if len(b.Account) != 6 {
		w.refuse("/billing/account", "invalid", "a UPS account number has 6 letters and digits; this one has %d", len(b.Account))
	}
	p := &payer{AccountNumber: strings.ToUpper(b.Account)}

	switch {
	case b.Type == "recipient" && w.order.IsReturn:
		w.refuse("/billing/type", "unsupported", "UPS does not bill a return to its recipient")
	case b.Type == "recipient":
		zip := local(ship.Address{Zip: b.Zip, Country: w.to}).Zip
		if zip == "" {
			zip = w.shipment.ShipTo.Address.PostalCode
		}
		p.Address = &payerAddress{PostalCode: zip}
		c.BillReceiver = p
	case b.Country == "":
		w.refuse("/billing/country", "required", "UPS needs the country of the account that pays")
	default:
		zip := local(ship.Address{Zip: b.Zip, Country: b.Country}).Zip
		p.Address = &payerAddress{PostalCode: zip, CountryCode: b.Country}
		c.BillThirdParty = p
	}
	return c
}

// isUnitedStates reports whether UPS counts the country as the United States
// for units: the states and their territories.
func isUnitedStates(country string) bool {
	return country == "US" || carrierkit.IsUSTerritory(country)
}
