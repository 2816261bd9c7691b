package dhlexpress

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// What a request must have, as paths; "[]" goes into every element. An empty
// postal code is one.
var (
	ratesNeed = []string{
		"customerDetails.shipperDetails.postalCode", "customerDetails.shipperDetails.cityName", "customerDetails.shipperDetails.countryCode",
		"customerDetails.receiverDetails.postalCode", "customerDetails.receiverDetails.cityName", "customerDetails.receiverDetails.countryCode",
		"plannedShippingDateAndTime", "unitOfMeasurement", "isCustomsDeclarable", "packages[].weight",
	}
	partyNeeds = []string{
		"postalAddress.postalCode", "postalAddress.cityName", "postalAddress.countryCode", "postalAddress.addressLine1",
		"contactInformation.phone", "contactInformation.companyName", "contactInformation.fullName",
	}
	shipmentNeeds = []string{
		"plannedShippingDateAndTime", "pickup.isRequested", "productCode", "accounts[].typeCode", "accounts[].number",
		"content.packages[].weight", "content.isCustomsDeclarable", "content.description", "content.incoterm", "content.unitOfMeasurement",
	}
	declarationNeeds = []string{
		"lineItems[].number", "lineItems[].description", "lineItems[].price", "lineItems[].quantity.value",
		"lineItems[].quantity.unitOfMeasurement", "lineItems[].manufacturerCountry", "lineItems[].weight",
	}
	limits = map[string]int{
		"postalCode": 12, "cityName": 45, "countryCode": 2, "provinceCode": 35, "addressLine1": 45, "addressLine2": 45, "addressLine3": 45,
		"labelFreeText": 150, "localProductCode": 3, "phone": 70, "email": 70, "companyName": 100, "fullName": 255, "incoterm": 3,
	}
)

// read decodes a request twice: as it is, to see what is missing, and into v.
func read(r *http.Request, v any) (doc map[string]any, wrong []string) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 4<<20))
	if err != nil {
		return nil, []string{"the request could not be read"}
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		return nil, []string{"#: the request is not well-formed JSON"}
	}
	if err := json.Unmarshal(body, v); err != nil {
		return nil, []string{"#: " + err.Error()}
	}
	return doc, nil
}

// missing lists the paths that doc lacks, in the words of DHL's own check.
func missing(doc any, at string, paths ...string) (wrong []string) {
	for _, p := range paths {
		if text := lacks(doc, at, p); text != "" {
			wrong = append(wrong, text)
		}
	}
	return wrong
}

func lacks(doc any, at, path string) string {
	name, rest, deeper := strings.Cut(path, ".")
	key, isList := strings.CutSuffix(name, "[]")
	object, ok := doc.(map[string]any)
	if !ok {
		return at + ": expected type: JSONObject"
	}
	value, ok := object[key]
	if !ok || value == nil {
		return fmt.Sprintf("%s: required key [%s] not found", at, key)
	}
	at += "/" + key
	if !isList {
		if deeper {
			return lacks(value, at, rest)
		}
		return ""
	}
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		return at + ": expected minimum item count: 1, found: 0"
	}
	for i, one := range list {
		if text := lacks(one, at+"/"+strconv.Itoa(i), rest); text != "" {
			return text
		}
	}
	return ""
}

// missized lists the texts that are longer than DHL takes, and countries that
// are no codes.
func missized(doc any, at string) (wrong []string) {
	switch v := doc.(type) {
	case map[string]any:
		for key, value := range v {
			text, isText := value.(string)
			if n := len([]rune(text)); isText && limits[key] > 0 && n > limits[key] {
				wrong = append(wrong, fmt.Sprintf("%s/%s: expected maxLength: %d, actual: %d", at, key, limits[key], n))
			}
			if isText && key == "countryCode" && len(text) < 2 {
				wrong = append(wrong, fmt.Sprintf("%s/%s: expected minLength: 2, actual: %d", at, key, len(text)))
			}
			wrong = append(wrong, missized(value, at+"/"+key)...)
		}
	case []any:
		for i, value := range v {
			wrong = append(wrong, missized(value, at+"/"+strconv.Itoa(i))...)
		}
	}
	return wrong
}

// badDate says what is wrong with a planned time, "" if nothing is.
func badDate(planned string, now time.Time) string {
	t, err := time.Parse("2006-01-02T15:04:05 GMT-07:00", planned)
	switch {
	case err != nil:
		return "998: ShipTimeStamp is not well formatted.(Expected Sample Format : '2010-02-11T17:10:09 GMT+01:00')"
	case t.Before(now):
		return "998: The requested shipment date is in the past."
	case t.After(now.AddDate(0, 0, 10).Add(time.Hour)):
		return "998: The requested shipment date is more than 10 days in the future."
	}
	return ""
}
