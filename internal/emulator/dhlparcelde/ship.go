package dhlparcelde

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/emulator"
)

// request is a purchase.
type request struct {
	Profile   string     `json:"profile"`
	Shipments []shipment `json:"shipments"`
}

// shipment is the part of a shipment that the emulator reads.
type shipment struct {
	Product       string `json:"product"`
	BillingNumber string `json:"billingNumber"`
	RefNo         string `json:"refNo"`
	CostCenter    string `json:"costCenter"`
	ShipDate      string `json:"shipDate"`
	Shipper       party  `json:"shipper"`
	Consignee     party  `json:"consignee"`
	Details       struct {
		Dim *struct {
			UOM    string `json:"uom"`
			Length int    `json:"length"`
			Width  int    `json:"width"`
			Height int    `json:"height"`
		} `json:"dim"`
		Weight struct {
			UOM   string  `json:"uom"`
			Value float64 `json:"value"`
		} `json:"weight"`
	} `json:"details"`
	Services struct {
		VisualCheckOfAge       string `json:"visualCheckOfAge"`
		SignedForByRecipient   bool   `json:"signedForByRecipient"`
		NoNeighbourDelivery    bool   `json:"noNeighbourDelivery"`
		Endorsement            string `json:"endorsement"`
		Premium                *bool  `json:"premium"`
		AdditionalInsurance    *value `json:"additionalInsurance"`
		PostalDeliveryDutyPaid bool   `json:"postalDeliveryDutyPaid"`
	} `json:"services"`
	Customs *declaration `json:"customs"`
}

// value is an amount of money.
type value struct {
	Currency string   `json:"currency"`
	Value    *float64 `json:"value"`
}

// declaration is what is declared to customs.
type declaration struct {
	InvoiceNo           string      `json:"invoiceNo"`
	ExportType          string      `json:"exportType"`
	ExportDescription   string      `json:"exportDescription"`
	ShippingConditions  string      `json:"shippingConditions"`
	PostalCharges       *value      `json:"postalCharges"`
	ShipperCustomsRef   string      `json:"shipperCustomsRef"`
	ConsigneeCustomsRef string      `json:"consigneeCustomsRef"`
	Items               []commodity `json:"items"`
}

type commodity struct {
	Description string `json:"itemDescription"`
	Origin      string `json:"countryOfOrigin"`
	HSCode      string `json:"hsCode"`
	Quantity    int    `json:"packagedQuantity"`
	Value       *value `json:"itemValue"`
	Weight      *struct {
		UOM   string  `json:"uom"`
		Value float64 `json:"value"`
	} `json:"itemWeight"`
}

// party is the sender, or any of the four forms of a recipient.
type party struct {
	Name1      string `json:"name1"`
	Name2      string `json:"name2"`
	Name3      string `json:"name3"`
	Street     string `json:"addressStreet"`
	House      string `json:"addressHouse"`
	More       string `json:"additionalAddressInformation1"`
	PostalCode string `json:"postalCode"`
	City       string `json:"city"`
	State      string `json:"state"`
	Country    string `json:"country"`
	Email      string `json:"email"`
	Phone      string `json:"phone"`

	Name       string `json:"name"`
	LockerID   int    `json:"lockerID"`
	RetailID   int    `json:"retailID"`
	PostNumber string `json:"postNumber"`
}

// answer is what DHL says about the shipments of a request.
type answer struct {
	Status status `json:"status"`
	Items  []item `json:"items,omitempty"`
}

type item struct {
	ShipmentNo string    `json:"shipmentNo,omitempty"`
	RefNo      string    `json:"shipmentRefNo,omitempty"`
	Routing    string    `json:"routingCode,omitempty"`
	Status     status    `json:"sstatus"`
	Label      *document `json:"label,omitempty"`
	CustomsDoc *document `json:"customsDoc,omitempty"`
	Messages   []message `json:"validationMessages,omitempty"`
}

