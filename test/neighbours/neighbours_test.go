//go:build chaos

package neighbours

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/test/proving"
)

// A size is how much the shop does beside each attack.
type size struct {
	parcels   int
	perSecond float64

	// times is how many times longer the slowest hundredth of each activity may take
	// beside an attack, if that is more than the floor, in milliseconds.
	times, floor float64
}

// TestProveNeighbours has one account hold each resource that accounts share, and then
// all at once, with ten test keys and a plug-in that hangs. Another one works beside it:
// nothing that it does is refused, or much slower. The short run asks only whether it
// waits for its neighbour, which would last until a limit of many seconds.
func TestProveNeighbours(t *testing.T) {
	p := proving.Pick(t,
		size{parcels: 40, perSecond: 10, times: 2, floor: 8000},
		size{parcels: 1000, perSecond: 12, times: 2, floor: 250})
	start := time.Now()
	w := newWorld(t)
	shop, attacker := w.newShop(), w.newAttacker()
	compareWithDocument(t)

	// The machine may be busy with something else for a while, so the shop is alone
	// before each attack, for a part of the parcels.
	alone, beside := newDay(), map[string]*day{}
	shop.work(newDay(), "warm", 20, p.perSecond)
	figures := map[string]any{}
	for _, attack := range attacks {
		if only := os.Getenv("ATTACK"); only != "" && only != attack.resource {
			continue
		}
		shop.work(alone, "before "+attack.resource, p.parcels/len(attacks)+1, p.perSecond)

		stop := attacker.hold(attack)
		beside[attack.resource] = newDay()
		shop.work(beside[attack.resource], "beside "+attack.resource, p.parcels, p.perSecond)
		stop()

		result := beside[attack.resource].figures()
		result["answers"] = attacker.reset()
		figures[attack.resource] = result
		t.Logf("%s: %v", attack.resource, result)
	}
	figures["alone"] = alone.figures()
	t.Logf("alone: %v", figures["alone"])

	violations, parcels := len(alone.refused), 0
	for _, what := range alone.refused {
		t.Errorf("alone: %s", what)
	}
	for resource, day := range beside {
		wrong := p.judge(alone, day)
		for _, what := range wrong[:min(len(wrong), 5)] {
			t.Errorf("beside %s: %s", resource, what)
		}
		violations += len(wrong)
		parcels += p.parcels
	}

	proving.Report(t, "neighbours.json", func(out *proving.Proof) {
		out.N = parcels
		out.Settings = settings
		out.Violations = violations
		out.Bound95 = proving.Upper95(violations) / float64(parcels)
		out.Seconds = proving.Round(time.Since(start).Seconds())
	}, figures)
	t.Logf("%d parcels beside %d attacks: %d violations", parcels, len(beside), violations)
}

// judge says what was refused, and what took too long.
func (p size) judge(alone, beside *day) (wrong []string) {
	wrong = beside.refused
	for _, activity := range activities {
		before, now := alone.p99(activity), beside.p99(activity)
		if now > max(p.times*before, p.floor) {
			wrong = append(wrong, fmt.Sprintf("%s take %.0f ms at p99, %.0f ms alone", activity, now, before))
		}
	}
	return wrong
}

// figures are what a day shows.
func (d *day) figures() map[string]any {
	out := map[string]any{"refused": len(d.refused)}
	for _, activity := range activities {
		out[activity] = len(d.times[activity])
		out[activity+"P50"] = proving.Quantile(d.times[activity], 0.5)
		out[activity+"P99"] = d.p99(activity)
	}
	return out
}

// reset returns how the attack was answered, and forgets it.
func (a *attacker) reset() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	answers := maps.Clone(a.answers)
	clear(a.answers)
	return answers
}

var firstCell = regexp.MustCompile(`(?m)^\| ([^|]+) \|`)

// compareWithDocument fails if a resource of the threat model is not attacked.
func compareWithDocument(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile("../../docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n## Shared resources\n")
	table, _, _ = strings.Cut(table, "\n## ")
	_, table, _ = strings.Cut(table, "|---")

	rows := 0
	for _, row := range firstCell.FindAllStringSubmatch(table, -1) {
		rows++
		isAttacked := slices.ContainsFunc(attacks, func(a attack) bool { return a.resource == row[1] })
		if !isAttacked {
			t.Errorf("%q is a shared resource that is not attacked here", row[1])
		}
	}
	if rows != len(attacks) {
		t.Errorf("the threat model has %d shared resources, want the %d that are attacked", rows, len(attacks))
	}
}
