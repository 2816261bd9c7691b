package ups

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/emulator"
)

// pickup asks for a driver.
type pickup struct {
	Request             *head
	RatePickupIndicator string
	Shipper             struct {
		Account *struct{ AccountNumber, AccountCountryCode string }
	}
	PickupDateInfo            struct{ CloseTime, ReadyTime, PickupDate string }
	PickupAddress             pickupPlace
	AlternateAddressIndicator string
	PickupPiece               list[pickupPiece]
	PaymentMethod             string
	SpecialInstruction        string
	ReferenceNumber           string
}

type pickupPlace struct {
	CompanyName, ContactName        string
	AddressLine                     list[string]
	City, StateProvince, PostalCode string
	CountryCode                     string
	ResidentialIndicator            string
	Phone                           struct{ Number string }
}

type pickupPiece struct {
	ServiceCode, Quantity, DestinationCountryCode, ContainerCode string
}

// keptPickup is what the emulator keeps of a pickup.
type keptPickup struct {
	Place   string `json:"place"` // with its day: UPS keeps one pickup for both
	Date    string `json:"date"`
	Contact string `json:"contact"`
}

func keptPickupOf(entry emulator.Entry) (kept keptPickup) {
	_ = json.Unmarshal(entry.Kept, &kept) // this package wrote it
	return kept
}

// badWindow is the refusal of a date or a time.
var badWindow = refusal{"9560131", "The pickup date or time is not valid for the pickup address."}

// bookPickup books a pickup. A second one for the same place and day returns
// the number of the first.
func (s *server) bookPickup(w http.ResponseWriter, r *http.Request) {
	var in struct{ PickupCreationRequest *pickup }
	if !decode(w, r, &in) {
		return
	}
	asked := in.PickupCreationRequest
	if no, ok := asked.check(time.Now()); !ok {
		refuse(w, no)
		return
	}
	if s.RefusesDay() {
		refuse(w, badWindow)
		return
	}

	booking, _, err := s.Ledger.AppendOnce(emulator.Entry{
		Kind:      emulator.PickupBooked,
		Number:    "29" + pad(strconv.FormatInt(int64(s.Ledger.Next()), 36), 9),
		Reference: asked.ReferenceNumber,
		Account:   asked.Shipper.Account.AccountNumber,
		Amount:    pickupPrice,
		Currency:  "USD",
		Kept: encode(keptPickup{
			Place:   asked.place(),
			Date:    asked.PickupDateInfo.PickupDate,
			Contact: asked.PickupAddress.ContactName,
		}),
	}, s.isBookedFor(asked.place()))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	s.AnswerDay(w, r, emulator.Answer{
		Status:      http.StatusOK,
		ContentType: "application/json",
		Body:        booked(asked, booking.Number),
	})
}

// pickupPrice is what every pickup costs.
const pickupPrice = "9.65"

// booked returns the answer to a booking.
func booked(asked *pickup, number string) []byte {
	out := map[string]any{
		"Response":   responseOf(asked.Request.TransactionReference.CustomerContext),
		"PRN":        number,
		"RateStatus": code{"04", "Rate not requested"},
	}
	if asked.RatePickupIndicator == "Y" {
		out["RateStatus"] = code{"01", "Rate available"}
		out["RateResult"] = map[string]any{
			"RateType":              "FD",
			"CurrencyCode":          "USD",
			"ChargeDetail":          []any{map[string]string{"ChargeCode": "B", "ChargeDescription": "BASE CHARGE", "ChargeAmount": pickupPrice}},
			"GrandTotalOfAllCharge": pickupPrice,
		}
	}
	return encode(map[string]any{"PickupCreationResponse": out})
}

// place returns what makes two pickups the same one.
func (p *pickup) place() string {
	where := p.PickupAddress
	parts := append(slices.Clone(where.AddressLine), where.PostalCode, where.City, where.CountryCode, p.PickupDateInfo.PickupDate)
	return strings.ToUpper(strings.Join(parts, "|"))
}

// isBookedFor returns a function that reports whether a line is a pickup at the
// place that was not cancelled.
func (s *server) isBookedFor(place string) func(emulator.Entry) bool {
	cancelled := s.cancelledPickups()
	return func(entry emulator.Entry) bool {
		return entry.Kind == emulator.PickupBooked &&
			keptPickupOf(entry).Place == place &&
			!slices.Contains(cancelled, entry.Number)
	}
}

// check finds what UPS would refuse.
func (p *pickup) check(now time.Time) (refusal, bool) {
	if p == nil || p.Request == nil || p.RatePickupIndicator == "" || !slices.Contains([]string{"Y", "N"}, p.AlternateAddressIndicator) {
		return flaw("9510001", "Missing or invalid PickupCreationRequest")
	}
	where := p.PickupAddress
	account := p.Shipper.Account
	fits := func(text string, most int) bool { return text != "" && utf8.RuneCountInString(text) <= most }
	switch {
	case p.PaymentMethod != "01" || account == nil || account.AccountNumber != Account || len(account.AccountCountryCode) != 2:
		return flaw("9510003", "Missing or invalid payment method or account")
	case !fits(where.CompanyName, 27) || !fits(where.ContactName, 22):
		return flaw("9510004", "Missing or invalid company name or contact name")
	case len(where.AddressLine) != 1 || !fits(where.AddressLine[0], 73) || !fits(where.City, 50):
		return flaw("9510005", "Missing or invalid address line or city")
	case len(where.CountryCode) != 2 || len(where.PostalCode) > 8:
		return flaw("9510006", "Missing or invalid country code or postal code")
	case where.StateProvince == "" && slices.Contains([]string{"US", "CA", "VN"}, where.CountryCode):
		return flaw("9510007", "Missing state or province")
	case !fits(where.Phone.Number, 25) || where.ResidentialIndicator == "":
		return flaw("9510008", "Missing or invalid phone number or residential indicator")
	case utf8.RuneCountInString(p.SpecialInstruction) > 57 || utf8.RuneCountInString(p.ReferenceNumber) > 35:
		return flaw("9510009", "Special instruction or reference number is too long")
	}
	if no, ok := checkPieces(p.PickupPiece); !ok {
		return no, false
	}
	return p.checkWindow(now)
}

