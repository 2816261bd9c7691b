package amazonshipping

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// A product is a service of the US business. Prices are in cents.
type product struct {
	id, name string
	carrier  string
	base     int
	perPound int
	days     int
}

var products = []product{
	{"SWA-US-GND", "Amazon Shipping Ground", CarrierID, 619, 36, 3},
	{"SWA-US-GND-PLUS", "Amazon Shipping Ground Plus", CarrierID, 689, 36, 3},
	{"SWA-US-ONE", "Amazon Shipping One-Day", CarrierID, 1180, 60, 1},
	{"USPS-GA", "USPS Ground Advantage", "USPS", 540, 30, 4}, // of a linked account
}

// The messages have all members of Amazon's model, also those that the emulator does
// not read.

type place struct {
	Name    string `json:"name"`
	Company string `json:"companyName"`
	Line1   string `json:"addressLine1"`
	Line2   string `json:"addressLine2"`
	Line3   string `json:"addressLine3"`
	Email   string `json:"email"`
	Phone   string `json:"phoneNumber"`
	Geocode any    `json:"geocode"`
	City    string `json:"city"`
	State   string `json:"stateOrRegion"`
	Zip     string `json:"postalCode"`
	Country string `json:"countryCode"`
}

// invalid returns what Amazon objects to, "" if nothing.
func (p place) invalid(name string) string {
	switch {
	case p.Name == "" || len([]rune(p.Name)) > 50:
		return name + ".name must have 1 to 50 characters"
	case p.Line1 == "" || len([]rune(p.Line1)) > 60:
		return name + ".addressLine1 must have 1 to 60 characters"
	case len([]rune(p.Line2)) > 60 || len([]rune(p.Line3)) > 60 || len(p.Phone) > 20 || len(p.Email) > 64:
		return name + " has a line of more than 60, a phone number of more than 20 or an e-mail address of more than 64 characters"
	case p.City == "" || p.State == "" || p.Zip == "" || len(p.Country) != 2:
		return name + " lacks city, stateOrRegion, postalCode or countryCode"
	}
	return ""
}

type amount struct {
	Value *float64 `json:"value"`
	Unit  string   `json:"unit"`
}

