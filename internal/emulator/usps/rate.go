package usps

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// mailClass is a mail class with its prices in cents.
type mailClass struct {
	name       string
	abroad     bool
	indicator  string // of the client's own box
	mark       string // service type code, or the letters of an S10 number
	base, zone int64
	pound      int64
	days       int
	extras     map[int]int64 // prices of its extra services
	flat       map[string]flatRate
}

type flatRate struct {
	indicator, category string
	price               int64
}

var (
	signatures = map[int]int64{920: 0, 921: 395, 922: 965, 930: 270, 931: 1245}
	envelopes  = map[string]flatRate{
		"FLAT_RATE_ENVELOPE": {"E4", "FLATS", 2895}, "LEGAL_FLAT_RATE_ENVELOPE": {"E6", "FLATS", 2915},
		"PADDED_FLAT_RATE_ENVELOPE": {"FP", "FLATS", 2945},
	}
	boxes = map[string]flatRate{
		"FLAT_RATE_ENVELOPE": {"FE", "FLATS", 985}, "LEGAL_FLAT_RATE_ENVELOPE": {"FA", "FLATS", 1015},
		"PADDED_FLAT_RATE_ENVELOPE": {"FP", "FLATS", 1065}, "SM_FLAT_RATE_BOX": {"FS", "MACHINABLE", 1045},
		"MD_FLAT_RATE_BOX": {"FB", "MACHINABLE", 1845}, "LG_FLAT_RATE_BOX": {"PL", "MACHINABLE", 2695},
	}
	classes = []mailClass{
		{"USPS_GROUND_ADVANTAGE", false, "SP", "001", 455, 38, 52, 4, signatures, nil},
		{"PRIORITY_MAIL", false, "SP", "055", 845, 60, 62, 2, signatures, boxes},
		{"PRIORITY_MAIL_EXPRESS", false, "PA", "701", 2985, 310, 180, 1, map[int]int64{920: 0, 922: 965, 925: 305, 981: 0}, envelopes},
		{"MEDIA_MAIL", false, "SP", "012", 447, 0, 79, 6, map[int]int64{920: 0, 930: 270, 931: 1245}, nil},
		{"FIRST-CLASS_PACKAGE_INTERNATIONAL_SERVICE", true, "SP", "LZ", 1520, 160, 410, 0, nil, nil},
		{"PRIORITY_MAIL_INTERNATIONAL", true, "SP", "CZ", 3180, 640, 290, 0, map[int]int64{930: 415, 931: 1390}, boxes},
		{"PRIORITY_MAIL_EXPRESS_INTERNATIONAL", true, "PA", "EZ", 4760, 820, 340, 0, map[int]int64{930: 415, 931: 1390}, envelopes},
	}
)

func classOf(name string) (mailClass, bool) {
	i := slices.IndexFunc(classes, func(c mailClass) bool { return c.name == name })
	if i < 0 {
		return mailClass{}, false
	}
	return classes[i], true
}

// dollars writes cents as a JSON number.
func dollars(cents int64) json.Number {
	return json.Number(fmt.Sprintf("%d.%02d", cents/100, cents%100))
}

// A load is the part of a request that determines the price.
type load struct {
	pounds                float64
	length, width, height float64
	zone                  int64 // 1 to 9
	value                 float64
}

// zoneOf returns the zone between two ZIP codes, or to a country.
func zoneOf(from, to string) int64 {
	if len(from) == 0 || len(to) == 0 {
		return 1
	}
	apart := int64(from[0]) - int64(to[0])
	return min(max(apart, -apart), 8) + 1
}

// isMedia reports whether the class is for certain contents only.
func (c mailClass) isMedia() bool { return c.name == "MEDIA_MAIL" }

// groundAdvantage is the class with the highest limit of size.
const groundAdvantage = "USPS_GROUND_ADVANTAGE"

// takes reports whether the class carries a parcel of this size.
func (c mailClass) takes(parcel load) bool {
	return c.name == groundAdvantage || parcel.length+2*(parcel.width+parcel.height) <= 108
}

// postage returns the price of a class in the client's own box, by the greater
// of weight and volume.
func (c mailClass) postage(parcel load) (cents int64, indicator string) {
	pounds := parcel.pounds
	indicator = c.indicator
	if c.isMedia() {
		// By weight alone, the same to every zone.
		return c.base + c.pound*(int64(math.Ceil(pounds))-1), indicator
	}
	if volume := parcel.length * parcel.width * parcel.height; !c.abroad && volume > 1728 {
		pounds = max(pounds, volume/166)
		indicator = "DR"
	}
	if !c.abroad && parcel.length+2*(parcel.width+parcel.height) > 108 {
		pounds = max(pounds, 70)
		indicator = "OS"
	}

	charged := int64(pounds)
	if float64(charged) < pounds {
		charged++
	}
	return c.base + c.zone*(parcel.zone-1) + c.pound*(charged-1), indicator
}

