package dhlparcelde

import (
	"encoding/json"
	"encoding/xml"
	"net/http"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// question is what a client asks of the tracking API, in a parameter of the URL.
type question struct {
	XMLName  xml.Name `xml:"data"`
	User     string   `xml:"appname,attr"`
	Password string   `xml:"password,attr"`
	Request  string   `xml:"request,attr"`
	Language string   `xml:"language-code,attr"`
	Numbers  string   `xml:"piece-code,attr"`

	Reference string `xml:"piece-customer-reference,attr"`
	From      string `xml:"from-date,attr"`
	To        string `xml:"to-date,attr"`
}

// element is one of the nested elements of an answer, which are all called
// "data".
type element struct {
	XMLName  xml.Name   `xml:"data"`
	Attrs    []xml.Attr `xml:",any,attr"`
	Children []element  `xml:"data"`
}

// newElement returns an element with attributes, given as names and values.
func newElement(pairs ...string) element {
	var made element
	for i := 0; i+1 < len(pairs); i += 2 {
		made.Attrs = append(made.Attrs, xml.Attr{Name: xml.Name{Local: pairs[i]}, Value: pairs[i+1]})
	}
	return made
}

// maxTracked is how many numbers a question may have.
const maxTracked = 15

// track answers GET /shipments of the tracking API. The HTTP status is 200
// whatever is wrong with the question; only the keys of the app are checked by the
// gateway in front.
func (s standIn) track(w http.ResponseWriter, r *http.Request) {
	key, secret, ok := r.BasicAuth()
	if !ok || key != APIKey || secret != APISecret {
		s.Fail(w, http.StatusUnauthorized)
		return
	}

	var asked question
	if err := xml.Unmarshal([]byte(r.URL.Query().Get("xml")), &asked); err != nil || asked.Request != "d-get-piece-detail" {
		answerXML(w, newElement("name", "piece-shipment-list", "code", "40", "error", "The request is not valid."))
		return
	}
	numbers := strings.Split(asked.Numbers, ";")
	switch {
	case asked.User != User || asked.Password != Password:
		answerXML(w, newElement("name", "piece-shipment-list", "code", "5", "error", "Login failed"))
		return
	case asked.Reference != "":
		s.search(w, asked)
		return
	case asked.Numbers == "":
		answerXML(w, newElement("name", "piece-shipment-list", "code", "45", "error", "No piece code was given."))
		return
	case len(numbers) > maxTracked:
		answerXML(w, newElement("name", "piece-shipment-list", "code", "41", "error", "Too many piece codes."))
		return
	}

	list := newElement("name", "piece-shipment-list", "code", "0", "request-id", "e3a9b0c1")
	isKnown := false
	for _, number := range numbers {
		sale, voided, ok := s.Ledger.Sold(number)
		if !ok || voided {
			list.Children = append(list.Children, newElement(
				"name", "piece-shipment", "searched-piece-code", number, "error-status", "100", "status", "No data found"))
			continue
		}
		isKnown = true
		list.Children = append(list.Children, s.piece(sale))
	}
	if !isKnown {
		answerXML(w, newElement("name", "piece-shipment-list", "code", "100", "error", "No data found"))
		return
	}
	answerXML(w, list)
}

// search answers a question by reference, which finds a sale once it reached tracking
// and was made within the days of the question.
func (s standIn) search(w http.ResponseWriter, asked question) {
	today := time.Now().In(germany).Format(time.DateOnly)
	from, to := asked.From, asked.To
	if to == "" {
		to = today
	}
	for _, day := range []string{from, to} {
		if _, err := time.Parse(time.DateOnly, day); day != "" && err != nil {
			from, to = to, "" // refused below
		}
	}
	if asked.Numbers != "" || len(asked.Reference) < 8 || strings.Contains(asked.Reference, ";") || to > today || from > to {
		answerXML(w, newElement("name", "piece-shipment-list", "code", "40", "error", "The request is not valid."))
		return
	}

	list := newElement("name", "piece-shipment-list", "code", "0", "request-id", "e3a9b0c1")
	for _, sale := range s.Find(asked.Reference) {
		_, voided, _ := s.Ledger.Sold(sale.Number)
		day := sale.At.In(germany).Format(time.DateOnly)
		if voided || sale.Service == returnProduct || day < from || day > to {
			continue
		}
		list.Children = append(list.Children, s.piece(sale))
	}
	if len(list.Children) == 0 {
		answerXML(w, newElement("name", "piece-shipment-list", "code", "100", "error", "No data found"))
		return
	}
	answerXML(w, list)
}

func answerXML(w http.ResponseWriter, root element) {
	body, err := xml.Marshal(root)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/xml;charset=UTF-8")
	_, _ = w.Write(append([]byte(xml.Header), body...))
}

// step is one event in the usual history of a parcel.
type step struct {
	after       time.Duration
	code, kind  string
	text        string
	destination bool // happens at the destination, not at the origin
}

var usualEvents = []step{
	{0, "VA", "PARCV", "The instruction data for this shipment have been provided by the sender to DHL electronically", false},
	{2 * time.Hour, "ES", "SHRCU", "The shipment has been handed over to DHL", false},
	{5 * time.Hour, "AA", "LDTMV", "The shipment has been processed in the parcel center of origin", false},
	{18 * time.Hour, "EE", "ULFMV", "The shipment has been processed in the destination parcel center", true},
	{22 * time.Hour, "PO", "LDTMV", "The shipment has been loaded onto the delivery vehicle", true},
	{26 * time.Hour, "ZU", "DLVRD", "The shipment has been successfully delivered", true},
}

// piece returns a sale as tracking shows it.
func (s standIn) piece(sale emulator.Entry) element {
	var in shipment
	if err := json.Unmarshal(sale.Kept, &in); err != nil {
		panic(err) // this package wrote the ledger entry
	}

	events := newElement("name", "piece-event-list", "piece-identifier", sale.Number)
	add := func(after time.Duration, code, kind, text, city, country string, isReturn bool) {
		at := sale.At.Add(after)
		if at.After(time.Now()) {
			return
		}
		returned := "false"
		if isReturn {
			returned = "true"
		}
		events.Children = append(events.Children, newElement(
			"name", "piece-event",
			"event-timestamp", at.In(germany).Format("02.01.2006 15:04"),
			"event-status", text, "event-text", text, "event-short-status", text,
			"ice", kind, "ric", "NRQRD",
			"event-location", city, "event-country", country,
			"standard-event-code", code,
			"ruecksendung", returned,
		))
	}

	if script := s.Faults().Tracking; len(script) > 0 {
		for _, scan := range script {
			// A code is a standard event, the kind of the event, and R for a
			// return: "ZU/DLVRD/R".
			parts := append(strings.Split(scan.Code, "/"), "", "")
			isReturn := parts[len(parts)-3] == "R"
			kind := parts[1]
			if kind == "R" {
				kind = ""
			}
			city := scan.City
			if city == "" {
				city = in.Consignee.City
			}
			add(time.Duration(scan.After), parts[0], kind, scan.Text, city, in.Consignee.Country, isReturn)
		}
	} else {
		for _, event := range usualEvents {
			place := in.Shipper
			if event.destination {
				place = in.Consignee
			}
			add(event.after, event.code, event.kind, event.text, place.City, place.Country, false)
		}
	}

	shown := newElement(
		"name", "piece-shipment", "error-status", "0",
		"searched-piece-code", sale.Number, "piece-code", sale.Number,
		"piece-customer-reference", sale.Reference,
		"product-code", in.Product,
	)
	shown.Children = []element{events}
	return shown
}
