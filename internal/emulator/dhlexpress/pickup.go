package dhlexpress

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// pickupRequest is the part of a booking that the emulator reads.
type pickupRequest struct {
	PlannedPickupDateAndTime string    `json:"plannedPickupDateAndTime"`
	CloseTime                string    `json:"closeTime"`
	Accounts                 []account `json:"accounts"`
	Remark                   string    `json:"remark"`
	SpecialInstructions      []struct {
		Value string `json:"value"`
	} `json:"specialInstructions"`
	CustomerDetails struct {
		ShipperDetails party `json:"shipperDetails"`
	} `json:"customerDetails"`
}

var closeTime = regexp.MustCompile(`^([0-1][0-9]|2[0-3]):[0-5][0-9]$`)

// lastCourier is the hour after which no courier comes on the same day.
const lastCourier = 17

// bookPickup answers POST /pickups. Like DHL, it books another courier for each
// request.
func (s standIn) bookPickup(w http.ResponseWriter, r *http.Request) {
	var in pickupRequest
	doc, invalid := read(r, &in)
	if invalid == nil {
		invalid = append(checkMembers("pickups", doc), invalidSizes(doc, "#")...)
	}
	if invalid == nil {
		invalid = in.check(time.Now())
	}
	if invalid != nil {
		refuse(w, r, http.StatusBadRequest, invalid...)
		return
	}
	if s.RefusesDay() {
		s.Fail(w, http.StatusBadRequest)
		return
	}

	planned, _ := time.Parse(plannedFormat, in.PlannedPickupDateAndTime) // checked above
	day := pickupDay(planned)
	city := in.CustomerDetails.ShipperDetails.PostalAddress.CityName
	booked, err := s.Ledger.Append(emulator.Entry{
		Kind:      emulator.PickupBooked,
		Number:    areaOf("", city).Code + day.Format("060102") + padded(s.Ledger.Next(), 6),
		Reference: in.Remark,
		Account:   Account,
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	s.AnswerDay(w, r, emulator.Answer{
		Status:      http.StatusCreated,
		ContentType: "application/json",
		Body: encode(map[string]any{
			"dispatchConfirmationNumbers": []string{booked.Number},
			"readyByTime":                 planned.Format("15:04"),
			"nextPickupDate":              day.Format(time.DateOnly),
		}),
	})
}

// check returns DHL's errors about a booking that is complete but invalid.
func (in pickupRequest) check(now time.Time) (invalid []string) {
	if text := invalidDate(in.PlannedPickupDateAndTime, now); text != "" {
		return []string{strings.Replace(text, "shipment date", "pickup date", 1)}
	}
	if !slices.Contains(in.Accounts, account{"shipper", Account}) {
		invalid = append(invalid, "8003: Account not allowed for this service. Please contact your DHL Express representative.")
	}

	ready := in.PlannedPickupDateAndTime[len("2006-01-02T"):len("2006-01-02T15:04")]
	switch {
	case in.CloseTime != "" && !closeTime.MatchString(in.CloseTime):
		invalid = append(invalid, "#/closeTime: string does not match pattern")
	case in.CloseTime != "" && in.CloseTime <= ready:
		invalid = append(invalid, "#/closeTime: must be later than the time of the pickup")
	}
	if len(in.SpecialInstructions) > 4 {
		invalid = append(invalid, fmt.Sprintf("#/specialInstructions: expected maximum item count: 4, found: %d", len(in.SpecialInstructions)))
	}
	for i, instruction := range in.SpecialInstructions {
		if length := len([]rune(instruction.Value)); length > 80 {
			invalid = append(invalid, fmt.Sprintf("#/specialInstructions/%d/value: expected maxLength: 80, actual: %d", i, length))
		}
	}
	return invalid
}

// pickupDay returns the day on which the courier comes: the next working day after
// the last courier, and for a weekend.
func pickupDay(planned time.Time) time.Time {
	day := planned
	if planned.Hour() >= lastCourier {
		day = day.AddDate(0, 0, 1)
	}
	for day.Weekday() == time.Saturday || day.Weekday() == time.Sunday {
		day = day.AddDate(0, 0, 1)
	}
	return day
}

// cancelPickup answers DELETE /pickups/{number}. It succeeds once.
func (s standIn) cancelPickup(w http.ResponseWriter, r *http.Request) {
	var absent []string
	for _, name := range []string{"requestorName", "reason"} {
		if r.URL.Query().Get(name) == "" {
			absent = append(absent, name)
		}
	}
	if absent != nil {
		refuse(w, r, http.StatusBadRequest, "Missing mandatory parameters: "+strings.Join(absent, ", "))
		return
	}

	number := r.PathValue("number")
	i := slices.IndexFunc(s.Ledger.Entries(), func(e emulator.Entry) bool {
		return e.Kind == emulator.PickupBooked && e.Number == number
	})
	if i < 0 {
		refuse(w, r, http.StatusNotFound, "Cancellation of booking was not successful. Requested Pickup was not found")
		return
	}
	if s.RefusesDay() {
		s.Fail(w, http.StatusBadRequest)
		return
	}

	cancelled := emulator.Entry{
		Kind:      emulator.PickupCancelled,
		Number:    number,
		Reference: s.Ledger.Entries()[i].Reference,
		Account:   Account,
	}
	_, existed, err := s.Ledger.AppendOnce(cancelled, func(e emulator.Entry) bool {
		return e.Kind == emulator.PickupCancelled && e.Number == number
	})
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case existed:
		refuse(w, r, http.StatusBadRequest, "Cancellation of booking was not successful. Pickup already cancelled or completed")
	default:
		s.AnswerDay(w, r, emulator.Answer{Status: http.StatusOK, ContentType: "application/json"})
	}
}
