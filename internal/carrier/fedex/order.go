package fedex

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// dropOff is how the parcel gets to FedEx. The other ways may add the charge
// of a pick-up, which is booked elsewhere.
const dropOff = "DROPOFF_AT_FEDEX_LOCATION"

// maxPieces is how many pieces FedEx answers at once with their labels.
const maxPieces = 40

// measure is the units of one request: FedEx takes the same in all of it.
type measure struct{ weight, length string }

func measureOf(order *ship.Order) measure {
	if from := countryOf(laneOf(order).from); from == "US" || carrierkit.IsUSTerritory(from) {
		return measure{"LB", "IN"}
	}
	return measure{"KG", "CM"}
}

// pieces are the parcels of the order.
func pieces(order *ship.Order, units measure, packaging string, bad *problems) []piece {
	if n := len(order.Parcels); n == 0 || n > maxPieces {
		bad.add("/parcels", "invalid", "FedEx allows 1 to %d parcels per shipment", maxPieces)
		return nil
	}

	values := declaredValues(order, bad)
	list := make([]piece, len(order.Parcels))
	for i := range order.Parcels {
		parcel := &order.Parcels[i]
		list[i] = piece{
			SequenceNumber:    i + 1,
			GroupPackageCount: 1,
			Weight:            units.weigh(hundredths(parcel, units)),
			DeclaredValue:     values[i],
			SpecialServices:   signature(order.Options.Signature),
		}
		if packaging == ownPackaging {
			list[i].Dimensions = units.size(parcel.Dimensions)
			if crossesNorthAmerica(order) {
				list[i].SubPackagingType = "PARCEL"
			}
		}
	}
	return list
}

// crossesNorthAmerica reports whether FedEx asks what kind of box it is: into
// Canada always, from Canada and Mexico into the United States.
func crossesNorthAmerica(order *ship.Order) bool {
	lane := laneOf(order)
	from := countryOf(lane.from)
	to := countryOf(lane.to)

	intoCanada := to == "CA" && from != "CA"
	intoUSA := (from == "CA" || from == "MX") && (to == "US" || to == "PR")
	return intoCanada || intoUSA
}

// packagingType is the packaging of all parcels: a shipment has one.
func packagingType(order *ship.Order, bad *problems) string {
	common := ""
	for i, parcel := range order.Parcels {
		pointer := fmt.Sprintf("/parcels/%d/packaging", i)
		code, known := packagingOf(parcel.Packaging)
		switch {
		case !known:
			bad.add(pointer, "invalid", "is not a FedEx packaging type: use custom, or one of the codes that GET /v1/carriers lists for FedEx")
		case common != "" && code != common:
			bad.add(pointer, "invalid", "FedEx allows one packaging type for all parcels of a shipment")
		}
		common = code
	}
	return common
}

// signature is who must sign.
func signature(option string) *pieceSpecial {
	switch option {
	case "":
		return nil
	case "adult":
		return &pieceSpecial{Types: []string{"SIGNATURE_OPTION"}, SignatureOption: "ADULT"}
	}
	return &pieceSpecial{Types: []string{"SIGNATURE_OPTION"}, SignatureOption: "DIRECT"}
}

// specials are the extra services of the whole shipment; nil for none.
func specials(order *ship.Order) *special {
	var extra special
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

// maxDeclared is the largest value of a piece that FedEx takes, in whole
// units of its currency.
const maxDeclared = 99999

// declaredValues distributes the insured value among the parcels, to the last
// cent.
func declaredValues(order *ship.Order, bad *problems) []*amount {
	n := int64(len(order.Parcels))
	list := make([]*amount, n)
	insured := order.Options.InsuredValue
	if insured.IsZero() {
		return list
	}

	for i := range list {
		share := ship.Money{Minor: insured.Minor / n, Currency: insured.Currency}
		if int64(i) < insured.Minor%n {
			share.Minor++
		}
		if share.Minor/int64(math.Pow10(ship.Exponent(insured.Currency))) > maxDeclared {
			bad.add("/options/insuredValue", "invalid", "FedEx allows at most %d %s of insured value for a parcel", maxDeclared, insured.Currency)
			return list
		}
		list[i] = amountOf(share)
	}
	return list
}

func amountOf(money ship.Money) *amount {
	return &amount{Amount: json.Number(money.Amount()), Currency: fedexCurrency(money.Currency)}
}

// gramsInPound times 100,000.
const gramsInPound = 45359237

// hundredths is the weight of a parcel in hundredths of the unit, rounded up.
func hundredths(parcel *ship.Parcel, units measure) int64 {
	// The weight is taken as the client gave it where it is in the same unit:
	// the stored grams are rounded up, and rounding them once more would charge
	// for a part of a pound that is not there.
	given := 0.0
	switch {
	case parcel.WeightUnit.Grams(parcel.Weight) != parcel.WeightGrams:
	case units.weight == "LB" && parcel.WeightUnit == ship.Pound, units.weight == "KG" && parcel.WeightUnit == ship.Kilogram:
		given = parcel.Weight
	case units.weight == "LB" && parcel.WeightUnit == ship.Ounce:
		given = parcel.Weight / 16
	}
	if given > 0 {
		return max(int64(math.Ceil(given*100-1e-6)), 1)
	}
	return units.hundredths(parcel.WeightGrams)
}

func (m measure) hundredths(grams int64) int64 {
	if m.weight == "LB" {
		return max((grams*100*100000+gramsInPound-1)/gramsInPound, 1)
	}
	return max((grams+9)/10, 1)
}

func (m measure) weigh(hundredths int64) weight {
	return weight{Units: m.weight, Value: json.Number(fmt.Sprintf("%d.%02d", hundredths/100, hundredths%100))}
}

// totalWeight is the weight of all parcels, which FedEx takes in tenths.
func totalWeight(order *ship.Order, units measure) json.Number {
	tenths := (allHundredths(order, units) + 9) / 10
	return json.Number(fmt.Sprintf("%d.%d", tenths/10, tenths%10))
}

// size is the sides in whole units, rounded up.
func (m measure) size(given *ship.Dimensions) *dimensions {
	if given == nil {
		return nil
	}

	roundUp := func(side float64, mm int64) int64 {
		switch {
		case given.Unit.Millimetres(side) != mm:
		case m.length == "IN" && given.Unit == ship.Inch, m.length == "CM" && given.Unit == ship.Centimetre:
			return max(int64(math.Ceil(side-1e-6)), 1)
		}
		if m.length == "IN" {
			return max((mm*10+253)/254, 1)
		}
		return max((mm+9)/10, 1)
	}
	return &dimensions{
		Length: roundUp(given.Length, given.LengthMM),
		Width:  roundUp(given.Width, given.WidthMM),
		Height: roundUp(given.Height, given.HeightMM),
		Units:  m.length,
	}
}

// parties are both sides of a shipment as FedEx prints them, and warnings about
// them.
func parties(order *ship.Order, bad *problems) (from, to party, warnings []string) {
	from, warnings = partyOf(order.Origin, "/origin", bad)
	to, more := partyOf(order.Destination, "/destination", bad)
	warnings = append(warnings, more...)

	switch {
	case digits(order.Origin.Phone) == "":
		bad.add("/origin/phone", "required", "FedEx needs a phone number for the sender")
	case digits(order.Destination.Phone) == "":
		to.Contact.PhoneNumber = from.Contact.PhoneNumber
		warnings = append(warnings, "destination.phone is missing: the sender's number is sent to FedEx instead")
	}
	return from, to, warnings
}

// partyOf is one side of a shipment.
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