func checkPieces(pieces []pickupPiece) (refusal, bool) {
	total := 0
	for _, piece := range pieces {
		n, err := strconv.Atoi(piece.Quantity)
		if err != nil || n < 1 || n > 999 || len(piece.ServiceCode) != 3 || len(piece.DestinationCountryCode) != 2 || piece.ContainerCode != "01" {
			return flaw("9510010", "Missing or invalid pickup piece")
		}
		total += n
	}
	if total < 1 || total > 9999 {
		return flaw("9510011", "The total number of pieces is not valid")
	}
	return fine()
}

// checkWindow allows any day that is not over somewhere on Earth: the emulator
// does not know the zones of places.
func (p *pickup) checkWindow(now time.Time) (refusal, bool) {
	given := p.PickupDateInfo
	day, err := time.Parse("20060102", given.PickupDate)
	if err != nil || day.Before(now.UTC().Add(-36*time.Hour)) {
		return badWindow, false
	}
	ready, readyErr := time.Parse("1504", given.ReadyTime)
	closing, closeErr := time.Parse("1504", given.CloseTime)
	if readyErr != nil || closeErr != nil || !closing.After(ready) {
		return badWindow, false
	}
	return fine()
}

// showPickups lists the pickups of an account. Like UPS it shows only those of
// today and tomorrow, which can be the day after tomorrow in UTC.
func (s *server) showPickups(w http.ResponseWriter, r *http.Request) {
	account := r.Header.Get("AccountNumber")
	if account != Account {
		refuse(w, refusal{"9510003", "Missing or invalid payment method or account"})
		return
	}
	// A pickup is listed at once: the delay of new labels is not one of pickups.
	faults := s.Faults()
	var hidden time.Duration
	if faults.LookupLag != nil {
		hidden = time.Duration(*faults.LookupLag)
	}

	now := time.Now()
	cancelled := s.cancelledPickups()
	rows := []any{}
	for _, entry := range s.Ledger.Entries() {
		kept := keptPickupOf(entry)
		day, err := time.Parse("20060102", kept.Date)
		switch {
		case entry.Kind != emulator.PickupBooked || entry.Account != account || err != nil:
			continue
		case day.After(now.Add(38*time.Hour)) || day.Before(now.Add(-36*time.Hour)):
			continue
		case now.Sub(entry.At) < hidden || rand.Float64() < faults.LookupFlap:
			continue
		}

		status := code{"012", "Your pickup request is being processed"}
		if slices.Contains(cancelled, entry.Number) {
			status = code{"007", "Cancelled"}
		}
		row := map[string]string{
			"PickupType":          "01",
			"ServiceDate":         kept.Date,
			"PRN":                 entry.Number,
			"OnCallStatusCode":    status.Code,
			"PickupStatusMessage": status.Description,
			"BillingCode":         "01",
			"ContactName":         kept.Contact,
		}
		if entry.Reference != "" {
			row["ReferenceNumber"] = entry.Reference
		}
		rows = append(rows, row)
	}
	answer(w, http.StatusOK, encode(map[string]any{"PickupPendingStatusResponse": map[string]any{
		"Response": responseOf(""), "PendingStatus": rows,
	}}))
}

// cancelPickup cancels a pickup by its number.
func (s *server) cancelPickup(w http.ResponseWriter, r *http.Request) {
	number := r.Header.Get("Prn")
	if r.PathValue("by") != "02" || number == "" {
		refuse(w, refusal{"9510012", "Missing or invalid PRN"})
		return
	}
	if !slices.ContainsFunc(s.Ledger.Entries(), func(entry emulator.Entry) bool {
		return entry.Kind == emulator.PickupBooked && entry.Number == number
	}) {
		refuse(w, refusal{"9510013", "There is no pickup request with this PRN."})
		return
	}
	if s.RefusesDay() {
		refuse(w, refusal{"9510014", "The pickup request can no longer be cancelled."})
		return
	}

	_, existed, err := s.Ledger.AppendOnce(emulator.Entry{Kind: emulator.PickupCancelled, Number: number}, func(entry emulator.Entry) bool {
		return entry.Kind == emulator.PickupCancelled && entry.Number == number
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if existed {
		refuse(w, refusal{"9510015", "The pickup request has already been cancelled."})
		return
	}
	s.AnswerDay(w, r, emulator.Answer{
		Status:      http.StatusOK,
		ContentType: "application/json",
		Body: encode(map[string]any{"PickupCancelResponse": map[string]any{
			"Response": responseOf(""), "PickupType": "01",
		}}),
	})
}

// cancelledPickups returns the numbers of the pickups that are cancelled.
func (s *server) cancelledPickups() []string {
	var numbers []string
	for _, entry := range s.Ledger.Entries() {
		if entry.Kind == emulator.PickupCancelled {
			numbers = append(numbers, entry.Number)
		}
	}
	return numbers
}
