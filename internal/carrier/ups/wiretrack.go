package ups

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
	"unicode"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Tracking answers and pushes are decoded part by part: a part that cannot be
// read is left out and does not affect the others.

// word is a text or a number; anything else counts as absent.
type word string

// UnmarshalJSON reads any of them.
func (w *word) UnmarshalJSON(data []byte) error {
	*w = ""
	var s string
	switch {
	case len(data) == 0:
	case data[0] == '"':
		if plain, ok := carrierkit.Plain(data); ok {
			*w = word(bytes.TrimSpace(plain))
			return nil
		}
		if json.Unmarshal(data, &s) == nil {
			*w = word(strings.TrimSpace(strings.Map(printable, s)))
		}
	case data[0] == '-' || data[0] >= '0' && data[0] <= '9':
		*w = word(data)
	}
	return nil
}

// printable drops control characters: no text that is kept may hold them.
func printable(r rune) rune {
	if unicode.IsControl(r) {
		return -1
	}
	return r
}

// maybe is an object, or the first of a list, or nothing.
type maybe[T any] struct {
	value   T
	present bool
}

// UnmarshalJSON reads any of them.
func (m *maybe[T]) UnmarshalJSON(data []byte) error {
	*m = maybe[T]{}

	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(data, &list) != nil || len(list) == 0 {
			return nil
		}
		data = list[0]
	}
	if len(data) > 0 && data[0] == '{' {
		m.present = json.Unmarshal(data, &m.value) == nil
	}
	return nil
}

type trackAnswer struct {
	TrackResponse maybe[struct {
		Shipment some[maybe[struct {
			Package some[maybe[trackedPackage]] `json:"package"`
		}]] `json:"shipment"`
	}] `json:"trackResponse"`
}

// packages are all parcels of the answer.
func (a trackAnswer) packages() (list []trackedPackage) {
	for _, shipment := range a.TrackResponse.value.Shipment {
		for _, parcel := range shipment.value.Package {
			if parcel.present {
				list = append(list, parcel.value)
			}
		}
	}
	return list
}

type trackedPackage struct {
	TrackingNumber  word                          `json:"trackingNumber"`
	Activity        some[json.RawMessage]         `json:"activity"`
	DeliveryDate    some[maybe[datedEvent]]       `json:"deliveryDate"`
	DeliveryTime    maybe[timedEvent]             `json:"deliveryTime"`
	Service         maybe[trackedService]         `json:"service"`
	CurrentStatus   maybe[trackedStatus]          `json:"currentStatus"`
	ReferenceNumber some[maybe[trackedReference]] `json:"referenceNumber"`
	PackageAddress  some[maybe[trackedAddress]]   `json:"packageAddress"`
}

type trackedStatus struct {
	Type       word `json:"type"`
	StatusCode word `json:"statusCode"`
}

type trackedReference struct {
	Number word `json:"number"`
}

type trackedAddress struct {
	Type    word `json:"type"` // "ORIGIN", "DESTINATION"
	Address maybe[struct {
		PostalCode word `json:"postalCode"`
	}] `json:"address"`
}

// isVoided reports whether the label of the parcel was voided.
func (p trackedPackage) isVoided() bool {
	status := p.CurrentStatus.value
	return status.Type == "MV" || status.StatusCode == "007" || status.StatusCode == "043"
}

// hasReference reports whether UPS lists the reference with the parcel.
func (p trackedPackage) hasReference(reference string) bool {
	for _, listed := range p.ReferenceNumber {
		if strings.EqualFold(string(listed.value.Number), reference) {
			return true
		}
	}
	return false
}

// goesTo reports whether the parcel can be going to the address.
func (p trackedPackage) goesTo(destination ship.Address) bool {
	for _, place := range p.PackageAddress {
		if strings.EqualFold(string(place.value.Type), "destination") && !isSameZip(string(place.value.Address.value.PostalCode), destination) {
			return false
		}
	}
	return true
}

type datedEvent struct {
	Type word `json:"type"`
	Date word `json:"date"`
}

