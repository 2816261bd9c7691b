//go:build chaos

package crash

import (
	"encoding/json"
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

// add counts in what the parts before this one showed.
func (p *proof) add(before proof) {
	p.Scenarios += before.Scenarios
	p.Cases += before.Cases
	p.Kills += before.Kills
	p.Violations += before.Violations
	p.Seconds += before.Seconds
	for point, n := range before.KillsByPoint {
		p.KillsByPoint[point] += n
	}
}

var proofFile = filepath.Join("..", "..", "proof", "crash.json")

func readProof(t *testing.T) (p proof) {
	t.Helper()
	text, err := os.ReadFile(proofFile)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		t.Fatalf("what the part before showed: %v", err)
	}
	return p
}

func writeProof(t *testing.T, p proof) {
	t.Helper()
	text, err := json.MarshalIndent(p, "", "  ")
	if err == nil {
		err = os.WriteFile(proofFile, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
