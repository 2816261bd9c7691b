package web

import (
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// The words and marks that pages show for what the services know.

func statusWord(s ship.Status) string {
	switch s {
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
	return plain(string(s))
}

// labelWord says where the purchase stands when that is not the usual; "" if
// it is.
func labelWord(s ship.State) string {
	switch s {
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

// plain is a code as words: "address_not_found" is "Address not found".
func plain(code string) string {
	s := strings.ReplaceAll(code, "_", " ")
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// serviceTitle is the service without the carrier's name before it, nor a part
// of that: DHL Express sells "DHL Economy Select".
func serviceTitle(sh ship.Shipment) string {
	service := or(sh.Deal.ServiceName, plain(sh.Deal.Service))
	carrier := carrierTitle(sh.Deal.Carrier)
	if rest, ok := strings.CutPrefix(service, carrier+" "); ok {
		return rest
	}
	brand, _, _ := strings.Cut(carrier, " ")
	return strings.TrimPrefix(service, brand+" ")
}

// money is an amount as people read it.
func money(m ship.Money) string {
	if m.IsZero() {
		return "–"
	}
	sign := map[string]string{"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥"}[m.Currency]
	whole, frac, dotted := strings.Cut(m.Amount(), ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if dotted {
		whole += "." + frac
	}
	if sign == "" {
		return whole + " " + m.Currency
	}
	return sign + whole
}

func machineTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// ago is how long ago t was, for those without the script; the script shows
// the same in the reader's own time.
func ago(t time.Time) string {
	d := time.Since(t)
	switch {
	case d < 0:
		return t.UTC().Format("2 Jan")
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min ago"
	case d < 24*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " h ago"
	case t.Year() == time.Now().Year():
		return t.UTC().Format("2 Jan")
	}
	return t.UTC().Format("2 Jan 2006")
}

func fullTime(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04 UTC") }

func place(a ship.Address) string {
	parts := []string{a.City}
	if a.State != "" {
		parts = append(parts, a.State)
	}
	return strings.Join(append(parts, a.Country), ", ")
}

// addressLines are the lines below the name, in the order that the country uses
// on a parcel.
func addressLines(a ship.Address) []string {
	a.Name = ""
	lines := a.Lines(false)
	if country := ship.CountryName(a.Country); country != "" {
		lines = append(lines, country)
	}
	return lines
}

func weight(p ship.Parcel) string {
	return strconv.FormatFloat(p.Weight, 'f', -1, 64) + " " + string(p.WeightUnit)
}

func size(p ship.Parcel) string {
	d := p.Dimensions
	if d == nil {
		return ""
	}
	n := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	return n(d.Length) + " × " + n(d.Width) + " × " + n(d.Height) + " " + string(d.Unit)
}

// short is the end of an id, which tells ids apart.
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
		return "by the service's usual time"
	case "history":
		return "by what such parcels took before"
	}
	return ""
}

// keyHint is where a key belongs in an example.
func keyHint(live bool) string {
	if live {
		return "sk_live_..."
	}
	return "sk_test_..."
}

func ms(d time.Duration) string {
	if d == 0 {
		return "–"
	}
	return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
}
