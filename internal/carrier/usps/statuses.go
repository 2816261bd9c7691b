package usps

import (
	_ "embed"
	"html"
	"regexp"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

//go:embed statuses.tsv
var statusText string

// statuses are what the codes of scans mean.
var statuses = carrierkit.ParseStatuses(statusText)

// deliveries are the codes of a delivery. USPS also reports them for a parcel
// that came back to its sender: only the words make the difference.
var deliveries = []string{"01", "17", "43"}

// codeOf returns the code that a scan is stored under. It is the event's own
// code where the status table lists it. USPS has hundreds of others and
// publishes no list of them: these, and the few whose words matter, are stored
// with their words, "WX/weather_delay".
//
// The code depends on the event alone and not on the rules below, so an event
// that is reported again gets the same one after the rules have changed.
func codeOf(code, words string) string {
	code = strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, strings.ToUpper(code))
	if len(code) == 1 && code[0] >= '0' && code[0] <= '9' {
		code = "0" + code // sent as a number
	}
	code = code[:min(len(code), maxCode)]

	_, _, isListed := statuses.Meaning(code)
	if isListed && !slices.Contains(deliveries, code) {
		return code
	}

	words = slug(words)
	if isListed && !saysReturned(words) || words == "" {
		return code
	}
	return code + "/" + words
}

// maxCode and maxWords bound a code.
const maxCode, maxWords = 8, 60

func saysReturned(words string) bool { return strings.Contains(words, "original_sender") }

// meaning returns what a scan's code means: by a row of its own, by a row for
// the event code with any words ("WX/"), or else by the words.
func meaning(code string) (ship.Status, string, bool) {
	event, words, ok := strings.Cut(code, "/")
	if !ok {
		return statuses.Meaning(code)
	}
	return statuses.Meaning(code, event+"/", "/"+words, wordRow(words))
}

// wordRow returns the row of the first rule that matches the words; empty if
// none does.
func wordRow(words string) string {
	sentence := strings.ReplaceAll(words, "_", " ")
	for _, rule := range wordRules {
		if rule.matches.MatchString(sentence) {
			return rule.row
		}
	}
	return ""
}

// wordRules are how USPS words its events, the most specific first: a parcel
// "delivered, to original sender" is a return, and one that is "out for
// delivery" was not delivered.
var wordRules = []struct {
	matches *regexp.Regexp
	row     string
}{
	{regexp.MustCompile(`original sender|returned to sender|return to sender|being returned|tendered to returns agent`), "/return_to_sender"},
	{regexp.MustCompile(`delivered to agent|picked up by agent`), "/delivered_to_agent"},
	{regexp.MustCompile(`^delivered\b`), "/delivered"},
	{regexp.MustCompile(`out for delivery|out for redelivery`), "/out_for_delivery"},
	{regexp.MustCompile(`notice left|delivery attempt|attempted delivery|no access|business closed|receptacle|no secure location|no authorized recipient`), "/delivery_attempt"},
	{regexp.MustCompile(`available for pickup|available for redelivery|collect for pick|held at post office|ready for pickup`), "/available_for_pickup"},
	{regexp.MustCompile(`refused`), "/refused"},
	{regexp.MustCompile(`no such number|insufficient address`), "/address_not_found"},
	{regexp.MustCompile(`addressee unknown|addressee not available|moved left|vacant|forward expired|undeliverable|unclaimed|deceased`), "/undeliverable"},
	{regexp.MustCompile(`held in customs|retained by customs|customs.*hold`), "/customs_hold"},
	{regexp.MustCompile(`out of customs|customs clearance processing complete|released from.*customs|cleared customs`), "/customs_cleared"},
	{regexp.MustCompile(`customs`), "/customs"},
	{regexp.MustCompile(`weather|natural disaster`), "/weather_delay"},
	{regexp.MustCompile(`damaged`), "/damaged"},
	{regexp.MustCompile(`missent|mis ?shipped`), "/misrouted"},
	{regexp.MustCompile(`rescheduled`), "/rescheduled"},
	{regexp.MustCompile(`delay|arriving late|processing exception|delivery exception|transportation problem`), "/delayed"},
	{regexp.MustCompile(`mail recovery|dead letter|missing mail`), "/lost"},
	{regexp.MustCompile(`seized|disposed`), "/seized"},
	{regexp.MustCompile(`intercept|recall`), "/intercepted"},
	{regexp.MustCompile(`label cancel`), "/voided"},
	{regexp.MustCompile(`^alert\b`), "/alert"},
	{regexp.MustCompile(`awaiting item|label created|pre shipment|electronic(ally)? notif|order receipt notification|expects item`), "/pre_shipment"},
	{regexp.MustCompile(`usps picked up item|in possession|accepted|acceptance|picked up by shipping partner|shipment received`), "/accepted"},
	{regexp.MustCompile(`arriv|depart|processed|sorting|in transit|en route|dispatched|forwarded`), "/in_transit"},
}

// slug returns a text as a part of a code: "Held at Post Office, At Customer
// Request" is "held_at_post_office_at_customer_request".
func slug(words string) string {
	words = strings.ToLower(plain(words))

	// The hour by which a parcel is expected is no part of what happened.
	if before, _, ok := strings.Cut(words, ", expected delivery"); ok {
		words = before
	}

	words = strings.Join(strings.FieldsFunc(words, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }), "_")
	return strings.TrimRight(words[:min(len(words), maxWords)], "_")
}

var markup = regexp.MustCompile(`<[^<>]{0,40}>`)

// plain returns a text without the HTML that USPS leaves in it.
func plain(words string) string {
	if strings.ContainsAny(words, "<&") {
		words = html.UnescapeString(markup.ReplaceAllString(words, ""))
	}
	return strings.Join(strings.Fields(words), " ")
}
