package canadapost

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/emulator"
)

type link struct {
	Rel       string `xml:"rel,attr"`
	Href      string `xml:"href,attr"`
	MediaType string `xml:"media-type,attr"`
}

type party struct {
	Name    string `xml:"name"`
	Company string `xml:"company"`
	Phone   string `xml:"contact-phone"`
	Voice   string `xml:"client-voice-number"`
	Line1   string `xml:"address-details>address-line-1"`
	City    string `xml:"address-details>city"`
	State   string `xml:"address-details>prov-state"`
	Country string `xml:"address-details>country-code"`
	Zip     string `xml:"address-details>postal-zip-code"`
}

// order is the part of a purchase under a contract that the emulator reads.
type order struct {
	RequestID string `xml:"customer-request-id"`
	Group     string `xml:"group-id"`
	Transmit  string `xml:"transmit-shipment"`
	Point     string `xml:"requested-shipping-point"`
	Date      string `xml:"expected-mailing-date"`
	HasPrice  bool   `xml:"provide-pricing-info"`
	Encoding  string `xml:"delivery-spec>print-preferences>encoding"`
	Contract  string `xml:"delivery-spec>settlement-info>contract-id"`
	Payment   string `xml:"delivery-spec>settlement-info>intended-method-of-payment"`
	delivery
}

// delivery is the part of a purchase that does not depend on a contract.
type delivery struct {
	Service     string   `xml:"delivery-spec>service-code"`
	Sender      party    `xml:"delivery-spec>sender"`
	Destination party    `xml:"delivery-spec>destination"`
	Options     []option `xml:"delivery-spec>options>option"`
	Weight      string   `xml:"delivery-spec>parcel-characteristics>weight"`
	Reference   string   `xml:"delivery-spec>references>customer-ref-1"`
	Second      string   `xml:"delivery-spec>references>customer-ref-2"`
	Customs     *customs `xml:"delivery-spec>customs"`
}

type customs struct {
	Currency    string `xml:"currency"`
	Reason      string `xml:"reason-for-export"`
	OtherReason string `xml:"other-reason"`
	Items       []struct {
		Description string `xml:"customs-description"`
		Value       string `xml:"customs-value-per-unit"`
		Country     string `xml:"country-of-origin"`
		Province    string `xml:"province-of-origin"`
		HSCode      string `xml:"hs-tariff-code"`
	} `xml:"sku-list>item"`
}

// province is how Canada Post writes one.
var province = regexp.MustCompile(`^[A-Z]{2}$`)

// refusal returns why Canada Post does not take the declaration, "" if it does.
func (c customs) refusal(country string) (code, text string) {
	switch c.Reason {
	case "DOC", "SAM", "REP", "SOG":
	case "OTH":
		if n := utf8.RuneCountInString(c.OtherReason); n < 4 || n > 44 {
			return "9142", "The other reason for export must have 4 to 44 characters."
		}
	default:
		return "9142", "The reason for export is not valid."
	}
	if c.Currency != "CAD" {
		return "9143", "The conversion from CAD is required for the currency."
	}
	for _, item := range c.Items {
		if country == "US" && c.Reason != "DOC" && (item.HSCode == "" || item.Country == "") {
			return "9144", "The tariff code and the country of origin are required for the United States."
		}
		if item.Country == "CA" && !province.MatchString(item.Province) {
			return "9141", "The province of origin is required if the country of origin is Canada."
		}
	}
	return "", ""
}

// refusal returns why Canada Post does not take the order, "" if it does.
func (in order) refusal() (code, text string) {
	switch {
	case (in.Group == "") == (in.Transmit == ""):
		return "9122", "Either group-id or transmit-shipment is required."
	case in.Point == "":
		return "9111", "A postal code is not valid."
	case in.Sender.Country != "CA":
		return "9114", "The sender is not complete."
	case in.Contract != Contract:
		return "AA004", "You cannot mail on behalf of the requested customer."
	case in.Payment != "Account" && in.Payment != "CreditCard" && in.Payment != "SupplierAccount":
		return "1720", "The method of payment is not valid."
	}
	return in.delivery.refusal()
}

var zipCode = regexp.MustCompile(`^\d{5}(-\d{4})?$`)

