package newshipment

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
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

// productLines returns the product identifiers of the line, and an empty one to
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
var incoterms = []parts.Choice{
	{Value: "", Title: "Not stated: carriers assume DAP"},
	{Value: "DDP", Title: "DDP, sender pays duties and taxes"},
	{Value: "DAP", Title: "DAP, recipient pays duties and taxes"},
	{Value: "DPU", Title: "DPU, delivered at place unloaded"},
	{Value: "EXW", Title: "EXW, ex works"},
	{Value: "FCA", Title: "FCA, free carrier"},
	{Value: "CPT", Title: "CPT, carriage paid to"},
	{Value: "CIP", Title: "CIP, carriage and insurance paid to"},
}

// TaxTypes are the types of tax identifiers. Most are abbreviations, such as
// VAT and EORI.
var TaxTypes = func() []parts.Choice {
	list := titled(ship.TaxIdentifierTypes)
	for i, item := range list {
		switch item.Value {
		case "national_id", "passport", "other":
		default:
			list[i].Title = strings.ToUpper(item.Value)
		}
	}
	return list
}()

var taxParties = titled(ship.TaxParties)

// documentsFollow is the choice of a sender who uploads documents after the
// purchase.
const documentsFollow = "follow"

// paperlessChoices are how the customs documents reach customs.
var paperlessChoices = []parts.Choice{
	{Value: "", Title: "Sent electronically where possible"},
	{Value: documentsFollow, Title: "Sent electronically, and I upload documents later"},
	{Value: "off", Title: "Printed and attached"},
}

// ProductTypes are the types of product identifiers to choose from.
var ProductTypes = []parts.Choice{
	{Value: "", Title: "No identifier"},
	{Value: "gtin", Title: "GTIN (EAN, UPC)"},
	{Value: "manufacturer", Title: "Manufacturer's number"},
	{Value: "merchant", Title: "Merchant's number"},
	{Value: "none", Title: "No standard number exists"},
}

// titled turns codes into the choices of a form.
func titled(codes []string) []parts.Choice {
	list := make([]parts.Choice, len(codes))
	for i, code := range codes {
		list[i] = parts.Choice{Value: code, Title: parts.Plain(code)}
	}
	return list
}

// currencies are the currencies that goods are usually declared in.
var currencies = []string{"USD", "EUR", "GBP", "CAD", "AUD", "CHF", "CNY", "DKK", "INR", "JPY", "MXN", "NOK", "NZD", "PLN", "SEK", "SGD"}

// currencyChoices returns the currencies to choose from, including the chosen
// one.
func currencyChoices(chosen string) []parts.Choice {
	list := slices.Clone(currencies)
	if !slices.Contains(list, chosen) {
		list = append(list, chosen)
	}

	choices := make([]parts.Choice, len(list))
	for i, code := range list {
		choices[i] = parts.Choice{Value: code, Title: code}
	}
	return choices
}

// readCustoms reads the declaration of a parcel that crosses a border.
func readCustoms(v *site.Visit, page *Form) {
	form := &page.Customs
	form.Contents = cmp.Or(v.Form("contents"), ship.ContentsTypes[0])
	form.Currency = cmp.Or(v.Form("currency"), v.Who.Account.Currency)
	form.Incoterm = v.Form("incoterm")
	form.Signer = v.Form("signer")
	form.Invoice = v.Form("invoice")
	form.Paperless = v.Form("paperless")
	readCustomsItems(v, form)
	readTaxIDs(v, form)

	if page.Abroad {
		page.declare()
	}
}

func readCustomsItems(v *site.Visit, form *customsForm) {
	for i := range maxLines {
		prefix := "item." + strconv.Itoa(i) + "."
		if _, sent := v.Request.PostForm[prefix+"description"]; !sent {
			break
		}
		form.Items = append(form.Items, customsLine{
			Description: v.Form(prefix + "description"),
			Quantity:    v.Form(prefix + "quantity"),
			Value:       v.Form(prefix + "value"),
			Weight:      v.Form(prefix + "weight"),
			HSCode:      v.Form(prefix + "hsCode"),
			Origin:      v.Form(prefix + "originCountry"),

			SKU:          v.Form(prefix + "sku"),
			Manufacturer: v.Form(prefix + "manufacturer"),
			Products:     readProducts(v, prefix),
		})
	}

	if len(form.Items) == 0 {
		form.Items = []customsLine{{Quantity: "1"}}
	}
}

// readProducts reads the product identifiers of an item. Empty ones are left
// out, so the form and the declaration number them the same.
func readProducts(v *site.Visit, item string) (list []productLine) {
	for i := range maxProducts {
		line := productLine{
			Type:   v.Form(productField(item, i, "type")),
			Number: v.Form(productField(item, i, "number")),
		}
		if line != (productLine{}) {
			list = append(list, line)
		}
	}
	return list
}

// productField returns the name of a field of an item's product identifier.
func productField(item string, i int, name string) string {
	return item + "product." + strconv.Itoa(i) + "." + name
}

func readTaxIDs(v *site.Visit, form *customsForm) {
	for i := range maxLines {
		prefix := "tax." + strconv.Itoa(i) + "."
		if _, sent := v.Request.PostForm[prefix+"number"]; !sent {
			break
		}
		form.TaxIDs = append(form.TaxIDs, taxLine{
			Type:    v.Form(prefix + "type"),
			Number:  v.Form(prefix + "number"),
			Country: v.Form(prefix + "country"),
			Party:   v.Form(prefix + "party"),
		})
	}
}

// declare sets the order's declaration from the form. Without a line there is
// none: inside a customs union nothing is declared.
func (p *Form) declare() {
	form := &p.Customs
	declared := ship.Customs{
		ContentsType:  form.Contents,
		Incoterm:      form.Incoterm,
		Signer:        form.Signer,
		InvoiceNumber: form.Invoice,
		Paperless:     form.Paperless,
	}
	if form.Paperless == documentsFollow {
		declared.Paperless = ""
		declared.DocumentsFollow = true
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
func (p *Form) item(pointer string, line customsLine) ship.CustomsItem {
	quantity, err := strconv.Atoi(cmp.Or(line.Quantity, "1"))
	if err != nil {
		p.Unread = append(p.Unread, ship.FieldError{Pointer: pointer + "/quantity", Code: "invalid", Detail: "must be a whole number such as 2"})
	}

	weight := 0.0
	if line.Weight != "" {
		if weight = parts.ParseNumber(line.Weight); weight <= 0 {
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
