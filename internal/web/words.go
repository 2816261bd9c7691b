package web

import (
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// The words and marks that pages show for what the services know.

func statusWord(status ship.Status) string {
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
	return plain(string(status))
}

// labelWord returns the state of the label if that is unusual; "" for a label
// that was bought.
func labelWord(state ship.State) string {
	switch state {
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

// plain returns a code as words: "address_not_found" is "Address not found".
func plain(code string) string {
	words := strings.ReplaceAll(code, "_", " ")
	if words == "" {
		return ""
	}
	return strings.ToUpper(words[:1]) + words[1:]
}

// serviceTitle returns the service without the carrier's name before it, nor a
// part of that: DHL Express sells "DHL Economy Select".
func serviceTitle(shipment ship.Shipment) string {
	service := or(shipment.Purchase.ServiceName, plain(shipment.Purchase.Service))
	carrier := carrierTitle(shipment.Purchase.Carrier)
	if rest, ok := strings.CutPrefix(service, carrier+" "); ok {
		return rest
	}

	brand, _, _ := strings.Cut(carrier, " ")
	return strings.TrimPrefix(service, brand+" ")
}

// money returns an amount as people read it.
func money(amount ship.Money) string {
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

func machineTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// ago returns how long ago t was, for readers without the script; the script
// shows the same in the reader's own time zone.
func ago(t time.Time) string {
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

func place(address ship.Address) string {
	parts := []string{address.City}
	if address.State != "" {
		parts = append(parts, address.State)
	}
	return strings.Join(append(parts, address.Country), ", ")
}

// addressLines returns the lines below the name, in the order that the country
// uses on a parcel.
func addressLines(address ship.Address) []string {
	address.Name = ""
	lines := address.Lines(false)
	if country := ship.CountryName(address.Country); country != "" {
		lines = append(lines, country)
	}
	return lines
}

func weight(parcel ship.Parcel) string {
	return decimal(parcel.Weight) + " " + string(parcel.WeightUnit)
}

func size(parcel ship.Parcel) string {
	sides := parcel.Dimensions
	if sides == nil {
		return ""
	}
	return decimal(sides.Length) + " × " + decimal(sides.Width) + " × " + decimal(sides.Height) + " " + string(sides.Unit)
}

// short returns the prefix and the end of an ID, which tells IDs apart.
func short(id string) string {
	prefix, rest, ok := strings.Cut(id, "_")
	if !ok || len(rest) < 8 {
		return id
	}
	return prefix + "_…" + rest[len(rest)-6:]
}

func days(n int) string {
	if n == 1 {
		return "1 day"
	}
	return strconv.Itoa(n) + " days"
}

func upper(s string) string { return strings.ToUpper(s) }

func estimateWord(source string) string {
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

// keyHint returns the placeholder for an API key in an example.
func keyHint(live bool) string {
	if live {
		return "sk_live_..."
	}
	return "sk_test_..."
}

func ms(duration time.Duration) string {
	if duration == 0 {
		return "–"
	}
	return strconv.FormatInt(duration.Milliseconds(), 10) + " ms"
}