// refusal returns why Canada Post does not take the delivery, "" if it does.
func (in delivery) refusal() (code, text string) {
	weight, err := strconv.ParseFloat(in.Weight, 64)
	sold, goesThere := productOf(in.Service, in.Destination.Country)
	isAbroad := in.Destination.Country != "CA"

	switch {
	case !postalCode.MatchString(in.Sender.Zip), !isAbroad && !postalCode.MatchString(in.Destination.Zip), in.Destination.Country == "US" && !zipCode.MatchString(in.Destination.Zip):
		return "9111", "A postal code is not valid."
	case in.Sender.Company == "" || in.Sender.Phone == "":
		return "9114", "The sender is not complete."
	case in.Destination.Name == "" && in.Destination.Company == "" || in.Destination.City == "":
		return "9115", "The destination is not complete."
	case (in.Destination.Country == "US" || !isAbroad) && !province.MatchString(in.Destination.State):
		return "9117", "The province or state of the destination is not valid."
	case !goesThere:
		return "7260", "The service is not available for the parcel or the destination."
	case err != nil || weight > sold.most():
		return "9151", "The weight is more than the service takes."
	case isAbroad && in.Destination.Voice == "":
		return "9116", "The phone number of the recipient is required."
	case isAbroad && (in.Customs == nil || len(in.Customs.Items) == 0):
		return "9140", "Customs information is required."
	case isAbroad && len(in.instructions()) != 1:
		return "1701", "A non-delivery handling option is required for the service."
	case isAbroad && !takesInstruction(in.Service, in.instructions()[0]):
		return "7261", "The option " + in.instructions()[0] + " is not available for the service."
	}

	if in.Customs != nil {
		if code, text := in.Customs.refusal(in.Destination.Country); code != "" {
			return code, text
		}
	}
	if !isAbroad && !isCoverageSigned(in.Options) {
		return "1702", "The option COV requires the option SO."
	}
	for _, chosen := range in.Options {
		if _, known := optionPrices[chosen.Code]; !known {
			return "7261", "The option " + chosen.Code + " is not available."
		}
	}
	return "", ""
}

// isCoverageSigned reports whether a parcel that is covered is signed for, which
// Canada Post requires within Canada.
func isCoverageSigned(options []option) bool {
	has := func(codes ...string) bool {
		return slices.ContainsFunc(options, func(o option) bool { return slices.Contains(codes, o.Code) })
	}
	return !has("COV") || has("SO", "PA18", "PA19")
}

// instructions returns the options that say what becomes of a parcel that cannot be
// delivered.
func (in delivery) instructions() []string {
	var list []string
	for _, chosen := range in.Options {
		if chosen.Code == "RASE" || chosen.Code == "RTS" || chosen.Code == "ABAN" {
			list = append(list, chosen.Code)
		}
	}
	return list
}

// instructionsOf are the instructions that the services abroad have. Source: the
// scenarios of Canada Post's Developer Portal, one for each service and instruction.
var instructionsOf = map[string]string{
	"USA.EP":      "RASE ABAN",
	"USA.XP":      "RASE ABAN",
	"USA.TP":      "RTS",
	"USA.SP.AIR":  "RTS",
	"INT.XP":      "RASE ABAN",
	"INT.IP.AIR":  "RASE ABAN",
	"INT.IP.SURF": "RASE ABAN",
	"INT.TP":      "RTS",
	"INT.SP.AIR":  "RTS",
}

// takesInstruction reports whether a service has an instruction. Those of Priority
// Worldwide are not known, so all pass.
func takesInstruction(service, instruction string) bool {
	known, ok := instructionsOf[service]
	return !ok || slices.Contains(strings.Fields(known), instruction)
}

// kept is what the emulator needs of a sale to answer again.
type kept struct {
	SoldBy   string   `json:"soldBy,omitempty"` // "ncshipment" or "authorizedreturn"; empty under a contract
	Service  string   `json:"service"`
	Date     string   `json:"date"`
	Arrival  string   `json:"arrival"`
	Created  string   `json:"created"`
	Weight   string   `json:"weight"`
	Base     string   `json:"base"`
	Options  string   `json:"options"`
	Fuel     string   `json:"fuel"`
	GST      string   `json:"gst"`
	PreTax   string   `json:"preTax"`
	HasPrice bool     `json:"hasPrice"`
	Encoding string   `json:"encoding"`
	From     []string `json:"from"`
	To       []string `json:"to"`
	City     string   `json:"city"`
	Province string   `json:"province"`
	Zip      string   `json:"zip"`
	IsAbroad bool     `json:"isAbroad,omitempty"`
	Standard bool     `json:"standard,omitempty"`
	Country  string   `json:"country,omitempty"`
	Sender   party    `json:"sender,omitzero"`
}

