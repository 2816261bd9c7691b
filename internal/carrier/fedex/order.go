package fedex

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// dropOff is how the parcel gets to FedEx. The other ways may add the charge
// of a pick-up, which is booked elsewhere.
const dropOff = "DROPOFF_AT_FEDEX_LOCATION"

// maxPieces is how many pieces FedEx answers at once with their labels.
const maxPieces = 40

// invalid is the error of one field.
func invalid(pointer, code, detail string, args ...any) error {
	return ship.InvalidFields([]ship.FieldError{{Pointer: pointer, Code: code, Detail: fmt.Sprintf(detail, args...)}})
}

// measure is the units of one request: FedEx wants the same in all of it.
type measure struct{ weight, length string }

func measureOf(o *ship.Order) measure {
	if from := o.Origin.Country; from == "US" || slices.Contains(islands, from) {
		return measure{"LB", "IN"}
	}
	return measure{"KG", "CM"}
}

// pieces are the parcels of the order.
func pieces(o *ship.Order, m measure, packaging string) ([]piece, error) {
	if n := len(o.Parcels); n == 0 || n > maxPieces {
		return nil, invalid("/parcels", "invalid", "FedEx takes 1 to %d parcels in a shipment", maxPieces)
	}
	values, err := declared(o)
	if err != nil {
		return nil, err
	}
	list := make([]piece, len(o.Parcels))
	for i := range o.Parcels {
		p := &o.Parcels[i]
		list[i] = piece{
			SequenceNumber: i + 1, GroupPackageCount: 1, Weight: m.weigh(hundredths(p, m)), DeclaredValue: values[i],
			SpecialServices: signature(o.Options.Signature),
		}
		if packaging == ownPackaging {
			list[i].Dimensions = m.size(p.Dimensions)
			if crossesNorthAmerica(o) {
				list[i].SubPackagingType = "PARCEL"
			}
		}
	}
	return list, nil
}

// crossesNorthAmerica reports whether FedEx wants to know what kind of box it
// is: into Canada always, from Canada and Mexico into the United States.
func crossesNorthAmerica(o *ship.Order) bool {
	from, to := o.Origin.Country, o.Destination.Country
	return to == "CA" && from != "CA" || (from == "CA" || from == "MX") && (to == "US" || to == "PR")
}

// packagingType is the packaging of all parcels: a shipment has one.
func packagingType(o *ship.Order) (string, error) {
	common := ""
	for i, p := range o.Parcels {
		code, known := packagingOf(p.Packaging)
		switch {
		case !known:
			return "", invalid(fmt.Sprintf("/parcels/%d/packaging", i), "invalid", "is not a packaging of FedEx")
		case common != "" && code != common:
			return "", invalid(fmt.Sprintf("/parcels/%d/packaging", i), "invalid", "all parcels of a FedEx shipment have the same packaging")
		}
		common = code
	}
	return common, nil
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
func declared(o *ship.Order) ([]*amount, error) {
	n := int64(len(o.Parcels))
	list := make([]*amount, n)
	v := o.Options.InsuredValue
	if v.IsZero() {
		return list, nil
	}
	for i := range list {
		share := ship.Money{Minor: v.Minor / n, Currency: v.Currency}
		if int64(i) < v.Minor%n {
			share.Minor++
		}
		if share.Minor/int64(math.Pow10(ship.Exponent(v.Currency))) > maxDeclared {
			return nil, invalid("/options/insuredValue", "invalid", "FedEx takes a value of %d for a parcel at most", maxDeclared)
		}
		list[i] = amountOf(share)
	}
	return list, nil
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
func parties(o *ship.Order) (from, to party, warnings []string, err error) {
	from, said, err := partyOf(o.Origin, "/origin")
	if err != nil {
		return from, to, nil, err
	}
	to, more, err := partyOf(o.Destination, "/destination")
	if err != nil {
		return from, to, nil, err
	}
	warnings = append(said, more...)
	switch {
	case from.Contact.PhoneNumber == "":
		return from, to, nil, invalid("/origin/phone", "required", "FedEx prints no label without the sender's phone number")
	case to.Contact.PhoneNumber == "":
		to.Contact.PhoneNumber = from.Contact.PhoneNumber
		warnings = append(warnings, "destination.phone is missing: FedEx has the sender's instead")
	}
	return from, to, warnings, nil
}

func partyOf(a ship.Address, pointer string) (party, []string, error) {
	f, warnings, err := carrierkit.Fit(Spec.Address, a, pointer)
	if err != nil {
		return party{}, nil, err
	}
	country := countryOf(f.Country, f.State)
	phone := digits(f.Phone)
	if country == "US" || country == "CA" || country == "PR" {
		phone = strings.TrimPrefix(phone, "1")
		if phone != "" && len(phone) != 10 {
			return party{}, nil, invalid(pointer+"/phone", "invalid_phone", "FedEx takes ten digits in this country")
		}
	}
	return party{
		Contact: contact{PersonName: f.Name, CompanyName: f.Company, PhoneNumber: phone, EmailAddress: f.Email},
		Address: address{
			StreetLines: f.Lines, City: f.City, State: stateOf(country, f.State), PostalCode: f.Zip, CountryCode: country, Residential: f.Residential,
		},
	}, warnings, nil
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
