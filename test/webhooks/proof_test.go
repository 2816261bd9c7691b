//go:build chaos

package webhooks

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

// A proof is what a run showed. The counts are of deliveries under kills; the
// figures are of the other experiments.
type proof struct {
	N          int            `json:"n"` // deliveries that had to arrive
	Changes    int            `json:"changes"`
	Kills      int64          `json:"kills"`   // of copies of the binary
	Crashes    int64          `json:"crashes"` // of Postgres
	Seed       uint64         `json:"seed"`
	Violations int            `json:"violations"`
	Duplicates int            `json:"duplicates"`
	Bound95    float64        `json:"bound95"` // violations a delivery, at most, with 95 % confidence
	Seconds    float64        `json:"seconds"`
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
	t.Skip("PROVE is not set: make webhooks-short, or make prove-webhooks")
	panic("unreachable")
}

// beside lets the gate's tests wait beside each other: they mostly wait. The
// full run is one after the other, and so is what measures how much is done.
func beside(t *testing.T) {
	t.Helper()
	if os.Getenv("PROVE") == "short" {
		t.Parallel()
	}
}

func proofSeed() uint64 {
	if given, err := strconv.ParseUint(os.Getenv("PROVE_SEED"), 10, 64); err == nil {
		return given
	}
	return rand.Uint64()
}

// report writes a test's figures down, in the full run. Each test adds its
// own to what is there.
func report(t *testing.T, change func(*proof), figures map[string]any) {
	t.Helper()
	text, _ := json.Marshal(figures)
	t.Logf("figures: %s", text)
	if os.Getenv("PROVE") != "1" {
		return
	}
	file := filepath.Join("..", "..", "proof", "webhooks.json")
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
// chance of 5 %.
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
