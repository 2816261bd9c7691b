package fedex

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// The companies that collect parcels.
var companies = []string{"FDXE", "FDXG"}

// expressLocation is where the emulator's drivers of FedEx Express start from.
const expressLocation = "COSA"

// accessTime is how long a driver needs at least.
const accessTime = time.Hour

// keptPickup is what a cancellation must repeat.
type keptPickup struct {
	Company  string `json:"company"`
	Date     string `json:"date"`
	Location string `json:"location,omitempty"`
}

// bookPickup sends a driver. Two equal requests send two.
func (f *fedex) bookPickup(w http.ResponseWriter, r *http.Request) {
	var request pickupOrder
	if !read(w, r, &request) {
		return
	}
	if bad := request.check(time.Now()); bad != nil {
		refuse(w, r, http.StatusBadRequest, bad.code, bad.message)
		return
	}
	if f.RefusesDay() {
		refuse(w, r, http.StatusBadRequest, "PICKUP.REQUEST.REFUSED", "The pickup cannot be scheduled as requested.")
		return
	}

	// Express counts its pickups, Ground has longer codes.
	booked := keptPickup{Company: request.CarrierCode, Date: request.Origin.ReadyAt[:len(time.DateOnly)]}
	code := strconv.Itoa(f.Ledger.Next())
	if request.CarrierCode == "FDXE" {
		booked.Location = expressLocation
	} else {
		code = fmt.Sprintf("CPU%s", code)
	}
	memory, err := json.Marshal(booked)
	if err != nil {
		f.Fail(w, http.StatusInternalServerError)
		return
	}

	reference := r.Header.Get("X-Customer-Transaction-Id")
	if reference == "" {
		reference = request.Remarks
	}
	_, err = f.Ledger.Append(emulator.Entry{
		Kind:      emulator.PickupBooked,
		Number:    code,
		ID:        booked.Location,
		Reference: reference,
		Second:    request.Remarks,
		Account:   request.AccountNumber.Value,
		Service:   request.CarrierCode,
		Kept:      memory,
	})
	if err != nil {
		f.Fail(w, http.StatusInternalServerError)
		return
	}

	output := object{"pickupConfirmationCode": code, "message": "Courier on the way"}
	if booked.Location != "" {
		output["location"] = booked.Location
	}
	f.answerDay(w, r, http.StatusOK, output)
}

// A pickupOrder is a request for a driver.
type pickupOrder struct {
	AccountNumber value `json:"associatedAccountNumber"`
	Origin        struct {
		Location        party  `json:"pickupLocation"`
		PackageLocation string `json:"packageLocation"`
		ReadyAt         string `json:"readyDateTimestamp"`
		CloseAt         string `json:"customerCloseTime"`
	} `json:"originDetail"`
	CarrierCode          string
	PackageCount         int
	TotalWeight          *weight
	Remarks              string
	CountryRelationships *string
}

// check returns why FedEx refuses to send a driver; nil if it sends one. The codes
// are those of FedEx's list of errors of the Pickup Request API, except for the
// phone number and the remarks, about which the list has none.
func (p *pickupOrder) check(now time.Time) *problem {
	phone := p.Origin.Location.Contact.PhoneNumber
	address := &p.Origin.Location.Address
	relationships := []string{"DOMESTIC", "INTERNATIONAL"}

	switch {
	case !knownAccount(p.AccountNumber.Value):
		return &problem{"ACCOUNT.NUMBER.MISMATCH", "The account number is not valid for the credentials."}
	case !slices.Contains(companies, p.CarrierCode):
		return &problem{"PICKUP.CARRIERCODE.INVALID", "Pickup CarrierCode is missing or invalid."}
	case p.CarrierCode == "FDXG" && p.Origin.PackageLocation == "":
		return &problem{"PICKUPCREATE.PACKAGELOCATION.INVALID", "Location is missing or invalid."}
	case address.PostalCode == "":
		return &problem{"PICKUP.POSTALCODE.MISSING", "PostalCode is missing."}
	case len(phone) < 8 || len(phone) > 13:
		return &problem{"PICKUP.PHONENUMBER.INVALID", "Phone number is invalid or missing."}
	case len([]rune(p.Remarks)) > 60:
		return &problem{"PICKUP.REMARKS.TOOLONG", "Remarks have 60 characters at most."}
	case p.CountryRelationships != nil && !slices.Contains(relationships, *p.CountryRelationships):
		return &problem{"PICKUP.COUNTRYRELATIONSHIPS.INVALID", "Country relationships is invalid."}
	case p.PackageCount < 1 || p.PackageCount > 9999:
		return &problem{"PACKAGE.COUNT.INVALID", "Invalid or blank package count."}
	case p.TotalWeight != nil && p.TotalWeight.Units != "LB":
		return &problem{"PICKUP.WEIGHT.UNITS.INVALID", "Invalid or missing weight units."}
	case p.TotalWeight != nil && p.TotalWeight.Value <= 0:
		return &problem{"PICKUP.WEIGHT.VALUE.INVALID", "Invalid or missing weight value."}
	}
	if bad := p.Origin.Location.check(); bad != nil {
		return bad
	}
	return p.checkWindow(now)
}

