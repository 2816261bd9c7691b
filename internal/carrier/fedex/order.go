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

// measure is the units of one request: FedEx wants the same in all of it.
type measure struct{ weight, length string }

func measureOf(o *ship.Order) measure {
	if from := countryOf(laneOf(o).from); from == "US" || carrierkit.IsUSTerritory(from) {
		return measure{"LB", "IN"}
	}
	return measure{"KG", "CM"}
}

// pieces are the parcels of the order.
func pieces(o *ship.Order, m measure, packaging string, bad *problems) []piece {
	if n := len(o.Parcels); n == 0 || n > maxPieces {
		bad.add("/parcels", "invalid", "FedEx takes 1 to %d parcels in a shipment", maxPieces)
		return nil
	}

	values := declared(o, bad)
	list := make([]piece, len(o.Parcels))
	for i := range o.Parcels {
		p := &o.Parcels[i]
		list[i] = piece{
			SequenceNumber:    i + 1,
			GroupPackageCount: 1,
			Weight:            m.weigh(hundredths(p, m)),
			DeclaredValue:     values[i],
			SpecialServices:   signature(o.Options.Signature),
		}
		if packaging == ownPackaging {
			list[i].Dimensions = m.size(p.Dimensions)
			if crossesNorthAmerica(o) {
				list[i].SubPackagingType = "PARCEL"
			}
		}
	}
	return list
}

// crossesNorthAmerica reports whether FedEx wants to know what kind of box it
// is: into Canada always, from Canada and Mexico into the United States.
func crossesNorthAmerica(o *ship.Order) bool {
	lane := laneOf(o)
	from, to := countryOf(lane.from), countryOf(lane.to)
	return to == "CA" && from != "CA" || (from == "CA" || from == "MX") && (to == "US" || to == "PR")
}

