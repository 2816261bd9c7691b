package customs

import (
	"slices"

	"github.com/waybillhq/waybill/internal/ship"
)

// The rules as data. A day is the first on which a rule holds; each has the reason
// for it beside it.

// eu are the countries of the European Union's customs territory, by their codes.
// Their islands with other rules are left to the carriers.
var eu = []string{
	"AT", "BE", "BG", "CY", "CZ", "DE", "DK", "EE", "ES", "FI", "FR", "GR", "HR", "HU", "IE", "IT", "LT", "LU", "LV", "MT",
	"NL", "PL", "PT", "RO", "SE", "SI", "SK",
}

// productIdentifiersFrom is when declarations of goods sold to consumers in the
// EU began to need product identifiers.
const productIdentifiersFrom ship.Date = "2026-11-01"

// A dutyFreeLimit is up to which value a country takes no duties.
type dutyFreeLimit struct {
	countries []string
	amount    ship.Money // zero: duties are due on everything
	from      ship.Date
	until     ship.Date // the first day on which it no longer holds; empty if none is known
	says      string    // for a limit of zero, in the words of a finding
}

func (l dutyFreeLimit) covers(country string) bool { return slices.Contains(l.countries, country) }

// dutyFree has the limits that changed lately.
var dutyFree = []dutyFreeLimit{
	{countries: []string{"US"}, amount: ship.Money{Minor: 800_00, Currency: "USD"}, until: "2025-08-29"},
	{countries: []string{"US"}, from: "2025-08-29", says: "since 29 August 2025 the United States take duties on every parcel"},
	{countries: eu, amount: ship.Money{Minor: 150_00, Currency: "EUR"}, until: "2026-07-01"},
	{countries: eu, from: "2026-07-01", says: "since July 2026 the EU takes duties on every parcel"},
}

// A taxNumberRule is a number of the recipient that a country asks for.
type taxNumberRule struct {
	to        string
	consumers bool     // it holds for consumers alone
	types     []string // any of these; "other" where the number has no type of its own
	name      string
}

// neededTaxNumbers has the countries that hold parcels without such a number.
var neededTaxNumbers = []taxNumberRule{
	{to: "BR", types: []string{"cpf", "cnpj"}, name: "CPF or CNPJ"},
	{to: "KR", consumers: true, types: []string{"national_id", "other"}, name: "personal customs clearance code"},
	{to: "CN", consumers: true, types: []string{"national_id"}, name: "identity number"},
}

// A restriction is goods that carriers take only by special agreement.
type restriction struct {
	headings []string // how their HS codes begin
	goods    string
}

// restrictedGoods has what the lists of the large carriers have in common, as far as
// the first digits of an HS code tell it. It is no complete list of what they refuse.
var restrictedGoods = []restriction{
	{[]string{"01"}, "a live animal"},
	{[]string{"2203", "2204", "2205", "2206", "2208"}, "alcohol"},
	{[]string{"24"}, "tobacco or nicotine"},
	{[]string{"36"}, "explosive or a firework"},
	{[]string{"93"}, "a weapon or ammunition"},
	{[]string{"4907", "7118"}, "money or a coin"},
	{[]string{"7108"}, "gold"},
	{[]string{"850760", "850650"}, "a lithium battery"},
}

// vagueWords say nothing about what an item is. A description needs a word that is
// not among them.
var vagueWords = []string{
	"accessories", "accessory", "and", "apparel", "article", "articles", "assorted", "box", "cargo", "clothes", "clothing", "commercial",
	"consolidated", "content", "contents", "effects", "electronics", "equipment", "etc", "for", "freight", "general", "gift", "gifts",
	"good", "goods", "household", "item", "items", "material", "materials", "merchandise", "misc", "miscellaneous", "new", "order",
	"other", "package", "parcel", "part", "parts", "personal", "piece", "pieces", "present", "presents", "product", "products",
	"sample", "samples", "set", "spare", "stuff", "supplies", "the", "thing", "things", "unknown", "used", "various", "with",
}
