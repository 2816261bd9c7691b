package canadapost

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A product is a service of Canada Post. Prices are in cents.
type product struct {
	code, name   string
	base, perKg  int
	days         int
	isGuaranteed bool
}

// products are some of what Canada Post sells; USA.SP.AIR and INT.SP.AIR have no
// tracking. INT.TP, USA.TP and the small packets are for up to 2 kg.
var products = []product{
	{"DOM.RP", "Regular Parcel", 1190, 140, 6, false},
	{"DOM.EP", "Expedited Parcel", 1080, 120, 4, true},
	{"DOM.XP", "Xpresspost", 1620, 210, 2, true},
	{"DOM.XP.CERT", "Xpresspost Certified", 1890, 210, 2, true},
	{"DOM.PC", "Priority", 2760, 390, 1, true},
	{"DOM.LIB", "Library Materials", 310, 20, 6, false},
	{"USA.EP", "Expedited Parcel USA", 1890, 310, 6, false},
	{"USA.XP", "Xpresspost USA", 2980, 420, 3, true},
	{"USA.TP", "Tracked Packet USA", 1240, 620, 6, false},
	{"USA.SP.AIR", "Small Packet USA Air", 980, 900, 7, false},
	{"INT.XP", "Xpresspost International", 5690, 880, 5, true},
	{"INT.TP", "Tracked Packet International", 3120, 900, 10, false},
	{"INT.SP.AIR", "Small Packet International Air", 1890, 900, 12, false},
	{"INT.IP.AIR", "International Parcel Air", 4380, 1120, 10, false},
	{"INT.IP.SURF", "International Parcel Surface", 3260, 640, 50, false},
	{"INT.PW.ENV", "Priority Worldwide Envelope INT'L", 7990, 0, 3, true},
	{"INT.PW.PAK", "Priority Worldwide Pak INT'L", 8790, 990, 3, true},
	{"INT.PW.PARCEL", "Priority Worldwide Parcel INT'L", 9280, 1290, 3, true},
}

// area returns how the codes of services to a country begin.
func area(country string) string {
	switch country {
	case "CA":
		return "DOM."
	case "US":
		return "USA."
	}
	return "INT."
}

// productOf returns the service of a code if it goes to the country.
func productOf(code, country string) (product, bool) {
	for _, sold := range products {
		if sold.code == code && strings.HasPrefix(code, area(country)) {
			return sold, true
		}
	}
	return product{}, false
}

// most is the weight that a service takes, in kilograms.
func (p product) most() float64 {
	if strings.Contains(p.code, ".TP") || strings.Contains(p.code, ".SP.") {
		return 2
	}
	return 30
}

// A charge is what a shipment costs, in cents.
type charge struct{ base, options, fuel, gst, due int }

// optionPrices are in cents; coverage is by its amount.
var optionPrices = map[string]int{"SO": 195, "PA18": 195, "PA19": 195, "HFP": 0, "DNS": 0, "LAD": 0, "COV": 0, "RASE": 0, "RTS": 0, "ABAN": 0}

func (p product) charge(kilograms float64, options []option) charge {
	cost := charge{base: p.base + int(kilograms*float64(p.perKg))}
	for _, chosen := range options {
		cost.options += optionPrices[chosen.Code]
		if amount, err := strconv.ParseFloat(chosen.Amount, 64); err == nil && chosen.Code == "COV" {
			cost.options += int(amount / 100 * 250)
		}
	}
	cost.fuel = cost.base * 7 / 100
	cost.gst = (cost.base + cost.options + cost.fuel) * 5 / 100
	cost.due = cost.base + cost.options + cost.fuel + cost.gst
	return cost
}

// dollars writes cents.
func dollars(cents int) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }

// listServices answers GET /rs/ship/service.
func (p *post) listServices(w http.ResponseWriter, r *http.Request) {
	type listed struct {
		Code string `xml:"service-code"`
		Name string `xml:"service-name"`
		Link link   `xml:"link"`
	}
	var answer struct {
		XMLName  xml.Name `xml:"http://www.canadapost.ca/ws/ship/rate-v4 services"`
		Services []listed `xml:"service"`
	}
	for _, sold := range products {
		if country := r.URL.Query().Get("country"); country == "" || strings.HasPrefix(sold.code, area(country)) {
			answer.Services = append(answer.Services, listed{sold.code, sold.name, link{
				Rel:       "service",
				Href:      origin(r) + "/rs/ship/service/" + sold.code,
				MediaType: rateType,
			}})
		}
	}
	reply(w, http.StatusOK, rateType, answer)
}

// origin returns the address that the client used.
func origin(r *http.Request) string { return "https://" + r.Host }

type option struct {
	Code   string `xml:"option-code" json:"code"`
	Amount string `xml:"option-amount" json:"amount,omitempty"`
}

type scenario struct {
	XMLName  xml.Name `xml:"mailing-scenario"`
	Customer string   `xml:"customer-number"`
	Contract string   `xml:"contract-id"`
	Date     string   `xml:"expected-mailing-date"`
	Options  []option `xml:"options>option"`
	Weight   string   `xml:"parcel-characteristics>weight"`
	Origin   string   `xml:"origin-postal-code"`
	Domestic string   `xml:"destination>domestic>postal-code"`
	Zip      string   `xml:"destination>united-states>zip-code"`
	Country  string   `xml:"destination>international>country-code"`
}

