package dhlexpress

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// refusalOf reads an error of DHL's. Its own code, where there is one, stands
// before a colon at the beginning of the text.
func refusalOf(body []byte) ship.Refusal {
	var answer problem
	if json.Unmarshal(body, &answer) != nil {
		return ship.Refusal{}
	}

	details := answer.AdditionalDetails
	if len(details) == 0 {
		details = []string{answer.Detail}
	}
	first := details[0]
	if first == "" {
		first = answer.Title
	}

	code, text, ok := strings.Cut(first, ":")
	if !ok || !isCode(code) {
		return ship.Refusal{Message: strings.Join(append([]string{first}, details[1:]...), "; ")}
	}
	texts := append([]string{strings.TrimSpace(text)}, details[1:]...)
	return ship.Refusal{Code: code, Message: strings.Join(texts, "; ")}
}

func isCode(s string) bool {
	return s != "" && len(s) <= 8 && strings.Trim(s, "0123456789") == ""
}

// detailsOf returns the problems that DHL lists, one text each.
func detailsOf(body []byte) []string {
	var answer problem
	if json.Unmarshal(body, &answer) != nil {
		return nil
	}

	if len(answer.AdditionalDetails) > 0 {
		return answer.AdditionalDetails
	}
	if answer.Detail != "" {
		return []string{answer.Detail}
	}
	return nil
}

// explain says which fields of the order a refusal is about, or that it is
// about the connection.
func explain(err error, details []string, order ship.Order, extras []extra) error {
	declined, ok := errors.AsType[*ship.Error](err)
	if !ok || declined.Kind != ship.Invalid || len(details) == 0 {
		return err
	}

	refused := *declined
	if slices.ContainsFunc(details, isAccountProblem) {
		refused.Kind = ship.Forbidden
		refused.Message = "DHL Express does not accept the account number of this connection; check it under Carriers, and ask DHL whether the API key may use it"
		return &refused
	}

	var fields []ship.FieldError
	for _, text := range details {
		if field, ok := fieldOf(text, order, extras); ok {
			fields = append(fields, field)
		}
	}
	if named, ok := errors.AsType[*ship.Error](carrierkit.InvalidOrder("DHL Express", fields)); ok {
		refused.Message = named.Message
		refused.Fields = named.Fields
	}
	return &refused
}

func isAccountProblem(text string) bool {
	code, _ := splitCode(text)
	return slices.Contains(accountCodes, code) || strings.HasPrefix(text, "The account number is not found or invalid")
}

// accountCodes are the codes for an account that cannot be used at all: no
// change of the order resolves them.
var accountCodes = []string{"3501", "5032", "8003", "8007"}

// splitCode separates DHL's own number from its words.
func splitCode(text string) (code, words string) {
	code, words, ok := strings.Cut(text, ":")
	if !ok || !isCode(code) {
		return "", strings.TrimSpace(text)
	}
	return code, strings.TrimSpace(words)
}

// fieldOf returns a problem as one of our fields; not ok if it names none.
func fieldOf(text string, order ship.Order, extras []extra) (ship.FieldError, bool) {
	code, words := splitCode(text)
	field := ship.FieldError{
		Code:    "carrier_rejected",
		Pointer: pointerOf(words, order, extras),
		Detail:  "DHL Express answered: " + plainWords(words),
	}

	switch code {
	case codeVagueGoods:
		field.Pointer = vagueItem(words, order)
		field.Detail = "DHL Express does not accept this description of the goods: say what they are, what they are made of and what they are for"
	case codeNoInvoice:
		field.Pointer = "/customs/paperless"
		field.Detail = "DHL Express accepts paperless trade only with an invoice; set customs.paperless to \"off\" to print it"
	case codeBadDate:
		field.Pointer = "/shipDate"
	case codeNoProduct:
		field.Pointer = "/service"
		field.Detail = "DHL Express does not offer this service for the shipment; ask for rates to see those it offers"
	case codeNoExtra:
		field.Detail = "DHL Express does not offer this option between these addresses"
	}
	return field, field.Pointer != ""
}

