package royalmail

import (
	_ "embed"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

//go:embed statuses.tsv
var statusText string

// statuses is what the codes of events mean.
var statuses = carrierkit.ParseStatuses(statusText)

// meaning returns what a scan's code means: that of the event, or else that of
// its words, which follow a slash.
func meaning(code string) (status ship.Status, reason string, known bool) {
	event, words, hasWords := strings.Cut(code, "/")
	if !hasWords {
		return statuses.Meaning(event)
	}
	return statuses.Meaning(event, "/"+words)
}

// code returns the event's code. Royal Mail publishes no list of them, so an
// event with another code is known by its words: "EVXYZ/delivered".
func (e trackingEvent) code() string {
	code := cleanCode(e.Code)
	if _, _, known := statuses.Meaning(code); known || code == "" {
		return code
	}
	if words := classOf(e.Name); words != "" {
		return code + "/" + words
	}
	return code
}

// phrases are parts of Royal Mail's event names and what they mean. The first
// that is found decides: a parcel that is not delivered is not delivered.
var phrases = []struct{ phrase, words string }{
	{"to sender", "return_to_sender"},
	{"to the sender", "return_to_sender"},
	{"refused", "refused"},
	{"not delivered", "attempted"},
	{"no answer", "attempted"},
	{"unable to deliver", "attempted"},
	{"attempted", "attempted"},
	{"held by customs", "customs_hold"},
	{"customs", "customs"},
	{"ready for collection", "available"},
	{"available for collection", "available"},
	{"out for delivery", "out"},
	{"due for delivery", "out"},
	{"delivered", "delivered"},
	{"collected by", "collected"},
	{"sender preparing", "expected"},
	{"mail centre", "moving"},
	{"delivery office", "moving"},
	{"parcel hub", "moving"},
	{"in transit", "moving"},
	{"on its way", "moving"},
	{"forwarded", "moving"},
}

// classOf returns what the words of an event mean; empty if they say nothing.
func classOf(name string) string {
	name = strings.ToLower(name)
	for _, known := range phrases {
		if strings.Contains(name, known.phrase) {
			return known.words
		}
	}
	return ""
}

// cleanCode returns a code in capitals, without characters that no code has.
func cleanCode(s string) string {
	const longest = 24
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			return r
		}
		return -1
	}, s)
	return s[:min(len(s), longest)]
}
