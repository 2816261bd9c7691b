package ups

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/waybillhq/waybill/internal/ship"
)

// units are a system of measures. UPS wants that of the shipper's country, and
// one for the whole shipment.
type units struct {
	weight, length coded
	maxTenths      int64 // weight of a parcel, in tenths of its unit
	maxLength      int64
	maxGirth       int64 // length and girth together
}

var (
	imperial = units{coded{"LBS", "Pounds"}, coded{"IN", "Inches"}, 1500, 108, 165}
	metric   = units{coded{"KGS", "Kilograms"}, coded{"CM", "Centimeters"}, 700, 274, 419}
)

// units are those of the country that the account is taken to be in.
func (w *draft) units() units {
	if c := w.shipment.Shipper.Address.CountryCode; c == "US" || slices.Contains(territories, c) {
		return imperial
	}
	return metric
}

// tenths is a weight in tenths of the unit, rounded up. Grams are themselves
// rounded up from what the client said, so a pound of 454 g stays one pound.
func (u units) tenths(grams int64) int64 {
	if u.weight.Code == "LBS" {
		return (grams-1)*1_000_000/45_359_237 + 1
	}
	return (grams-1)/100 + 1
}

// whole is a length in whole units, rounded up, with the same forbearance.
func (u units) whole(mm int64) int64 {
	if u.length.Code == "IN" {
		return (mm-1)*10/254 + 1
	}
	return (mm-1)/10 + 1
}

// weigh is a weight as UPS writes it.
func (u units) weigh(tenths int64) weight {
	return weight{UnitOfMeasurement: u.weight, Weight: fmt.Sprintf("%d.%d", tenths/10, tenths%10)}
}

// parcels are the packages of the order.
func (w *draft) parcels() ([]parcel, error) {
	o := w.order
	list := make([]parcel, len(o.Parcels))
	for i, p := range o.Parcels {
		at := fmt.Sprintf("/parcels/%d", i)
		u := w.units()
		if p.WeightGrams < 1 {
			return nil, invalid(at+"/weight", "required", "UPS needs the weight of every parcel")
		}
		tenths := u.tenths(p.WeightGrams)
		if tenths > u.maxTenths {
			return nil, invalid(at+"/weight", "too_heavy", fmt.Sprintf("UPS takes parcels of up to %d %s", u.maxTenths/10, u.weight.Description))
		}
		list[i].PackageWeight = u.weigh(tenths)
		size, ok := u.measure(p.Dimensions)
		if !ok {
			return nil, invalid(at+"/dimensions", "too_large", fmt.Sprintf(
				"UPS takes parcels of up to %d %s, and of %d length and girth together", u.maxLength, u.length.Description, u.maxGirth))
		}
		list[i].Dimensions = size
		code, ok := packagingOf(p.Packaging)
		if !ok {
			return nil, invalid(at+"/packaging", "unknown_packaging", "is not a packaging of UPS")
		}
		list[i].Packaging = &coded{Code: code, Description: "Package"}
		list[i].PackageServiceOptions = w.parcelOptions(i)
	}
	return list, nil
}

// measure is a size as UPS writes it, the longest side first; nil if there is
// none.
func (u units) measure(d *ship.Dimensions) (*dimensions, bool) {
	if d == nil || d.LengthMM < 1 || d.WidthMM < 1 || d.HeightMM < 1 {
		return nil, true
	}
	s := []int64{u.whole(d.LengthMM), u.whole(d.WidthMM), u.whole(d.HeightMM)}
	slices.SortFunc(s, func(a, b int64) int { return int(b - a) })
	if s[0] > u.maxLength || s[0]+2*(s[1]+s[2]) > u.maxGirth {
		return nil, false
	}
	text := func(n int64) string { return strconv.FormatInt(n, 10) }
	return &dimensions{UnitOfMeasurement: u.length, Length: text(s[0]), Width: text(s[1]), Height: text(s[2])}, true
}

// parcelOptions are the extra services of one parcel.
func (w *draft) parcelOptions(i int) *packageOptions {
	var p packageOptions
	given := w.order.Options
	if given.Signature != "" && w.signsParcels() {
		p.DeliveryConfirmation = &confirmation{DCISType: signatures[given.Signature].parcel}
	}
	if v := part(given.InsuredValue, len(w.order.Parcels), i); v.Minor > 0 {
		p.DeclaredValue = &money{CurrencyCode: v.Currency, MonetaryValue: v.Amount()}
	}
	if p == (packageOptions{}) {
		return nil
	}
	return &p
}

// part is the value of one of n parcels: the order's, divided, with what is
// left over on the first ones.
func part(total ship.Money, n, i int) ship.Money {
	each, rest := total.Minor/int64(n), total.Minor%int64(n)
	if int64(i) < rest {
		each++
	}
	return ship.Money{Minor: each, Currency: total.Currency}
}