// cubic reports whether the parcel may be priced by its volume: it is domestic,
// small and not heavy.
func (c mailClass) cubic(parcel load) bool {
	return !c.abroad && !c.isMedia() && c.indicator == "SP" && parcel.pounds <= 20 && parcel.length <= 18 && parcel.length*parcel.width*parcel.height <= 864
}

// cubicPostage returns the price by volume, in tiers of a tenth of a cubic
// foot.
func (c mailClass) cubicPostage(parcel load) int64 {
	tier := int64(parcel.length*parcel.width*parcel.height/172.8) + 1
	return c.base + 2*c.pound + c.zone*(parcel.zone-1) + 25*(tier-1) // cheaper than by weight from four pounds on
}

// priced returns the postage by the rate indicator that the client names, or by
// the one that the carrier finds.
func (c mailClass) priced(parcel load, indicator string) (cents int64, ok bool) {
	cents, own := c.postage(parcel)
	switch indicator {
	case "", own:
		return cents, true
	case "CP":
		return c.cubicPostage(parcel), c.cubic(parcel)
	}
	return 0, false
}

// fee returns the surcharge for a long parcel.
func (l load) fee() int64 {
	if l.length > 22 {
		return 400
	}
	return 0
}

// extra returns the price of an extra service: insurance grows with the value.
func (c mailClass) extra(code int, value float64) (int64, bool) {
	price, ok := c.extras[code]
	if code == 925 || code == 930 || code == 931 {
		price += int64(value/100) * 90
	}
	return price, ok
}

type optionsRequest struct {
	PricingOptions []struct {
		PriceType      string `json:"priceType"`
		PaymentAccount *struct {
			AccountType   string `json:"accountType"`
			AccountNumber string `json:"accountNumber"`
		} `json:"paymentAccount,omitempty"`
	} `json:"pricingOptions"`
	OriginZIPCode          string `json:"originZIPCode"`
	DestinationZIPCode     string `json:"destinationZIPCode,omitempty"`
	DestinationCountryCode string `json:"destinationCountryCode,omitempty"`
	ForeignPostalCode      string `json:"foreignPostalCode,omitempty"`
	EntryFacilityType      string `json:"destinationEntryFacilityType,omitempty"`
	PackageDescription     struct {
		Weight        float64 `json:"weight"`
		Length        float64 `json:"length"`
		Width         float64 `json:"width"`
		Height        float64 `json:"height"`
		MailClass     string  `json:"mailClass"`
		ExtraServices []int   `json:"extraServices,omitempty"`
		PackageValue  float64 `json:"packageValue,omitempty"`
		MailingDate   string  `json:"mailingDate,omitempty"`
	} `json:"packageDescription"`
}

// Words of USPS's file of shipping options.
var (
	zip             = regexp.MustCompile(`^\d{5}(?:[-\s]\d{4})?$`)
	priceTypes      = []string{"RETAIL", "COMMERCIAL", "CONTRACT"}
	entryFacilities = strings.Fields("NONE DESTINATION_NETWORK_DISTRIBUTION_CENTER DESTINATION_SECTIONAL_CENTER_FACILITY " +
		"DESTINATION_DELIVERY_UNIT DESTINATION_SERVICE_HUB DESTINATION_REGIONAL_PROCESSING_DISTRIBUTION_CENTER")
)

