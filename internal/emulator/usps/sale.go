package usps

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/waybillhq/waybill/internal/emulator"
)

// kept is what the carrier stores about a sale.
type kept struct {
	Body    string       `json:"body"` // its hash: the same key with another body is refused
	Request labelRequest `json:"request"`
	Abroad  bool         `json:"abroad,omitempty"`
	Zone    int64        `json:"zone"`
	Postage int64        `json:"postage"`
	Fee     int64        `json:"fee,omitempty"`

	IsReturn bool `json:"return,omitempty"`
}

// sale prices a request and gives it a number.
func (s *service) sale(api labelAPI, in labelRequest, body string) emulator.Entry {
	ordered := in.PackageDescription
	class, _ := classOf(ordered.MailClass)
	sold := kept{
		Body:    body,
		Request: in,
		Abroad:  api.abroad,

		IsReturn: api.isReturn,
		Zone:     zoneOf(in.FromAddress.ZIPCode, in.ToAddress.ZIPCode+in.ToAddress.CountryCode),
	}
	parcel := load{
		pounds: ordered.Weight,
		length: ordered.Length,
		width:  ordered.Width,
		height: ordered.Height,
		zone:   sold.Zone,
		value:  ordered.PackageOptions.PackageValue,
	}
	if flat, ok := class.flatRate(ordered); ok {
		sold.Postage = flat.price
	} else {
		sold.Postage, _ = class.priced(parcel, ordered.RateIndicator)
		sold.Fee = parcel.fee()
	}

	total := sold.Postage + sold.Fee
	for _, code := range ordered.ExtraServices {
		price, _ := class.extra(code, parcel.value)
		total += price
	}

	keep, _ := json.Marshal(sold) // it came from JSON
	entry := emulator.Entry{
		Number:   s.number(class),
		Account:  Account,
		Service:  class.name,
		Amount:   dollars(total).String(),
		Currency: "USD",
		Kept:     keep,
	}
	for i, reference := range ordered.CustomerReference {
		switch i {
		case 0:
			entry.Reference = reference.ReferenceNumber
		case 1:
			entry.Second = reference.ReferenceNumber
		}
	}
	return entry
}

// flatRate returns the flat rate that a package is sold by, if it is.
func (c mailClass) flatRate(parcel packageDescription) (flatRate, bool) {
	if flat, ok := c.flat[parcel.PackagingType]; ok {
		return flat, true
	}
	for _, flat := range c.flat {
		if parcel.RateIndicator != "" && flat.indicator == parcel.RateIndicator {
			return flat, true
		}
	}
	return flatRate{}, false
}

// number makes a tracking number that no other sale has: 22 digits with the
// mailer's ID, or thirteen characters in the format of the Universal Postal
// Union for international parcels.
func (s *service) number(class mailClass) string {
	n := s.Ledger.Next()
	if class.abroad {
		digits := fmt.Sprintf("%08d", n%100_000_000)
		return class.mark + digits + postalCheck(digits) + "US"
	}
	digits := fmt.Sprintf("94%s%s%07d", class.mark, MID, n%10_000_000)
	return digits + barcodeCheck(digits)
}

// barcodeCheck returns the check digit of a barcode: digits are weighted 3 and
// 1 in turn, from the end.
func barcodeCheck(digits string) string {
	sum := 0
	for i := range len(digits) {
		weight := 1
		if (len(digits)-i)%2 == 1 {
			weight = 3
		}
		sum += weight * int(digits[i]-'0')
	}
	return strconv.Itoa((10 - sum%10) % 10)
}

// postalCheck returns the check digit of a number in the format of the
// Universal Postal Union.
func postalCheck(digits string) string {
	sum := 0
	for i, weight := range []int{8, 6, 4, 2, 3, 5, 9, 7} {
		sum += weight * int(digits[i]-'0')
	}
	switch check := 11 - sum%11; check {
	case 10:
		return "0"
	case 11:
		return "5"
	default:
		return strconv.Itoa(check)
	}
}

