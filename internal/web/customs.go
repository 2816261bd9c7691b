package web

import (
	"slices"
	"strconv"

	"github.com/waybillhq/waybill/internal/ship"
)

// customsForm is the customs declaration, as it was filled in.
type customsForm struct {
	Contents  string
	Incoterm  string
	Signer    string
	Invoice   string
	Paperless string
	Currency  string // of all values
	Items     []customsLine
	TaxIDs    []taxLine

	// Empty lines are not declared, so the form and the declaration number
	// their lines differently. These are the numbers in the form, by those of
	// the declaration.
	itemLines []int
	taxLines  []int
}

// customsLine is one item of the declaration, as it was filled in.
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

// hasProduct reports whether the line identifies its product.
func (l customsLine) hasProduct() bool { return l.SKU+l.Manufacturer != "" || len(l.Products) > 0 }

// productLines are the product identifiers of the line, and an empty one to
// fill in.
func (l customsLine) productLines() []productLine {
	if len(l.Products) >= maxProducts {
		return l.Products
	}
	return append(slices.Clip(l.Products), productLine{})
}

// taxLine is a tax identifier, as it was filled in.
type taxLine struct{ Type, Number, Country, Party string }

// maxLines is how many items the form takes, and how many tax identifiers.
const maxLines = 20

// maxProducts is how many identifiers a product can have.
const maxProducts = 6

// contentsKinds are the types of contents to choose from.
var contentsKinds = titled(ship.ContentsTypes)

// incoterms are the terms of delivery to choose from, which say who pays the
// duties. The first is what carriers assume.
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

// taxTypes are the types of tax identifiers. Most are abbreviations, such as
// VAT and EORI.
var taxTypes = func() []choice {
	list := titled(ship.TaxIdentifierTypes)
	for i, item := range list {
		switch item.Value {
		case "national_id", "passport", "other":
		default:
			list[i].Title = upper(item.Value)
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

// productTypes are the types of product identifiers to choose from.
var productTypes = []choice{
	{"", "No identifier"},
	{"gtin", "GTIN (EAN, UPC)"},
	{"manufacturer", "Manufacturer's number"},
	{"merchant", "Merchant's number"},
	{"none", "No standard number exists"},
}

// titled turns codes into the choices of a form.
func titled(codes []string) []choice {
	list := make([]choice, len(codes))
	for i, code := range codes {
		list[i] = choice{code, plain(code)}
	}
	return list
}

// currencies are the currencies that goods are usually declared in.
var currencies = []string{"USD", "EUR", "GBP", "CAD", "AUD", "CHF", "CNY", "DKK", "INR", "JPY", "MXN", "NOK", "NZD", "PLN", "SEK", "SGD"}

// currencyChoices are the currencies to choose from, including the chosen one.
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
func (v *visit) readCustoms(page *newShipment) {
	form := &page.Customs
	form.Contents = or(v.form("contents"), ship.ContentsTypes[0])
	form.Currency = or(v.form("currency"), v.who.Account.Currency)
	form.Incoterm = v.form("incoterm")
	form.Signer = v.form("signer")
	form.Invoice = v.form("invoice")
	form.Paperless = v.form("paperless")
	v.readCustomsItems(form)
	v.readTaxIDs(form)

	if page.Abroad {
		page.declare()
	}
}

func (v *visit) readCustomsItems(form *customsForm) {
	for i := range maxLines {
		prefix := "item." + strconv.Itoa(i) + "."
		if _, sent := v.r.PostForm[prefix+"description"]; !sent {
			break
		}
		form.Items = append(form.Items, customsLine{
			Description: v.form(prefix + "description"),
			Quantity:    v.form(prefix + "quantity"),
			Value:       v.form(prefix + "value"),
			Weight:      v.form(prefix + "weight"),
			HSCode:      v.form(prefix + "hsCode"),
			Origin:      v.form(prefix + "originCountry"),

			SKU:          v.form(prefix + "sku"),
			Manufacturer: v.form(prefix + "manufacturer"),
			Products:     v.readProducts(prefix),
		})
	}

	if len(form.Items) == 0 {
		form.Items = []customsLine{{Quantity: "1"}}
	}
}

// readProducts reads the product identifiers of an item. Empty ones are left
// out, so the form and the declaration number them the same.
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

func (v *visit) readTaxIDs(form *customsForm) {
	for i := range maxLines {
		prefix := "tax." + strconv.Itoa(i) + "."
		if _, sent := v.r.PostForm[prefix+"number"]; !sent {
			break
		}
		form.TaxIDs = append(form.TaxIDs, taxLine{
			Type:    v.form(prefix + "type"),
			Number:  v.form(prefix + "number"),
			Country: v.form(prefix + "country"),
			Party:   v.form(prefix + "party"),
		})
	}
}

// declare sets the order's declaration from the form. Without a line there is
// none: inside a customs union nothing is declared.
func (p *newShipment) declare() {
	form := &p.Customs
	declared := ship.Customs{
		ContentsType:  form.Contents,
		Incoterm:      form.Incoterm,
		Signer:        form.Signer,
		InvoiceNumber: form.Invoice,
		Paperless:     form.Paperless,
	}

	form.itemLines = nil
	for i, line := range form.Items {
		if line.isEmpty() {
			continue
		}
		pointer := "/customs/items/" + strconv.Itoa(len(declared.Items))
		form.itemLines = append(form.itemLines, i)
		declared.Items = append(declared.Items, p.item(pointer, line))
	}

	form.taxLines = nil
	for i, line := range form.TaxIDs {
		if line.Number == "" {
			continue
		}
		form.taxLines = append(form.taxLines, i)
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

// item converts a line of the form. What is not a number is noted in Unread, to
// be shown beside its field.
func (p *newShipment) item(pointer string, line customsLine) ship.CustomsItem {
	quantity, err := strconv.Atoi(or(line.Quantity, "1"))
	if err != nil {
		p.Unread = append(p.Unread, ship.FieldError{Pointer: pointer + "/quantity", Code: "invalid", Detail: "must be a whole number such as 2"})
	}

	weight := 0.0
	if line.Weight != "" {
		if weight = number(line.Weight); weight <= 0 {
			p.Unread = append(p.Unread, ship.FieldError{Pointer: pointer + "/weight", Code: "invalid", Detail: "must be a number such as 0.5"})
		}
	}

	var products []ship.ProductIdentifier
	for _, product := range line.Products {
		products = append(products, ship.ProductIdentifier{Type: product.Type, Number: product.Number})
	}

	return ship.CustomsItem{
		Description:   line.Description,
		Quantity:      max(quantity, 1),
		Value:         p.amount(pointer+"/value", amountForm{line.Value, p.Customs.Currency}),
		Weight:        weight,
		HSCode:        line.HSCode,
		OriginCountry: countryCode(line.Origin),

		SKU:                line.SKU,
		Manufacturer:       line.Manufacturer,
		ProductIdentifiers: products,
	}
}

// countryCode returns the code of a country that is written by name or code.
// Anything else is returned as it is, for the service to reject.
func countryCode(written string) string {
	if code, known := ship.CountryCode(written); known {
		return code
	}
	return written
}
