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

// limits are the lengths of texts, by the name of their member.
var limits = map[string]int{
	"postalCode": 12, "cityName": 45, "countryCode": 2, "provinceCode": 35, "addressLine1": 45, "addressLine2": 45, "addressLine3": 45,
	"labelFreeText": 150, "localProductCode": 3, "phone": 70, "email": 70, "companyName": 100, "fullName": 255, "incoterm": 3,
}

// read decodes a request twice: as it is, to see what is missing, and into v.
func read(r *http.Request, v any) (doc map[string]any, invalid []string) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 16<<20))
	if err != nil {
		return nil, []string{"the request could not be read"}
	}

	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&doc); err != nil {
		return nil, []string{"#: the request is not well-formed JSON"}
	}
	if err := json.Unmarshal(body, v); err != nil {
		return nil, []string{"#: " + err.Error()}
	}
	return doc, nil
}

// missing lists the paths that doc lacks, in the words of DHL's own check.
func missing(doc any, pointer string, paths ...string) (invalid []string) {
	for _, path := range paths {
		if text := findMissing(doc, pointer, path); text != "" {
			invalid = append(invalid, text)
		}
	}
	return invalid
}

// findMissing returns the first thing that is missing along a path, "" if
// nothing is.
func findMissing(doc any, pointer, path string) string {
	name, rest, deeper := strings.Cut(path, ".")
	key, isList := strings.CutSuffix(name, "[]")
	object, ok := doc.(map[string]any)
	if !ok {
		return pointer + ": expected type: JSONObject"
	}
	value, ok := object[key]
	if !ok || value == nil {
		return fmt.Sprintf("%s: required key [%s] not found", pointer, key)
	}

	pointer += "/" + key
	if !isList {
		if deeper {
			return findMissing(value, pointer, rest)
		}
		return ""
	}

	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		return pointer + ": expected minimum item count: 1, found: 0"
	}
	for i, element := range list {
		if !deeper {
			break
		}
		if text := findMissing(element, pointer+"/"+strconv.Itoa(i), rest); text != "" {
			return text
		}
	}
	return ""
}

// invalidSizes lists the texts that are longer than DHL accepts, and countries
// that are not country codes.
func invalidSizes(doc any, pointer string) (invalid []string) {
	switch v := doc.(type) {
	case map[string]any:
		for key, value := range v {
			text, isText := value.(string)
			if length := len([]rune(text)); isText && limits[key] > 0 && length > limits[key] {
				invalid = append(invalid, fmt.Sprintf("%s/%s: expected maxLength: %d, actual: %d", pointer, key, limits[key], length))
			}
			if isText && key == "countryCode" && len(text) < 2 {
				invalid = append(invalid, fmt.Sprintf("%s/%s: expected minLength: 2, actual: %d", pointer, key, len(text)))
			}
			invalid = append(invalid, invalidSizes(value, pointer+"/"+key)...)
		}

	case []any:
		for i, value := range v {
			invalid = append(invalid, invalidSizes(value, pointer+"/"+strconv.Itoa(i))...)
		}
	}
	return invalid
}

// plannedFormat is how requests write the planned time.
const plannedFormat = "2006-01-02T15:04:05 GMT-07:00"

// invalidDate returns what is wrong with a planned time, "" if nothing is.
func invalidDate(planned string, now time.Time) string {
	date, err := time.Parse(plannedFormat, planned)
	switch {
	case err != nil:
		return "998: ShipTimeStamp is not well formatted.(Expected Sample Format : '2010-02-11T17:10:09 GMT+01:00')"
	case date.Before(now):
		return "998: The requested shipment date is in the past."
	case date.After(now.AddDate(0, 0, 10).Add(time.Hour)):
		return "998: The requested shipment date is more than 10 days in the future."
	}
	return ""
}