// Error codes of DHL that identify the field they are about.
const (
	codeVagueGoods = "7147"
	codeNoInvoice  = "7120"
	codeBadDate    = "998"
	codeNoProduct  = "996"
	codeNoExtra    = "7008"
)

// pointerOf returns our pointer to the part of the request that a text is
// about; empty if it names none that the client wrote.
func pointerOf(words string, order ship.Order, extras []extra) string {
	parts := pathOf(words)
	switch {
	case len(parts) > 2 && strings.EqualFold(parts[0], "customerDetails"):
		return partyPointer(parts[1], parts[2:])
	case len(parts) > 1 && strings.EqualFold(parts[0], "content"):
		return contentPointer(parts[1:], order)
	case strings.EqualFold(parts[0], "packages"):
		return contentPointer(parts, order)
	case parts[0] == "items":
		return itemPointer(parts[1:], order)
	case strings.EqualFold(parts[0], "valueAddedServices") && len(parts) > 1:
		return extraPointer(parts[1], extras)
	}

	switch parts[0] {
	case "plannedShippingDateAndTime":
		return "/shipDate"
	case "productCode", "localProductCode":
		return "/service"
	case "monetaryAmount":
		return "/customs/items"
	case "accounts":
		if order.Billing != nil {
			return "/billing/account"
		}
	}
	return ""
}

// pathOf returns the part of DHL's request that a text names, as the members that
// lead to it; one that is empty if it names none.
func pathOf(words string) []string {
	path := dhlPointer.FindString(words)
	if path == "" && !strings.HasPrefix(words, "#") {
		return []string{""}
	}
	if key := missingKey.FindStringSubmatch(words); key != nil {
		path = "#" + strings.TrimPrefix(path, "#") + "/" + key[1]
	}
	return strings.Split(strings.TrimPrefix(path, "#/"), "/")
}

// dhlPointer is how DHL names a part of the request.
var dhlPointer = regexp.MustCompile(`#(?:/[A-Za-z0-9]+)+`)

// missingKey is how DHL names a part that is not there.
var missingKey = regexp.MustCompile(`required key \[([A-Za-z0-9]+)\]`)

func partyPointer(side string, rest []string) string {
	party := map[string]string{
		"shipperDetails":  "/origin",
		"receiverDetails": "/destination",
		"importerDetails": "/destination",
	}[side]
	if party == "" {
		return ""
	}

	for _, part := range rest {
		name, ok := partyFields[part]
		switch {
		case ok && name == "":
			return "/customs/taxIdentifiers"
		case ok:
			return party + "/" + name
		}
	}
	return party
}

// partyFields are the members of an address and of a contact.
var partyFields = map[string]string{
	"postalCode":          "zip",
	"cityName":            "city",
	"countryCode":         "country",
	"provinceCode":        "state",
	"addressLine1":        "address1",
	"addressLine2":        "address2",
	"addressLine3":        "address3",
	"phone":               "phone",
	"email":               "email",
	"companyName":         "company",
	"fullName":            "name",
	"registrationNumbers": "",
}

// contentPointer returns our name of a part that is about parcels and goods.
// DHL writes some of these names in lower case.
func contentPointer(parts []string, order ship.Order) string {
	lower := make([]string, len(parts))
	for i, part := range parts {
		lower[i] = strings.ToLower(part)
	}

	switch lower[0] {
	case "packages":
		return parcelPointer(lower[1:], order)
	case "incoterm":
		return "/customs/incoterm"
	case "description", "declaredvalue", "declaredvaluecurrency":
		return "/customs/items"
	case "exportdeclaration":
		return declarationPointer(lower[1:], order)
	}
	return ""
}

// itemFields are the members of a line of the declaration, and of an item of an
// estimate.
var itemFields = map[string]string{
	"description":         "description",
	"price":               "value",
	"unitprice":           "value",
	"quantity":            "quantity",
	"commoditycodes":      "hsCode",
	"commoditycode":       "hsCode",
	"manufacturercountry": "originCountry",
	"weight":              "weight",
}