// answer returns the carrier's body of a sale. A response with a wrong
// reference also has another address.
func answer(sold emulator.Entry, mixedUp bool) []byte {
	metadata, image := describe(sold, mixedUp, "")
	name := "labelImage"
	if isReturn(sold) {
		name = "returnLabelImage"
	}
	metadata[name] = image
	body, _ := json.Marshal(metadata) // of strings and numbers
	return body
}

// isReturn reports whether the label of a sale is one of a return.
func isReturn(sold emulator.Entry) bool {
	var sale kept
	return json.Unmarshal(sold.Kept, &sale) == nil && sale.IsReturn
}

// describe returns what the carrier answers about a sale, and its label.
func describe(sold emulator.Entry, mixedUp bool, imageType string) (map[string]any, []byte) {
	var sale kept
	_ = json.Unmarshal(sold.Kept, &sale) // as it was marshalled
	in := sale.Request
	if imageType == "" {
		imageType = in.ImageInfo.ImageType
	}
	if mixedUp && sale.Abroad {
		in.ToAddress.CountryCode = "AQ"
		in.ToAddress.Country = "Antarctica"
	} else if mixedUp {
		in.ToAddress.ZIPCode = "00000"
	}

	class, _ := classOf(in.PackageDescription.MailClass)
	extras, fees := sale.charges(class)
	parcel := in.PackageDescription
	metadata := map[string]any{
		"labelAddress":  in.ToAddress,
		"SKU":           sku(class, load{pounds: parcel.Weight, zone: sale.Zone}),
		"postage":       dollars(sale.Postage),
		"extraServices": extras,
		"fees":          fees,
		"weightUOM":     "lb",
		"weight":        max(parcel.Weight, 0.01),
	}

	// The two APIs have different names and types for the same things.
	zone := fmt.Sprintf("%02d", sale.Zone)
	routing := ""
	if sale.Abroad {
		metadata["internationalTrackingNumber"] = sold.Number
		metadata["constructCode"] = "I01"
		metadata["internationalPriceGroup"] = zone
		metadata["mailingDate"] = parcel.MailingDate
		metadata["dimensionalWeight"] = "0.0"
	} else {
		routing = "420" + in.ToAddress.ZIPCode
		metadata["trackingNumber"] = sold.Number
		metadata["routingInformation"] = routing
		metadata["constructCode"] = "C02"
		metadata["zone"] = zone
		metadata["mailingDate"] = parcel.MailingDate + "T22:00:00Z"
		metadata["dimensionalWeight"] = 0
		metadata["serviceTypeCode"] = class.mark
		metadata["commitment"] = class.commitment(parcel.MailingDate, sale.Zone)
	}
	if sale.IsReturn {
		class.name += returnSuffix
		delete(metadata, "constructCode")
		delete(metadata, "commitment")
	}

	return metadata, picture{
		class:      class.name,
		number:     sold.Number,
		routing:    routing,
		from:       in.FromAddress,
		to:         in.ToAddress,
		references: in.printedReferences(),
	}.draw(imageType)
}

// printedReferences returns the references that the label shows: those that the
// client wants printed, but none on a label with a customs form.
func (in labelRequest) printedReferences() (list []string) {
	if in.CustomsForm != nil {
		return nil
	}
	for _, reference := range in.PackageDescription.CustomerReference {
		if reference.Print {
			list = append(list, reference.ReferenceNumber)
		}
	}
	return list
}

// charges returns what a sale cost besides its postage.
func (k kept) charges(class mailClass) (extras, fees []any) {
	extras = []any{} // empty, never null
	for _, code := range k.Request.PackageDescription.ExtraServices {
		price, _ := class.extra(code, k.Request.PackageDescription.PackageOptions.PackageValue)
		extra := map[string]any{"name": extraName(code), "SKU": "DXXX0XXXXCX0000", "price": dollars(price)}
		if k.Abroad { // the two APIs do not agree on names
			extra = map[string]any{"serviceID": strconv.Itoa(code), "serviceName": extraName(code), "sku": "IXXX0XXXXCX0000", "price": dollars(price)}
		}
		extras = append(extras, extra)
	}

	fees = []any{}
	if k.Fee > 0 {
		fees = append(fees, map[string]any{"name": "Nonstandard Length > 22", "SKU": "D811XVCXXXX0000", "price": dollars(k.Fee)})
	}
	return extras, fees
}