// sell answers POST /rs/{customer}/{behalf}/shipment.
func (p *post) sell(w http.ResponseWriter, r *http.Request) {
	var in order
	if complaint := decode(r, "shipment", &in); complaint != "" {
		refuse(w, http.StatusBadRequest, "Server", "/rs/shipment: "+complaint)
		return
	}
	if !p.takes(w, in.refusal, in.Destination.Country) {
		return
	}

	entry := p.entryOf(r, in.delivery, kept{
		Date:     in.Date,
		HasPrice: in.HasPrice,
		Encoding: in.Encoding,
	})
	entry.Reference = in.RequestID
	p.Sell(w, r, entry, func(sale emulator.Entry) (int, string, []byte) {
		return http.StatusOK, shipmentType, encode(struct {
			XMLName xml.Name `xml:"http://www.canadapost.ca/ws/shipment-v8 shipment-info"`
			info
		}{info: infoOf(r, sale)})
	})
}

// takes reports whether Canada Post sells a label. If not, it has answered.
func (p *post) takes(w http.ResponseWriter, refusal func() (code, text string), country string) bool {
	code, text := refusal()
	switch {
	case code != "":
		refuse(w, http.StatusBadRequest, code, text)
	case country == "US" && p.settings.Load().NoZonos:
		refuse(w, http.StatusBadRequest, "9300", "A Declaration ID is required for the United States. Link a Zonos account to your profile.")
	case p.Refuses():
		p.Fail(w, http.StatusBadRequest)
	default:
		return true
	}
	return false
}

// entryOf returns the sale of a delivery.
func (p *post) entryOf(r *http.Request, in delivery, stored kept) emulator.Entry {
	sold, _ := productOf(in.Service, in.Destination.Country)
	weight, _ := strconv.ParseFloat(in.Weight, 64)
	cost := sold.charge(weight, in.Options)

	stored.Service = in.Service
	stored.Arrival = arrival(stored.Date, sold.days)
	stored.Created = today()
	stored.Weight = in.Weight
	stored.Base = dollars(cost.base)
	stored.Options = dollars(cost.options)
	stored.Fuel = dollars(cost.fuel)
	stored.GST = dollars(cost.gst)
	stored.PreTax = dollars(cost.due - cost.gst)
	stored.From = in.Sender.lines()
	stored.To = in.Destination.lines()
	stored.City = strings.ToUpper(in.Destination.City)
	stored.Province = in.Destination.State
	stored.Zip = in.Destination.Zip
	stored.IsAbroad = in.Customs != nil
	stored.Standard = sold.isGuaranteed
	stored.Country = in.Destination.Country
	stored.Sender = in.Sender
	data, err := json.Marshal(stored)
	if err != nil {
		panic(err) // the package itself made it
	}

	n := p.Ledger.Next()
	return emulator.Entry{
		Number:   trackingNumber(n, in.Destination.Country != "CA"),
		ID:       fmt.Sprintf("34053130918%07d", n),
		Second:   in.Reference,
		Account:  r.PathValue("customer"),
		Service:  in.Service,
		Amount:   dollars(cost.due),
		Currency: "CAD",
		Kept:     data,
	}
}

// ottawa is the time zone of Canada Post.
func ottawa() *time.Location {
	zone, err := time.LoadLocation("America/Toronto")
	if err != nil {
		return time.FixedZone("EST", -5*60*60)
	}
	return zone
}

// today returns the day in Ottawa.
func today() string { return time.Now().In(ottawa()).Format(time.DateOnly) }

// lines returns a party as a label has it.
func (p party) lines() []string {
	return []string{strings.TrimSpace(p.Name + " " + p.Company), p.Line1, p.City + " " + p.State + " " + p.Zip + " " + p.Country}
}

