//go:build chaos

package crash

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// deepest is how many hits of one point are told apart: a sweep that looks
// again and again passes the same point without end.
const deepest = 3

func TestProve(t *testing.T) {
	switch os.Getenv("PROVE") {
	case "short":
		prove(t, few(), choose)
	case "full":
		prove(t, scenarios(), everything)
	default:
		t.Skip("PROVE is not set: make prove lists the proofs")
	}
}

// prove kills at the points that each scenario passes. ONLY is a part of the
// name of a case, to see it alone; WALK lists the points and kills nobody; PART=2/5
// does the second fifth of the scenarios. The part that ends last adds the others up.
func prove(t *testing.T, list []scenario, pick func([]passed) []kill) {
	began := time.Now()
	w := newWorld(t)
	only := os.Getenv("ONLY")
	if scene, _, ok := strings.Cut(only, " / "); ok {
		list = slices.DeleteFunc(list, func(s scenario) bool { return !strings.HasSuffix(s.String(), scene) })
	}
	part, parts := partOf(t)
	list = slices.Collect(func(yield func(scenario) bool) {
		for i := part - 1; i < len(list) && yield(list[i]); i += parts {
		}
	})
	wanted := points(t, w.root)
	isWhole := only == "" && parts == 1
	seen := w.walk(list)
	for round := 0; round < moreRounds && isWhole; round++ {
		missing := slices.DeleteFunc(slices.Clone(wanted), func(p string) bool { return slices.ContainsFunc(seen, func(s passed) bool { return s.passes(p) }) })
		if len(missing) == 0 {
			break
		}
		t.Logf("walking again: no scenario has passed %s", strings.Join(missing, ", "))
		seen = append(seen, restrictTo(missing, w.walk(list))...)
	}
	cases := slices.DeleteFunc(pick(seen), func(k kill) bool { return !strings.Contains(k.String(), only) })
	t.Logf("%d scenarios, %d cases after %.1f s", len(list), len(cases), time.Since(began).Seconds())
	if os.Getenv("WALK") != "" {
		for _, s := range seen {
			t.Logf("%s: %s", s.scenario, strings.Join(s.points, ", "))
		}
		return
	}
	r := w.killAll(cases)
	for round := 0; round < moreRounds && isWhole; round++ {
		again := slices.DeleteFunc(slices.Clone(cases), func(k kill) bool { return r.KillsByPoint[k.name()] > 0 })
		if len(again) == 0 {
			break
		}
		t.Logf("%d cases again: none has died at their points", len(again))
		r.add(w.killAll(again))
	}
	r.Scenarios, r.Seconds = len(list), int(time.Since(began).Seconds())
	isLast := true
	if parts > 1 && only == "" {
		isLast = r.addParts(t, part, parts)
	}
	never := slices.DeleteFunc(slices.Clone(wanted), func(p string) bool { return r.KillsByPoint[p] > 0 })
	if len(never) > 0 && only == "" && isLast {
		t.Errorf("no case dies at: %s", strings.Join(never, ", "))
	}
	r.Points, r.PointsInSource = len(wanted)-len(never), len(wanted)
	if isLast {
		r.judgeLost(t)
	}
	t.Logf("%d of %d points, %d scenarios, %d cases, %d of which died at their point: %d violations in %d s", r.Points, r.PointsInSource, r.Scenarios, r.Cases, r.Kills, r.Violations, r.Seconds)
	if os.Getenv("PROVE") == "full" && only == "" && isLast {
		writeProof(t, proofFile, r)
		removeParts(t, parts)
	}
}

// partOf reads PART; without it there is one part.
func partOf(t *testing.T) (part, parts int) {
	t.Helper()
	text := cmp.Or(os.Getenv("PART"), "1/1")
	if n, err := fmt.Sscanf(text, "%d/%d", &part, &parts); n != 2 || err != nil || part < 1 || part > parts {
		t.Fatalf("PART=%s is not such as 2/5", text)
	}
	return part, parts
}

// killAll plays all cases.
func (w *world) killAll(cases []kill) proof {
	r := proof{LookupScale: w.lookupScale, Lost: map[string]*lostAnswers{}, Outcomes: outcomes, Recoveries: recoveries, Settings: w.settings(), KillsByPoint: map[string]int{}}
	for _, m := range makers {
		r.Carriers = append(r.Carriers, m.name)
	}
	var mu sync.Mutex
	w.each(len(cases), func(i int) {
		b := w.run(cases[i])
		if !b.hit && (len(b.wrong) == 0 || b.late) {
			b = w.run(cases[i]) // on a busy machine a job goes another way now and then
		}
		mu.Lock()
		defer mu.Unlock()
		r.Cases++
		if b.hit {
			r.KillsByPoint[b.kill.name()]++
			r.Kills++
			r.count(b)
		}
		r.Violations += w.tell(b)
		if r.Cases%200 == 0 {
			w.t.Logf("%d cases, %d violations", r.Cases, r.Violations)
		}
	})
	return r
}

