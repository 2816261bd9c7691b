// Package customs says what customs or a carrier would object to in a
// declaration, before money moves. Its rules are data with the days from which
// they hold. It does no I/O, and nothing that it finds prevents a purchase: laws
// change, and a person may know better.
package customs

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/waybillhq/waybill/internal/ship"
)

// Check returns what is wrong with the declaration of a normalized order. A parcel
// with documents, or without a declaration, has no findings.
func Check(order ship.Order) []ship.FieldError {
	if order.Customs == nil || order.Customs.ContentsType == "documents" {
		return nil
	}

	c := checker{order: order, day: order.ShipDate}
	for i := range order.Customs.Items {
		c.item(fmt.Sprintf("/customs/items/%d", i), &order.Customs.Items[i])
	}
	c.weights()
	c.values()
	c.taxNumbers()
	c.payer()
	return c.found
}

type checker struct {
	order ship.Order
	day   ship.Date
	found []ship.FieldError
}

func (c *checker) find(pointer, code, detail string) {
	c.found = append(c.found, ship.FieldError{Pointer: pointer, Code: code, Detail: detail})
}

func (c *checker) item(pointer string, item *ship.CustomsItem) {
	switch code := digits(item.HSCode); {
	case item.HSCode == "":
		c.find(pointer+"/hsCode", "required", "is missing: customs ask for the HS code of each item, at least its first six digits")
	case !isPlausibleCode(item.HSCode, code):
		c.find(pointer+"/hsCode", "invalid", "is no HS code: it has 6 to 10 digits, and begins with a chapter from 01 to 97")
	}
	for _, rule := range restrictedGoods {
		if hasPrefix(digits(item.HSCode), rule.headings) {
			c.find(pointer+"/hsCode", "restricted", "says that the item is "+rule.goods+", which carriers take only by special agreement")
		}
	}
	if isVague(item.Description) {
		c.find(pointer+"/description", "vague", `is too vague for customs: say what it is and what it is made of, such as "men's cotton shirts"`)
	}
	if item.OriginCountry == "" {
		c.find(pointer+"/originCountry", "required", "is missing: duties depend on the country where the item was made")
	}
	if item.Value.Minor <= 0 {
		c.find(pointer+"/value", "invalid", "is zero: customs ask for what the item would cost, for gifts and samples too")
	}
	if c.entersEU() && c.day >= productIdentifiersFrom && c.isSale() && c.order.Destination.Type == "consumer" && len(item.ProductIdentifiers) == 0 {
		c.find(pointer+"/productIdentifiers", "required",
			"is missing: since 1 November 2026 the EU asks for a product identifier of goods sold to consumers, or for the statement that there is none")
	}
}

// weights compares the items with the parcels that hold them.
func (c *checker) weights() {
	var items, parcels int64
	for _, item := range c.order.Customs.Items {
		items += item.WeightGrams * int64(item.Quantity)
	}
	for _, parcel := range c.order.Parcels {
		parcels += parcel.WeightGrams
	}
	if items > parcels {
		c.find("/customs/items", "weight_mismatch",
			fmt.Sprintf("weigh %d g together, more than the parcels with %d g: the weight of an item is that of one piece", items, parcels))
	}
}

// values compares the declared value with the insured one, and looks for more
// than one currency.
func (c *checker) values() {
	items := c.order.Customs.Items
	total := ship.Money{Currency: items[0].Value.Currency}
	for _, item := range items {
		if item.Value.Currency != total.Currency {
			c.find("/customs/items", "currency_mismatch", "have values in more than one currency: carriers take one for a declaration")
			return
		}
		total.Minor += item.Value.Minor * int64(item.Quantity)
	}

	insured := c.order.Options.InsuredValue
	if insured.Currency == total.Currency && insured.Minor > total.Minor {
		c.find("/options/insuredValue", "value_mismatch",
			"is more than the declared value of "+total.String()+": a claim pays no more than was declared")
	}
}

// taxNumbers looks for the numbers without which a country does not release a
// parcel.
func (c *checker) taxNumbers() {
	for _, rule := range neededTaxNumbers {
		applies := rule.to == c.order.Destination.Country && c.order.Origin.Country != rule.to &&
			(!rule.consumers || c.order.Destination.Type == "consumer")
		if !applies {
			continue
		}
		isGiven := slices.ContainsFunc(c.order.Customs.TaxNumbers(), func(id ship.TaxIdentifier) bool {
			return slices.Contains(rule.types, id.Type) && id.Party != "sender"
		})
		if !isGiven {
			c.find("/customs/taxIdentifiers", "required",
				"lacks the recipient's "+rule.name+", without which "+ship.CountryName(rule.to)+" does not release a parcel")
		}
	}
}

// payer asks who pays duties where there is nothing that is free of them.
func (c *checker) payer() {
	if c.order.Customs.Incoterm != "" || !c.isSale() || c.order.Origin.Country == c.order.Destination.Country {
		return
	}
	for _, limit := range dutyFree {
		if limit.covers(c.order.Destination.Country) && c.day >= limit.from && (limit.until == "" || c.day < limit.until) && limit.amount.Minor == 0 {
			c.find("/customs/incoterm", "required",
				"is missing: "+limit.says+", so say whether the sender (DDP) or the recipient (DAP) pays them")
		}
	}
}

// isSale reports whether the goods were sold, as far as the declaration says.
func (c *checker) isSale() bool { return c.order.Customs.ContentsType == "merchandise" }

func (c *checker) entersEU() bool {
	return slices.Contains(eu, c.order.Destination.Country) && !slices.Contains(eu, c.order.Origin.Country)
}

// digits returns the digits of a code that people write with dots and spaces.
func digits(code string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, code)
}

func isPlausibleCode(written, code string) bool {
	isClean := strings.Trim(written, "0123456789. ") == ""
	hasLength := len(code) >= 6 && len(code) <= 10
	if !isClean || !hasLength {
		return false
	}
	// Chapter 77 is not in use; 98 and 99 are for national use.
	chapter := code[:2]
	return chapter != "00" && chapter != "77"
}

// isVague reports whether a description has nothing but words that say nothing.
func isVague(description string) bool {
	words := strings.FieldsFunc(strings.ToLower(description), func(r rune) bool { return !unicode.IsLetter(r) })
	return !slices.ContainsFunc(words, func(word string) bool {
		return len([]rune(word)) > 2 && !slices.Contains(vagueWords, word)
	})
}

func hasPrefix(code string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(code, prefix) })
}
