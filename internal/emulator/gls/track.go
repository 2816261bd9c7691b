package gls

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// step is one event in the usual history of a parcel.
type step struct {
	after       time.Duration
	status      string // of the parcel from then on
	code, text  string
	destination bool // happens at the destination, not at the origin
}

var usualEvents = []step{
	{0, "PREADVICE", "INTIAL.PREADVICE", "The parcel data was entered into the GLS IT system", false},
	{3 * time.Hour, "INTRANSIT", "INTIAL.NORMAL", "The parcel was handed over to GLS", false},
	{20 * time.Hour, "INTRANSIT", "INTRAN.NORMAL", "The parcel has reached the parcel center", true},
	{23 * time.Hour, "INDELIVERY", "INDELI.NORMAL", "The parcel is out for delivery", true},
	{27 * time.Hour, "DELIVERED", "DELIVD.NORMAL", "The parcel has been delivered", true},
}

// scan is something that happened to a parcel.
type scan struct {
	At     time.Time
	Status string
	Code   string
	Text   string
	City   string
}

// scans returns what has happened to a sale by now, oldest first.
func (s standIn) scans(sale emulator.Entry, k kept) []scan {
	var list []scan
	add := func(after time.Duration, happened scan) {
		happened.At = sale.At.Add(after)
		if !happened.At.After(time.Now()) {
			list = append(list, happened)
		}
	}

	to := k.Shipment.Consignee.Address.City
	if script := s.Faults().Tracking; len(script) > 0 {
		for _, one := range script {
			// A code is the status of the parcel and the code of the event:
			// "DELIVERED/DELIVD.NORMAL".
			status, code, _ := strings.Cut(one.Code, "/")
			city := one.City
			if city == "" {
				city = to
			}
			add(time.Duration(one.After), scan{Status: status, Code: code, Text: one.Text, City: city})
		}
		return list
	}
	for _, event := range usualEvents {
		city := k.Shipment.Shipper.Printed.City
		if event.destination {
			city = to
		}
		add(event.after, scan{Status: event.status, Code: event.code, Text: event.text, City: city})
	}
	return list
}

// wasScanned reports whether a parcel is on its way: it cannot be cancelled.
func (s standIn) wasScanned(sale emulator.Entry) bool {
	for _, happened := range s.scans(sale, keptOf(sale)) {
		if happened.Status != "PREADVICE" {
			return true
		}
	}
	return false
}

// timeFormat has an offset without a colon.
const timeFormat = "2006-01-02T15:04:05-0700"

// track answers GET /tracking/simple/trackids/{numbers}, up to ten of them.
func (s standIn) track(w http.ResponseWriter, r *http.Request) {
	numbers := strings.Split(r.PathValue("numbers"), ",")
	if len(numbers) > 10 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(encode(map[string]any{"title": "Bad Request", "status": 400, "detail": "E_400_02: too many parcels"}))
		return
	}

	zone := time.FixedZone("CET", 3600)
	parcels := []any{}
	for _, number := range numbers {
		sale, voided, ok := s.Ledger.Sold(number)
		if !ok {
			parcels = append(parcels, map[string]any{"requested": number, "errorCode": "E_404_01", "errorMessage": "Resource Not Found"})
			continue
		}

		k := keptOf(sale)
		happened := s.scans(sale, k)
		if i := max(slices.Index(k.IDs, number), slices.Index(k.Numbers, number)); voided || s.Ledger.VoidedPieces()[k.IDs[i]] {
			happened = []scan{{At: sale.At, Status: "CANCELED", Code: "CANCEL.NORMAL", Text: "The parcel data have been deleted from the GLS IT system."}}
		}
		events := []any{}
		shown := map[string]any{"requested": number, "unitno": sale.Number}
		for i := len(happened) - 1; i >= 0; i-- { // the latest first
			one := happened[i]
			at := one.At.In(zone).Format(timeFormat)
			events = append(events, map[string]any{
				"code": one.Code, "description": one.Text, "city": one.City, "country": "DE", "eventDateTime": at,
			})
			if i == len(happened)-1 {
				shown["status"] = one.Status
				shown["statusDateTime"] = at
			}
		}
		shown["events"] = events
		parcels = append(parcels, shown)
	}
	reply(w, "application/json", map[string]any{"parcels": parcels})
}

// proof answers POST /rs/tracking/parcelpod: with an image of a parcel that was
// delivered.
func (s standIn) proof(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Number string `json:"ParcelNumber"`
	}
	if !read(w, r, "Proof", &in) {
		return
	}
	sale, voided, ok := s.Ledger.Sold(in.Number)
	if !ok || voided {
		refuse(w, http.StatusNotFound, "NO_DATA_FOUND", "No data found for the given parcel")
		return
	}

	k := keptOf(sale)
	images := [][]byte{}
	for _, happened := range s.scans(sale, k) {
		if happened.Status == "DELIVERED" {
			p := emulator.Page{Wide: 298, High: 420}
			p.Text(16, 392, 14, "PROOF OF DELIVERY")
			p.Text(16, 370, 9, "%s   %s", in.Number, happened.At.Format(time.DateTime))
			p.Text(16, 355, 9, "received by %s", k.Shipment.Consignee.Address.Name1)
			images = append(images, emulator.PDF(p))
		}
	}
	reply(w, mediaType, map[string]any{"Poditem": map[string]any{"TrackID": sale.ID, "ImageData": images}})
}

// parcelShops answers POST /rs/parcelshop/address: two shops wherever it is.
func (s standIn) parcelShops(w http.ResponseWriter, r *http.Request) {
	var in struct {
		CountryCode string `json:"CountryCode"`
		ZIPCode     string `json:"ZIPCode"`
		City        string `json:"City"`
	}
	if !read(w, r, "ShopSearch", &in) {
		return
	}

	open := map[string]any{"OpeningHours": []any{map[string]any{"From": "1970-01-01T09:00:00Z", "To": "1970-01-01T18:30:00Z"}}}
	shop := func(id, name, street string) any {
		return map[string]any{
			"ParcelShopID": id,
			"Address": address{
				Name1:       name,
				Street:      street,
				ZIPCode:     in.ZIPCode,
				City:        in.City,
				CountryCode: in.CountryCode,
			},
			"WorkingDay":      []any{map[string]any{"DayOfWeek": "MON", "OpeningHours": open}, map[string]any{"DayOfWeek": "SAT", "OpeningHours": open}},
			"AirlineDistance": "0.4",
		}
	}
	reply(w, mediaType+"; charset=utf-8", map[string]any{"ParcelShop": []any{
		shop("2760004711", "Kiosk am Markt", "Markt 3"),
		shop("2760004712", "Blumen Becker", "Hauptstr. 12"),
	}})
}