// trackingNumber returns the PIN of the nth sale: sixteen digits, or a postal S10
// number abroad, each with its check digit.
func trackingNumber(n int, isAbroad bool) string {
	if isAbroad {
		digits := fmt.Sprintf("%08d", 47000000+n%1000000)
		sum := 0
		for i, weight := range []int{8, 6, 4, 2, 3, 5, 9, 7} {
			sum += int(digits[i]-'0') * weight
		}
		check := 11 - sum%11
		switch check {
		case 10:
			check = 0
		case 11:
			check = 5
		}
		return fmt.Sprintf("CX%s%dCA", digits, check)
	}

	digits := fmt.Sprintf("007393800%06d", n%1000000)
	sum := 0
	for i := range len(digits) {
		digit := int(digits[len(digits)-1-i] - '0')
		if i%2 == 0 {
			digit *= 3
		}
		sum += digit
	}
	return fmt.Sprintf("%s%d", digits, (10-sum%10)%10)
}

// info is a shipment as the answers show it.
type info struct {
	RequestID string     `xml:"customer-request-id,omitempty"`
	ID        string     `xml:"shipment-id"`
	Status    string     `xml:"shipment-status"`
	PIN       string     `xml:"tracking-pin"`
	Price     *soldPrice `xml:"shipment-price"`
	Links     struct {
		Links []link `xml:"link"`
	} `xml:"links"`
}

type soldPrice struct {
	Service string `xml:"service-code"`
	Base    string `xml:"base-amount"`
	Options struct {
		Option []struct{} `xml:"priced-option"`
	} `xml:"priced-options"`
	Fuel struct {
		Code   string `xml:"adjustment-code"`
		Amount string `xml:"adjustment-amount"`
	} `xml:"adjustments>adjustment"`
	PreTax   string `xml:"pre-tax-amount"`
	GST      string `xml:"gst-amount"`
	PST      string `xml:"pst-amount"`
	HST      string `xml:"hst-amount"`
	Due      string `xml:"due-amount"`
	Standard struct {
		AM         bool   `xml:"am-delivery"`
		Guaranteed bool   `xml:"guaranteed-delivery"`
		Date       string `xml:"expected-delivery-date"`
	} `xml:"service-standard"`
	Weight string `xml:"rated-weight"`
}

func infoOf(r *http.Request, sale emulator.Entry) info {
	stored := keptOf(sale)
	shown := info{RequestID: sale.Reference, ID: sale.ID, Status: "transmitted", PIN: sale.Number}
	if stored.HasPrice {
		price := &soldPrice{
			Service: stored.Service,
			Base:    stored.Base,
			PreTax:  stored.PreTax,
			GST:     stored.GST,
			PST:     "0.00",
			HST:     "0.00",
			Due:     sale.Amount,
			Weight:  stored.Weight,
		}
		price.Fuel.Code = "FUELSC"
		price.Fuel.Amount = stored.Fuel
		price.Standard.Guaranteed = stored.Standard
		price.Standard.Date = stored.Arrival
		shown.Price = price
	}

	self := origin(r) + "/rs/" + Customer + "/" + Customer + "/shipment/" + sale.ID
	file := origin(r) + "/rs/artifact/" + User + "/" + sale.ID
	fileType := "application/pdf"
	if stored.Encoding == "ZPL" {
		fileType = "application/zpl"
	}
	shown.Links.Links = []link{
		{"self", self, shipmentType},
		{"details", self + "/details", shipmentType},
		{"price", self + "/price", shipmentType},
		{"refund", self + "/refund", shipmentType},
		{"label", file + "/0", fileType},
	}
	if stored.IsAbroad {
		shown.Links.Links = append(shown.Links.Links, link{"commercialInvoice", file + "/1", "application/pdf"})
	}
	return shown
}

// keptOf reads what was stored with a sale.
func keptOf(sale emulator.Entry) kept {
	var stored kept
	if err := json.Unmarshal(sale.Kept, &stored); err != nil {
		panic(err) // the package itself wrote it
	}
	return stored
}