type document struct {
	B64         []byte `json:"b64,omitempty"`
	ZPL2        string `json:"zpl2,omitempty"`
	FileFormat  string `json:"fileFormat"`
	PrintFormat string `json:"printFormat"`
}

type message struct {
	Property string `json:"property"`
	Text     string `json:"validationMessage"`
	State    string `json:"validationState"`
}

// product is what a billing number must belong to.
type product struct {
	procedure string
	billing   string
	domestic  bool
}

var products = map[string]product{
	"V01PAK":  {"01", BillingPaket, true},
	"V62KP":   {"62", BillingKleinpaket, true},
	"V53WPAK": {"53", BillingPaketInternational, false},
	"V54EPAK": {"54", BillingEuropaket, false},
	"V66WPI":  {"66", BillingWarenpostInternational, false},
}

// germany is where ship dates are counted.
var germany = func() *time.Location {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		return time.FixedZone("CET", 3600)
	}
	return zone
}()

// order answers POST /orders. Each shipment is sold or refused by itself.
func (s standIn) order(w http.ResponseWriter, r *http.Request) {
	var in request
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil || json.Unmarshal(body, &in) != nil || len(in.Shipments) == 0 || len(in.Shipments) > 30 {
		s.refuse(w, http.StatusBadRequest, message{Property: "shipments", Text: "1 to 30 shipments are required", State: "Error"})
		return
	}
	// DHL checks requests against its JSON schema, in which names have one spelling
	// and unknown members are allowed (parcel-de-shipping 2.1.13, "validate").
	if !emulator.HasExactNames(body, request{}) {
		s.refuse(w, http.StatusBadRequest, message{Property: "shipments", Text: "A member is not spelled as in the schema.", State: "Error"})
		return
	}
	if text := checkQuery(r.URL.Query()); text != "" {
		s.refuse(w, http.StatusBadRequest, message{Property: "query", Text: text, State: "Error"})
		return
	}
	if in.Profile != Profile {
		s.refuse(w, http.StatusBadRequest, message{Property: "profile", Text: "The group profile is unknown.", State: "Error"})
		return
	}
	if len(in.Shipments) != 1 {
		s.refuse(w, http.StatusBadRequest, message{Property: "shipments", Text: "the emulator sells one shipment per request", State: "Error"})
		return
	}

	ordered := in.Shipments[0]
	messages := ordered.check(time.Now().In(germany))
	for _, m := range messages {
		if m.State == "Error" {
			s.refuse(w, http.StatusBadRequest, messages...)
			return
		}
	}
	if r.URL.Query().Get("validate") == "true" {
		checked := item{Status: statusOf(http.StatusOK, ""), Messages: messages}
		reply(w, http.StatusOK, answer{Status: statusOf(http.StatusOK, ""), Items: []item{checked}})
		return
	}
	if s.Refuses() {
		s.Fail(w, http.StatusBadRequest)
		return
	}

	sale := emulator.Entry{
		Number:    shipmentNumber(s.Ledger.Next()),
		Reference: ordered.RefNo,
		Second:    ordered.CostCenter,
		Account:   ordered.BillingNumber,
		Service:   ordered.Product,
		Kept:      encode(ordered),
	}
	s.Sell(w, r, sale, func(sold emulator.Entry) (int, string, []byte) {
		shown := ordered.item(sold, r)
		shown.Messages = messages
		return http.StatusOK, "application/json", encode(answer{
			Status: statusOf(http.StatusOK, "The Webservice call ran successfully."),
			Items:  []item{shown},
		})
	})
}

// refuse answers that a shipment has errors.
func (s standIn) refuse(w http.ResponseWriter, code int, messages ...message) {
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(code)
	_, _ = w.Write(encode(answer{
		Status: statusOf(code, "Validation failed."),
		Items:  []item{{Status: statusOf(code, "Validation failed."), Messages: messages}},
	}))
}

