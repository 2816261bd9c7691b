// Package parts holds the building blocks of pages that do not depend on a
// request: small templates such as badges, fields and icons, and the words,
// numbers and choices that they show.
package parts

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/purchase"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/webhook"
)

// The words and marks that pages show for what the services know.

// StatusWord returns a tracking status as people read it.
func StatusWord(status ship.Status) string {
	switch status {
	case ship.Created:
		return "Created"
	case ship.LabelGenerated:
		return "Label ready"
	case ship.PickedUp:
		return "Picked up"
	case ship.InTransit:
		return "In transit"
	case ship.OutForDelivery:
		return "Out for delivery"
	case ship.Delivered:
		return "Delivered"
	case ship.Exception:
		return "Exception"
	}
	return Plain(string(status))
}

// LabelWord returns the state of the label if that is unusual; "" for a label
// that was bought.
func LabelWord(state ship.State) string {
	switch state {
	case ship.StateAwaitingApproval:
		return "Waiting for approval"
	case ship.StatePurchasing, ship.StateUncertain:
		return "Label pending"
	case ship.StateNeedsReview:
		return "Needs review"
	case ship.StateVoiding:
		return "Voiding"
	case ship.StateRefundPending:
		return "Refund pending"
	case ship.StateVoided:
		return "Voided"
	case ship.StateFailed:
		return "Not bought"
	}
	return ""
}

// Plain returns a code as words: "address_not_found" is "Address not found".
func Plain(code string) string {
	words := strings.ReplaceAll(code, "_", " ")
	if words == "" {
		return ""
	}
	return strings.ToUpper(words[:1]) + words[1:]
}

// ServiceTitle returns the service without the carrier's name before it, nor a
// part of that: DHL Express sells "DHL Economy Select".
func ServiceTitle(shipment ship.Shipment) string {
	service := cmp.Or(shipment.Purchase.ServiceName, Plain(shipment.Purchase.Service))
	carrier := CarrierTitle(shipment.Purchase.Carrier)
	if rest, ok := strings.CutPrefix(service, carrier+" "); ok {
		return rest
	}

	brand, _, _ := strings.Cut(carrier, " ")
	return strings.TrimPrefix(service, brand+" ")
}

// Money returns an amount as people read it.
func Money(amount ship.Money) string {
	if amount.IsZero() {
		return "–"
	}

	text, fraction, hasFraction := strings.Cut(amount.Amount(), ".")
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	if hasFraction {
		text += "." + fraction
	}

	symbol := map[string]string{"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥"}[amount.Currency]
	if symbol == "" {
		return text + " " + amount.Currency
	}
	return symbol + text
}

// MachineTime formats a time for programs.
func MachineTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Ago returns how long ago t was, for readers without the script; the script
// shows the same in the reader's own time zone.
func Ago(t time.Time) string {
	passed := time.Since(t)
	switch {
	case passed < 0:
		return t.UTC().Format("2 Jan")
	case passed < time.Minute:
		return "just now"
	case passed < time.Hour:
		return strconv.Itoa(int(passed.Minutes())) + " min ago"
	case passed < 24*time.Hour:
		return strconv.Itoa(int(passed.Hours())) + " h ago"
	case t.Year() == time.Now().Year():
		return t.UTC().Format("2 Jan")
	}
	return t.UTC().Format("2 Jan 2006")
}

