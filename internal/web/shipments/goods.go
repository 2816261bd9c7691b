package shipments

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/newshipment"
	"github.com/waybillhq/waybill/internal/web/parts"
)

// viewBox returns the part of the whole picture that the sheet shows.
func (s labelSheet) viewBox() string {
	return fmt.Sprintf("0 %d %d %d", s.Top, s.Width, s.Height)
}

// is4x6 reports whether the sheet has the usual size of a label.
func (s labelSheet) is4x6() bool {
	return s.Width <= 41*printDPI/10 && s.Height <= 61*printDPI/10
}

// class returns the paper that the sheet needs: 4 x 6 inches, the longer kind
// of the same width, or a page.
func (s labelSheet) class() string {
	switch {
	case s.is4x6():
		return "sheet"
	case s.Width <= 41*printDPI/10:
		return "sheet sheet-long"
	}
	return "sheet sheet-page"
}

// inches returns a number of dots as a length on paper.
func inches(dots int) string { return parts.Decimal(float64(dots)/printDPI) + "in" }

// choiceTitle returns the title of a value in a list of choices.
func choiceTitle(list []parts.Choice, value string) string {
	i := slices.IndexFunc(list, func(c parts.Choice) bool { return c.Value == value })
	if i < 0 {
		return parts.Plain(value)
	}
	return list[i].Title
}

// declaredTotal returns the value of all declared goods, one amount a currency.
func declaredTotal(declared ship.Customs) string {
	var sums []ship.Money
	for _, item := range declared.Items {
		value := ship.Money{Minor: item.Value.Minor * int64(item.Quantity), Currency: item.Value.Currency}
		i := slices.IndexFunc(sums, func(m ship.Money) bool { return m.Currency == value.Currency })
		if i < 0 {
			sums = append(sums, value)
			continue
		}
		sums[i].Minor += value.Minor
	}

	words := make([]string, len(sums))
	for i, sum := range sums {
		words[i] = parts.Money(sum)
	}
	return cmp.Or(strings.Join(words, " + "), "–")
}

// taxTitle returns the name of a kind of tax identifier.
func taxTitle(kind string) string {
	if kind == "other" {
		return "Tax number"
	}
	return choiceTitle(newshipment.TaxTypes, kind)
}

// taxOwner says whose tax identifier it is, and who issued it.
func taxOwner(id ship.TaxIdentifier) string {
	words := id.Party
	if id.Country != "" {
		words += ", " + ship.CountryName(id.Country)
	}
	return words
}

// itemUnit returns the unit for the weights of declared goods: that of the
// first parcel.
func (p shipmentView) itemUnit() ship.WeightUnit { return p.Order.Parcels[0].WeightUnit }