func parcelPointer(rest []string, order ship.Order) string {
	if len(rest) == 0 {
		return "/parcels"
	}
	n, err := strconv.Atoi(rest[0])
	if err != nil {
		return "/parcels"
	}

	pointer := carrierkit.ParcelPointer(order, n)
	if len(rest) > 1 && slices.Contains([]string{"weight", "dimensions"}, rest[1]) {
		pointer += "/" + strings.Join(rest[1:], "/")
	}
	return pointer
}

func declarationPointer(rest []string, order ship.Order) string {
	switch {
	case len(rest) > 1 && rest[0] == "lineitems":
		return itemPointer(rest[1:], order)
	case len(rest) > 1 && rest[0] == "invoice" && rest[1] == "number":
		return "/customs/invoiceNumber"
	case len(rest) > 1 && rest[0] == "invoice" && rest[1] == "signaturename":
		return "/customs/signer"
	}
	return "/customs"
}

// itemPointer returns our name of a part of an item: its index comes first.
func itemPointer(parts []string, order ship.Order) string {
	if len(parts) == 0 {
		return "/customs/items"
	}
	n, err := strconv.Atoi(parts[0])
	if err != nil || order.Customs == nil || n >= len(order.Customs.Items) {
		return "/customs/items"
	}

	pointer := fmt.Sprintf("/customs/items/%d", n)
	if len(parts) > 1 && itemFields[strings.ToLower(parts[1])] != "" {
		pointer += "/" + itemFields[strings.ToLower(parts[1])]
	}
	return pointer
}

// extraPointer returns the option that an extra service stands for.
func extraPointer(index string, extras []extra) string {
	n, err := strconv.Atoi(index)
	if err != nil || n >= len(extras) {
		return "/options"
	}

	switch extras[n].ServiceCode {
	case extraSaturday, extraSaturdayDomestic:
		return "/options/saturdayDelivery"
	case extraSignature, extraAdultSignature:
		return "/options/signature"
	case extraInsurance, extraLiability:
		return "/options/insuredValue"
	case extraDutiesPaid:
		return "/customs/incoterm"
	case extraPaperless:
		return "/customs/paperless"
	}
	if slices.Contains(stagings, extras[n].ServiceCode) {
		return "/isReturn"
	}
	return "/options"
}

// vagueItem returns the item whose description DHL does not accept: the one
// that is quoted, else the one that is numbered.
func vagueItem(words string, order ship.Order) string {
	if order.Customs == nil || len(order.Customs.Items) == 0 {
		return "/customs/items"
	}

	items := order.Customs.Items
	if quoted := keyword.FindStringSubmatch(words); quoted != nil {
		i := slices.IndexFunc(items, func(item ship.CustomsItem) bool {
			return strings.EqualFold(strings.TrimSpace(item.Description), strings.TrimSpace(quoted[1]))
		})
		if i >= 0 {
			return fmt.Sprintf("/customs/items/%d/description", i)
		}
	}
	if line := lineNumber.FindStringSubmatch(words); line != nil {
		if n, err := strconv.Atoi(line[1]); err == nil && n >= 1 && n <= len(items) {
			return fmt.Sprintf("/customs/items/%d/description", n-1)
		}
	}
	return "/customs/items"
}

// keyword is the description that DHL's list of vague words matched.
var keyword = regexp.MustCompile(`Description:([^\]]+)\]`)

// lineNumber is the line that DHL names; its own examples count from one.
var lineNumber = regexp.MustCompile(`(?i)lineitems/(\d+)`)

// plainWords returns a text without the names of DHL's own fields.
func plainWords(words string) string {
	if key := missingKey.FindStringSubmatch(words); key != nil {
		return key[1] + " is required"
	}
	words = dhlPointer.ReplaceAllString(words, "")
	words = strings.TrimLeft(words, "#: ")
	return strings.Join(strings.Fields(words), " ")
}
