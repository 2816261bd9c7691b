package usps

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

const (
	pickupAPI  = "/pickup/v3"
	pickupPath = pickupAPI + "/carrier-pickup"
)

// tagLife is how long the ETag of a pickup is valid.
const tagLife = time.Hour

// central is the zone whose clock decides about pickups.
var central = time.FixedZone("CST", -6*60*60)

var (
	packageTypes = []string{
		"FIRST-CLASS_PACKAGE_SERVICE", "PRIORITY_MAIL_EXPRESS", "PRIORITY_MAIL", "RETURNS", "USPS_GROUND_ADVANTAGE",
		"INTERNATIONAL", "OTHER",
	}
	packageLocations = []string{
		"FRONT_DOOR", "BACK_DOOR", "SIDE_DOOR", "KNOCK_ON_DOOR", "MAIL_ROOM", "OFFICE", "PORCH", "RECEPTION", "MAILBOX", "OTHER",
	}
)

// A tag is the ETag of a pickup.
type tag struct {
	text  string
	until time.Time
}

type pickupRequest struct {
	PickupDate    string `json:"pickupDate"`
	PickupAddress struct {
		FirstName string  `json:"firstName"`
		LastName  string  `json:"lastName"`
		Address   address `json:"address"`
		Contact   []struct {
			Email      string `json:"email"`
			CellNumber string `json:"cellNumber"`
		} `json:"contact"`
	} `json:"pickupAddress"`
	Packages []struct {
		Type  string `json:"packageType"`
		Count int    `json:"packageCount"`
	} `json:"packages"`
	EstimatedWeight float64 `json:"estimatedWeight"`
	PickupLocation  struct {
		PackageLocation     string `json:"packageLocation"`
		SpecialInstructions string `json:"specialInstructions"`
	} `json:"pickupLocation"`
	NextAvailablePickup bool `json:"nextAvailablePickup"`
}

// keptPickup is what the carrier stores about a pickup.
type keptPickup struct {
	Date    string          `json:"date"`
	Place   string          `json:"place"`
	Request json.RawMessage `json:"request"`
}

// check checks a request as the carrier does, and returns the day of the pickup,
// which is a later one if the client leaves that to the carrier.
func (in pickupRequest) check(now time.Time) (day time.Time, p problem) {
	given := in.PickupAddress
	where := given.Address
	switch {
	case given.FirstName == "" || given.LastName == "" || len(given.FirstName) > 50 || len(given.LastName) > 50:
		return day, problem{"", "pickupAddress", "OASValidation: firstName and lastName are required"}
	case where.StreetAddress == "" || len(where.StreetAddress) > 50:
		return day, problem{"", "pickupAddress.address.streetAddress", "OASValidation: streetAddress is required"}
	case !zip5.MatchString(where.ZIPCode) && (where.City == "" || !emulator.IsState("US", where.State)):
		return day, problem{"020003", "pickupAddress.address", "Invalid pickup details."}
	case len(given.Contact) == 0 || len(given.Contact) > 2:
		return day, problem{"", "pickupAddress.contact", "OASValidation: contact has one or two items"}
	case len(in.Packages) == 0 || in.EstimatedWeight <= 0:
		return day, problem{"", "packages", "OASValidation: packages and estimatedWeight are required"}
	case !slices.Contains(packageLocations, in.PickupLocation.PackageLocation):
		return day, problem{"020004", "pickupLocation", "Invalid pickup location."}
	case in.PickupLocation.PackageLocation == "OTHER" && in.PickupLocation.SpecialInstructions == "":
		return day, problem{"020020", "specialInstructions", "Pickup location of Other requires additional information in comments."}
	case len(in.PickupLocation.SpecialInstructions) > 255:
		return day, problem{"020019", "specialInstructions", "Comment length exceeds 255 characters."}
	}

	for _, contact := range given.Contact {
		switch {
		case contact.CellNumber != "" && (len(contact.CellNumber) != 10 || strings.Trim(contact.CellNumber, "0123456789") != ""):
			return day, problem{"020006", "pickupAddress.contact.cellNumber", "Phone number is invalid."}
		case contact.Email != "" && (!strings.Contains(contact.Email, "@") || len(contact.Email) > 50):
			return day, problem{"020021", "pickupAddress.contact.email", "Email address is invalid."}
		}
	}
	for _, group := range in.Packages {
		if !slices.Contains(packageTypes, group.Type) || group.Count < 0 {
			return day, problem{"", "packages", "OASValidation: packageType is not valid"}
		}
	}
	return in.chooseDay(now)
}

// chooseDay returns the day of the pickup: it can be booked until two in the
// morning, and never on a Sunday.
func (in pickupRequest) chooseDay(now time.Time) (time.Time, problem) {
	day, err := time.ParseInLocation(time.DateOnly, in.PickupDate, central)
	if err != nil {
		return day, problem{"", "pickupDate", "OASValidation: pickupDate is not a date"}
	}

	isPossible := func() bool { return day.Weekday() != time.Sunday && now.Before(day.Add(2*time.Hour)) }
	for in.NextAvailablePickup && !isPossible() {
		day = day.AddDate(0, 0, 1)
	}
	switch {
	case now.After(day.AddDate(0, 0, 1)):
		return day, problem{"020016", "pickupDate", "Pickup date is in the past."}
	case day.After(now.AddDate(1, 0, 0)):
		return day, problem{"020017", "pickupDate", "Pickups can only be scheduled one year in the future."}
	case !isPossible():
		return day, problem{"020018", "pickupDate", "Pickup Request cannot be scheduled on requested day."}
	}
	return day, problem{}
}