// check returns what DHL says about a shipment: errors, for which it sells
// nothing, and warnings.
func (in shipment) check(now time.Time) (messages []message) {
	wrong := func(property, text string) {
		messages = append(messages, message{Property: property, Text: text, State: "Error"})
	}

	sold, known := products[in.Product]
	switch {
	case in.Product == "V62WP":
		wrong("product", "Warenpost was replaced by DHL Kleinpaket (V62KP).")
	case !known:
		wrong("product", "The product is unknown.")
	case len(in.BillingNumber) != 14 || in.BillingNumber[10:12] != sold.procedure:
		wrong("billingNumber", "The billing number does not belong to the product.")
	case in.BillingNumber != sold.billing:
		wrong("billingNumber", "The billing number is not permitted for this user.")
	}

	if n := len(in.RefNo); n < 8 || n > 35 {
		wrong("refNo", "The reference must have 8 to 35 characters.")
	}
	if utf8.RuneCountInString(in.CostCenter) > 50 {
		wrong("costCenter", "The cost center is too long.")
	}
	if day, err := time.ParseInLocation(time.DateOnly, in.ShipDate, germany); in.ShipDate != "" && (err != nil || day.Format(time.DateOnly) < now.Format(time.DateOnly)) {
		wrong("shipDate", "The shipment date must have the form yyyy-mm-dd and must not be in the past.")
	}
	if dim := in.Details.Dim; dim != nil && (dim.UOM != "mm" && dim.UOM != "cm" || dim.Length < 1 || dim.Width < 1 || dim.Height < 1) {
		wrong("details.dim", "All dimensions and their unit are required.")
	}
	if w := in.Details.Weight; w.UOM != "g" && w.UOM != "kg" || w.Value <= 0 || w.UOM == "g" && w.Value > 31500 || w.UOM == "kg" && w.Value > 31.5 {
		wrong("details.weight", "The weight is too high or missing.")
	}
	if in.Shipper.Country != "DEU" {
		wrong("shipper.country", "The shipper must be in Germany.")
	}
	if known && sold.domestic != (in.Consignee.Country == "DEU") {
		wrong("product", "The product is not available to this country.")
	}

	messages = append(messages, in.Shipper.check("shipper")...)
	messages = append(messages, in.Consignee.check("consignee")...)
	return append(messages, in.checkGoods()...)
}

// item returns a sale with its label, in the formats that the request asks for.
func (in shipment) item(sale emulator.Entry, r *http.Request) item {
	query := r.URL.Query()
	shown := item{
		ShipmentNo: sale.Number,
		RefNo:      sale.Reference,
		Routing:    "40327653113+99000943058020",
		Status:     statusOf(http.StatusOK, ""),
		Label:      in.label(sale, query.Get("docFormat")),
	}
	if in.Customs != nil {
		shown.CustomsDoc = &document{B64: emulator.PDF(in.customsPage(sale)), FileFormat: "PDF", PrintFormat: "A4"}
	}
	return shown
}

// shipmentNumber returns a number of 20 digits with the check digit of GS1.
func shipmentNumber(serial int) string {
	digits := fmt.Sprintf("003404341610%07d", serial)
	sum := 0
	for i, digit := range digits {
		weight := 3
		if i%2 == 1 {
			weight = 1
		}
		sum += int(digit-'0') * weight
	}
	return fmt.Sprintf("%s%d", digits, (10-sum%10)%10)
}

// closing is the hour of the ship date at which DHL closes a shipment.
const closing = 18

// isClosed reports whether DHL has closed a sale: it is neither shown nor deleted
// any more.
func isClosed(sale emulator.Entry, now time.Time) bool {
	var in shipment
	if json.Unmarshal(sale.Kept, &in) != nil {
		return false
	}
	day, err := time.ParseInLocation(time.DateOnly, in.ShipDate, germany)
	if err != nil {
		day = sale.At.In(germany)
	}
	end := time.Date(day.Year(), day.Month(), day.Day(), closing, 0, 0, 0, germany)

	// What is sold after the hour is closed a day later.
	if sale.At.After(end) {
		end = end.AddDate(0, 0, 1)
	}
	return now.After(end)
}