// list answers GET /rs/{customer}/{behalf}/shipment. Rows are shown in full if the
// client asks for it, else as links.
func (p *post) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	reference := query.Get("requestId")
	var sales []emulator.Entry
	switch {
	case reference != "" && p.settings.Load().NoRequestID:
		refuse(w, http.StatusBadRequest, "9190", "A query parameter is required.")
		return
	case reference != "":
		sales = p.Find(reference)
	case query.Get("noManifest") == "true" && compactDate.MatchString(query.Get("date")):
		sales = p.soldOn(query.Get("date"))
	default:
		refuse(w, http.StatusBadRequest, "9190", "A query parameter is required.")
		return
	}

	var answer struct {
		XMLName   xml.Name `xml:"http://www.canadapost.ca/ws/shipment-v8 shipments"`
		Links     []link   `xml:"link"`
		Shipments []info   `xml:"shipment-info"`
	}
	for _, sale := range sales {
		if keptOf(sale).SoldBy != "" {
			continue
		}
		if query.Get("provideShipmentInfo") == "true" && p.settings.Load().ShipmentInfo {
			answer.Shipments = append(answer.Shipments, infoOf(r, sale))
			continue
		}
		self := origin(r) + "/rs/" + Customer + "/" + Customer + "/shipment/" + sale.ID
		answer.Links = append(answer.Links, link{"shipment", self, shipmentType})
	}
	reply(w, http.StatusOK, shipmentType, answer)
}

// compactDate is how look-ups write a day.
var compactDate = regexp.MustCompile(`^[0-9]{8}$`)

// show answers GET .../shipment/{id}, the link of a look-up.
func (p *post) show(w http.ResponseWriter, r *http.Request) {
	sale, ok := p.soldBy("", r.PathValue("id"))
	if !ok {
		refuse(w, http.StatusNotFound, "8064", "The shipment was not found.")
		return
	}
	reply(w, http.StatusOK, shipmentType, struct {
		XMLName xml.Name `xml:"http://www.canadapost.ca/ws/shipment-v8 shipment-info"`
		info
	}{info: infoOf(r, sale)})
}

// soldBy returns the sale with an id, if the service sold it.
func (p *post) soldBy(service, id string) (emulator.Entry, bool) {
	sale, _, ok := p.Ledger.Sold(id)
	return sale, ok && sale.ID == id && keptOf(sale).SoldBy == service
}

// soldOn returns the sales of a day that a look-up can see.
func (p *post) soldOn(day string) []emulator.Entry {
	var list []emulator.Entry
	for _, entry := range p.Ledger.Entries() {
		if entry.Kind != "sold" || strings.ReplaceAll(keptOf(entry).Created, "-", "") != day {
			continue
		}
		for _, shown := range p.Find(entry.Reference) {
			if shown.ID == entry.ID {
				list = append(list, shown)
			}
		}
	}
	return list
}

// cancel answers DELETE .../shipment/{id}: all shipments are transmitted.
func (p *post) cancel(w http.ResponseWriter, r *http.Request) {
	if _, _, ok := p.Ledger.Sold(r.PathValue("id")); !ok {
		refuse(w, http.StatusNotFound, "8064", "The shipment was not found.")
		return
	}
	refuse(w, http.StatusBadRequest, "8065", "The shipment has been transmitted and cannot be voided.")
}

// refund answers POST .../shipment/{id}/refund.
func (p *post) refund(w http.ResponseWriter, r *http.Request) {
	p.answerRefund(w, r, "", "shipment-refund-request", func(given ticket) (string, any) {
		return shipmentType, struct {
			XMLName xml.Name `xml:"http://www.canadapost.ca/ws/shipment-v8 shipment-refund-request-info"`
			ticket
		}{ticket: given}
	})
}

// ticket is how people at Canada Post know a request.
type ticket struct {
	Date string `xml:"service-ticket-date"`
	ID   string `xml:"service-ticket-id"`
}

// answerRefund answers a request for a refund of what a service sold.
func (p *post) answerRefund(w http.ResponseWriter, r *http.Request, service, document string, answer func(ticket) (contentType string, body any)) {
	var in struct {
		Email string `xml:"email"`
	}
	if complaint := decode(r, document, &in); complaint != "" {
		refuse(w, http.StatusBadRequest, "Server", "/rs/refund: "+complaint)
		return
	}
	id := r.PathValue("id")
	if _, ok := p.soldBy(service, id); !ok {
		refuse(w, http.StatusNotFound, "8064", "The shipment was not found.")
		return
	}

	p.TakeBack(w, r, id, func(again, _ bool) (int, string, []byte) {
		if again {
			return http.StatusBadRequest, "application/xml", encode(messagesOf("7292", "A refund request has already been submitted for this shipment."))
		}
		contentType, body := answer(ticket{Date: today(), ID: "GT" + id[len(id)-7:]})
		return http.StatusOK, contentType, encode(body)
	})
}
