//go:build chaos

package crash

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/test/proving"
)

// A proof is what a run showed.
type proof struct {
	Points         int            `json:"points"`         // at which at least one case dies
	PointsInSource int            `json:"pointsInSource"` // that the program has
	Outcomes       []outcome      `json:"outcomes"`       // of the first purchase call
	Recoveries     []string       `json:"recoveries"`
	Carriers       []string       `json:"carriers"`
	Scenarios      int            `json:"scenarios"` // outcomes of carriers, voids, prices, restores
	Cases          int            `json:"cases"`
	Kills          int            `json:"kills"` // cases in which the process passed its point and died
	Violations     int            `json:"violations"`
	Seconds        int            `json:"seconds"`
	Settings       []string       `json:"settings"` // waits are this much shorter than by default
	KillsByPoint   map[string]int `json:"killsByPoint"`

	// LookupScale is the factor by which visibility delays were compressed.
	LookupScale float64 `json:"lookupScale"`
	// Lost are the deaths after which nobody knew whether the carrier had sold, by
	// carrier, with " without control" where nothing was bought before.
	Lost map[string]*lostAnswers `json:"lost"`
}

// lostAnswers are what became of purchases whose outcome was unknown.
type lostAnswers struct {
	Cases       int     `json:"cases"`
	Reviews     int     `json:"reviews"` // that were left to a person
	ReviewShare float64 `json:"reviewShare"`
	P50         float64 `json:"settledSecondsP50"` // from the death, of the others
	P99         float64 `json:"settledSecondsP99"`
	// AsMinutes is the median as it would be at the real carrier.
	AsMinutes float64 `json:"settledAsMinutesP50"`

	Times []time.Duration `json:"times,omitempty"` // only in the file of a part
}

const withoutControl = " without control"

// count counts a case whose outcome was unknown when the process died: the first
// purchase, which the carrier neither answered nor refused.
func (p *proof) count(b *bench) {
	isPlain := b.scenario == scenario{carrier: b.scenario.carrier, outcome: b.outcome, unnamed: b.unnamed}
	if !isPlain || b.outcome == "refused" {
		return
	}
	name := b.scenario.carrier
	if !b.hasControl() {
		name += withoutControl
	}
	lost := p.Lost[name]
	if lost == nil {
		lost = &lostAnswers{}
		p.Lost[name] = lost
	}
	lost.Cases++
	if b.left {
		lost.Reviews++
		return
	}
	lost.Times = append(lost.Times, b.settledAfter)
}

// leastSettled is the share of lost answers that must end settled, if something was
// bought over the connection before.
const leastSettled = 0.8

// judgeLost computes the figures of the lost answers.
func (p *proof) judgeLost(t *testing.T) {
	t.Helper()
	cases, reviews := 0, 0
	for name, lost := range p.Lost {
		lost.ReviewShare = math.Round(100*float64(lost.Reviews)/float64(lost.Cases)) / 100
		lost.P50 = proving.Round(proving.Quantile(lost.Times, 0.5) / 1000)
		lost.P99 = proving.Round(proving.Quantile(lost.Times, 0.99) / 1000)
		lost.AsMinutes = proving.Round(lost.P50 / p.LookupScale / 60)
		lost.Times = nil
		if !strings.HasSuffix(name, withoutControl) {
			cases += lost.Cases
			reviews += lost.Reviews
		}
	}
	text, _ := json.Marshal(p.Lost)
	t.Logf("lost answers: %s", text)
	if settled := 1 - float64(reviews)/float64(max(1, cases)); settled < leastSettled {
		t.Errorf("%.2f of the lost answers with a control are settled, want %.2f", settled, leastSettled)
	}
}

// add counts in what another part showed.
func (p *proof) add(other proof) {
	p.Scenarios += other.Scenarios
	p.Cases += other.Cases
	p.Kills += other.Kills
	p.Violations += other.Violations
	p.Seconds += other.Seconds
	for point, n := range other.KillsByPoint {
		p.KillsByPoint[point] += n
	}
	for name, lost := range other.Lost {
		own := p.Lost[name]
		if own == nil {
			p.Lost[name] = lost
			continue
		}
		own.Cases += lost.Cases
		own.Reviews += lost.Reviews
		own.Times = append(own.Times, lost.Times...)
	}
}

// addParts writes what this part showed to a file of its own, and adds up the others if
// all parts have been done, in any order.
func (p *proof) addParts(t *testing.T, part, parts int) (isLast bool) {
	t.Helper()
	writeProof(t, partFile(part, parts), *p)
	var others []proof
	for n := 1; n <= parts; n++ {
		if n == part {
			continue
		}
		text, err := os.ReadFile(partFile(n, parts))
		if errors.Is(err, fs.ErrNotExist) {
			t.Logf("part %d of %d is not done yet", n, parts)
			return false
		}
		var other proof
		if err == nil {
			err = json.Unmarshal(text, &other)
		}
		if err != nil {
			t.Fatalf("read what part %d showed: %v", n, err)
		}
		others = append(others, other)
	}
	for _, other := range others {
		p.add(other)
	}
	return true
}

var proofFile = filepath.Join("..", "..", "proof", "crash.json")

// partFile is where a part waits for the others.
func partFile(part, parts int) string {
	return filepath.Join("..", "..", "proof", fmt.Sprintf("crash.part-%d-of-%d.json", part, parts))
}

// removeParts removes the files of parts that were added up.
func removeParts(t *testing.T, parts int) {
	t.Helper()
	for part := 1; part <= parts && parts > 1; part++ {
		if err := os.Remove(partFile(part, parts)); err != nil {
			t.Error(err)
		}
	}
}

func writeProof(t *testing.T, file string, p proof) {
	t.Helper()
	text, err := json.MarshalIndent(p, "", "  ")
	if err == nil {
		err = os.WriteFile(file, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