type mass struct {
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// isValid reports whether it is a weight in one of Amazon's units.
func (m mass) isValid() bool { return pounds[m.Unit] != 0 && m.Value > 0 }

type goods struct {
	Quantity    int     `json:"quantity"`
	Value       *amount `json:"itemValue"`
	Description string  `json:"description"`
	Identifier  string  `json:"itemIdentifier"`
	Weight      mass    `json:"weight"`
	Volume      any     `json:"liquidVolume"`
	IsHazmat    bool    `json:"isHazmat"`
	Dangers     any     `json:"dangerousGoodsDetails"`
	ProductType string  `json:"productType"`
	Invoice     *struct {
		Number string `json:"invoiceNumber"`
		Date   string `json:"invoiceDate"`
	} `json:"invoiceDetails"`
	Serials []string `json:"serialNumbers"`
	Direct  any      `json:"directFulfillmentItemIdentifiers"`
}

type rateRequest struct {
	ShipFrom place  `json:"shipFrom"`
	ShipTo   place  `json:"shipTo"`
	ReturnTo *place `json:"returnTo"`
	ShipDate string `json:"shipDate"`
	Notes    any    `json:"shipperInstruction"`
	Packages []struct {
		Reference  string `json:"packageClientReferenceId"`
		Weight     mass   `json:"weight"`
		Dimensions *struct {
			Length float64 `json:"length"`
			Width  float64 `json:"width"`
			Height float64 `json:"height"`
			Unit   string  `json:"unit"`
		} `json:"dimensions"`
		InsuredValue *amount `json:"insuredValue"`
		IsHazmat     bool    `json:"isHazmat"`
		Seller       string  `json:"sellerDisplayName"`
		Charges      any     `json:"charges"`
		Items        []goods `json:"items"`
	} `json:"packages"`
	Extras any `json:"valueAddedServices"`
	Taxes  []struct {
		Type   string `json:"taxType"`
		Number string `json:"taxRegistrationNumber"`
	} `json:"taxDetails"`
	Channel struct {
		Type     string `json:"channelType"`
		Order    any    `json:"amazonOrderDetails"`
		Shipment any    `json:"amazonShipmentDetails"`
	} `json:"channelDetails"`
	Clients     any    `json:"clientReferenceDetails"`
	Type        string `json:"shipmentType"`
	AccessPoint *struct {
		ID string `json:"accessPointId"`
	} `json:"destinationAccessPointDetails"`
	Accounts any `json:"carrierAccounts"`
}

// currencies are those of the businesses. Amazon refuses amounts in any other: "The
// currency unit passed into the request is invalid".
var currencies = map[string]string{
	"AmazonShipping_US":  "USD",
	"AmazonShipping_UK":  "GBP",
	"AmazonShipping_IN":  "INR",
	"AmazonShipping_IT":  "EUR",
	"AmazonShipping_ES":  "EUR",
	"AmazonShipping_FR":  "EUR",
	"AmazonShipping_JP":  "JPY",
	"AmazonShipping_UAE": "AED",
	"AmazonShipping_SA":  "SAR",
	"AmazonShipping_EG":  "EGP",
}

// isIn reports whether the amount is one of the currency.
func (a amount) isIn(currency string) bool {
	return a.Value != nil && *a.Value >= 0 && a.Unit == currency
}

// quoted is a quote that can be bought.
type quoted struct {
	at      time.Time
	request rateRequest
	cents   map[string]int // by rate id
	product map[string]product
}

// pounds are how many pounds a unit has.
var pounds = map[string]float64{"POUND": 1, "OUNCE": 1.0 / 16, "KILOGRAM": 2.20462, "GRAM": 0.00220462}

// rates answers POST /shipping/v2/shipments/rates.
func (a *amazon) rates(w http.ResponseWriter, r *http.Request) {
	var in rateRequest
	if err := decode(r.Body, &in); err != nil {
		refuse(w, http.StatusBadRequest, "InvalidRequest", err.Error())
		return
	}

	// A request without a business is one of the United Kingdom.
	business := cmp.Or(r.Header.Get("X-Amzn-Shipping-Business-Id"), "AmazonShipping_UK")
	currency := currencies[business]
	if business == "AmazonShipping_UK" && in.ShipFrom.Country != "GB" {
		currency = "" // there is no offer in any currency
	}
	if details := in.invalid(currency); details != "" {
		refuse(w, http.StatusBadRequest, "InvalidRequest", details)
		return
	}

	weight := in.Packages[0].Weight.Value * pounds[in.Packages[0].Weight.Unit]
	isCovered := business == BusinessID && in.ShipFrom.Country == "US" && in.ShipTo.Country == "US"
	switch {
	case !isCovered:
		a.answerIneligible(w, "NO_COVERAGE", "The service does not cover the addresses.")
	case weight > 50:
		a.answerIneligible(w, "WEIGHT_RESTRICTIONS", "The package weighs more than 50 pounds.")
	default:
		a.answerRates(w, in, weight)
	}
}

func (in rateRequest) invalid(currency string) string {
	for name, party := range map[string]place{"shipFrom": in.ShipFrom, "shipTo": in.ShipTo} {
		if details := party.invalid(name); details != "" {
			return details
		}
	}
	if len(in.Packages) != 1 || in.Channel.Type != "EXTERNAL" {
		return "packages or channelDetails are not valid"
	}
	for _, tax := range in.Taxes {
		if tax.Type != "GST" || tax.Number == "" {
			return "taxDetails must be of the type GST, with a number"
		}
	}
	parcel := in.Packages[0]
	switch {
	case parcel.Reference == "" || parcel.Dimensions == nil || parcel.InsuredValue == nil || len(parcel.Items) == 0:
		return "packages[0] lacks packageClientReferenceId, dimensions, insuredValue or items"
	case parcel.Dimensions.Unit != "INCH" && parcel.Dimensions.Unit != "CENTIMETER", min(parcel.Dimensions.Length, parcel.Dimensions.Width, parcel.Dimensions.Height) <= 0:
		return "packages[0].dimensions are not valid"
	case !parcel.Weight.isValid():
		return "packages[0].weight is not valid"
	case currency != "" && !parcel.InsuredValue.isIn(currency):
		return "The currency unit passed into the request is invalid"
	}
	for _, item := range parcel.Items {
		switch {
		case item.Quantity < 1:
			return "items need a quantity of at least 1"
		case !item.Weight.isValid():
			return "items need a weight" // the model has it as optional, and Amazon does not
		case currency != "" && item.Value != nil && !item.Value.isIn(currency):
			return "The currency unit passed into the request is invalid"
		}
	}
	if _, err := time.Parse(time.RFC3339, in.ShipDate); err != nil && in.ShipDate != "" {
		return "shipDate is not a date-time"
	}
	return ""
}

func (a *amazon) answerIneligible(w http.ResponseWriter, code, message string) {
	var list []map[string]any
	for _, offered := range products[:3] {
		list = append(list, map[string]any{
			"serviceId": offered.id, "serviceName": offered.name, "carrierId": offered.carrier, "carrierName": "Amazon Shipping",
			"ineligibilityReasons": []map[string]string{{"code": code, "message": message}},
		})
	}
	reply(w, http.StatusOK, map[string]any{"payload": map[string]any{
		"requestToken":    fmt.Sprintf("amzn1.rq.%d.101", a.Ledger.Next()),
		"rates":           []any{},
		"ineligibleRates": list,
	}})
}

func (a *amazon) answerRates(w http.ResponseWriter, in rateRequest, weight float64) {
	kept := &quoted{at: time.Now(), request: in, cents: map[string]int{}, product: map[string]product{}}
	token := fmt.Sprintf("amzn1.rq.%d.101", a.Ledger.Next())
	var list []map[string]any
	for i, offered := range products {
		id := fmt.Sprintf("%s.rate%d", token, i)
		fuel := 41
		cents := offered.base + int(weight*float64(offered.perPound)) + fuel + a.settings.Load().Surcharge
		kept.cents[id] = cents
		kept.product[id] = offered
		name := "Amazon Shipping"
		if offered.carrier != CarrierID {
			name = offered.carrier
		}
		list = append(list, map[string]any{
			"rateId": id, "carrierId": offered.carrier, "carrierName": name,
			"serviceId": offered.id, "serviceName": offered.name,
			"billedWeight":                     map[string]any{"value": weight, "unit": "POUND"},
			"totalCharge":                      dollars(cents),
			"promise":                          promise(offered.days),
			"supportedDocumentSpecifications":  documents,
			"availableValueAddedServiceGroups": extraGroups(),
			"requiresAdditionalInputs":         false,
			"paymentType":                      "PAY_THROUGH_AMAZON",
			"rateItemList": []map[string]any{
				{"rateItemID": "BASE_RATE", "rateItemType": "MANDATORY", "rateItemCharge": dollars(cents - fuel)},
				{"rateItemID": "FUEL_SURCHARGE", "rateItemType": "MANDATORY", "rateItemCharge": dollars(fuel)},
			},
		})
	}

	a.mu.Lock()
	a.quotes[token] = kept
	a.mu.Unlock()
	reply(w, http.StatusOK, map[string]any{"payload": map[string]any{"requestToken": token, "rates": list}})
}

// dollars is an amount, which is a number in JSON.
func dollars(cents int) map[string]any {
	return map[string]any{"value": json.Number(fmt.Sprintf("%d.%02d", cents/100, cents%100)), "unit": "USD"}
}

func promise(days int) map[string]any {
	day := time.Now().UTC().AddDate(0, 0, days).Truncate(24 * time.Hour)
	return map[string]any{
		"deliveryWindow": map[string]string{"start": day.Add(12 * time.Hour).Format(time.RFC3339), "end": day.Add(27 * time.Hour).Format(time.RFC3339)},
		"pickupWindow":   map[string]string{"start": time.Now().UTC().Format(time.RFC3339), "end": time.Now().UTC().Add(8 * time.Hour).Format(time.RFC3339)},
	}
}

// signatureCents is what a signature costs.
const signatureCents = 285

// extraGroups require a choice of how the delivery is confirmed.
func extraGroups() []map[string]any {
	return []map[string]any{{
		"groupId": "DELIVERY_CONFIRMATION", "groupDescription": "Delivery confirmation", "isRequired": true,
		"valueAddedServices": []map[string]any{
			{"id": "SIGNATURE_CONFIRMATION", "name": "Signature", "cost": dollars(signatureCents)},
			{"id": "NO_CONFIRMATION", "name": "No confirmation", "cost": dollars(0)},
		},
	}}
}

// A document is what a label can be printed as.
type document struct {
	Format  string           `json:"format"`
	Size    size             `json:"size"`
	Options []map[string]any `json:"printOptions"`
}

type size struct {
	Width  float64 `json:"width"`
	Length float64 `json:"length"`
	Unit   string  `json:"unit"`
}

var documents = []document{
	{"PNG", size{8.5, 11, "INCH"}, printOptions("LEFT")},
	{"PDF", size{8.5, 11, "INCH"}, printOptions("LEFT")},
	{"PDF", size{4, 6, "INCH"}, printOptions("DEFAULT")},
	{"ZPL", size{4, 6, "INCH"}, printOptions("DEFAULT")},
}

func printOptions(layout string) []map[string]any {
	return []map[string]any{{
		"supportedDPIs": []int{203, 300}, "supportedPageLayouts": []string{layout}, "supportedFileJoiningOptions": []bool{false},
		"supportedDocumentDetails": []map[string]any{{"name": "LABEL", "isMandatory": true}, {"name": "PACKSLIP", "isMandatory": false}},
	}}
}
