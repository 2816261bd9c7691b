package batch

import (
	"slices"
	"strings"
	"unicode"
)

// A Field is something that a column can mean.
type Field struct {
	Name     string
	Title    string
	Required bool   // a file without it cannot be bought
	Example  string // in the template
	also     string // other words for it, folded
}

// Fields are all of them, in the order of the template.
var Fields = []Field{
	{"order", "Order number", true, "1001", "orderid ordernumber orderno orderref ordername saleid salesrecordnumber"},
	{"name", "Recipient", true, "Ada Lovelace", "fullname recipientname customer customername contact contactname buyername attention"},
	{"company", "Company", false, "", "companyname organization organisation business"},
	{"address1", "Street and number", true, "500 Main St", "address street street1 addressline1 line1 address01 streetaddress"},
	{"address2", "Suite, floor", false, "", "street2 addressline2 line2 address02 apartment suite apt unit"},
	{"address3", "Third line", false, "", "street3 addressline3 line3"},
	{"city", "City", true, "Austin", "town locality suburb posttown"},
	{"state", "State or province", false, "TX", "province region county statecode provincecode stateprovince prefecture"},
	{"zip", "Postal code", false, "78701", "zipcode postalcode postcode zippostalcode plz"},
	{"country", "Country", false, "US", "countrycode countryname"},
	{"phone", "Phone", false, "", "phonenumber telephone tel mobile"},
	{"email", "E-mail", false, "", "emailaddress mail"},
	{"weight", "Weight", true, "2.5", "totalweight parcelweight packageweight shipmentweight itemweight"},
	{"weightUnit", "Unit of weight", false, "lb", "weightunit weightuom unitofweight"},
	{"length", "Length", false, "12", "parcellength packagelength"},
	{"width", "Width", false, "9", "parcelwidth packagewidth"},
	{"height", "Height", false, "4", "parcelheight packageheight depth"},
	{"lengthUnit", "Unit of length", false, "in", "dimensionunit lengthuom sizeunit unitoflength dimunit"},
	{"reference", "Printed reference", false, "", "ref ponumber purchaseorder customerreference"},
	{"shipDate", "Ship date", false, "", "shippingdate shipon dispatchdate"},
	{"signature", "Signature", false, "", "signatureoption signaturerequired"},
	{"carrier", "Carrier", false, "", "carriercode carriername courier"},
	{"service", "Service", false, "", "servicecode servicename servicelevel"},
	{"contents", "Customs: contents", false, "", "contentstype customscontents"},
	{"item", "Customs: description", false, "", "itemdescription description contentsdescription goods product productname itemname"},
	{"quantity", "Customs: quantity", false, "", "qty itemquantity"},
	{"value", "Customs: value of one", false, "", "itemvalue unitvalue customsvalue declaredvalue itemprice price"},
	{"currency", "Customs: currency", false, "", "valuecurrency itemcurrency"},
	{"hsCode", "Customs: HS code", false, "", "hs tariff tariffcode harmonizedcode hstariffcode commoditycode"},
	{"origin", "Customs: made in", false, "", "originccountry countryoforigin itemorigin madein origincountry"},
}

// field returns the field of the name; false if there is none.
func field(name string) (Field, bool) {
	i := slices.IndexFunc(Fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return Fields[i], true
}

// Title is what people call the field; the name itself if there is none.
func Title(name string) string {
	if f, ok := field(name); ok {
		return f.Title
	}
	return name
}

// A Meaning says what the columns of a file are, and what stands in for those
// that it lacks.
type Meaning struct {
	Columns []string          `json:"columns"`         // the field of each column; "" for none
	Fixed   map[string]string `json:"fixed,omitempty"` // of a line without one of its own
}

// prefixes stand before what a column means in the exports of shops. A column
// with one is nearer to the point than one without.
var prefixes = []string{"", "shipping", "shipto", "shippingaddress", "recipient", "destination", "delivery", "deliveryaddress", "receiver", "consignee", "to"}

// Guess names the columns of a header.
func Guess(header []string) Meaning {
	m := Meaning{Columns: make([]string, len(header))}
	best := map[string]int{} // field -> column
	strength := map[string]int{}
	for i, title := range header {
		name, how := guessOne(plain(title))
		if name != "" && how > strength[name] {
			best[name], strength[name] = i, how
		}
	}
	for name, i := range best {
		m.Columns[i] = name
	}
	return m
}

// guessOne is the field of a folded title, and how sure that is.
func guessOne(title string) (name string, how int) {
	for i, prefix := range prefixes {
		word, ok := strings.CutPrefix(title, prefix)
		if !ok || word == "" {
			continue
		}
		for _, f := range Fields {
			strong := 0
			if plain(f.Name) == word || plain(f.Title) == word {
				strong = 2
			} else if slices.Contains(strings.Fields(f.also), word) {
				strong = 1
			}
			if strong > 0 && i > 0 {
				strong += 2
			}
			if strong > how {
				name, how = f.Name, strong
			}
		}
	}
	return name, how
}

// plain is a title without case, spaces and signs.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}
