package fedex

import (
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
)

// A lane is the kind of route that a service covers.
type lane int

const (
	inUSA lane = 1 << iota
	inside
	across
)

// A service is a FedEx service with its price list in cents.
type service struct {
	name          string
	lanes         lane
	ground        bool
	days          int // at least
	hour          int // of delivery
	base, perUnit float64
	carrier       string
}

var services = map[string]service{
	"FEDEX_GROUND":                         {"FedEx Ground®", inUSA | across, true, 2, 23, 1080, 48, "FDXG"},
	"GROUND_HOME_DELIVERY":                 {"FedEx Home Delivery®", inUSA, true, 2, 20, 1150, 49, "FDXG"},
	"SMART_POST":                           {"FedEx Ground® Economy", inUSA, true, 4, 20, 860, 41, "FXSP"},
	"FEDEX_EXPRESS_SAVER":                  {"FedEx Express Saver®", inUSA, false, 3, 17, 1560, 92, "FDXE"},
	"FEDEX_2_DAY":                          {"FedEx 2Day®", inUSA, false, 2, 17, 2060, 138, "FDXE"},
	"FEDEX_2_DAY_AM":                       {"FedEx 2Day® AM", inUSA, false, 2, 10, 2340, 146, "FDXE"},
	"STANDARD_OVERNIGHT":                   {"FedEx Standard Overnight®", inUSA, false, 1, 15, 3390, 205, "FDXE"},
	"PRIORITY_OVERNIGHT":                   {"FedEx Priority Overnight®", inUSA | inside, false, 1, 10, 3860, 222, "FDXE"},
	"FIRST_OVERNIGHT":                      {"FedEx First Overnight®", inUSA, false, 1, 8, 7060, 231, "FDXE"},
	"FEDEX_PRIORITY":                       {"FedEx Priority®", inside, false, 1, 18, 2290, 115, "FDXE"},
	"FEDEX_ECONOMY_SELECT":                 {"FedEx Economy", inside, false, 2, 18, 1490, 88, "FDXE"},
	"FEDEX_REGIONAL_ECONOMY":               {"FedEx Regional Economy®", across, false, 3, 18, 3120, 140, "FDXE"},
	"FEDEX_INTERNATIONAL_CONNECT_PLUS":     {"FedEx International Connect Plus®", across, false, 4, 18, 4610, 240, "FDXE"},
	"INTERNATIONAL_ECONOMY":                {"FedEx International Economy®", across, false, 5, 18, 5890, 330, "FDXE"},
	"FEDEX_INTERNATIONAL_PRIORITY":         {"FedEx International Priority®", across, false, 3, 18, 6590, 372, "FDXE"},
	"FEDEX_INTERNATIONAL_PRIORITY_EXPRESS": {"FedEx International Priority® Express", across, false, 2, 12, 7240, 391, "FDXE"},
	"INTERNATIONAL_FIRST":                  {"FedEx International First®", across, false, 2, 9, 9920, 420, "FDXE"},
}

// takes reports whether the service covers the shipment's route.
func (v service) takes(s *shipment) bool {
	from := s.Shipper.Address.CountryCode
	to := s.to().Address.CountryCode
	switch {
	case v.carrier == "FDXG" && s.abroad():
		return from == "US" && to == "CA" || from == "CA" && to == "US"
	case v.name == "FedEx Regional Economy®":
		return s.abroad() && s.european()
	case s.abroad():
		return v.lanes&across != 0
	case from == "US":
		return v.lanes&inUSA != 0
	}
	return v.lanes&inside != 0
}

// currencies are what FedEx charges in, in its own codes, and how much of each
// makes a dollar.
var currencies = map[string]struct {
	code  string
	value float64
}{
	"GB": {"UKL", 0.8},
	"JP": {"JYE", 150},
	"CA": {"CAD", 1.35},
	"MX": {"NMP", 18},
	"CH": {"SFR", 0.9},
	"SG": {"SID", 1.3},
	"DE": {"EUR", 0.9},
	"FR": {"EUR", 0.9},
	"IT": {"EUR", 0.9},
	"ES": {"EUR", 0.9},
	"NL": {"EUR", 0.9},
	"PL": {"PLN", 4},
}

// knownCurrency reports whether FedEx takes the code. It does not accept the
// ISO codes of currencies for which it uses codes of its own.
func knownCurrency(code string) bool {
	return len(code) == 3 && !slices.Contains(strings.Fields("GBP JPY MXN CHF SGD KRW TWD AED CLP KWD JMD DOP XCD KYD ARS"), code)
}

// A quote is the price of a service and its arrival time.
type quote struct {
	currency       string
	list, net      json.Number
	zone           int
	transit        int
	commit         time.Time
	guaranteed     bool
	totalSurcharge json.Number

	base, discount json.Number // of the account's price
	surcharges     []object
	billed         object // weight
}

