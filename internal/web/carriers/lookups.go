package carriers

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/purchase"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/web/site"
)

// A lookup is how a connection looks up purchases whose response was lost.
type lookup struct {
	store.ConnectionLookup
	Shown    bool // whether it can be said
	Possible bool
	Delay    time.Duration
	Source   purchase.DelaySource
}

// lookupOf returns what is known of the look-ups of a connection. A connection that
// cannot be opened has a problem of its own, which the page shows.
func lookupOf(v *site.Visit, connection account.Connection, spec *carrier.Spec) (lookup, error) {
	opened, err := v.Account.Carrier(v.Context(), v.Tenant(), connection.ID)
	if err != nil {
		return lookup{}, nil
	}
	if !slices.Contains(opened.Abilities(), "find") {
		return lookup{Shown: true}, nil
	}

	known, err := v.Shipping.Lookups(v.Context(), v.Tenant())
	if err != nil {
		return lookup{}, err
	}
	shown := lookup{ConnectionLookup: known[connection.ID], Shown: true, Possible: true}
	shown.Tenant = connection.Tenant
	shown.Delay, shown.Source = v.Shipping.VisibilityDelay(spec, shown.ConnectionLookup)
	return shown, nil
}

// delaySourceWord says where a visibility delay comes from.
func delaySourceWord(source purchase.DelaySource, title string) string {
	switch source {
	case purchase.DelayRaised:
		return "Raised: a purchase was found later than expected"
	case purchase.DelayMeasured:
		return "Measured on this account"
	case purchase.DelayOfOperator:
		return "The minimum of this installation (LOOKUP_LAG)"
	}
	return "Default of " + title
}

// durationWords returns a duration in words: "1 hour 30 minutes".
func durationWords(d time.Duration) string {
	count := func(n int, unit string) string {
		switch n {
		case 0:
			return ""
		case 1:
			return "1 " + unit
		}
		return strconv.Itoa(n) + " " + unit + "s"
	}

	d = d.Round(time.Second)
	words := []string{
		count(int(d/time.Hour), "hour"),
		count(int(d/time.Minute%60), "minute"),
		count(int(d/time.Second%60), "second"),
	}
	words = slices.DeleteFunc(words, func(word string) bool { return word == "" })
	if len(words) == 0 {
		return "less than a second"
	}
	return strings.Join(words[:min(2, len(words))], " ")
}

// measuredWords lists the measurements of a connection, newest first, and says what
// they are used for.
func measuredWords(l lookup) string {
	var list []string
	for _, measured := range slices.Backward(l.Measured) {
		list = append(list, durationWords(measured))
	}
	text := strings.Join(list, ", ")
	switch {
	case !l.Tenant.Livemode:
		return text + ". Measurements in the test environment do not change the delay."
	case len(list) < purchase.NeededMeasurements:
		return text + ". " + strconv.Itoa(purchase.NeededMeasurements) + " measurements can lower the delay."
	}
	return text
}