// packagingType is the packaging of all parcels: a shipment has one.
func packagingType(o *ship.Order, bad *problems) string {
	common := ""
	for i, p := range o.Parcels {
		pointer := fmt.Sprintf("/parcels/%d/packaging", i)
		code, known := packagingOf(p.Packaging)
		switch {
		case !known:
			bad.add(pointer, "invalid", "FedEx has no such packaging: use custom, or one of the codes that /v1/carriers lists for FedEx")
		case common != "" && code != common:
			bad.add(pointer, "invalid", "FedEx takes one kind of packaging for all parcels of a shipment")
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
func specials(o *ship.Order) *special {
	var s special
	if o.Options.SaturdayDelivery {
		s.Types = append(s.Types, "SATURDAY_DELIVERY")
	}
	if o.IsReturn {
		s.Types = append(s.Types, "RETURN_SHIPMENT")
		s.Return = &returnDetail{"PRINT_RETURN_LABEL"}
	}
	if s.Types == nil {
		return nil
	}
	return &s
}

// maxDeclared is the largest value of a piece that FedEx takes, in whole
// units of its currency.
const maxDeclared = 99999

// declared parts the insured value among the parcels, to the last cent.
func declared(o *ship.Order, bad *problems) []*amount {
	n := int64(len(o.Parcels))
	list := make([]*amount, n)
	v := o.Options.InsuredValue
	if v.IsZero() {
		return list
	}

	for i := range list {
		share := ship.Money{Minor: v.Minor / n, Currency: v.Currency}
		if int64(i) < v.Minor%n {
			share.Minor++
		}
		if share.Minor/int64(math.Pow10(ship.Exponent(v.Currency))) > maxDeclared {
			bad.add("/options/insuredValue", "invalid", "FedEx allows at most %d %s of insured value for a parcel", maxDeclared, v.Currency)
			return list
		}
		list[i] = amountOf(share)
	}
	return list
}

func amountOf(m ship.Money) *amount {
	return &amount{Amount: json.Number(m.Amount()), Currency: fedexCurrency(m.Currency)}
}

// gramsInPound times 100,000.
const gramsInPound = 45359237

// hundredths is the weight of a parcel in hundredths of the unit, rounded up.
// What the client said is used where it is in the same unit: whole grams, once
// more rounded, would charge for a part of a pound that is not there.
func hundredths(p *ship.Parcel, m measure) int64 {
	said := 0.0
	switch {
	case p.WeightUnit.Grams(p.Weight) != p.WeightGrams:
	case m.weight == "LB" && p.WeightUnit == ship.Pound, m.weight == "KG" && p.WeightUnit == ship.Kilogram:
		said = p.Weight
	case m.weight == "LB" && p.WeightUnit == ship.Ounce:
		said = p.Weight / 16
	}
	if said > 0 {
		return max(int64(math.Ceil(said*100-1e-6)), 1)
	}
	return m.hundredths(p.WeightGrams)
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
func totalWeight(o *ship.Order, m measure) json.Number {
	tenths := (allHundredths(o, m) + 9) / 10
	return json.Number(fmt.Sprintf("%d.%d", tenths/10, tenths%10))
}

// size is the sides in whole units, rounded up.
func (m measure) size(d *ship.Dimensions) *dimensions {
	if d == nil {
		return nil
	}
	up := func(said float64, mm int64) int64 {
		switch {
		case d.Unit.Millimetres(said) != mm:
		case m.length == "IN" && d.Unit == ship.Inch, m.length == "CM" && d.Unit == ship.Centimetre:
			return max(int64(math.Ceil(said-1e-6)), 1)
		}
		if m.length == "IN" {
			return max((mm*10+253)/254, 1)
		}
		return max((mm+9)/10, 1)
	}
	return &dimensions{Length: up(d.Length, d.LengthMM), Width: up(d.Width, d.WidthMM), Height: up(d.Height, d.HeightMM), Units: m.length}
}

// parties are both sides of a shipment as FedEx prints them, and what the
// client should know of them.
func parties(o *ship.Order, bad *problems) (from, to party, warnings []string) {
	from, warnings = partyOf(o.Origin, "/origin", bad)
	to, more := partyOf(o.Destination, "/destination", bad)
	warnings = append(warnings, more...)

	switch {
	case digits(o.Origin.Phone) == "":
		bad.add("/origin/phone", "required", "FedEx needs a phone number for the sender")
	case digits(o.Destination.Phone) == "":
		to.Contact.PhoneNumber = from.Contact.PhoneNumber
		warnings = append(warnings, "destination.phone is missing: FedEx has the sender's instead")
	}
	return from, to, warnings
}

// partyOf is one side of a shipment.
func partyOf(a ship.Address, pointer string, bad *problems) (party, []string) {
	place := carrierkit.PlaceOf(a)
	country := countryOf(place)

	// The phone number is looked at by itself: what is wrong with the rest of
	// the address may not hide what is wrong with it.
	alone, _, _ := carrierkit.Fit(Spec.Address, ship.Address{Phone: a.Phone, Country: a.Country}, pointer)
	phone := digits(alone.Phone)
	if country == "US" || country == "CA" || country == "PR" {
		phone = strings.TrimPrefix(phone, "1")
		if phone != "" && len(phone) != 10 {
			bad.add(pointer+"/phone", "invalid_phone", "FedEx takes phone numbers of ten digits in the United States and Canada, such as 4155550100")
		}
	}

	f, warnings, err := carrierkit.Fit(Spec.Address, a, pointer)
	if err != nil {
		bad.collect(err)
		return party{}, nil
	}
	return party{
		Contact: contact{
			PersonName:   f.Name,
			CompanyName:  f.Company,
			PhoneNumber:  phone,
			EmailAddress: f.Email,
		},
		Address: address{
			StreetLines: f.Lines,
			City:        f.City,
			State:       stateOf(place),
			PostalCode:  f.Zip,
			CountryCode: country,
			Residential: f.Residential,
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
