package dhlparcelde

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/emulator"
)

// pickup is the part of a booking that the emulator reads.
type pickup struct {
	Customer struct {
		BillingNumber string `json:"billingNumber"`
	} `json:"customerDetails"`
	Location struct {
		Type    string        `json:"type"`
		Address pickupAddress `json:"pickupAddress"`
	} `json:"pickupLocation"`
	Details struct {
		Date struct {
			Type  string `json:"type"`
			Value string `json:"value"`
		} `json:"pickupDate"`
		Comment string `json:"comment"`
	} `json:"pickupDetails"`
	Shipments struct {
		List []pickupShipment `json:"shipments"`
	} `json:"shipmentDetails"`
}

type pickupAddress struct {
	Name1      string `json:"name1"`
	Street     string `json:"addressStreet"`
	House      string `json:"addressHouse"`
	PostalCode string `json:"postalCode"`
	City       string `json:"city"`
	Country    string `json:"country,omitempty"`
}

type pickupShipment struct {
	Type      string `json:"transportationType"`
	Number    string `json:"shipmentNo,omitempty"`
	Reference string `json:"customerReference,omitempty"`
}

// pickupError is an error in the format of the pickup API, which sends a list.
type pickupError struct {
	Code     int    `json:"errorCode"`
	Title    string `json:"title"`
	Instance string `json:"instance,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

const pickupType = "application/json; charset=utf-8"

func replyPickup(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", pickupType)
	w.WriteHeader(status)
	_, _ = w.Write(encode(body))
}

// check returns DHL's errors about a booking.
func (in pickup) check(now time.Time) (invalid []pickupError) {
	wrong := func(code int, title, instance string) {
		invalid = append(invalid, pickupError{Code: code, Title: title, Instance: instance})
	}

	address := in.Location.Address
	if in.Customer.BillingNumber != BillingPickup {
		wrong(456, "Unknown billingnumber", "customerDetails.billingNumber")
	}
	if in.Location.Type != "Address" || address.Name1 == "" || address.Street == "" || address.House == "" || address.PostalCode == "" || address.City == "" {
		wrong(401, "The pickup address is not complete", "pickupLocation.pickupAddress")
	}
	if in.Details.Date.Type != "Date" || in.Details.Date.Value < now.In(germany).Format(time.DateOnly) {
		wrong(402, "The pickup date is not valid", "pickupDetails.pickupDate")
	}
	if utf8.RuneCountInString(in.Details.Comment) > 100 {
		wrong(403, "The comment is too long", "pickupDetails.comment")
	}
	if len(in.Shipments.List) == 0 {
		wrong(404, "There are no shipments", "shipmentDetails.shipments")
	}
	for _, shipment := range in.Shipments.List {
		if shipment.Type != "PAKET" || len(shipment.Reference) > 20 {
			wrong(405, "The shipment is not valid", "shipmentDetails.shipments")
		}
	}
	return invalid
}

// bookPickup answers POST /orders of the pickup API. It books another driver for
// each request.
func (s standIn) bookPickup(w http.ResponseWriter, r *http.Request) {
	var in pickup
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil || json.Unmarshal(body, &in) != nil {
		replyPickup(w, http.StatusUnprocessableEntity, []pickupError{{Code: 400, Title: "The request cannot be read"}})
		return
	}
	invalid := in.check(time.Now())
	if invalid == nil && s.RefusesDay() {
		invalid = []pickupError{{Code: 499, Title: "The emulator refuses this pickup"}}
	}
	if invalid != nil {
		replyPickup(w, http.StatusUnprocessableEntity, invalid)
		return
	}

	booked, err := s.Ledger.Append(emulator.Entry{
		Kind:      emulator.PickupBooked,
		Number:    fmt.Sprintf("%032x", 0xd41000000+s.Ledger.Next()),
		Reference: in.Shipments.List[0].Reference,
		Account:   in.Customer.BillingNumber,
		Kept:      encode(in),
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}

	var confirmed []any
	for _, shipment := range in.Shipments.List {
		confirmed = append(confirmed, map[string]any{"transportationType": shipment.Type, "orderDate": localTime(booked.At)})
	}
	s.AnswerDay(w, r, emulator.Answer{
		Status:      http.StatusOK,
		ContentType: pickupType,
		Body: encode(map[string]any{"confirmation": map[string]any{
			"type": "ORDERPICKUP",
			"value": map[string]any{
				"orderID":            booked.Number,
				"pickupDate":         in.Details.Date.Value,
				"freeOfCharge":       true,
				"pickupType":         "BDA",
				"confirmedShipments": confirmed,
			},
		}}),
	})
}

func localTime(t time.Time) string { return t.In(germany).Format("2006-01-02T15:04:05") }

// findPickups answers GET /orders of the pickup API, by number or by day and
// postal code. Cancelled pickups are shown too.
func (s standIn) findPickups(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	open := s.Ledger.Pickups()
	found := []any{}
	for _, entry := range s.Ledger.Entries() {
		if entry.Kind != emulator.PickupBooked {
			continue
		}
		var in pickup
		if err := json.Unmarshal(entry.Kept, &in); err != nil {
			panic(err) // this package wrote the ledger entry
		}
		isAsked := query.Get("orderID") == entry.Number ||
			query.Get("orderID") == "" && query.Get("pickupDate") == in.Details.Date.Value && query.Get("pickupPostalCode") == in.Location.Address.PostalCode
		if !isAsked {
			continue
		}

		state := "STORNIERT"
		if slices.ContainsFunc(open, func(e emulator.Entry) bool { return e.Number == entry.Number }) {
			state = "ANGENOMMEN"
		}
		var shipments []any
		for _, shipment := range in.Shipments.List {
			shipments = append(shipments, map[string]any{"shipment": shipment, "orderDate": localTime(entry.At)})
		}
		found = append(found, map[string]any{
			"orderDetails":    map[string]any{"orderID": entry.Number, "orderState": state},
			"customerDetails": map[string]any{"billingNumber": in.Customer.BillingNumber},
			"pickupLocation":  map[string]any{"id": "AS3303333333", "pickupAddress": in.Location.Address},
			"pickupDetails":   map[string]any{"pickupDate": map[string]any{"type": "Date", "value": in.Details.Date.Value}},
			"shipmentDetails": map[string]any{"shipments": shipments},
		})
	}
	replyPickup(w, http.StatusOK, found)
}

// cancelPickup answers DELETE /orders of the pickup API, with two lists.
func (s standIn) cancelPickup(w http.ResponseWriter, r *http.Request) {
	number := r.URL.Query().Get("orderID")
	entries := s.Ledger.Entries()
	i := slices.IndexFunc(entries, func(e emulator.Entry) bool { return e.Kind == emulator.PickupBooked && e.Number == number })
	failed := func(state, message string) {
		replyPickup(w, http.StatusOK, map[string]any{
			"confirmedCancellations": []any{},
			"failedCancellations":    []any{map[string]any{"orderID": number, "orderState": state, "message": message}},
		})
	}
	if i < 0 {
		failed("", "The order was not found.")
		return
	}
	if s.RefusesDay() {
		failed("IN_DURCHFUEHRUNG", "The order is being carried out.")
		return
	}

	cancelled := emulator.Entry{
		Kind:      emulator.PickupCancelled,
		Number:    number,
		Reference: entries[i].Reference,
		Account:   entries[i].Account,
	}
	_, existed, err := s.Ledger.AppendOnce(cancelled, func(e emulator.Entry) bool {
		return e.Kind == emulator.PickupCancelled && e.Number == number
	})
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case existed:
		failed("STORNIERT", "The order was already cancelled.")
	default:
		s.AnswerDay(w, r, emulator.Answer{
			Status:      http.StatusOK,
			ContentType: pickupType,
			Body: encode(map[string]any{
				"confirmedCancellations": []any{map[string]any{"orderID": number, "orderState": "STORNIERT", "message": "ok"}},
				"failedCancellations":    []any{},
			}),
		})
	}
}
