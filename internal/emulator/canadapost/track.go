package canadapost

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// usual is the life of a parcel, by the time since its sale.
var usual = []emulator.Scan{
	{After: emulator.Duration(0), Code: "3000", Text: "Electronic information submitted by shipper", City: ""},
	{After: emulator.Duration(2 * time.Hour), Code: "2300", Text: "Item accepted at the Post Office", City: "OTTAWA"},
	{After: emulator.Duration(20 * time.Hour), Code: "0100", Text: "Item processed", City: "OTTAWA"},
	{After: emulator.Duration(44 * time.Hour), Code: "0500", Text: "Item out for delivery", City: "*"},
	{After: emulator.Duration(48 * time.Hour), Code: "1408", Text: "Item successfully delivered", City: "*"},
}

type event struct {
	Code     string `xml:"event-identifier"`
	Date     string `xml:"event-date"`
	Time     string `xml:"event-time"`
	Zone     string `xml:"event-time-zone"`
	Text     string `xml:"event-description"`
	Signer   string `xml:"signatory-name"`
	Site     string `xml:"event-site"`
	Province string `xml:"event-province"`
	Outlet   string `xml:"event-retail-location-id"`
	Retail   string `xml:"event-retail-name"`
}

// detail is the answer about a parcel. Most of its elements are often empty.
type detail struct {
	XMLName     xml.Name `xml:"http://www.canadapost.ca/ws/track tracking-detail"`
	PIN         string   `xml:"pin"`
	Active      string   `xml:"active-exists"`
	Archive     string   `xml:"archive-exists"`
	Changed     string   `xml:"changed-expected-date"`
	Destination string   `xml:"destination-postal-id"`
	Expected    string   `xml:"expected-delivery-date"`
	Reason      string   `xml:"changed-expected-delivery-reason"`
	MailedBy    string   `xml:"mailed-by-customer-number"`
	Behalf      string   `xml:"mailed-on-behalf-of-customer-number"`
	Original    string   `xml:"original-pin"`
	Service     string   `xml:"service-name"`
	Service2    string   `xml:"service-name-2"`
	Reference   string   `xml:"customer-ref-1"`
	Reference2  string   `xml:"customer-ref-2"`
	Return      string   `xml:"return-pin"`
	Signature   string   `xml:"signature-image-exists"`
	Suppressed  string   `xml:"suppress-signature"`
	Options     struct{} `xml:"delivery-options"`
	Events      struct {
		Events []event `xml:"occurrence"`
	} `xml:"significant-events"`
}

// track answers GET /vis/track/pin/{pin}/detail, newest first.
func (p *post) track(w http.ResponseWriter, r *http.Request) {
	sale, _, ok := p.Ledger.Sold(r.PathValue("pin"))
	if !ok {
		refuse(w, http.StatusNotFound, "004", "No Pin History")
		return
	}

	stored := keptOf(sale)
	scans := p.Faults().Tracking
	if len(scans) == 0 {
		scans = usual
	}
	answer := detail{
		PIN:         sale.Number,
		Active:      "1",
		Destination: stored.Zip,
		Expected:    stored.Arrival,
		MailedBy:    Customer,
		Behalf:      Customer,
		Service:     stored.Service,
		Reference:   sale.Second,
		Signature:   "false",
		Suppressed:  "false",
	}

	// Times are local, with a word for the zone.
	eastern := time.FixedZone("EST", -5*60*60)
	for _, scan := range scans {
		at := sale.At.Add(time.Duration(scan.After)).In(eastern)
		if at.After(time.Now()) {
			continue
		}
		shown := event{
			Code: fmt.Sprintf("%04s", scan.Code),
			Date: at.Format(time.DateOnly),
			Time: at.Format(time.TimeOnly),
			Zone: "EST",
			Text: scan.Text,
			Site: scan.City,
		}
		switch scan.City {
		case "*":
			shown.Site = stored.City
			shown.Province = stored.Province
		case "OTTAWA":
			shown.Province = "ON"
		}
		answer.Events.Events = append([]event{shown}, answer.Events.Events...)
	}
	reply(w, http.StatusOK, trackType, answer)
}