func fullTime(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04 UTC") }

// Place returns the city of an address, with its state and country.
func Place(address ship.Address) string {
	parts := []string{address.City}
	if address.State != "" {
		parts = append(parts, address.State)
	}
	return strings.Join(append(parts, address.Country), ", ")
}

// AddressLines returns the lines below the name, in the order that the country
// uses on a parcel.
func AddressLines(address ship.Address) []string {
	address.Name = ""
	lines := address.Lines(false)
	if country := ship.CountryName(address.Country); country != "" {
		lines = append(lines, country)
	}
	return lines
}

// Weight returns a parcel's weight with its unit.
func Weight(parcel ship.Parcel) string {
	return Decimal(parcel.Weight) + " " + string(parcel.WeightUnit)
}

// Size returns the dimensions of a parcel; "" if it has none.
func Size(parcel ship.Parcel) string {
	sides := parcel.Dimensions
	if sides == nil {
		return ""
	}
	return Decimal(sides.Length) + " × " + Decimal(sides.Width) + " × " + Decimal(sides.Height) + " " + string(sides.Unit)
}

// ShortID returns the prefix and the end of an ID, which is enough to
// distinguish IDs.
func ShortID(id string) string {
	prefix, rest, ok := strings.Cut(id, "_")
	if !ok || len(rest) < 8 {
		return id
	}
	return prefix + "_…" + rest[len(rest)-6:]
}

// Days returns a number of days as text.
func Days(n int) string {
	if n == 1 {
		return "1 day"
	}
	return strconv.Itoa(n) + " days"
}

// EstimateWord says what an estimated delivery is based on.
func EstimateWord(source string) string {
	switch source {
	case "carrier":
		return "according to the carrier"
	case "service":
		return "based on the service's usual transit time"
	case "history":
		return "based on similar shipments"
	}
	return ""
}

// KeyHint returns the placeholder for an API key in an example.
func KeyHint(live bool) string {
	if live {
		return "sk_live_..."
	}
	return "sk_test_..."
}

// Milliseconds returns a duration in milliseconds; a dash for zero.
func Milliseconds(duration time.Duration) string {
	if duration == 0 {
		return "–"
	}
	return strconv.FormatInt(duration.Milliseconds(), 10) + " ms"
}

// Sentence capitalizes a text and ends it with a full stop.
func Sentence(s string) string {
	if s == "" {
		return ""
	}

	s = strings.ToUpper(s[:1]) + s[1:]
	if !strings.ContainsAny(s[len(s)-1:], ".?!") {
		s += "."
	}
	return s
}

// Grouped returns a number with separated thousands.
func Grouped(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// ParseNumber parses a number as people type it. Anything else is zero, which the
// service rejects.
func ParseNumber(text string) float64 {
	n, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", "."), 64)
	if err != nil {
		return 0
	}
	return n
}

// Decimal formats a number without trailing zeros.
func Decimal(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// NumberWords returns the tracking number in brackets, if there is one.
func NumberWords(shipment ship.Shipment) string {
	if shipment.Purchase.TrackingNumber == "" {
		return ""
	}
	return " (" + shipment.Purchase.TrackingNumber + ")"
}

// JoinWords joins a list as it is written in a sentence: a, b or c.
func JoinWords(list []string, last string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " " + last + " " + list[len(list)-1]
}

// StatusTone returns the class of a response status's badge.
func StatusTone(status int) string {
	switch {
	case status >= http.StatusInternalServerError:
		return "badge badge-fail"
	case status >= http.StatusBadRequest:
		return "badge badge-warn"
	}
	return "badge badge-ok"
}

// Took returns a request's duration as text, also below a millisecond.
func Took(duration time.Duration) string {
	if duration > 0 && duration < time.Millisecond {
		return "< 1 ms"
	}
	return Milliseconds(duration)
}

var operationWords = map[carrier.Operation]string{
	carrier.OpBuy:   "Buy",
	carrier.OpFind:  "Look up",
	carrier.OpVoid:  "Void",
	carrier.OpRates: "Rates",
	carrier.OpCheck: "Check",
	carrier.OpTrack: "Track",

	carrier.OpCheckAddress: "Check address",
	carrier.OpPickup:       "Pickup",
	carrier.OpManifest:     "Manifest",
	carrier.OpDocument:     "Document",
	carrier.OpProof:        "Proof of delivery",
	carrier.OpPoints:       "Service points",
	carrier.OpDuties:       "Duties",
}

// OperationWord names an operation of a carrier.
func OperationWord(operation carrier.Operation) string {
	if word := operationWords[operation]; word != "" {
		return word
	}
	return Plain(string(operation))
}

// FailureReason returns why a purchase bought nothing, as a sentence.
func FailureReason(failure shipping.PurchaseFailure) string {
	name := CarrierTitle(failure.Carrier)
	if name == "" {
		return "The label was not bought."
	}

	switch failure.Code {
	case "approval_denied":
		return "The purchase was not approved."
	case "approval_expired":
		return "Nobody approved the purchase in time."
	}

	reason := failure.Message
	if failure.Code != "" && reason != "" && failure.Code != "price_changed" {
		reason += " (" + failure.Code + ")"
	}

	switch {
	case failure.Outcome == purchase.WasRefused && failure.Code == "price_changed":
		return Sentence(reason)
	case failure.Outcome == purchase.WasRefused && reason != "":
		return name + " declined the order: " + Sentence(reason)
	case failure.Outcome == purchase.WasRefused:
		return name + " declined the order and gave no reason."
	case failure.Outcome == purchase.WasNotSent && reason != "":
		return name + " could not be reached: " + Sentence(reason)
	case failure.Outcome == purchase.WasNotSent:
		return name + " could not be reached."
	case failure.Outcome == purchase.WasOrphaned:
		return name + " sold the label but its image was lost, so the label was voided."
	}
	return name + " did not answer in time and has no record of the purchase."
}

// EndpointState returns a webhook endpoint's state as a word, and the class of
// its badge.
func EndpointState(endpoint webhook.Endpoint) (word, class string) {
	switch {
	case !endpoint.Enabled && endpoint.DisabledReason == webhook.DisabledByClient:
		return "Disabled", "badge"
	case !endpoint.Enabled && endpoint.DisabledReason == webhook.DisabledGone:
		return "Gone (410)", "badge badge-fail"
	case !endpoint.Enabled:
		return "Disabled: failing for days", "badge badge-fail"
	case endpoint.Parked:
		return "Paused: failing", "badge badge-parked"
	case endpoint.Failures > 0:
		return "Failing", "badge badge-warn"
	}
	return "Working", "badge badge-ok"
}