// price quotes one service. The same shipment always costs the same.
func (v service) price(s *shipment) quote {
	quoted := quote{currency: "USD", zone: zone(s)}
	factor := 1.0
	if known, ok := currencies[s.Shipper.Address.CountryCode]; ok {
		quoted.currency = known.code
		factor = known.value
	}

	cents := 0.0
	units := 0.0
	extras := map[string]float64{}
	for _, sent := range s.Pieces {
		weight := sent.Weight.Value
		units += weight
		if sent.Weight.Units == "KG" {
			weight *= 2.20462
		}
		if s.isOneRate() {
			cents += v.base // whatever it weighs, and wherever it goes
			continue
		}
		cents += (v.base + math.Ceil(weight)*v.perUnit) * (0.85 + 0.05*float64(quoted.zone))
		switch sent.Special.SignatureOptionType {
		case "ADULT":
			extras["SIGNATURE_OPTION"] += 790
		case "DIRECT":
			extras["SIGNATURE_OPTION"] += 640
		}
		if sent.DeclaredValue != nil {
			extras["INSURED_VALUE"] += math.Max(0, math.Ceil(sent.DeclaredValue.Amount/100)-1) * 135
		}
	}
	onSaturday := slices.Contains(s.Special.Types, "SATURDAY_DELIVERY")
	if s.to().Address.Residential {
		extras["RESIDENTIAL_DELIVERY"] += 565
	}
	if onSaturday {
		extras["SATURDAY_DELIVERY"] += 1600
	}
	quoted.itemize(cents*factor, extras, factor)
	quoted.billed = object{"units": s.Pieces[0].Weight.Units, "value": math.Ceil(units)}

	quoted.transit = v.days
	if v.ground {
		quoted.transit = max(v.days, quoted.zone-1)
	}
	quoted.commit = arrival(s.day(), quoted.transit, v.hour, onSaturday)
	quoted.guaranteed = !v.ground
	return quoted
}

// itemize computes the totals of a quote from its parts. Each part is rounded
// first, so that they add up.
func (q *quote) itemize(cents float64, extras map[string]float64, factor float64) {
	const discounted = 0.2 // of the list price, for the account
	base := q.rounded(cents)
	discount := q.rounded(cents * discounted)

	extra := int64(0)
	q.surcharges = []object{}
	for _, kind := range slices.Sorted(maps.Keys(extras)) {
		amount := q.rounded(extras[kind] * factor)
		if amount == 0 {
			continue
		}
		extra += amount
		q.surcharges = append(q.surcharges, object{
			"type":        kind,
			"description": strings.ToLower(strings.ReplaceAll(kind, "_", " ")),
			"level":       "SHIPMENT",
			"amount":      q.written(amount),
		})
	}

	q.base = q.written(base)
	q.discount = q.written(discount)
	q.totalSurcharge = q.written(extra)
	q.list = q.written(base + extra)
	q.net = q.written(base - discount + extra)
}

// rounded returns an amount in the smallest unit that FedEx charges: there are
// no decimals in yen.
func (q *quote) rounded(cents float64) int64 {
	if q.currency == "JYE" {
		return int64(math.Round(cents / 100))
	}
	return int64(math.Round(cents))
}

// written formats an amount as FedEx does.
func (q *quote) written(amount int64) json.Number {
	if q.currency == "JYE" {
		return decimal(amount, 0)
	}
	return decimal(amount, 2)
}

// zone returns the shipment's zone, from 2 to 8, which grows with the distance.
func zone(s *shipment) int {
	from := s.Shipper.Address
	to := s.to().Address
	if from.CountryCode != to.CountryCode {
		return 2 + (int(from.CountryCode[0])+int(to.CountryCode[1]))%7
	}

	apart := prefix(from.PostalCode) - prefix(to.PostalCode)
	return min(2+max(apart, -apart)/130, 8)
}

// prefix returns the number that a postal code begins with, of three digits.
func prefix(code string) int {
	n := 0
	for i := 0; i < len(code) && i < 3; i++ {
		n = n*10 + int(code[i])%10
	}
	return n
}

// day returns when the parcel is sent: a day that has passed becomes today, at
// the sender's place.
func (s *shipment) day() time.Time {
	zone, _ := s.Shipper.Address.zone()
	today, _ := time.Parse(time.DateOnly, time.Now().In(zone).Format(time.DateOnly))
	date := s.ShipDatestamp
	if date == "" {
		date = s.RateDate
	}
	if t, err := time.Parse(time.DateOnly, date); err == nil && t.After(today) {
		return t
	}
	return today
}

// arrival counts forward by days on which FedEx delivers.
func arrival(day time.Time, days, hour int, saturday bool) time.Time {
	for days > 0 {
		day = day.AddDate(0, 0, 1)
		if w := day.Weekday(); w != time.Sunday && (w != time.Saturday || saturday) {
			days--
		}
	}
	at := day.Add(time.Duration(hour) * time.Hour)
	if hour == 23 {
		at = at.Add(59 * time.Minute)
	}
	return at
}