func (in optionsRequest) check(now time.Time) problem {
	parcel := in.PackageDescription
	abroad := in.DestinationCountryCode != ""

	// A quote is for a day from today to 30 days ahead. As with labels, a date that
	// is current in any time zone is accepted.
	day, err := time.Parse(time.DateOnly, parcel.MailingDate)
	isTooEarly := day.Before(now.UTC().Add(-36 * time.Hour))
	isTooLate := day.After(now.UTC().Add(12*time.Hour).AddDate(0, 0, 30))

	switch {
	case len(in.PricingOptions) == 0:
		return problem{"", "pricingOptions", "OASValidation: pricingOptions is required"}
	case !zip.MatchString(in.OriginZIPCode):
		return problem{"", "originZIPCode", "OASValidation: originZIPCode is not a ZIP code"}
	case !abroad && !zip.MatchString(in.DestinationZIPCode):
		return problem{"", "destinationZIPCode", "OASValidation: destinationZIPCode is not a ZIP code"}
	case abroad && (!emulator.IsCountry(in.DestinationCountryCode) || in.DestinationZIPCode != ""):
		return problem{"", "destinationCountryCode", "OASValidation: destinationCountryCode is not a country"}
	case parcel.Weight <= 0 || parcel.Weight > 70:
		return problem{"030002", "weight", "Could not find working sku from SSF ingredients"}
	case parcel.Length <= 0 || parcel.Width <= 0 || parcel.Height <= 0:
		return problem{"160294", "length", "length, width, and height must either be all zero or greater than zero"}
	case abroad && parcel.MailClass != "ALL", !abroad && !slices.Contains([]string{"ALL_OUTBOUND", allReturns, "ALL"}, parcel.MailClass):
		return problem{"", "mailClass", "OASValidation: the emulator quotes all mail classes at once"}
	case in.EntryFacilityType != "" && !slices.Contains(entryFacilities, in.EntryFacilityType):
		return problem{"", "destinationEntryFacilityType", "OASValidation: destinationEntryFacilityType is not valid"}
	case parcel.MailingDate != "" && (err != nil || isTooEarly || isTooLate):
		return problem{"160001", "packageDescription.mailingDate", "cannot be in the past or more than 30 days in the future"}
	}

	for _, option := range in.PricingOptions {
		if option.PriceType != "" && !slices.Contains(priceTypes, option.PriceType) {
			return problem{"", "pricingOptions.priceType", "OASValidation: priceType is not valid"}
		}
		if option.PriceType == "CONTRACT" && (option.PaymentAccount == nil || option.PaymentAccount.AccountNumber != Account) {
			return problem{"160255", "paymentAccount", "An approved contract could not be found."}
		}
	}
	return problem{}
}