var postalCode = regexp.MustCompile(`^[A-Z]\d[A-Z]\d[A-Z]\d$`)

// price answers POST /rs/ship/price.
func (p *post) price(w http.ResponseWriter, r *http.Request) {
	var in scenario
	if complaint := decode(r, "mailing-scenario", &in); complaint != "" {
		refuse(w, http.StatusBadRequest, "Server", "/rs/ship/price: "+complaint)
		return
	}
	country := in.Country
	switch {
	case in.Domestic != "":
		country = "CA"
	case in.Zip != "":
		country = "US"
	}
	weight, err := strconv.ParseFloat(in.Weight, 64)
	switch {
	case in.contracts() != Contract && in.contracts() != "":
		refuse(w, http.StatusBadRequest, "AA004", "You cannot mail on behalf of the requested customer.")
		return
	case err != nil || weight <= 0 || weight > 30:
		refuse(w, http.StatusBadRequest, "9151", "The weight is more than 30 kg or not valid.")
		return
	case country == "CA" && !isCoverageSigned(in.Options):
		refuse(w, http.StatusBadRequest, "1702", "The option COV requires the option SO.")
		return
	case country == "":
		refuse(w, http.StatusBadRequest, "9112", "The destination is missing.")
		return
	}
	reply(w, http.StatusOK, rateType, quote(r, in, country, weight))
}

// contracts returns the contract of the customer, if the request names it, or "" for
// the customer that has none; "-" if they do not fit.
func (in scenario) contracts() string {
	switch {
	case in.Customer == Customer && in.Contract == Contract:
		return Contract
	case in.Customer == SmallCustomer && in.Contract == "":
		return ""
	}
	return "-"
}

type quotes struct {
	XMLName xml.Name `xml:"http://www.canadapost.ca/ws/ship/rate-v4 price-quotes"`
	Quotes  []priced `xml:"price-quote"`
}

type priced struct {
	Code    string `xml:"service-code"`
	Link    link   `xml:"service-link"`
	Name    string `xml:"service-name"`
	Details struct {
		Base  string `xml:"base"`
		Taxes struct {
			GST tax    `xml:"gst"`
			PST string `xml:"pst"`
			HST string `xml:"hst"`
		} `xml:"taxes"`
		Due         string         `xml:"due"`
		Options     *pricedOptions `xml:"options"`
		Adjustments struct {
			Adjustment struct {
				Code string `xml:"adjustment-code"`
				Name string `xml:"adjustment-name"`
				Cost string `xml:"adjustment-cost"`
			} `xml:"adjustment"`
		} `xml:"adjustments"`
	} `xml:"price-details"`
	Weight   struct{} `xml:"weight-details"`
	Standard struct {
		AM         bool   `xml:"am-delivery"`
		Guaranteed bool   `xml:"guaranteed-delivery"`
		Days       int    `xml:"expected-transit-time"`
		Date       string `xml:"expected-delivery-date"`
	} `xml:"service-standard"`
}

type tax struct {
	Percent string `xml:"percent,attr"`
	Amount  string `xml:",chardata"`
}

type pricedOptions struct {
	Options []pricedOption `xml:"option"`
}

type pricedOption struct {
	Code  string `xml:"option-code"`
	Name  string `xml:"option-name"`
	Price string `xml:"option-price"`
}

func quote(r *http.Request, in scenario, country string, weight float64) quotes {
	var answer quotes
	for _, sold := range products {
		if !strings.HasPrefix(sold.code, area(country)) || weight > sold.most() {
			continue
		}
		cost := sold.charge(weight, in.Options)
		row := priced{Code: sold.code, Name: sold.name}
		row.Link = link{Rel: "service", Href: origin(r) + "/rs/ship/service/" + sold.code, MediaType: rateType}
		row.Details.Base = dollars(cost.base)
		row.Details.Taxes.GST = tax{"5.0", dollars(cost.gst)}
		row.Details.Taxes.PST = "0"
		row.Details.Taxes.HST = "0"
		row.Details.Due = dollars(cost.due)
		if len(in.Options) > 0 {
			row.Details.Options = &pricedOptions{[]pricedOption{{in.Options[0].Code, "Options", dollars(cost.options)}}}
		}
		row.Details.Adjustments.Adjustment.Code = "FUELSC"
		row.Details.Adjustments.Adjustment.Name = "Fuel surcharge"
		row.Details.Adjustments.Adjustment.Cost = dollars(cost.fuel)
		row.Standard.Guaranteed = sold.isGuaranteed
		row.Standard.Days = sold.days
		row.Standard.Date = arrival(in.Date, sold.days)
		answer.Quotes = append(answer.Quotes, row)
	}
	return answer
}

// arrival returns the day of delivery.
func arrival(mailed string, days int) string {
	at, err := time.Parse(time.DateOnly, mailed)
	if err != nil {
		at = time.Now()
	}
	return at.AddDate(0, 0, days).Format(time.DateOnly)
}
