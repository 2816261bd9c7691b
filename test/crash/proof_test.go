//go:build chaos

package crash

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
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
