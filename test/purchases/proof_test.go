//go:build chaos

package purchases

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

// A proof is what a run showed. The counts are of purchases under kills; the
// figures are of all experiments.
type proof struct {
	N          int            `json:"n"`       // purchases
	Kills      int64          `json:"kills"`   // kill -9 of copies of the service and of carriers
	Crashes    int64          `json:"crashes"` // kill -9 of Postgres
	Stops      int64          `json:"stops"`   // SIGSTOP of copies
	Seed       uint64         `json:"seed"`
	Violations int            `json:"violations"`
	Bound95    float64        `json:"bound95"` // violations a purchase, at most, with 95 % confidence
	Seconds    float64        `json:"seconds"`
	Settings   []string       `json:"settings"` // waits are this much shorter than by default
	Figures    map[string]any `json:"figures"`
}

// pick returns the size to prove. Without PROVE the test is skipped.
func pick[T any](t *testing.T, short, full T) T {
	t.Helper()
	switch os.Getenv("PROVE") {
	case "1":
		return full
	case "short":
		return short
	}
	t.Skip("PROVE is not set: make purchases-short, or make prove-purchase")
	panic("unreachable")
}

// beside lets the gate's tests wait beside each other: they mostly wait. The
// full run is one after the other.
func beside(t *testing.T) {
	t.Helper()
	if os.Getenv("PROVE") == "short" {
		t.Parallel()
	}
}

func proofSeed(t *testing.T) uint64 {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("PROVE_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64() >> 1
	}
	t.Logf("seed %d", seed)
	return seed
}

// report writes a test's figures down, in the full run. Each test adds its
// own to what is there.
func report(t *testing.T, change func(*proof), figures map[string]any) {
	t.Helper()
	reportTo(t, "purchase.json", change, figures)
}

func reportTo(t *testing.T, name string, change func(*proof), figures map[string]any) {
	t.Helper()
	text, _ := json.Marshal(figures)
	t.Logf("figures: %s", text)
	if os.Getenv("PROVE") != "1" {
		return
	}
	file := filepath.Join("..", "..", "proof", name)
	p := proof{}
	if old, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(old, &p); err != nil {
			t.Fatal(err)
		}
	}
	if p.Figures == nil {
		p.Figures = map[string]any{}
	}
	if change != nil {
		change(&p)
	}
	p.Figures[t.Name()] = figures
	out, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(out, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

func round(x float64) float64 { return math.Round(x*10) / 10 }

// quantile of times, in milliseconds.
func quantile(times []time.Duration, q float64) float64 {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return round(float64(times[min(len(times)-1, int(q*float64(len(times))))].Microseconds()) / 1000)
}

// upper95 is the largest mean of a Poisson count that shows v or fewer with a
// chance of 5 %: 3 for none.
func upper95(v int) float64 {
	low, high := 0.0, float64(v)*2+20
	for range 60 {
		mean := (low + high) / 2
		term, sum := math.Exp(-mean), 0.0
		for k := range v + 1 {
			sum += term
			term *= mean / float64(k+1)
		}
		if sum > 0.05 {
			low = mean
		} else {
			high = mean
		}
	}
	return math.Round(high*1000) / 1000
}
