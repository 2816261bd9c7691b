package fedex

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// maxPieces is how many pieces FedEx answers at once with their labels.
const maxPieces = 40

// pieces returns the parcels of the order.
func pieces(order *ship.Order, units measure, packaging string, isQuote bool, bad *problems) []piece {
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
			SpecialServices:   pieceSpecials(order, isQuote),
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

// measure is the units of one request: FedEx takes the same in all of it.
type measure struct{ weight, length string }

func measureOf(order *ship.Order) measure {
	if from := countryOf(laneOf(order).from); from == "US" || carrierkit.IsUSTerritory(from) {
		return measure{"LB", "IN"}
	}
	return measure{"KG", "CM"}
}

// gramsInPound times 100,000.
const gramsInPound = 45359237

// hundredths returns the weight of a parcel in hundredths of the unit, rounded
// up.
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

// totalWeight returns the weight of all parcels, which FedEx takes in tenths.
func totalWeight(order *ship.Order, units measure) json.Number {
	tenths := (allHundredths(order, units) + 9) / 10
	return json.Number(fmt.Sprintf("%d.%d", tenths/10, tenths%10))
}

// size returns the sides in whole units, rounded up.
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