// show answers GET /orders: the labels again, until the shipments are closed.
func (s standIn) show(w http.ResponseWriter, r *http.Request) {
	// The parameter is required (parcel-de-shipping 2.1.13, GET /orders).
	number := r.URL.Query().Get("shipment")
	if number == "" {
		s.refuse(w, http.StatusBadRequest, message{Property: "shipment", Text: "The shipment number is required.", State: "Error"})
		return
	}
	if text := checkQuery(r.URL.Query()); text != "" {
		s.refuse(w, http.StatusBadRequest, message{Property: "query", Text: text, State: "Error"})
		return
	}

	sale, voided, ok := s.Ledger.Sold(number)
	var in shipment
	if !ok || voided || sale.Service == returnProduct || isClosed(sale, time.Now()) || json.Unmarshal(sale.Kept, &in) != nil {
		s.Fail(w, http.StatusNotFound)
		return
	}
	reply(w, http.StatusOK, answer{Status: statusOf(http.StatusOK, ""), Items: []item{in.item(sale, r)}})
}

// delete answers DELETE /orders. A shipment that was deleted before is unknown.
func (s standIn) delete(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if query.Get("profile") != Profile {
		s.refuse(w, http.StatusBadRequest, message{Property: "profile", Text: "The group profile is unknown.", State: "Error"})
		return
	}

	// The parameter is required (parcel-de-shipping 2.1.13, DELETE /orders).
	number := query.Get("shipment")
	if number == "" {
		s.refuse(w, http.StatusBadRequest, message{Property: "shipment", Text: "The parameter shipment is required.", State: "Error"})
		return
	}
	sale, _, ok := s.Ledger.Sold(number)
	if ok && sale.Service == returnProduct {
		s.answerDelete(w, number, statusOf(http.StatusBadRequest, "Unknown shipment number."))
		return
	}
	if ok && isClosed(sale, time.Now()) {
		s.answerDelete(w, number, statusOf(http.StatusBadRequest, "The shipment was already manifested and cannot be cancelled."))
		return
	}
	s.TakeBack(w, r, number, func(again, known bool) (int, string, []byte) {
		judged := statusOf(http.StatusOK, "")
		if again || !known {
			judged = statusOf(http.StatusBadRequest, "Unknown shipment number.")
		}
		return deleteAnswer(number, judged)
	})
}

// manifest answers GET /manifests: the shipments that were closed on a day. There
// is none of a day without shipments.
func (s standIn) manifest(w http.ResponseWriter, r *http.Request) {
	date := r.URL.Query().Get("date")
	if date == "" || date > time.Now().In(germany).Format(time.DateOnly) {
		s.Fail(w, http.StatusBadRequest)
		return
	}

	var closed []any
	for _, entry := range s.Ledger.Entries() {
		var in shipment
		if entry.Kind != "sold" || entry.Service == returnProduct || json.Unmarshal(entry.Kept, &in) != nil || in.ShipDate != date || !isClosed(entry, time.Now()) {
			continue
		}
		if _, voided, _ := s.Ledger.Sold(entry.Number); !voided {
			closed = append(closed, map[string]any{"shipmentNo": entry.Number, "sheetNo": "1"})
		}
	}
	if len(closed) == 0 {
		s.Fail(w, http.StatusNotFound)
		return
	}
	reply(w, http.StatusOK, map[string]any{"status": statusOf(http.StatusOK, ""), "manifestDate": date, "items": closed})
}

func (s standIn) answerDelete(w http.ResponseWriter, number string, judged status) {
	code, kind, body := deleteAnswer(number, judged)
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

// deleteAnswer returns the answer about one shipment.
func deleteAnswer(number string, judged status) (code int, contentType string, body []byte) {
	code = http.StatusOK
	if judged.Status != http.StatusOK {
		code = http.StatusMultiStatus
	}
	return code, "application/json", encode(answer{
		Status: statusOf(code, ""),
		Items:  []item{{ShipmentNo: number, Status: judged}},
	})
}
