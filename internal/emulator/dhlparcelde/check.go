package dhlparcelde

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// The words that DHL's schema allows (parcel-de-shipping 2.1.13).
var (
	exportTypes  = strings.Fields("OTHER PRESENT COMMERCIAL_SAMPLE DOCUMENT RETURN_OF_GOODS COMMERCIAL_GOODS")
	queryChoices = map[string][]string{
		"includeDocs": strings.Fields("include URL"),
		"docFormat":   strings.Fields("ZPL2 PDF"),
		"printFormat": strings.Fields("A4 910-300-600 910-300-610 910-300-700 910-300-700-oz 910-300-710 910-300-300 910-300-300-oz 910-300-400 910-300-410 100x70mm"),
		"mustEncode":  strings.Fields("true false"),
		"validate":    strings.Fields("true false"),
		"combine":     strings.Fields("true false"),
	}
)

// checkQuery returns what is wrong with the parameters of an order; "" if nothing is.
func checkQuery(query url.Values) string {
	for name, choices := range queryChoices {
		if query.Has(name) && !slices.Contains(choices, query.Get(name)) {
			return fmt.Sprintf("%s must be one of %s.", name, strings.Join(choices, ", "))
		}
	}
	return ""
}

// checkGoods returns what DHL says about services and customs.
func (in shipment) checkGoods() (messages []message) {
	wrong := func(property, text string) {
		messages = append(messages, message{Property: property, Text: text, State: "Error"})
	}

	services := in.Services
	isDomestic := in.Consignee.Country == "DEU"
	if (services.SignedForByRecipient || services.NoNeighbourDelivery || services.VisualCheckOfAge != "") && in.Product != "V01PAK" {
		wrong("services", "The service is not available for this product.")
	}
	if age := services.VisualCheckOfAge; age != "" && age != "A16" && age != "A18" {
		wrong("services.visualCheckOfAge", "The age must be A16 or A18.")
	}
	if insured := services.AdditionalInsurance; insured != nil && (insured.Currency != "EUR" || insured.Value == nil) {
		wrong("services.additionalInsurance", "The currency must be EUR.")
	}
	if services.Endorsement != "" && services.Endorsement != "RETURN" && services.Endorsement != "ABANDON" {
		wrong("services.endorsement", "The endorsement must be RETURN or ABANDON.")
	}
	if !isDomestic && services.Endorsement == "" {
		messages = append(messages, message{Property: "services.endorsement", Text: "No endorsement was given; the shipment is returned.", State: "Warning"})
	}

	// Without a choice, DHL takes the default of the country, which may be the
	// dearer one.
	hasChoice := in.Product == "V53WPAK" || in.Product == "V66WPI"
	if hasChoice && services.Premium == nil {
		messages = append(messages, message{Property: "services.premium", Text: "No kind of delivery was chosen; that of the country is used.", State: "Warning"})
	}

	switch {
	case in.Customs != nil:
		messages = append(messages, in.Customs.check(in.Product)...)
	case needsCustoms[in.Consignee.Country]:
		wrong("customs", "A customs declaration is required for this country.")
	}
	return messages
}

var hsCode = regexp.MustCompile(`^[0-9]{6,11}$`)

// check returns DHL's errors about a declaration.
func (d declaration) check(product string) (messages []message) {
	wrong := func(property, text string) {
		messages = append(messages, message{Property: "customs." + property, Text: text, State: "Error"})
	}

	if !slices.Contains(exportTypes, d.ExportType) {
		wrong("exportType", "The export type is required.")
	}
	if d.ExportType == "OTHER" && d.ExportDescription == "" || utf8.RuneCountInString(d.ExportDescription) > 80 {
		wrong("exportDescription", "The description is required for OTHER, with at most 80 characters.")
	}
	if d.ShippingConditions != "" && (product != "V54EPAK" || d.ShippingConditions != "DAP" && d.ShippingConditions != "DDP") {
		wrong("shippingConditions", "The shipping conditions are DAP or DDP, for Europaket alone.")
	}
	if len(d.Items) == 0 || len(d.Items) > 99 {
		wrong("items", "1 to 99 items are required.")
	}
	if d.PostalCharges == nil || len(d.PostalCharges.Currency) != 3 || d.PostalCharges.Value == nil {
		wrong("postalCharges", "The postal charges are required.")
		return messages
	}

	for i, item := range d.Items {
		path := fmt.Sprintf("items[%d].", i)
		switch {
		case item.Description == "" || utf8.RuneCountInString(item.Description) > 256:
			wrong(path+"itemDescription", "The description is required, with at most 256 characters.")
		case item.Quantity < 1:
			wrong(path+"packagedQuantity", "The quantity is required.")
		case item.HSCode != "" && !hsCode.MatchString(item.HSCode):
			wrong(path+"hsCode", "The commodity code must have 6 to 11 digits.")
		case item.Origin != "" && len(item.Origin) != 3:
			wrong(path+"countryOfOrigin", "The country must have three letters.")
		case item.Weight == nil || item.Weight.UOM != "g" && item.Weight.UOM != "kg" || item.Weight.Value <= 0:
			wrong(path+"itemWeight", "The weight of a piece is required.")
		case item.Value == nil || item.Value.Value == nil:
			wrong(path+"itemValue", "The value of a piece is required.")
		case item.Value.Currency != d.PostalCharges.Currency:
			// Otherwise no label will be created (parcel-de-shipping 2.1.13, postalCharges).
			wrong(path+"itemValue.currency", "The currencies of the items and of the postal charges must match.")
		}
	}
	return messages
}