// place identifies the address that is collected from.
func (in pickupRequest) place() string {
	where := in.PickupAddress.Address
	return strings.ToUpper(strings.Join([]string{where.StreetAddress, where.SecondaryAddress, where.City, where.State, where.ZIPCode}, "|"))
}

// bookPickup books a pickup, one for each address and day.
func (s *service) bookPickup(w http.ResponseWriter, r *http.Request) {
	var in pickupRequest
	raw, p := read(r, &in, "pickupDate", "pickupAddress", "packages", "estimatedWeight", "pickupLocation", "nextAvailablePickup")
	var day time.Time
	if p.detail == "" {
		day, p = in.check(time.Now())
	}
	if p.detail == "" && s.RefusesDay() {
		p = problem{"020003", "pickupAddress", "Invalid pickup details."}
	}
	if p.detail != "" {
		refuse(w, pickupAPI, p)
		return
	}

	booked, existed, err := s.addPickup(keptPickup{
		Date:    day.Format(time.DateOnly),
		Place:   in.place(),
		Request: raw,
	})
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case existed:
		refuse(w, pickupAPI, problem{"020001", "pickupAddress", "Pickup already exists for this address."})
	default:
		w.Header().Set("ETag", s.newTag(booked.Number))
		s.AnswerDay(w, r, emulator.Answer{Status: http.StatusOK, ContentType: "application/json", Body: confirmation(booked)})
	}
}

// addPickup writes a pickup into the ledger, unless one is there for the same
// address and day.
func (s *service) addPickup(pickup keptPickup) (_ emulator.Entry, existed bool, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, other := range s.Ledger.Pickups() {
		var kept keptPickup
		_ = json.Unmarshal(other.Kept, &kept) // as it was marshalled
		if kept.Date == pickup.Date && kept.Place == pickup.Place {
			return other, true, nil
		}
	}

	number := 1
	for _, entry := range s.Ledger.Entries() {
		if entry.Kind == emulator.PickupBooked {
			number++
		}
	}
	keep, _ := json.Marshal(pickup) // it came from JSON
	booked, err := s.Ledger.Append(emulator.Entry{
		Kind:    emulator.PickupBooked,
		Number:  fmt.Sprintf("WTC%08d", number),
		Account: CRID,
		Kept:    keep,
	})
	return booked, false, err
}

func confirmation(booked emulator.Entry) []byte {
	var kept keptPickup
	_ = json.Unmarshal(booked.Kept, &kept)  // as it was marshalled
	body, _ := json.Marshal(map[string]any{ // of strings and what came as JSON
		"confirmationNumber":   booked.Number,
		"pickupDate":           kept.Date,
		"carrierPickupRequest": kept.Request,
	})
	return body
}

// newTag gives a pickup a new ETag, which the next change must name.
func (s *service) newTag(number string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := rand.Text()
	s.tags[number] = tag{text, time.Now().Add(tagLife)}
	return text
}

// useTag reports whether the ETag of a pickup is valid, which it is once.
func (s *service) useTag(number, text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.tags[number]
	if known.text != text || time.Now().After(known.until) {
		return false
	}
	delete(s.tags, number)
	return true
}

// pickup returns the pickup that a request is about, and whether it was ever
// booked and is still to come.
func (s *service) pickup(r *http.Request) (pickup emulator.Entry, known, isLive bool) {
	number := r.PathValue("number")
	for _, entry := range s.Ledger.Entries() {
		switch {
		case entry.Number != number:
		case entry.Kind == emulator.PickupBooked:
			pickup = entry
			known = true
			isLive = true
		case entry.Kind == emulator.PickupCancelled:
			isLive = false
		}
	}
	return pickup, known, isLive
}

var noPickup = problem{"020015", "confirmationNumber", "Case number not found."}

// showPickup answers with a pickup and a new ETag.
func (s *service) showPickup(w http.ResponseWriter, r *http.Request) {
	booked, _, isLive := s.pickup(r)
	if !isLive {
		refuse(w, pickupAPI, noPickup)
		return
	}
	w.Header().Set("ETag", s.newTag(booked.Number))
	send(w, http.StatusOK, slices.Concat([]byte("["), confirmation(booked), []byte("]")))
}

// cancelPickup cancels a pickup if the request names its ETag.
func (s *service) cancelPickup(w http.ResponseWriter, r *http.Request) {
	booked, known, isLive := s.pickup(r)
	given := r.Header.Get("If-Match")
	switch {
	case !known:
		refuse(w, pickupAPI, noPickup)
		return
	case given == "":
		refuse(w, pickupAPI, problem{"", "If-Match", "OASValidation: If-Match is required"})
		return
	case s.RefusesDay():
		refuse(w, pickupAPI, problem{"020003", "confirmationNumber", "Invalid pickup details."})
		return
	case !isLive || !s.useTag(booked.Number, given):
		stale := problem{"", "If-Match", "The ETag is not the present one of the resource."}
		send(w, http.StatusPreconditionFailed, errorBody(pickupAPI, http.StatusPreconditionFailed, stale))
		return
	}

	// The ETag is valid once, so that this line is written once.
	_, err := s.Ledger.Append(emulator.Entry{Kind: emulator.PickupCancelled, Number: booked.Number, Account: CRID})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	s.AnswerDay(w, r, emulator.Answer{Status: http.StatusOK, ContentType: "application/json"})
}
