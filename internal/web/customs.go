package web

import (
	"slices"
	"strconv"

	"github.com/waybillhq/waybill/internal/ship"
)

// customsForm is the declaration, as it was filled in.
type customsForm struct {
	Contents  string
	Incoterm  string
	Signer    string
	Invoice   string
	Paperless string
	Currency  string // of all values
	Items     []customsLine
	TaxIDs    []taxLine

	// Empty lines are not declared, so the lines of the form and of the
	// declaration have different numbers: these are the form's.
	itemLines []int
	taxLines  []int
}

// customsLine is one kind of thing in the parcel, as it was filled in.
type customsLine struct {
	Description, Quantity, Value, Weight, HSCode, Origin string
	SKU, Manufacturer                                    string
	Products                                             []productLine
}

// productLine is a product identifier, as it was filled in.
type productLine struct{ Type, Number string }

func (l customsLine) isEmpty() bool {
	return l.Description+l.Value+l.Weight+l.HSCode+l.Origin == "" && !l.hasProduct()
}

// hasProduct reports whether the line says which product it is.
func (l customsLine) hasProduct() bool { return l.SKU+l.Manufacturer != "" || len(l.Products) > 0 }

// productLines are the product identifiers of the line and room for one more.
func (l customsLine) productLines() []productLine {
	if len(l.Products) >= maxProducts {
		return l.Products
	}
	return append(slices.Clip(l.Products), productLine{})
}

// taxLine is a tax identifier, as it was filled in.
type taxLine struct{ Type, Number, Country, Party string }

// maxLines is how many kinds of things the form takes.
const maxLines = 20

// maxProducts is how many identifiers a product can have.
const maxProducts = 6

// contentsKinds are what a parcel can hold.
var contentsKinds = titled(ship.ContentsTypes)

// incoterms are who pays the duties; the first is what carriers assume.
var incoterms = []choice{
	{"", "Recipient pays duties (DAP)"},
	{"DDP", "Sender pays duties (DDP)"},
	{"DAP", "DAP, delivered at place"},
	{"DPU", "DPU, delivered at place unloaded"},
	{"EXW", "EXW, ex works"},
	{"FCA", "FCA, free carrier"},
	{"CPT", "CPT, carriage paid to"},
	{"CIP", "CIP, carriage and insurance paid to"},
}

// taxTypes are the kinds of tax identifiers as people write them.
var taxTypes = func() []choice {
	list := titled(ship.TaxIdentifierTypes)
	for i, c := range list {
		switch c.Value {
		case "national_id", "passport", "other":
		default:
			list[i].Title = upper(c.Value)
		}
	}
	return list
}()

var taxParties = titled(ship.TaxParties)

// paperlessChoices are how the customs documents reach customs.
var paperlessChoices = []choice{
	{"", "Sent electronically where possible"},
	{"off", "Printed and attached"},
}

// productTypes are the kinds of product identifiers as people call them.
var productTypes = []choice{
	{"", "No identifier"},
	{"gtin", "GTIN (EAN, UPC)"},
	{"manufacturer", "Manufacturer's number"},
	{"merchant", "Merchant's number"},
	{"none", "No standard number exists"},
}

// titled are codes as the choices of a form.
func titled(codes []string) []choice {
	list := make([]choice, len(codes))
	for i, code := range codes {
		list[i] = choice{code, plain(code)}
	}
	return list
}

// currencies are those that goods are mostly declared in.
var currencies = []string{"USD", "EUR", "GBP", "CAD", "AUD", "CHF", "CNY", "DKK", "INR", "JPY", "MXN", "NOK", "NZD", "PLN", "SEK", "SGD"}

// currencyChoices are the currencies, with the chosen one among them.
func currencyChoices(chosen string) []choice {
	list := slices.Clone(currencies)
	if !slices.Contains(list, chosen) {
		list = append(list, chosen)
	}
	choices := make([]choice, len(list))
	for i, code := range list {
		choices[i] = choice{code, code}
	}
	return choices
}

// readCustoms reads the declaration of a parcel that crosses a border.
func (v *visit) readCustoms(p *newShipment) {
	c := &p.Customs
	c.Contents = or(v.form("contents"), ship.ContentsTypes[0])
	c.Currency = or(v.form("currency"), v.who.Account.Currency)
	c.Incoterm = v.form("incoterm")
	c.Signer = v.form("signer")
	c.Invoice = v.form("invoice")
	c.Paperless = v.form("paperless")
	v.readCustomsItems(c)
	v.readTaxIDs(c)
	if p.Abroad {
		p.declare()
	}
}

