package carriers

import (
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/journal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/site"
)

// A limit says what a carrier account cannot do now, and until when: its quota
// is used up, the carrier asked for a pause, or it does not answer.
type limit struct {
	Until   time.Time
	Limited []string // what must wait, such as "rates"
	Works   []string // what works all the same
}

// limitedWork are the uses of a carrier account, with the operation of each.
var limitedWork = []struct {
	word      string
	operation carrier.Operation
}{
	{"rates", carrier.OpRates},
	{"labels", carrier.OpBuy},
	{"tracking", carrier.OpTrack},
}

// limitOf returns how the account is limited now, as far as this process knows.
// Limited is empty if it is not.
func limitOf(v *site.Visit, id ship.ConnectionID) (current limit) {
	if v.Waits == nil {
		return current
	}

	waits := v.Waits(id)
	now := time.Now()
	for _, work := range limitedWork {
		wait := waits[work.operation]
		if wait < site.ShownWait {
			current.Works = append(current.Works, work.word)
			continue
		}

		current.Limited = append(current.Limited, work.word)
		if until := now.Add(wait); until.After(current.Until) {
			current.Until = until
		}
	}
	return current
}

// isSerious reports whether the limit keeps orders from being quoted or bought.
// Tracking can wait.
func (l limit) isSerious() bool {
	return slices.Contains(l.Limited, "rates") || slices.Contains(l.Limited, "labels")
}

// failsOften reports whether most calls of the last day failed.
func failsOften(health *journal.Health) bool {
	return health != nil && health.Calls >= 10 && 2*health.Failed >= health.Calls
}

// Title says what is limited: "Rates and tracking limited until".
func (l limit) Title() string { return sentenceStart(listed(l.Limited)) + " limited until" }

// Rest says what works all the same: "labels and tracking work". It is empty if
// nothing does.
func (l limit) Rest() string {
	if len(l.Works) == 0 {
		return ""
	}
	verb := " work"
	if len(l.Works) == 1 && !strings.HasSuffix(l.Works[0], "s") {
		verb = " works"
	}
	return listed(l.Works) + verb
}

// listed joins words: "rates, labels and tracking".
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
