// Package proving is what the proofs under test share: how large they are, the
// report that they write, and the programs that they kill. It knows nothing of
// what is proven.
package proving

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"
)

// A Proof is what a run showed. The counts are of its main experiment, the
// figures of all; what a run does not count is left out.
type Proof struct {
	N            int            `json:"n"`
	Changes      int            `json:"changes,omitempty"`
	Distinct     int            `json:"distinct,omitempty"`
	Parcels      int            `json:"parcels,omitempty"`
	Kills        int64          `json:"kills"`           // kill -9 of copies of the service and of carriers
	Crashes      int64          `json:"crashes"`         // kill -9 of Postgres
	Stops        int64          `json:"stops,omitempty"` // SIGSTOP of copies
	Failovers    int            `json:"failovers,omitempty"`
	Moves        int            `json:"moves,omitempty"` // of shards between cells
	Seed         uint64         `json:"seed"`
	Violations   int            `json:"violations"`
	Duplicates   int            `json:"duplicates,omitempty"`
	Bound95      float64        `json:"bound95"` // violations a try, at most, with 95 % confidence
	Seconds      float64        `json:"seconds"`
	PerSecond    float64        `json:"perSecond,omitempty"`
	Engine       float64        `json:"enginePerSecond,omitempty"` // the bare engine, in the same run
	Ratio        float64        `json:"ratio,omitempty"`
	Micros       float64        `json:"micros,omitempty"` // CPU, of the service and Postgres
	EngineMicros float64        `json:"engineMicros,omitempty"`
	Settings     []string       `json:"settings,omitempty"` // that differ from the defaults
	Figures      map[string]any `json:"figures"`
}

// Pick returns the size to prove. Without PROVE the test is skipped.
func Pick[T any](t *testing.T, short, full T) T {
	t.Helper()
	switch os.Getenv("PROVE") {
	case "full":
		return full
	case "short":
		return short
	}
	t.Skip("PROVE is not set: make prove lists the proofs")
	panic("unreachable")
}

// Beside runs the tests of the short run in parallel: they mostly wait. Those of
// the full run come one after the other.
func Beside(t *testing.T) {
	t.Helper()
	if os.Getenv("PROVE") == "short" {
		t.Parallel()
	}
}

// Seed returns PROVE_SEED, or a random seed.
func Seed(t *testing.T) uint64 {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("PROVE_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64() >> 1
	}
	t.Logf("seed %d", seed)
	return seed
}

// Report writes a test's figures to the proof of that name, in the full run.
// Each test adds its own to what is there; change may be nil.
func Report(t *testing.T, name string, change func(*Proof), figures map[string]any) {
	t.Helper()
	text, _ := json.Marshal(figures)
	t.Logf("figures: %s", text)
	if os.Getenv("PROVE") != "full" {
		return
	}

	file := filepath.Join("..", "..", "proof", name)
	proof := Proof{}
	if old, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(old, &proof); err != nil {
			t.Fatal(err)
		}
	}
	if proof.Figures == nil {
		proof.Figures = map[string]any{}
	}

	if change != nil {
		change(&proof)
	}
	proof.Figures[t.Name()] = figures

	out, err := json.MarshalIndent(proof, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(out, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Failures is 0 as long as the test has found nothing wrong, for tests that do not
// count what they find.
func Failures(t *testing.T) int {
	t.Helper()
	if t.Failed() {
		return 1
	}
	return 0
}

// Round rounds to one decimal.
func Round(x float64) float64 { return math.Round(x*10) / 10 }

// Quantile returns a quantile of times, in milliseconds.
func Quantile(times []time.Duration, q float64) float64 {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return Round(float64(times[min(len(times)-1, int(q*float64(len(times))))].Microseconds()) / 1000)
}

// Upper95 returns the upper 95 % confidence bound of a Poisson count: the mean
// at which the chance of so few violations, or fewer, is 5 %. It is 3 for none.
func Upper95(violations int) float64 {
	// The normal approximation is close enough for large counts.
	if violations > 100 {
		return float64(violations) + 1.65*math.Sqrt(float64(violations)) + 2
	}

	low := 0.0
	high := float64(violations)*2 + 20
	for range 60 {
		mean := (low + high) / 2
		term := math.Exp(-mean)
		chance := 0.0
		for k := range violations + 1 {
			chance += term
			term *= mean / float64(k+1)
		}

		if chance > 0.05 {
			low = mean
		} else {
			high = mean
		}
	}
	return math.Round(high*1000) / 1000
}