func (v *visit) readCustomsItems(c *customsForm) {
	for i := range maxLines {
		at := "item." + strconv.Itoa(i) + "."
		if _, sent := v.r.PostForm[at+"description"]; !sent {
			break
		}
		c.Items = append(c.Items, customsLine{
			Description: v.form(at + "description"),
			Quantity:    v.form(at + "quantity"),
			Value:       v.form(at + "value"),
			Weight:      v.form(at + "weight"),
			HSCode:      v.form(at + "hsCode"),
			Origin:      v.form(at + "originCountry"),

			SKU:          v.form(at + "sku"),
			Manufacturer: v.form(at + "manufacturer"),
			Products:     v.readProducts(at),
		})
	}
	if len(c.Items) == 0 {
		c.Items = []customsLine{{Quantity: "1"}}
	}
}

// readProducts reads the product identifiers of an item. Empty ones are left
// out, so the form and the declaration number them alike.
func (v *visit) readProducts(item string) (list []productLine) {
	for i := range maxProducts {
		line := productLine{
			Type:   v.form(productField(item, i, "type")),
			Number: v.form(productField(item, i, "number")),
		}
		if line != (productLine{}) {
			list = append(list, line)
		}
	}
	return list
}

// productField is the name of a field of an item's product identifier.
func productField(item string, i int, name string) string {
	return item + "product." + strconv.Itoa(i) + "." + name
}

func (v *visit) readTaxIDs(c *customsForm) {
	for i := range maxLines {
		at := "tax." + strconv.Itoa(i) + "."
		if _, sent := v.r.PostForm[at+"number"]; !sent {
			break
		}
		c.TaxIDs = append(c.TaxIDs, taxLine{
			Type:    v.form(at + "type"),
			Number:  v.form(at + "number"),
			Country: v.form(at + "country"),
			Party:   v.form(at + "party"),
		})
	}
}

// declare makes the declaration of the form. Without a line there is none:
// inside a customs union nothing is declared.
func (p *newShipment) declare() {
	c := &p.Customs
	declared := ship.Customs{
		ContentsType:  c.Contents,
		Incoterm:      c.Incoterm,
		Signer:        c.Signer,
		InvoiceNumber: c.Invoice,
		Paperless:     c.Paperless,
	}

	c.itemLines, c.taxLines = nil, nil
	for i, line := range c.Items {
		if line.isEmpty() {
			continue
		}
		pointer := "/customs/items/" + strconv.Itoa(len(declared.Items))
		c.itemLines = append(c.itemLines, i)
		declared.Items = append(declared.Items, p.item(pointer, line))
	}
	for i, line := range c.TaxIDs {
		if line.Number == "" {
			continue
		}
		c.taxLines = append(c.taxLines, i)
		declared.TaxIdentifiers = append(declared.TaxIdentifiers, ship.TaxIdentifier{
			Type:    line.Type,
			Number:  line.Number,
			Country: countryCode(line.Country),
			Party:   line.Party,
		})
	}

	if len(declared.Items)+len(declared.TaxIdentifiers) > 0 {
		p.Order.Customs = &declared
	}
}

// item is the line as the service takes it; what is no number is noted.
func (p *newShipment) item(pointer string, l customsLine) ship.CustomsItem {
	quantity, err := strconv.Atoi(or(l.Quantity, "1"))
	if err != nil {
		p.Unread = append(p.Unread, ship.FieldError{Pointer: pointer + "/quantity", Code: "invalid", Detail: "must be a whole number such as 2"})
	}

	weight := 0.0
	if l.Weight != "" {
		if weight = number(l.Weight); weight <= 0 {
			p.Unread = append(p.Unread, ship.FieldError{Pointer: pointer + "/weight", Code: "invalid", Detail: "must be a number such as 0.5"})
		}
	}

	var products []ship.ProductIdentifier
	for _, line := range l.Products {
		products = append(products, ship.ProductIdentifier{Type: line.Type, Number: line.Number})
	}

	return ship.CustomsItem{
		Description:   l.Description,
		Quantity:      max(quantity, 1),
		Value:         p.amount(pointer+"/value", amountForm{l.Value, p.Customs.Currency}),
		Weight:        weight,
		HSCode:        l.HSCode,
		OriginCountry: countryCode(l.Origin),

		SKU:                l.SKU,
		Manufacturer:       l.Manufacturer,
		ProductIdentifiers: products,
	}
}

// countryCode is the code of a country that people wrote by its name or code.
func countryCode(written string) string {
	if code, known := ship.CountryCode(written); known {
		return code
	}
	return written
}
