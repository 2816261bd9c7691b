package fedex

import (
	"errors"
	"fmt"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// problems are the reasons for which FedEx would not take an order. They are
// collected, so that a client can correct them all at once.
type problems []ship.FieldError

func (p *problems) add(pointer, code, detail string, args ...any) {
	*p = append(*p, ship.FieldError{Pointer: pointer, Code: code, Detail: fmt.Sprintf(detail, args...)})
}

// collect adds the fields of an error that shared checks found.
func (p *problems) collect(err error) {
	if e, ok := errors.AsType[*ship.Error](err); ok {
		*p = append(*p, e.Fields...)
	}
}

// err is the error of the order, nil if FedEx takes it.
func (p problems) err() error { return carrierkit.InvalidOrder(Spec.Title, p) }

// dropOff is how the parcel gets to FedEx. The other ways may add the charge
// of a pick-up, which is booked elsewhere.
//
// fact: dropoff-type
const dropOff = "DROPOFF_AT_FEDEX_LOCATION"

// packagingType returns the packaging of all parcels: a shipment has one.
func packagingType(order *ship.Order, bad *problems) string {
	common := ""
	for i, parcel := range order.Parcels {
		pointer := fmt.Sprintf("/parcels/%d/packaging", i)
		code, known := packagingOf(parcel.Packaging)
		switch {
		case !known:
			bad.add(pointer, "invalid", "is not a FedEx packaging type: use custom, or one of the codes that GET /v1/carriers lists for FedEx")
		case common != "" && code != common, strings.HasPrefix(parcel.Packaging, oneRatePrefix) != isOneRate(order):
			bad.add(pointer, "invalid", "FedEx allows one packaging type for all parcels of a shipment")
		}
		common = code
	}
	return common
}

// specials returns the extra services of the whole shipment; nil for none.
func specials(order *ship.Order, isQuote bool) *special {
	var extra special
	extra.addOptions(order, isQuote)
	if isOneRate(order) {
		extra.Types = append(extra.Types, oneRateService)
	}
	if order.Options.SaturdayDelivery {
		extra.Types = append(extra.Types, "SATURDAY_DELIVERY")
	}
	if order.IsReturn {
		extra.Types = append(extra.Types, "RETURN_SHIPMENT")
		extra.Return = &returnDetail{"PRINT_RETURN_LABEL"}
	}
	if extra.Types == nil {
		return nil
	}
	return &extra
}

// parties returns both sides of a shipment as FedEx prints them, and warnings
// about them.
func parties(order *ship.Order, bad *problems) (from, to party, warnings []string) {
	from, warnings = partyOf(order.Origin, "/origin", bad)
	to, more := partyOf(order.Destination, "/destination", bad)
	warnings = append(warnings, more...)

	switch {
	case order.IsReturn && digits(order.Origin.Phone) == "" && digits(order.Destination.Phone) != "":
		// The sender of a return is a customer, whose number a shop may not have.
		from.Contact.PhoneNumber = to.Contact.PhoneNumber
		warnings = append(warnings, "origin.phone is missing: the recipient's number is sent to FedEx instead")
	case digits(order.Origin.Phone) == "":
		bad.add("/origin/phone", "required", "FedEx needs a phone number for the sender")
	case digits(order.Destination.Phone) == "":
		to.Contact.PhoneNumber = from.Contact.PhoneNumber
		warnings = append(warnings, "destination.phone is missing: the sender's number is sent to FedEx instead")
	}
	return from, to, warnings
}

// partyOf returns one side of a shipment.
func partyOf(given ship.Address, pointer string, bad *problems) (party, []string) {
	place := carrierkit.PlaceOf(given)
	country := countryOf(place)

	// The phone number is checked by itself, so that an error in the rest of
	// the address does not hide one in it.
	onlyPhone, _, _ := carrierkit.Fit(Spec.Address, ship.Address{Phone: given.Phone, Country: given.Country}, pointer)
	phone := digits(onlyPhone.Phone)
	if country == "US" || country == "CA" || country == "PR" {
		phone = strings.TrimPrefix(phone, "1")
		if phone != "" && len(phone) != 10 {
			bad.add(pointer+"/phone", "invalid_phone", "must have ten digits for FedEx in the United States and Canada, such as 4155550100")
		}
	}

	fitted, warnings, err := carrierkit.Fit(Spec.Address, given, pointer)
	if err != nil {
		bad.collect(err)
		return party{}, nil
	}
	return party{
		Contact: contact{
			PersonName:   fitted.Name,
			CompanyName:  fitted.Company,
			PhoneNumber:  phone,
			EmailAddress: fitted.Email,
		},
		Address: address{
			StreetLines: fitted.Lines,
			City:        fitted.City,
			State:       stateOf(place),
			PostalCode:  fitted.Zip,
			CountryCode: country,
			Residential: fitted.Residential,
		},
	}, warnings
}

// digits drops everything else.
func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

// checkReturn refuses returns that need customs documents of their own.
func checkReturn(order *ship.Order) error {
	if order.IsReturn && laneOf(order).isInternational() {
		return ship.Errorf(ship.Unsupported, "cross-border returns are not supported with FedEx")
	}
	return nil
}
