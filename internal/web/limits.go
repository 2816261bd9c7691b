package web

import (
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// A limit says what a carrier account cannot do now, and until when: its quota
// is used up, the carrier asked for a pause, or does not answer.
type limit struct {
	Until   time.Time
	Limited []string // what must wait, such as "rates"
	Works   []string
}

// shownWait is from how long a wait on a limit is worth a word: a shorter one
// passes while a page loads.
const shownWait = 5 * time.Second

// limitedWork is what people do with a carrier, and the operation of each.
var limitedWork = []struct {
	word string
	op   carrier.Operation
}{
	{"rates", carrier.OpRates}, {"labels", carrier.OpBuy}, {"tracking", carrier.OpTrack},
}

// limitOf is how the account is limited now, as far as this copy of the
// program knows. Without a limit nothing is Limited.
func (v *visit) limitOf(id ship.ConnectionID) (l limit) {
	if v.Waits == nil {
		return l
	}
	waits := v.Waits(id)
	now := time.Now()
	for _, work := range limitedWork {
		wait := waits[work.op]
		if wait < shownWait {
			l.Works = append(l.Works, work.word)
			continue
		}
		l.Limited = append(l.Limited, work.word)
		if until := now.Add(wait); until.After(l.Until) {
			l.Until = until
		}
	}
	return l
}

// Title is what is limited: "Rates and tracking limited until".
func (l limit) Title() string { return sentenceStart(listed(l.Limited)) + " limited until" }

// Rest is what works all the same; empty if nothing does.
func (l limit) Rest() string {
	switch len(l.Works) {
	case 0:
		return ""
	case 1:
		if strings.HasSuffix(l.Works[0], "s") {
			return l.Works[0] + " work"
		}
		return l.Works[0] + " works"
	}
	return listed(l.Works) + " work"
}

// listed is words as a list: "rates, labels and tracking".
func listed(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

func sentenceStart(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
