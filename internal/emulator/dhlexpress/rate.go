package dhlexpress

import (
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The parts of requests that prices depend on.
type (
	place struct {
		PostalCode  string `json:"postalCode"`
		CityName    string `json:"cityName"`
		CountryCode string `json:"countryCode"`
	}
	account struct {
		TypeCode string `json:"typeCode"`
		Number   string `json:"number"`
	}
	extra struct {
		ServiceCode string  `json:"serviceCode"`
		Value       float64 `json:"value"`
		Goods       []struct {
			ContentID string  `json:"contentId"`
			IceWeight float64 `json:"dryIceTotalNetWeight"`
		} `json:"dangerousGoods"`
	}
	parcel struct {
		Weight     float64 `json:"weight"`
		Dimensions struct {
			Length float64 `json:"length"`
			Width  float64 `json:"width"`
			Height float64 `json:"height"`
		} `json:"dimensions"`
	}
	rateRequest struct {
		CustomerDetails struct {
			ShipperDetails  place `json:"shipperDetails"`
			ReceiverDetails place `json:"receiverDetails"`
		} `json:"customerDetails"`
		Accounts                   []account `json:"accounts"`
		ValueAddedServices         []extra   `json:"valueAddedServices"`
		PlannedShippingDateAndTime string    `json:"plannedShippingDateAndTime"`
		UnitOfMeasurement          string    `json:"unitOfMeasurement"`
		IsCustomsDeclarable        bool      `json:"isCustomsDeclarable"`
		GetAdditionalInformation   []struct {
			TypeCode    string `json:"typeCode"`
			IsRequested bool   `json:"isRequested"`
		} `json:"getAdditionalInformation"`
		Packages []parcel `json:"packages"`
	}
)

// load is the part of a request that determines the price.
type load struct {
	from, to place
	dutiable bool
	imperial bool
	planned  string
	extras   []extra
	packages []parcel
}

// offer is a product on some lanes. Prices are in cents: for the first half
// kilogram in the nearest zone, for each further half, and for each zone.
type offer struct {
	code, name        string
	lanes             string // d domestic, u European Union, p papers, g dutiable goods
	base, half, apart int64
	days              int // in the nearest zone
	until             string
	network           string // TD by a time of day, DD by a day
}

var offers = []offer{
	{"N", "EXPRESS DOMESTIC", "d", 1490, 95, 0, 1, "23:59:00", "TD"},
	{"1", "EXPRESS DOMESTIC 12:00", "d", 1990, 95, 0, 1, "12:00:00", "TD"},
	{"I", "EXPRESS DOMESTIC 9:00", "d", 3490, 95, 0, 1, "09:00:00", "TD"},
	{"G", "ECONOMY SELECT DOMESTIC", "d", 1190, 70, 0, 2, "23:59:00", "DD"},
	{"U", "EXPRESS WORLDWIDE", "u", 3890, 180, 0, 1, "23:59:00", "TD"},
	{"W", "ECONOMY SELECT", "u", 2690, 120, 0, 3, "23:59:00", "DD"},
	{"D", "EXPRESS WORLDWIDE", "p", 5200, 310, 900, 1, "23:59:00", "TD"},
	{"T", "EXPRESS 12:00", "up", 6100, 320, 900, 1, "12:00:00", "TD"},
	{"K", "EXPRESS 9:00", "up", 8900, 330, 900, 1, "09:00:00", "TD"},
	{"P", "EXPRESS WORLDWIDE", "g", 6400, 390, 1100, 1, "23:59:00", "TD"},
	{"Y", "EXPRESS 12:00", "g", 7700, 400, 1100, 1, "12:00:00", "TD"},
	{"M", "EXPRESS 10:30", "g", 8300, 400, 1100, 1, "10:30:00", "TD"},
	{"E", "EXPRESS 9:00", "g", 9900, 410, 1100, 1, "09:00:00", "TD"},
	{"H", "ECONOMY SELECT", "g", 4700, 260, 800, 4, "23:59:00", "DD"},
}

var (
	europeanUnion = strings.Fields("AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MC MT NL PL PT RO SE SI SK")
	extras        = map[string]int64{"AA": 1500, "AG": 1200, "SF": 600, "SD": 700, "IB": 500, "DD": 1900, "WY": 0, "PT": 0, "LX": 0, "KB": 1500, "EA": 100, "HC": 1200, "HD": 500, "HM": 500, "HV": 0, "HW": 0}
	currencies    = map[string]string{"US": "USD", "GB": "GBP", "CH": "CHF", "CA": "CAD", "JP": "JPY"}
)

// rates answers POST /rates.
func (s standIn) rates(w http.ResponseWriter, r *http.Request) {
	// The content is checked only if the request satisfies the schema.
	var in rateRequest
	doc, invalid := read(r, &in)
	if invalid == nil {
		invalid = append(checkMembers("rates", doc), invalidSizes(doc, "#")...)
	}
	if invalid == nil {
		invalid = in.check(time.Now())
	}
	if invalid != nil {
		refuse(w, r, http.StatusBadRequest, invalid...)
		return
	}

	l := load{
		from:     in.CustomerDetails.ShipperDetails,
		to:       in.CustomerDetails.ReceiverDetails,
		dutiable: in.IsCustomsDeclarable,
		imperial: in.UnitOfMeasurement == "imperial",
		planned:  in.PlannedShippingDateAndTime,
		extras:   in.ValueAddedServices,
		packages: in.Packages,
	}
	var products []any
	for _, o := range offers {
		if o.serves(l) {
			products = append(products, o.quote(l, in.wantsServices()))
		}
	}
	reply(w, http.StatusOK, map[string]any{"products": products})
}

// wantsServices reports whether the response should list the services that
// could be added to each product.
func (in rateRequest) wantsServices() bool {
	for _, option := range in.GetAdditionalInformation {
		if option.IsRequested && strings.HasPrefix(option.TypeCode, "allValueAddedServices") {
			return true
		}
	}
	return false
}

// check returns DHL's errors about a request that is complete but invalid.
func (in rateRequest) check(now time.Time) (invalid []string) {
	if text := invalidDate(in.PlannedShippingDateAndTime, now); text != "" {
		invalid = append(invalid, text)
	}
	if !slices.Contains(in.Accounts, account{"shipper", Account}) {
		invalid = append(invalid, "The account number is not found or invalid. Please check the account number and retry.")
	}
	return append(invalid, unknownExtras(in.ValueAddedServices)...)
}

func unknownExtras(list []extra) (invalid []string) {
	for _, service := range list {
		if _, ok := extras[service.ServiceCode]; !ok && service.ServiceCode != "II" {
			invalid = append(invalid, "7008: The requested Special Service Code '"+service.ServiceCode+"' is not available between this origin and destination.")
		}
	}
	return invalid
}

// lane returns the kind of route, as a letter of offer.lanes.
func (l load) lane() string {
	from := l.from.CountryCode
	to := l.to.CountryCode
	switch {
	case from == to:
		return "d"
	case l.dutiable: // also inside the Union, where there is then no U and no W
		return "g"
	case slices.Contains(europeanUnion, from) && slices.Contains(europeanUnion, to):
		return "u"
	}
	return "p"
}

// zone is 0 inside a country or the Union, and up to 3 across borders.
func (l load) zone() int64 {
	if lane := l.lane(); lane == "d" || lane == "u" {
		return 0
	}

	// The zone is made up from the letters of the countries, so a lane always
	// has the same.
	from := l.from.CountryCode
	to := l.to.CountryCode
	return int64(from[0]^to[0]+from[1]^to[1])%3 + 1
}

// halves returns the charged weight in half kilograms, rounded up: the actual
// or the volumetric weight, whichever is higher.
func (l load) halves() int64 {
	sum := 0.0
	for _, p := range l.packages {
		weight := p.Weight
		volume := p.Dimensions.Length * p.Dimensions.Width * p.Dimensions.Height
		if l.imperial {
			weight *= 0.45359237
			volume *= 16.387064
		}
		sum += max(weight, volume/5000)
	}

	// The small tolerance absorbs rounding errors of floating point, which
	// could push a full half kilogram over.
	return max(int64(math.Ceil(sum*2-1e-9)), 1)
}

// serves reports whether the product is offered on the lane of the load.
func (o offer) serves(l load) bool { return strings.Contains(o.lanes, l.lane()) }

// cents returns what the offer costs.
func (o offer) cents(l load) int64 {
	sum := o.base + o.half*(l.halves()-1) + o.apart*l.zone()
	for _, service := range l.extras {
		sum += extras[service.ServiceCode]
		if service.ServiceCode == "II" {
			sum += max(1500, int64(math.Ceil(service.Value)))
		}
	}
	return sum
}

// price returns the amount and its currency, as a number in text.
func (o offer) price(l load) (amount json.Number, currency string) {
	currency, ok := currencies[l.from.CountryCode]
	if !ok {
		currency = "EUR"
	}

	cents := o.cents(l)
	if currency == "JPY" {
		return json.Number(padded(int(cents*3/2), 1)), currency // the yen has no cents
	}
	return json.Number(padded(int(cents/100), 1) + "." + padded(int(cents%100), 2)), currency
}

// arrival counts working days from the planned one.
func (o offer) arrival(l load) (at string, days int) {
	day, _ := time.Parse(plannedFormat, l.planned)
	days = o.days + int(l.zone())
	for left := days; left > 0; {
		day = day.AddDate(0, 0, 1)
		if day.Weekday() != time.Saturday && day.Weekday() != time.Sunday {
			left--
		}
	}
	return day.Format(time.DateOnly) + "T" + o.until, days
}

// printedOnly are countries whose customs does not accept an electronic
// invoice. The account has no data staging there either.
var printedOnly = []string{"BR", "NG"}

// hasPaperless reports whether customs at the destination accepts the invoice
// as data.
func (l load) hasPaperless() bool {
	return l.lane() == "g" && !slices.Contains(printedOnly, l.to.CountryCode)
}

// hasStaging reports whether DHL keeps the data of the shipment for three months.
func (l load) hasStaging() bool { return !slices.Contains(printedOnly, l.from.CountryCode) }

// localCode returns the code of the product in its country. British domestic
// products have codes of their own, and are not sold without them.
func (o offer) localCode(l load) string {
	if l.lane() == "d" && l.from.CountryCode == "GB" {
		return o.code + "GB"
	}
	return o.code
}

// breakdown returns what the price consists of and, if the client requests
// them, the services that could be added.
func (o offer) breakdown(l load, services bool) []any {
	_, currency := o.price(l)
	bare := l
	bare.extras = nil
	base, _ := o.price(bare)

	// What a service costs is the difference between the loads without and with
	// it.
	list := []any{map[string]any{"name": o.name, "price": base}}
	for i, service := range l.extras {
		before := l
		before.extras = l.extras[:i]
		after := l
		after.extras = l.extras[:i+1]
		list = append(list, map[string]any{
			"name":        service.ServiceCode,
			"serviceCode": service.ServiceCode,
			"price":       difference(o, before, after),
		})
	}

	if services {
		offered := []string{"AA", "II", "SF", "DD"}
		if l.hasPaperless() {
			offered = append(offered, "WY")
		}
		if l.hasStaging() {
			offered = append(offered, "PT")
		}
		for _, code := range offered {
			list = append(list, map[string]any{
				"name":            code,
				"serviceCode":     code,
				"serviceTypeCode": "XCH",
			})
		}
	}
	return []any{map[string]any{
		"currencyType":  "BILLC",
		"priceCurrency": currency,
		"breakdown":     list,
	}}
}

// difference returns how much more a load costs than another.
func difference(o offer, before, after load) json.Number {
	lower, currency := o.price(before)
	higher, _ := o.price(after)
	low, _ := strconv.ParseFloat(lower.String(), 64)
	high, _ := strconv.ParseFloat(higher.String(), 64)

	places := 2
	if currency == "JPY" {
		places = 0
	}
	return json.Number(strconv.FormatFloat(high-low, 'f', places, 64))
}

// quote returns the product as the answer lists it.
func (o offer) quote(l load, services bool) map[string]any {
	amount, currency := o.price(l)
	arrival, days := o.arrival(l)
	from := areaOf(l.from.CountryCode, l.from.CityName)
	to := areaOf(l.to.CountryCode, l.to.CityName)
	kilos := json.Number(padded(int(l.halves()/2), 1) + "." + padded(int(l.halves()%2*5), 1))

	return map[string]any{
		"productName":             o.name,
		"productCode":             o.code,
		"localProductCode":        o.localCode(l),
		"localProductCountryCode": l.from.CountryCode,
		"networkTypeCode":         o.network,
		"isCustomerAgreement":     false,
		"weight":                  map[string]any{"provided": kilos, "unitOfMeasurement": "metric"},
		"totalPrice": []any{
			map[string]any{"currencyType": "BILLC", "priceCurrency": currency, "price": amount},
			map[string]any{"currencyType": "PULCL", "price": 0}, // as the real API does
			map[string]any{"currencyType": "BASEC", "price": 0},
		},
		"detailedPriceBreakdown": o.breakdown(l, services),
		"pickupCapabilities": map[string]any{
			"nextBusinessDay":        false,
			"originServiceAreaCode":  from.Code,
			"originFacilityAreaCode": from.Code,
		},
		"deliveryCapabilities": map[string]any{
			"deliveryTypeCode":             "QDDC",
			"estimatedDeliveryDateAndTime": arrival,
			"destinationServiceAreaCode":   to.Code,
			"totalTransitDays":             days,
		},
		"pricingDate": time.Now().UTC().Format(time.DateOnly),
	}
}
