package ups

import (
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// refusalsOf reads UPS's errors, one entry for each.
func refusalsOf(body []byte) []ship.Refusal {
	var answer errorAnswer
	if json.Unmarshal(body, &answer) != nil {
		return nil
	}

	list := make([]ship.Refusal, 0, len(answer.Response.Errors))
	for _, reason := range answer.Response.Errors {
		list = append(list, ship.Refusal{Code: string(reason.Code), Message: reason.Message})
	}
	return list
}

// first returns the refusal that decides what an error means.
func first(list []ship.Refusal) ship.Refusal {
	if len(list) == 0 {
		return ship.Refusal{}
	}
	return list[0]
}

// explain says which fields of the order a refusal is about, or that it is
// about the connection.
func (w *draft) explain(err error, reasons []ship.Refusal) error {
	declined, ok := errors.AsType[*ship.Error](err)
	if !ok || declined.Kind != ship.Invalid {
		return err
	}

	refused := *declined
	if slices.Contains(accountCodes, plainCode(declined.Refusal.Code)) {
		refused.Kind = ship.Forbidden
		refused.Message = "UPS does not accept the account number of this connection; check it under Carriers, and that it was added to the app at developer.ups.com"
		return &refused
	}

	var fields []ship.FieldError
	for _, reason := range reasons {
		if pointer := w.pointer(reason); pointer != "" {
			fields = append(fields, ship.FieldError{
				Pointer: pointer,
				Code:    "carrier_rejected",
				Detail:  "UPS answered: " + reason.Message,
			})
		}
	}
	if named, ok := errors.AsType[*ship.Error](carrierkit.InvalidOrder("UPS", fields)); ok {
		refused.Message = named.Message
		refused.Fields = named.Fields
	}
	return &refused
}

// accountCodes refuse the account of the connection, whatever the order is.
var accountCodes = []string{"120100", "120113", "120120", "120121", "120122", "111580"}

// plainCode returns a code without the 9 that newer versions put before the
// codes of older ones.
func plainCode(code string) string {
	if len(code) == 7 && code[0] == '9' {
		return code[1:]
	}
	return code
}

// pointer returns the field of the order that a refusal is about; empty if
// neither its code nor its words are known.
func (w *draft) pointer(reason ship.Refusal) string {
	code := plainCode(reason.Code)
	if len(code) != 6 || code[0] != '1' {
		return w.pointerByWords(reason.Message)
	}

	switch code[:4] {
	case "1201":
		if field := shipperCodes[code[4:]]; field != "" {
			return w.side(shipper) + "/" + field
		}
	case "1202":
		if field := addressCodes[code[4:]]; field != "" {
			return w.side(shipTo) + "/" + field
		}
	case "1203":
		if field := addressCodes[code[4:]]; field != "" {
			return w.side(shipFrom) + "/" + field
		}
	}

	switch code {
	case "120801":
		return w.side(shipper)
	case "120803":
		return w.side(shipFrom)
	case "111285", "121285":
		return w.sideOfZip(reason.Message) + "/zip"
	case "111286", "121286":
		return w.sideOfState(reason.Message) + "/state"
	}
	if pointer := orderCodes[code[1:]]; pointer != "" {
		return inParcel(pointer, reason.Message)
	}
	return w.pointerByWords(reason.Message)
}

// The party that a refusal is about.
const (
	shipper  = "shipper"
	shipTo   = "shipTo"
	shipFrom = "shipFrom"
)

// addressCodes are the fields of addresses by the last two digits of UPS's
// codes: 1202nn is about the recipient and 1203nn about the place of origin.
// The sender's 1201nn are one higher up to the country, and have their own
// codes after that.
var addressCodes = map[string]string{
	"00": "name", "01": "name", "02": "address1", "03": "address2", "04": "address3", "05": "city", "06": "state",
	"07": "zip", "08": "country", "09": "phone", "13": "phone", "17": "phone", "18": "phone",
}

var shipperCodes = map[string]string{
	"01": "name", "02": "address1", "03": "address2", "04": "address3", "05": "city", "06": "state",
	"07": "zip", "08": "country", "09": "phone", "10": "name", "15": "phone", "19": "phone",
}

// orderCodes are the other fields that UPS has codes for. Those of purchases
// begin with 12; the same thing in a quote begins with 11.
var orderCodes = map[string]string{
	"20124": "/service", "20500": "/service", "21100": "/service", "21185": "/service", "21208": "/service", "21210": "/service", "21215": "/service",
	"11100": "/service", "11210": "/service", "11215": "/service", "11217": "/service",

	"20600": "/parcels/0/packaging", "20605": "/parcels/0/packaging",
	"20601": "/parcels/0/weight", "20608": "/parcels/0/weight", "20616": "/parcels/0/weight",
	"21030": "/parcels/0/weight", "21031": "/parcels/0/weight", "21035": "/parcels/0/weight", "21036": "/parcels/0/weight",
	"11030": "/parcels/0/weight", "11031": "/parcels/0/weight", "11035": "/parcels/0/weight", "11036": "/parcels/0/weight",
	"20602": "/parcels/0/dimensions", "20609": "/parcels/0/dimensions",
	"21050": "/parcels/0/dimensions", "21055": "/parcels/0/dimensions", "21056": "/parcels/0/dimensions",
	"10609": "/parcels/0/dimensions", "11050": "/parcels/0/dimensions", "11055": "/parcels/0/dimensions", "11056": "/parcels/0/dimensions",
	"20020": "/parcels", "20624": "/parcels", "10003": "/parcels",

	"20604": "/options/insuredValue", "20617": "/options/insuredValue", "20621": "/options/insuredValue", "21025": "/options/insuredValue",
	"20598": "/options/signature", "20599": "/options/signature", "21020": "/options/signature", "21150": "/options/signature",
	"20505": "/options/saturdayDelivery", "21015": "/options/saturdayDelivery", "21045": "/options/saturdayDelivery", "21047": "/options/saturdayDelivery", "21200": "/options/saturdayDelivery",

	"20413": "/billing/account", "20430": "/billing/country", "20437": "/billing/zip", "21195": "/billing/type", "21265": "/billing/type",
	"20502": "/customs/items", "20512": "/customs", "20527": "/customs/items", "20539": "/customs/items", "21266": "/customs/items",

	"10208": "/destination/country", "10308": "/origin/country", "20802": "/destination",
}

// side returns which of our addresses UPS means: the shipper of a return is its
// recipient.
func (w *draft) side(whose string) string {
	if whose == shipTo || whose == shipper && w.order.IsReturn {
		return "/destination"
	}
	return "/origin"
}

// sideOfZip returns the address whose postal code UPS repeats.
func (w *draft) sideOfZip(message string) string {
	zip := localized(w.order.Origin).Zip
	if zip != "" && strings.Contains(message, zip) && zip != localized(w.order.Destination).Zip {
		return "/origin"
	}
	return "/destination"
}

// sideOfState returns the address whose state UPS repeats at the start.
func (w *draft) sideOfState(message string) string {
	state, _, _ := strings.Cut(message, " ")
	if state == w.order.Origin.State && state != w.order.Destination.State {
		return "/origin"
	}
	return "/destination"
}

// parcelNumber finds "package 2" in UPS's words, which count from one.
var parcelNumber = regexp.MustCompile(`(?i)\bpackage (\d{1,3})\b`)

// inParcel returns a pointer to the parcel that UPS names.
func inParcel(pointer, message string) string {
	found := parcelNumber.FindStringSubmatch(message)
	if found == nil || !strings.HasPrefix(pointer, "/parcels/0/") {
		return pointer
	}

	n, err := strconv.Atoi(found[1])
	if err != nil || n < 1 {
		return pointer
	}
	return strings.Replace(pointer, "/0/", "/"+strconv.Itoa(n-1)+"/", 1)
}

// fieldWords are what UPS calls the fields of an address, the more specific
// first. They are compared without spaces.
var fieldWords = []struct{ words, field string }{
	{"postalcode", "zip"},
	{"stateprovincecode", "state"},
	{"stateorprovince", "state"},
	{"countrycode", "country"},
	{"phone", "phone"},
	{"attentionname", "name"},
	{"companyname", "company"},
	{"addressline", "address1"},
	{"city", "city"},
	{"name", "name"},
	{"address", ""},
}

// pointerByWords reads a refusal whose code is not known, such as "Missing or
// invalid ship to postal code".
func (w *draft) pointerByWords(message string) string {
	text := strings.ToLower(strings.NewReplacer(" ", "", "/", "", "'", "").Replace(message))
	switch {
	case strings.Contains(text, "productidentifier") || strings.Contains(text, "productid"),
		strings.Contains(text, "commodityfieldspecialcondition"):
		return "/customs/items/0/productIdentifiers"
	case strings.Contains(text, "commoditycode"):
		return "/customs/items/0/hsCode"
	case strings.Contains(text, "vendorcollect"), strings.Contains(text, "taxidentification"), strings.Contains(text, "identificationnumber"):
		return "/customs/taxIdentifiers"
	case strings.Contains(text, "internationalform"), strings.Contains(text, "invoice"):
		return "/customs"
	}

	// The field is the one that is named after the first party.
	whose := ""
	start := len(text)
	for _, side := range []string{shipper, shipTo, shipFrom} {
		if i := strings.Index(text, strings.ToLower(side)); i >= 0 && i < start {
			whose = side
			start = i
		}
	}
	if whose == "" {
		return ""
	}

	i := slices.IndexFunc(fieldWords, func(f struct{ words, field string }) bool { return strings.Contains(text[start:], f.words) })
	if i < 0 {
		return ""
	}
	if fieldWords[i].field == "" {
		return w.side(whose)
	}
	return w.side(whose) + "/" + fieldWords[i].field
}

// isRefusedWith reports whether UPS declined with one of the codes.
func isRefusedWith(err error, codes ...string) bool {
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok || refused.Kind != ship.Invalid && refused.Kind != ship.NotFound {
		return false
	}
	return slices.Contains(codes, refused.Refusal.Code)
}

// withKind is a refusal that means something else than an invalid request.
func withKind(kind ship.Kind, message string, err error) error {
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return err
	}

	changed := *refused
	changed.Kind = kind
	changed.Message = message
	return &changed
}

// lacksProduct says what to do about a 403, which an app gets that lacks the
// product of the call.
func lacksProduct(err error, product, ability string) error {
	if !errors.Is(err, carrierkit.Status(http.StatusForbidden)) {
		return err
	}
	return withKind(ship.Forbidden,
		"UPS does not allow this app to "+ability+"; add the product "+product+" to it at developer.ups.com", err)
}

// invalid refuses one field of the order before anything is sent.
func invalid(pointer, code, detail string) error {
	return ship.InvalidFields([]ship.FieldError{{Pointer: pointer, Code: code, Detail: detail}})
}
