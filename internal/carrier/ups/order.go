package ups

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// A draft is an order in UPS's terms, as far as quotes and purchases share
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

// newDraft puts an order into UPS's terms. What UPS does not take is in the
// problems of the draft; the error is for orders that UPS does not carry at
// all.
func (d *driver) newDraft(order ship.Order, now time.Time) (*draft, error) {
	origin := localized(order.Origin)
	destination := localized(order.Destination)

	start := carrierkit.PlaceOf(order.Origin)
	end := carrierkit.PlaceOf(order.Destination)
	w := &draft{
		order:    order,
		from:     origin.Country,
		to:       destination.Country,
		lane:     laneOf(origin.Country, destination.Country),
		crosses:  carrierkit.CrossesCustoms(start, end),
		entersEU: !start.InEU() && end.InEU(),
		today:    today(start, now),
	}
	if order.IsReturn && w.crosses {
		return nil, ship.Errorf(ship.Unsupported, "UPS returns across a customs border are not supported")
	}

	sender := w.fit(origin, "/origin")
	receiver := w.fit(destination, "/destination")

	shipment := &w.shipment
	shipment.ShipmentRatingOptions.NegotiatedRatesIndicator = true
	shipment.Shipper = partyOf(sender)
	shipment.ShipTo = partyOf(receiver)
	shipment.ShipTo.Address.ResidentialAddressIndicator = present(receiver.Residential)
	if order.IsReturn {
		// The account's owner ships on behalf of the customer, and receives the
		// parcel.
		from := shipment.Shipper
		shipment.ShipFrom = &from
		shipment.Shipper = partyOf(receiver)
	}
	shipment.Shipper.ShipperNumber = d.account

	w.checkReturn()
	w.addParcels()
	w.addOptions()
	w.addPoint()
	w.addCOD()
	return w, nil
}

// today returns the day in the zone of a place, as its start in UTC.
func today(place carrierkit.Place, now time.Time) time.Time {
	return ship.Date(now.In(place.ClosestZone()).Format(time.DateOnly)).Time()
}

// fit returns an address as UPS takes it; what does not fit becomes a problem.
func (w *draft) fit(given ship.Address, pointer string) carrierkit.FittedAddress {
	fitted, warnings, err := carrierkit.Fit(addressLimits, given, pointer)
	w.warnings = append(w.warnings, warnings...)

	if unfit, ok := errors.AsType[*ship.Error](err); ok {
		w.problems = append(w.problems, unfit.Fields...)
	}
	return fitted
}

func partyOf(fitted carrierkit.FittedAddress) party {
	p := party{
		Name: fitted.Name,
		Address: address{
			AddressLine:       append([]string{}, fitted.Lines...), // UPS needs the list, even if it is empty
			City:              fitted.City,
			StateProvinceCode: fitted.State,
			PostalCode:        fitted.Zip,
			CountryCode:       fitted.Country,
		},
	}
	if fitted.Company != "" {
		p.Name = fitted.Company
		p.AttentionName = fitted.Name
	}

	if number := digits(fitted.Phone); number != "" {
		home := laneOf(fitted.Country, fitted.Country)
		if home != laneHome && len(number) == 11 && number[0] == '1' {
			number = number[1:] // area code and number only
		}
		p.Phone = &phone{Number: number}
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
	order := w.order
	if !order.IsReturn {
		return
	}

	if len(order.Parcels) > 1 && (w.from == "US" || w.from == "PR") {
		w.refuse("/parcels", "too_long", "UPS allows one parcel per return from the United States; this one has %d", len(order.Parcels))
	}
	if order.Options.Signature != "" {
		w.refuse("/options/signature", "unsupported", "UPS does not offer signatures for returns")
	}
	for i, given := range order.Parcels {
		if code, _ := packagingOf(given.Packaging); slices.Contains(noReturnPackagings, code) {
			w.refuse(fmt.Sprintf("/parcels/%d/packaging", i), "unsupported", "UPS does not take its 10 KG and 25 KG boxes as returns")
		}
	}
}

// addOptions adds the extra services of the shipment.
func (w *draft) addOptions() {
	var options shipmentOptions
	given := w.order.Options
	options.SaturdayDeliveryIndicator = present(given.SaturdayDelivery)
	options.UPScarbonneutralIndicator = present(given.CarbonNeutral)

	codes, known := signatures[given.Signature]
	switch {
	case given.Signature == "":
	case !known:
		w.refuse("/options/signature", "unsupported", "must be standard, direct or adult for UPS")
	case !w.signsParcels():
		options.DeliveryConfirmation = &confirmation{DCISType: codes.shipment}
	}

	if options != (shipmentOptions{}) {
		w.shipment.ShipmentServiceOptions = &options
	}
}

// serviceOptions returns the extra services of the shipment, and creates the
// list if there is none yet.
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

// charges says who pays: for transportation first, then for duties if the
// sender pays them.
func (d *driver) charges(w *draft) []charge {
	list := []charge{d.transport(w)}
	customs := w.order.Customs
	if customs != nil && customs.Incoterm == "DDP" && w.crosses {
		list = append(list, charge{Type: "02", BillShipper: &payer{AccountNumber: d.account}})
	}
	return list
}

// transport says who pays for transportation.
func (d *driver) transport(w *draft) charge {
	billing := w.order.Billing
	transport := charge{Type: "01"}
	if billing == nil || billing.Type == "sender" {
		if billing != nil && billing.Account != "" && !strings.EqualFold(billing.Account, d.account) {
			w.refuse("/billing/account", "invalid", "UPS bills the sender only on the connection's account")
		}
		transport.BillShipper = &payer{AccountNumber: d.account}
		return transport
	}

	if len(billing.Account) != 6 {
		w.refuse("/billing/account", "invalid", "a UPS account number has 6 letters and digits; this one has %d", len(billing.Account))
	}
	paying := &payer{AccountNumber: strings.ToUpper(billing.Account)}

	switch {
	case billing.Type == "recipient" && w.order.IsReturn:
		w.refuse("/billing/type", "unsupported", "UPS does not bill a return to its recipient")
	case billing.Type == "recipient":
		zip := localized(ship.Address{Zip: billing.Zip, Country: w.to}).Zip
		if zip == "" {
			zip = w.shipment.ShipTo.Address.PostalCode
		}
		paying.Address = &payerAddress{PostalCode: zip}
		transport.BillReceiver = paying
	case billing.Country == "":
		w.refuse("/billing/country", "required", "UPS needs the country of the account that is billed")
	default:
		zip := localized(ship.Address{Zip: billing.Zip, Country: billing.Country}).Zip
		paying.Address = &payerAddress{PostalCode: zip, CountryCode: billing.Country}
		transport.BillThirdParty = paying
	}
	return transport
}