// checkWindow returns why no driver comes in the window. Its times are those of the
// place, whatever zone they name.
func (p *pickupOrder) checkWindow(now time.Time) *problem {
	ready, err := time.Parse("2006-01-02T15:04:05", trimZone(p.Origin.ReadyAt))
	if err != nil {
		return &problem{"INCORRECT.READYTIMESTAMP.FORMAT", "Please provide a valid date time format for ex 2019-02-07T10:00:00Z"}
	}
	clock, err := time.Parse("15:04:05", p.Origin.CloseAt)
	if err != nil {
		return &problem{"INCORRECT.COMPANYCLOSETIME.FORMAT", "Please use the required company close time format: HH:MM:SS."}
	}

	// The emulator does not know the zone of the place: a day is over when it is
	// over everywhere.
	today := now.UTC().Add(-12 * time.Hour).Format(time.DateOnly)
	closes := ready.Truncate(24 * time.Hour).Add(time.Duration(clock.Hour())*time.Hour + time.Duration(clock.Minute())*time.Minute)
	switch {
	case ready.Format(time.DateOnly) < today:
		return &problem{"PICKUP.REQUESTED.PREVIOUS.DAY", "Cannot schedule a pickup requested for a previous day."}
	case closes.Sub(ready) < accessTime:
		return &problem{"FDSDMINIMUM.HOUR.REQUIRED", "Make sure you allow a minimum of 1 hours between ready time and latest available time."}
	}
	return nil
}

func trimZone(at string) string {
	if n := len(at); n > 0 && at[n-1] == 'Z' {
		return at[:n-1]
	}
	return at
}

// cancelPickup calls a driver back. The code alone does not name a pickup.
func (f *fedex) cancelPickup(w http.ResponseWriter, r *http.Request) {
	var request struct {
		AccountNumber value  `json:"associatedAccountNumber"`
		Code          string `json:"pickupConfirmationCode"`
		CarrierCode   string
		ScheduledDate string
		Location      string
	}
	if !read(w, r, &request) {
		return
	}
	if request.CarrierCode == "" {
		request.CarrierCode = "FDXE"
	}

	var bad *problem
	switch {
	case !knownAccount(request.AccountNumber.Value):
		bad = &problem{"ACCOUNT.NUMBER.MISMATCH", "The account number is not valid for the credentials."}
	case request.Code == "" || request.ScheduledDate == "":
		bad = &problem{"PICKUP.CONFIRMATIONCODE.MISSING", "Pickup confirmation code or scheduled date is missing."}
	case !isDay(request.ScheduledDate):
		bad = &problem{"INCORRECT.SCHEDULEDDATE.FORMAT", "Please use the required scheduled date format: YYYY-MM-DD."}
	case request.CarrierCode == "FDXE" && request.Location == "":
		bad = &problem{"PICKUP.LOCATION.MISSING", "Location is required to cancel a FedEx Express pickup."}
	}
	if bad != nil {
		refuse(w, r, http.StatusBadRequest, bad.code, bad.message)
		return
	}

	meant := keptPickup{Company: request.CarrierCode, Date: request.ScheduledDate, Location: request.Location}
	booked, known := f.pickup(request.Code, meant)
	switch {
	case !known:
		refuse(w, r, http.StatusNotFound, "NOT.FOUND.ERROR", "The resource you requested is no longer available. Please modify your request and try again.")
		return
	case meant.Date < time.Now().UTC().Add(-12*time.Hour).Format(time.DateOnly):
		refuse(w, r, http.StatusBadRequest, "PICKUP.NUMBER.EXPIRED", "PREVIOUS DAY PICKUP, CANNOT CANCEL OR UPDATE")
		return
	case f.RefusesDay():
		refuse(w, r, http.StatusBadRequest, "PICKUP.CANCEL.REFUSED", "The pickup cannot be cancelled.")
		return
	}

	cancelled := emulator.Entry{
		Kind:      emulator.PickupCancelled,
		Number:    booked.Number,
		ID:        booked.ID,
		Reference: booked.Reference,
		Account:   booked.Account,
	}
	_, again, err := f.Ledger.AppendOnce(cancelled, func(e emulator.Entry) bool {
		return e.Kind == emulator.PickupCancelled && e.Number == booked.Number
	})
	switch {
	case err != nil:
		f.Fail(w, http.StatusInternalServerError)
	case again:
		refuse(w, r, http.StatusBadRequest, "DUPLICATE.REQUEST.CANCEL", "Duplicate cancel request")
	default:
		f.answerDay(w, r, http.StatusOK, object{
			"pickupConfirmationCode":    request.Location + request.Code,
			"cancelConfirmationMessage": "Requested pickup has been cancelled Successfully.",
		})
	}
}

// isDay reports whether a text is a calendar day.
func isDay(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}

// pickup returns the pickup of a code, if everything else about it is right.
func (f *fedex) pickup(code string, meant keptPickup) (emulator.Entry, bool) {
	for _, entry := range f.Ledger.Entries() {
		if entry.Kind != emulator.PickupBooked || entry.Number != code {
			continue
		}
		var booked keptPickup
		if json.Unmarshal(entry.Kept, &booked) == nil && booked == meant {
			return entry, true
		}
	}
	return emulator.Entry{}, false
}

// answerDay sends the answer to what is in the ledger, or the fault chosen for it.
func (f *fedex) answerDay(w http.ResponseWriter, r *http.Request, status int, output object) {
	body := envelope(r)
	body["output"] = output
	f.AnswerDay(w, r, emulator.Answer{Status: status, ContentType: "application/json", Body: marshal(body)})
}
