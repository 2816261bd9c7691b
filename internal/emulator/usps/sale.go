package usps

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/waybillhq/waybill/internal/emulator"
)

// kept is what the carrier remembers of a sale.
type kept struct {
	Body    string       `json:"body"` // its hash: the same key with another body is refused
	Request labelRequest `json:"request"`
	Abroad  bool         `json:"abroad,omitempty"`
	Zone    int64        `json:"zone"`
	Postage int64        `json:"postage"`
	Fee     int64        `json:"fee,omitempty"`
}

// sale prices a request and gives it a number.
func (s *service) sale(api labelAPI, in labelRequest, body string) emulator.Entry {
	d := in.PackageDescription
	c, _ := classOf(d.MailClass)
	k := kept{Body: body, Request: in, Abroad: api.abroad}
	k.Zone = zoneOf(in.FromAddress.ZIPCode, in.ToAddress.ZIPCode+in.ToAddress.CountryCode)
	l := load{d.Weight, d.Length, d.Width, d.Height, k.Zone, d.PackageOptions.PackageValue}
	if f, flat := c.flatRate(d); flat {
		k.Postage = f.price
	} else {
		k.Postage, _ = c.priced(l, d.RateIndicator)
		k.Fee = l.fee()
	}
	total := k.Postage + k.Fee
	for _, code := range d.ExtraServices {
		price, _ := c.extra(code, l.value)
		total += price
	}
	keep, _ := json.Marshal(k) // it came from JSON
	e := emulator.Entry{
		Number: s.number(c), Account: Account, Service: c.name, Amount: dollars(total).String(), Currency: "USD", Kept: keep,
	}
	for i, r := range d.CustomerReference {
		switch i {
		case 0:
			e.Reference = r.ReferenceNumber
		case 1:
			e.Second = r.ReferenceNumber
		}
	}
	return e
}

// flatRate is the flat rate that a package is sold by, if it is.
func (c mailClass) flatRate(d packageDescription) (flatRate, bool) {
	if f, ok := c.flat[d.PackagingType]; ok {
		return f, true
	}
	for _, f := range c.flat {
		if d.RateIndicator != "" && f.indicator == d.RateIndicator {
			return f, true
		}
	}
	return flatRate{}, false
}

// number makes a tracking number that no other sale has: 22 digits with the
// mailer's id, or thirteen characters in the form of the postal union abroad.
func (s *service) number(c mailClass) string {
	n := s.Ledger.Next()
	if c.abroad {
		digits := fmt.Sprintf("%08d", n%100_000_000)
		return c.mark + digits + postalCheck(digits) + "US"
	}
	digits := fmt.Sprintf("94%s%s%07d", c.mark, MID, n%10_000_000)
	return digits + barcodeCheck(digits)
}

// barcodeCheck is the check digit of a barcode: threes and ones from the end.
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

// postalCheck is the check digit of a number of the postal union.
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

// answer is the carrier's body of a sale. A sale that was mixed up tells of
// another address.
func answer(e emulator.Entry, mixedUp bool) []byte {
	metadata, image := describe(e, mixedUp, "")
	metadata["labelImage"] = image
	body, _ := json.Marshal(metadata) // of strings and numbers
	return body
}

// describe is what the carrier tells of a sale, and its label.
func describe(e emulator.Entry, mixedUp bool, imageType string) (map[string]any, []byte) {
	var k kept
	_ = json.Unmarshal(e.Kept, &k) // as it was marshalled
	in := k.Request
	if imageType == "" {
		imageType = in.ImageInfo.ImageType
	}
	if mixedUp && k.Abroad {
		in.ToAddress.CountryCode, in.ToAddress.Country = "AQ", "Antarctica"
	} else if mixedUp {
		in.ToAddress.ZIPCode = "00000"
	}
	c, _ := classOf(in.PackageDescription.MailClass)
	extras, fees := k.charges(c)
	d := in.PackageDescription
	m := map[string]any{
		"labelAddress": in.ToAddress, "SKU": sku(c, load{pounds: d.Weight, zone: k.Zone}), "postage": dollars(k.Postage),
		"extraServices": extras, "fees": fees, "weightUOM": "lb", "weight": max(d.Weight, 0.01),
	}
	code := "420" + in.ToAddress.ZIPCode
	if k.Abroad {
		code = ""
		m["internationalTrackingNumber"], m["constructCode"] = e.Number, "I01"
		m["internationalPriceGroup"], m["mailingDate"], m["dimensionalWeight"] = fmt.Sprintf("%02d", k.Zone), d.MailingDate, "0.0"
	} else {
		m["trackingNumber"], m["routingInformation"], m["constructCode"] = e.Number, code, "C02"
		m["zone"], m["mailingDate"], m["dimensionalWeight"] = fmt.Sprintf("%02d", k.Zone), d.MailingDate+"T22:00:00Z", 0
		m["serviceTypeCode"] = c.mark
		m["commitment"] = c.commitment(d.MailingDate, k.Zone)
	}
	return m, picture{
		class:      c.name,
		number:     e.Number,
		routing:    code,
		from:       in.FromAddress,
		to:         in.ToAddress,
		references: in.printedReferences(),
	}.draw(imageType)
}

// printedReferences are the references that the label shows: those that the
// client wants printed, and none beside a customs form.
func (in labelRequest) printedReferences() (list []string) {
	if in.CustomsForm != nil {
		return nil
	}
	for _, r := range in.PackageDescription.CustomerReference {
		if r.Print {
			list = append(list, r.ReferenceNumber)
		}
	}
	return list
}

// charges are what a sale cost beside its postage.
func (k kept) charges(c mailClass) (extras, fees []any) {
	extras, fees = []any{}, []any{} // empty, never null
	for _, code := range k.Request.PackageDescription.ExtraServices {
		price, _ := c.extra(code, k.Request.PackageDescription.PackageOptions.PackageValue)
		extra := map[string]any{"name": extraName(code), "SKU": "DXXX0XXXXCX0000", "price": dollars(price)}
		if k.Abroad { // the two APIs do not agree on names
			extra = map[string]any{"serviceID": strconv.Itoa(code), "serviceName": extraName(code), "sku": "IXXX0XXXXCX0000", "price": dollars(price)}
		}
		extras = append(extras, extra)
	}
	if k.Fee > 0 {
		fees = append(fees, map[string]any{"name": "Nonstandard Length > 22", "SKU": "D811XVCXXXX0000", "price": dollars(k.Fee)})
	}
	return extras, fees
}