// tell says what was wrong in a case.
func (w *world) tell(b *bench) int {
	if len(b.wrong) == 0 {
		return 0
	}
	var logs []string
	for _, p := range b.running {
		logs = append(logs, p.said())
	}
	w.t.Errorf("ONLY='%s': %s\nsales %+v\n%s", b.kill, strings.Join(b.wrong, "; "), b.carrier.sales(), strings.Join(logs, "\n"))
	return 1
}

// moreRounds is how often what was not reached is tried again: on a slow machine a job
// may go another way each time.
const moreRounds = 6

// passed is a scenario with the points that it passes, "before send#1" first.
type passed struct {
	scenario
	points []string
}

// passes reports whether the scenario passes a point.
func (s passed) passes(point string) bool {
	return slices.ContainsFunc(s.points, func(hit string) bool { return strings.HasPrefix(hit, point+"#") })
}

// restrictTo leaves only the points that are named.
func restrictTo(names []string, seen []passed) []passed {
	for i := range seen {
		seen[i].points = slices.DeleteFunc(seen[i].points, func(hit string) bool {
			name, _, _ := strings.Cut(hit, "#")
			return !slices.Contains(names, name)
		})
	}
	return seen
}

// walk plays every scenario without a death, and lists the points.
func (w *world) walk(list []scenario) []passed {
	out := make([]passed, len(list))
	w.each(len(list), func(i int) {
		trace := filepath.Join(w.dir, fmt.Sprintf("trace-%d", i))
		b := w.run(kill{scenario: list[i], point: "?" + trace})
		w.tell(b)
		out[i] = passed{list[i], numbered(purchasePoints(b.trace))}
	})
	return out
}

// purchasePoints are the lines of a trace without those of package handover, whose
// sweep passes its points every few seconds beside any purchase. Its own cases are
// in TestOperationsAtEveryPoint.
func purchasePoints(trace string) []string {
	return slices.DeleteFunc(strings.Split(strings.TrimSpace(trace), "\n"), isOfHandover)
}

// numbered tells the hits of a point apart.
func numbered(names []string) (list []string) {
	count := map[string]int{}
	for _, n := range names {
		if count[n]++; count[n] <= deepest {
			list = append(list, fmt.Sprintf("%s#%d", n, count[n]))
		}
	}
	return list
}

// everything kills at every hit, with every recovery.
func everything(seen []passed) (list []kill) {
	for _, s := range seen {
		for _, p := range s.fresh() {
			list = append(list, kill{scenario: s.scenario, point: p, recovery: same}, kill{scenario: s.scenario, point: p, recovery: other})
			if s.scenario == (scenario{carrier: s.carrier, outcome: s.outcome}) && (s.carrier == "ups" || s.carrier == "fedex") {
				list = append(list, kill{scenario: s.scenario, point: p, recovery: paused})
			}
		}
	}
	return list
}

// fresh are the points that other scenarios do not pass in the same state: the
// carrier is healthy after a death, so until it hears of the purchase, it does
// not matter what it would do; and until there is a void, how it ends.
func (s passed) fresh() []string {
	from := ""
	switch {
	case s.voids:
		from = "before voiding#1"
	case s.outcome != "answered" && s.earlier == "":
		from = "send written#1"
	}
	return s.points[max(0, slices.Index(s.points, from)):]
}

// choose kills at every point once, and at every point of a purchase that was
// sold and not answered.
func choose(seen []passed) (list []kill) {
	taken := map[string]bool{}
	for _, s := range seen {
		for _, p := range s.points {
			plain := s.scenario == scenario{carrier: s.carrier, outcome: "hang"} && strings.HasSuffix(p, "#1")
			if name, _, _ := strings.Cut(p, "#"); !taken[name] || plain {
				taken[name] = true
				list = append(list, kill{scenario: s.scenario, point: p, recovery: []string{same, other}[len(list)%2]})
			}
		}
	}
	return list
}

// each does something for the numbers up to n, several at a time: cases mostly
// wait.
func (w *world) each(n int, do func(int)) {
	parallel, err := strconv.Atoi(os.Getenv("PARALLEL"))
	if err != nil {
		parallel = 12
	}
	next := make(chan int)
	var group sync.WaitGroup
	for range parallel {
		group.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
}