// needsCustoms are some countries outside the European Union.
var needsCustoms = map[string]bool{"USA": true, "CHE": true, "GBR": true, "NOR": true, "BRA": true, "CAN": true}

var (
	postalCode    = regexp.MustCompile(`^[0-9]{5}$`)
	anyPostalCode = regexp.MustCompile(`^[0-9A-Za-z]+([ -]?[0-9A-Za-z]+)*$`)
	postNumber    = regexp.MustCompile(`^[0-9]{6,10}$`)
)

// check returns DHL's errors about a party, at its path in the request.
func (p party) check(path string) (messages []message) {
	wrong := func(field, text string) {
		messages = append(messages, message{Property: path + "." + field, Text: text, State: "Error"})
	}

	if p.LockerID != 0 || p.RetailID != 0 {
		switch {
		case p.LockerID != 0 && (p.LockerID < 100 || p.LockerID > 999):
			wrong("lockerID", "The Packstation is unknown.")
		case p.RetailID != 0 && (p.RetailID < 401 || p.RetailID > 999):
			wrong("retailID", "The post office is unknown.")
		case p.LockerID != 0 && p.PostNumber == "":
			wrong("postNumber", "The post number is required.")
		case p.PostNumber != "" && !postNumber.MatchString(p.PostNumber):
			wrong("postNumber", "The post number must have 6 to 10 digits.")
		case p.Name == "" || p.City == "" || !postalCode.MatchString(p.PostalCode):
			wrong("name", "The name, the city and the postal code are required.")
		case p.RetailID != 0 && p.PostNumber == "" && p.Email == "":
			wrong("postNumber", "The post number or the e-mail address is required.")
		}
		return messages
	}

	for _, field := range []struct {
		name, value string
		limit       int
		required    bool
	}{
		{"name1", p.Name1, 50, true},
		{"name2", p.Name2, 50, false},
		{"name3", p.Name3, 50, false},
		{"addressStreet", p.Street, 50, true},
		{"addressHouse", p.House, 10, false},
		{"additionalAddressInformation1", p.More, 60, false},
		{"city", p.City, 40, true},
		{"state", p.State, 20, false},
		{"phone", p.Phone, 20, false},
		{"email", p.Email, 80, false},
	} {
		switch n := utf8.RuneCountInString(field.value); {
		case n == 0 && field.required:
			wrong(field.name, "The field is required.")
		case n > field.limit:
			wrong(field.name, fmt.Sprintf("The field has more than %d characters.", field.limit))
		}
	}
	isGerman := p.Country == "DEU"
	if isGerman && !postalCode.MatchString(p.PostalCode) || p.PostalCode != "" && !anyPostalCode.MatchString(p.PostalCode) || len(p.PostalCode) > 10 {
		wrong("postalCode", "The postal code is not valid.")
	}
	if len(p.Country) != 3 || p.Country != strings.ToUpper(p.Country) {
		wrong("country", "The country must have three letters.")
	}
	if p.Country == "USA" && !strings.HasPrefix(p.State, "US-") {
		wrong("state", "The state must be given as in US-NY.")
	}

	// DHL prints what it cannot route, with a warning.
	if strings.Contains(strings.ToUpper(p.Street), "NOWHERE") {
		messages = append(messages, message{Property: path + ".addressStreet", Text: "The street could not be found; the label has no routing code.", State: "Warning"})
	}
	return messages
}