type timedEvent struct {
	EndTime word `json:"endTime"`
}

type trackedService struct {
	Description word `json:"description"`
}

type activity struct {
	Location maybe[struct {
		Address maybe[place] `json:"address"`
	}] `json:"location"`
	Status maybe[struct {
		Type        word `json:"type"`
		Code        word `json:"code"`
		StatusCode  word `json:"statusCode"`
		Description word `json:"description"`
	}] `json:"status"`
	Date      word `json:"date"`
	Time      word `json:"time"`
	GMTDate   word `json:"gmtDate"`
	GMTTime   word `json:"gmtTime"`
	GMTOffset word `json:"gmtOffset"`
}

// alert is one push.
type alert struct {
	TrackingNumber   word         `json:"trackingNumber"`
	ActivityLocation maybe[place] `json:"activityLocation"`
	ActivityStatus   maybe[struct {
		Type            word `json:"type"`
		Code            word `json:"code"`
		Description     word `json:"description"`
		DescriptionCode word `json:"descriptionCode"` // the status code
	}] `json:"activityStatus"`
	LocalActivityDate     word `json:"localActivityDate"`
	LocalActivityTime     word `json:"localActivityTime"`
	GMTActivityDate       word `json:"gmtActivityDate"`
	GMTActivityTime       word `json:"gmtActivityTime"`
	GMTOffset             word `json:"gmtOffset"`
	ScheduledDeliveryDate word `json:"scheduledDeliveryDate"`
	ActualDeliveryDate    word `json:"actualDeliveryDate"`
	DeliveryEndTime       word `json:"deliveryEndTime"`
}

type place struct {
	City          word `json:"city"`
	StateProvince word `json:"stateProvince"`
	CountryCode   word `json:"countryCode"`
	Country       word `json:"country"`
}

func (p place) country() string {
	if p.CountryCode != "" {
		return string(p.CountryCode)
	}
	return string(p.Country)
}

// name is the place as it is shown: "Paramus, NJ, US". A country without a city
// is not shown.
func (p place) name() string {
	if p.City == "" {
		return ""
	}

	name := titled(string(p.City))
	for _, part := range []string{string(p.StateProvince), p.country()} {
		if part != "" {
			name += ", " + part
		}
	}
	return clip(name)
}

// titled writes a city that comes in capitals as people write it. UPS sends
// both spellings.
func titled(city string) string {
	if city != strings.ToUpper(city) {
		return city
	}

	var text strings.Builder
	inWord := false
	for _, r := range strings.ToLower(city) {
		isLetter := strings.ToUpper(string(r)) != string(r)
		if isLetter && !inWord {
			text.WriteString(strings.ToUpper(string(r)))
		} else {
			text.WriteRune(r)
		}
		inWord = isLetter
	}
	return text.String()
}

// reportedEvent is one event that UPS reports of a parcel, polled or pushed.
type reportedEvent struct {
	number      string
	mark        mark
	description string
	place       place
	moment      moment
	estimate    time.Time
	raw         []byte
}

// update converts the event; not ok if it has no code or no time.
func (e reportedEvent) update(now time.Time) (carrier.TrackingUpdate, bool) {
	code := e.mark.code()
	e.moment.place = carrierkit.Place{
		Country: e.place.country(),
		State:   string(e.place.StateProvince),
		City:    string(e.place.City),
	}
	at, zoned, ok := e.moment.utc(now)
	if !ok || code == "" || e.number == "" {
		return carrier.TrackingUpdate{}, false
	}

	scan := ship.Scan{
		Code:        code,
		At:          at,
		ZoneUnknown: !zoned,
		Description: clip(e.description),
		Location:    e.place.name(),
	}
	scan.Status, scan.Reason, _ = meaning(code)
	return carrier.TrackingUpdate{
		TrackingNumber: e.number,
		Scan:           scan,
		EstimateAt:     e.estimate,
		Raw:            e.raw,
	}, true
}

// maxText bounds what is shown.
const maxText = 300

// clip cuts text between its characters.
func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "")
}