// rates answers with every service that goes there.
func (f *fedex) rates(w http.ResponseWriter, r *http.Request) {
	var request struct {
		AccountNumber value
		Control       struct{ ReturnTransitTimes bool } `json:"rateRequestControlParameters"`
		Shipment      shipment                          `json:"requestedShipment"`
	}
	body, ok := readBody(w, r, &request)
	if !ok {
		return
	}

	s := &request.Shipment
	bad := s.check()
	if bad == nil && s.Customs != nil && s.Customs.DutiesPayment.PaymentType != "SENDER" {
		bad = &problem{"DUTIESPAYMENT.PAYMENTTYPE.INVALID", "Duties of a quote are paid by the sender."}
	}
	if !knownAccount(request.AccountNumber.Value) {
		bad = &problem{"ACCOUNT.NUMBER.MISMATCH", "The account number is not valid for the credentials."}
	}
	if bad == nil {
		bad = checkMembers("Rate", body)
	}
	if bad != nil {
		refuse(w, r, http.StatusBadRequest, bad.code, bad.message)
		return
	}

	var list []object
	for _, kind := range slices.Sorted(maps.Keys(services)) {
		offered := services[kind]
		to := s.to().Address
		inOwnBox := s.PackagingType == "" || s.PackagingType == "YOUR_PACKAGING"
		switch {
		case s.ServiceType != "" && s.ServiceType != kind, !offered.takes(s), offered.ground && !inOwnBox,
			s.isOneRate() && !slices.Contains(flatServices, kind),
			kind == "FEDEX_GROUND" && to.CountryCode == "US" && to.Residential, kind == "GROUND_HOME_DELIVERY" && !to.Residential,
			kind == "SMART_POST" && (s.Economy.HubID != Hub || len(s.Pieces) > 1):
			continue
		}
		list = append(list, offered.offer(kind, s, request.Control.ReturnTransitTimes))
	}
	if list == nil {
		refuse(w, r, http.StatusBadRequest, "SERVICE.LANE.INVALID", "There are no services between these addresses.")
		return
	}
	answer(w, r, object{"rateReplyDetails": list, "quoteDate": time.Now().UTC().Format(time.DateOnly)})
}

var days = []string{"", "ONE_DAY", "TWO_DAYS", "THREE_DAYS", "FOUR_DAYS", "FIVE_DAYS", "SIX_DAYS", "SEVEN_DAYS"}

const local = "2006-01-02T15:04:05" // FedEx writes no time zone

// offer returns one service in the answer. Across borders FedEx promises no
// day.
func (v service) offer(kind string, s *shipment, withTransit bool) object {
	quoted := v.price(s)
	operational := object{"ineligibleForMoneyBackGuarantee": !quoted.guaranteed, "serviceCode": "03"}
	commit := object{"label": "Delivery date unavailable", "saturdayDelivery": false}
	if withTransit && !s.abroad() {
		at := quoted.commit.Format(local)
		operational["transitTime"] = days[quoted.transit]
		operational["commitDate"] = at
		operational["deliveryDate"] = at
		operational["commitDays"] = []string{strings.ToUpper(quoted.commit.Format("Mon"))}
		commit = object{
			"dateDetail":  object{"dayOfWeek": quoted.commit.Format("Mon"), "dayFormat": at},
			"transitDays": object{"minimumTransitTime": days[quoted.transit]},
		}
	}

	rated := []object{quoted.rated("ACCOUNT", quoted.net, quoted.discount)}
	if slices.Contains(s.RateRequestType, "LIST") {
		rated = append(rated, quoted.rated("LIST", quoted.list, "0"))
	}
	packaging := s.PackagingType
	if packaging == "" {
		packaging = "YOUR_PACKAGING"
	}
	return object{
		"serviceType":          kind,
		"serviceName":          v.name,
		"packagingType":        packaging,
		"commit":               commit,
		"ratedShipmentDetails": rated,
		"operationalDetail":    operational,
		"signatureOptionType":  "SERVICE_DEFAULT",
	}
}

func (q quote) rated(kind string, total, discount json.Number) object {
	return object{
		"rateType":            kind,
		"ratedWeightMethod":   "ACTUAL",
		"totalDiscounts":      discount,
		"totalBaseCharge":     q.base,
		"totalNetCharge":      total,
		"totalNetFedExCharge": total,
		"currency":            q.currency,
		"shipmentRateDetail": object{
			"rateZone":             decimal(int64(q.zone), 0).String(),
			"totalSurcharges":      q.totalSurcharge,
			"currency":             q.currency,
			"surCharges":           q.surcharges,
			"totalFreightDiscount": discount,
			"totalBillingWeight":   q.billed,
		},
	}
}