// checkPricingMembers refuses unknown members of a pricing option, which is closed.
func checkPricingMembers(raw []byte) problem {
	var in struct {
		PricingOptions []map[string]json.RawMessage `json:"pricingOptions"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return problem{"", "pricingOptions", "OASValidation: " + err.Error()}
	}
	for _, option := range in.PricingOptions {
		for name := range option {
			if name != "priceType" && name != "paymentAccount" {
				return problem{"", "pricingOptions." + name, "OASValidation: " + name + " is not allowed"}
			}
		}
	}
	return problem{}
}

// allReturns asks for the mail classes of returns.
const allReturns = "ALL_RETURNS"

func (s *service) options(w http.ResponseWriter, r *http.Request) {
	var in optionsRequest
	raw, p := read(r, &in, "pricingOptions", "originZIPCode", "destinationZIPCode", "destinationCountryCode", "foreignPostalCode",
		"destinationEntryFacilityType", "packageDescription", "shippingFilter", "requestDutiesTaxesFees", "destinationCity", "destinationState", "items")
	if p.detail == "" {
		p = checkPricingMembers(raw)
	}
	if p.detail == "" {
		p = in.check(time.Now())
	}
	if p.detail != "" {
		refuse(w, "/shipments/v3", p)
		return
	}

	abroad := in.DestinationCountryCode != ""
	answer := map[string]any{"originZIPCode": in.OriginZIPCode}
	if abroad {
		answer["destinationCountryCode"] = in.DestinationCountryCode
		answer["foreignPostalCode"] = in.ForeignPostalCode
	} else {
		answer["destinationZIPCode"] = in.DestinationZIPCode
	}

	var priced []any
	for _, asked := range in.PricingOptions {
		option := map[string]any{
			"priceType":       asked.PriceType,
			"shippingOptions": in.shippingOptions(asked.PriceType, abroad),
		}
		if asked.PaymentAccount != nil {
			option["paymentAccount"] = asked.PaymentAccount
		}
		priced = append(priced, option)
	}
	answer["pricingOptions"] = priced
	reply(w, answer)
}

// shippingOptions returns the offers of every class: in the client's own box,
// in each flat rate packaging, and one for senders who bring the parcel to the
// destination's post office themselves.
func (in optionsRequest) shippingOptions(priceType string, abroad bool) []any {
	asked := in.PackageDescription
	parcel := load{
		pounds: asked.Weight,
		length: asked.Length,
		width:  asked.Width,
		height: asked.Height,
		zone:   zoneOf(in.OriginZIPCode, in.DestinationZIPCode+in.DestinationCountryCode),
		value:  asked.PackageValue,
	}
	category := "MACHINABLE"
	if parcel.length > 22 || parcel.width > 18 || parcel.height > 15 || parcel.pounds > 25 {
		category = "NONSTANDARD"
	}

	var list []any
	for _, class := range classes {
		if class.abroad != abroad || !class.takes(parcel) || class.isMedia() && asked.MailClass == allReturns {
			continue
		}
		if asked.MailClass == allReturns {
			class.name += returnSuffix
		}

		cents, indicator := class.postage(parcel)
		options := []any{class.option(in, priceType, indicator, category, "NONE", cents, parcel)}
		if class.cubic(parcel) {
			options = append(options, class.option(in, priceType, "CP", category, "NONE", class.cubicPostage(parcel), parcel))
		}
		if !abroad && asked.MailClass != allReturns {
			options = append(options, class.option(in, priceType, indicator, category, "DESTINATION_DELIVERY_UNIT", cents/2, parcel))
		}
		for _, flat := range class.flat {
			options = append(options, class.option(in, priceType, flat.indicator, flat.category, "NONE", flat.price, load{zone: parcel.zone, value: parcel.value}))
		}
		list = append(list, map[string]any{"mailClass": class.name, "rateOptions": options})
	}
	return list
}

func (c mailClass) option(in optionsRequest, priceType, indicator, category, entry string, cents int64, parcel load) map[string]any {
	fees := []any{}
	if fee := parcel.fee(); fee > 0 {
		fees = append(fees, map[string]any{"name": "Nonstandard Length > 22", "SKU": "D811XVCXXXX0000", "price": dollars(fee)})
	}
	rate := map[string]any{
		"description":                  c.name + " " + indicator,
		"startDate":                    "2026-01-18",
		"endDate":                      "",
		"price":                        dollars(cents),
		"zone":                         fmt.Sprintf("%02d", parcel.zone),
		"weight":                       parcel.pounds,
		"priceType":                    priceType,
		"mailClass":                    c.name,
		"fees":                         fees,
		"processingCategory":           category,
		"rateIndicator":                indicator,
		"destinationEntryFacilityType": entry,
		"SKU":                          sku(c, parcel),
	}

	total := cents + parcel.fee()
	option := map[string]any{"totalBasePrice": dollars(total), "rates": []any{rate}}
	var extras []any
	for _, code := range in.PackageDescription.ExtraServices {
		if price, ok := c.extra(code, parcel.value); ok {
			total += price
			extras = append(extras, map[string]any{
				"name":         extraName(code),
				"extraService": strconv.Itoa(code),
				"price":        dollars(price),
				"priceType":    priceType,
				"SKU":          "DXXX0XXXXCX0000",
			})
		}
	}
	if extras != nil {
		option["extraServices"] = extras
		option["totalPrice"] = dollars(total)
	}
	if !c.abroad && in.PackageDescription.MailClass != allReturns {
		option["commitment"] = c.commitment(in.PackageDescription.MailingDate, parcel.zone)
	}
	return option
}

// commitment returns the promise of a class: a number of days, never ending on
// a Sunday.
func (c mailClass) commitment(mailing string, zone int64) map[string]any {
	days := c.days + int(zone)/4
	from, err := time.Parse(time.DateOnly, mailing)
	if err != nil {
		from = time.Now().UTC()
	}
	to := from.AddDate(0, 0, days)
	if to.Weekday() == time.Sunday {
		to = to.AddDate(0, 0, 1)
	}

	name := strconv.Itoa(days) + " Days"
	if days == 1 {
		name = "1 Day"
	}
	day := to.Format(time.DateOnly)
	return map[string]any{
		"name":                  name,
		"scheduleDeliveryDate":  day,
		"expectedDeliveryDate":  day,
		"guaranteedDelivery":    c.indicator == "PA",
		"isPriorityMailNextDay": false,
	}
}

func sku(class mailClass, parcel load) string {
	return fmt.Sprintf("D%.3sXXXXC%02d%05d", class.mark, parcel.zone, min(int(parcel.pounds*16), 99999))
}

func extraName(code int) string {
	names := map[int]string{
		920: "USPS Tracking", 921: "Signature Confirmation", 922: "Adult Signature Required 21 or Over",
		925: "Priority Mail Express Merchandise Insurance", 930: "Insurance <= $500", 931: "Insurance > $500", 981: "Signature Requested",
	}
	return names[code]
}
