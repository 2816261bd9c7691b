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
	aliases  string // other words for it, folded
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
	{"saturdayDelivery", "Saturday delivery", false, "", "saturday"},
	{"insuredValue", "Insured value", false, "", "insurance insuredamount insurancevalue"},
	{"holdAtLocation", "Hold at location", false, "", "holdforpickup"},
	{"returnServiceRequested", "Return if undeliverable", false, "", "returnservice"},
	{"dryIce", "Dry ice", false, "", "dryiceweight"},
	{"alcohol", "Alcohol", false, "", "containsalcohol"},
	{"lithiumBatteries", "Lithium batteries", false, "", "batteries"},
	{"cod", "Cash on delivery", false, "", "codamount collectondelivery"},
	{"codMethod", "Cash on delivery: method", false, "", "codpayment"},
	{"carbonNeutral", "Carbon neutral", false, "", "carbonoffset"},
	{"carrier", "Carrier", false, "", "carriercode carriername courier"},
	{"service", "Service", false, "", "servicecode servicename servicelevel"},
	{"location", "Ship from", false, "", "shipfromlocation locationname warehouse originlocation fulfillmentlocation"},
	{"contents", "Customs: contents", false, "", "contentstype customscontents"},
	{"item", "Customs: description", false, "", "itemdescription description contentsdescription goods product productname itemname"},
	{"quantity", "Customs: quantity", false, "", "qty itemquantity"},
	{"value", "Customs: value of one", false, "", "itemvalue unitvalue customsvalue declaredvalue itemprice price"},
	{"currency", "Customs: currency", false, "", "valuecurrency itemcurrency"},
	{"hsCode", "Customs: HS code", false, "", "hs tariff tariffcode harmonizedcode hstariffcode commoditycode"},
	{"origin", "Customs: made in", false, "", "originccountry countryoforigin itemorigin madein origincountry"},
}

// fieldByName returns the field of the name; false if there is none.
func fieldByName(name string) (Field, bool) {
	i := slices.IndexFunc(Fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return Fields[i], true
}

// Title is what people call the field; the name itself if there is none.
func Title(name string) string {
	if f, ok := fieldByName(name); ok {
		return f.Title
	}
	return name
}

// A ColumnMapping says what the columns of a file mean, and which values replace those
// that it lacks.
type ColumnMapping struct {
	Columns []string          `json:"columns"`         // the field of each column; "" for none
	Fixed   map[string]string `json:"fixed,omitempty"` // of a line without one of its own

	// IsRemembered says that it is that of an earlier file with the same titles.
	IsRemembered bool `json:"remembered,omitempty"`
}

// prefixes stand before the name of a field in the exports of shops. A column
// with one is a better match than one without.
var prefixes = []string{"", "shipping", "shipto", "shippingaddress", "recipient", "destination", "delivery", "deliveryaddress", "receiver", "consignee", "to"}

// GuessColumns returns what the columns of a header mean. A field is given to one
// column at most: the best match.
func GuessColumns(header []string) ColumnMapping {
	columns := map[string]int{} // by field
	scores := map[string]int{}  // by field
	for i, title := range header {
		name, score := guessField(fold(title))
		if name != "" && score > scores[name] {
			columns[name] = i
			scores[name] = score
		}
	}

	meaning := ColumnMapping{Columns: make([]string, len(header))}
	for name, i := range columns {
		meaning.Columns[i] = name
	}
	return meaning
}

// guessField is the field of a folded title, and how good the match is.
func guessField(title string) (name string, best int) {
	for i, prefix := range prefixes {
		word, ok := strings.CutPrefix(title, prefix)
		if !ok || word == "" {
			continue
		}

		for _, field := range Fields {
			score := 0
			if fold(field.Name) == word || fold(field.Title) == word {
				score = 2
			} else if slices.Contains(strings.Fields(field.aliases), word) {
				score = 1
			}
			if score > 0 && i > 0 {
				score += 2
			}

			if score > best {
				name = field.Name
				best = score
			}
		}
	}
	return name, best
}

// fold is a title without case, spaces and punctuation.
func fold(title string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, title)
}
