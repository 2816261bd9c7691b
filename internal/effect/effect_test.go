package effect

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestSimulatedEffectsAreDoneOnceAtMost runs as many effects as SIMULATE says. A
// seed that fails is run again alone by SEED.
func TestSimulatedEffectsAreDoneOnceAtMost(t *testing.T) {
	t.Parallel()
	n, err := strconv.Atoi(os.Getenv("SIMULATE"))
	if err != nil {
		n = 20_000
	}
	first := rand.Uint64() >> 1
	if seed, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		first, n = seed, 1
	}

	began := time.Now()
	ends := map[string]int{}
	violations := 0
	for i := range n {
		seed := first + uint64(i)
		w := newWorld(seed)
		w.live()
		w.conclude()
		ends[w.kind+": "+string(w.state)]++
		if len(w.wrong) == 0 {
			continue
		}
		if violations++; violations <= 3 {
			t.Errorf("SEED=%d: %s\n%s", seed, strings.Join(w.wrong, "; "), w.story())
		}
	}
	t.Logf("%d effects from seed %d in %v, %d violations", n, first, time.Since(began).Round(time.Millisecond), violations)

	// A world in which nothing succeeds, fails or is left open shows nothing.
	for _, end := range []string{
		"finds and repeats: succeeded", "repeats: succeeded", "finds: succeeded", "neither: succeeded",
		"finds, repeats what is absent: succeeded", "repeats: needs_review", "neither: needs_review", "finds: failed",
	} {
		if n > 1 && ends[end] == 0 {
			t.Errorf("no effect ended as %q: %v", end, ends)
		}
	}
}

// script answers acts one after the other.
type script struct {
	t       *testing.T
	answers []Report
	acts    []string
}

func (s *script) do(a Act) Report {
	s.t.Helper()
	s.acts = append(s.acts, string(a.Kind)+strconv.Itoa(a.Attempt))
	if len(s.answers) == 0 {
		s.t.Fatalf("unexpected act %v", s.acts)
	}
	answer := s.answers[0]
	s.answers = s.answers[1:]
	return answer
}

func TestRules(t *testing.T) {
	t.Parallel()
	now := epoch.Add(10 * time.Minute)
	lost := Open{State: Uncertain, Attempt: 1, CreatedAt: epoch, StartedAt: epoch}
	missed := lost
	missed.MissedAt = epoch.Add(5 * time.Minute)
	tried := lost
	tried.Attempt = maxAttempts
	fresh := Open{State: Pending, Attempt: 1, CreatedAt: now.Add(-time.Minute), StartedAt: now.Add(-time.Minute)}
	old := lost
	old.CreatedAt = now.Add(-25 * time.Hour)

	finds := Certainty{CanLook: true}
	repeats := Certainty{CanRepeat: true}
	ups := Certainty{CanLook: true, CanRepeat: true}
	closes := Certainty{CanLook: true, CanRepeatAbsent: true}

	for _, tc := range []struct {
		name    string
		can     Certainty
		open    *Open // nil runs it for the first time
		results []Result
		acts    string
		want    VerdictKind
	}{
		{"confirmed", repeats, nil, []Result{Done, Confirmed, Done}, "intend1 send1 record1", Did},
		{"the same one is there", repeats, nil, []Result{Conflict}, "intend1", Taken},
		{"refused", repeats, nil, []Result{Done, Refused, Done}, "intend1 send1 refuse1", Rejected},
		{"existed at the first attempt", repeats, nil, []Result{Done, Existed, Done}, "intend1 send1 refuse1", Rejected},
		{"not sent", finds, nil, []Result{Done, NotSent, Done}, "intend1 send1 refuse1", Rejected},
		{"lost, can be found out", finds, nil, []Result{Done, Lost, Done}, "intend1 send1 mark_uncertain1", Waiting},
		{"lost, cannot be found out", Certainty{}, nil, []Result{Done, Lost, Done}, "intend1 send1 review1", InReview},

		{"may still be running", finds, &fresh, nil, "", Waiting},
		{"found", finds, &lost, []Result{Found, Done}, "look1 record1", Did},
		{"found after a day", finds, &old, []Result{Found, Done}, "look1 record1", Did},
		{"absent once", finds, &lost, []Result{Absent, Done}, "look1 miss1", Waiting},
		{"absent twice, must not be repeated", finds, &missed, []Result{Absent, Done}, "look1 refuse1", Rejected},
		{"absent twice, open", closes, &missed, []Result{Absent, Done, Confirmed, Done}, "look1 again1 send2 record2", Did},
		{"absent twice, refused", closes, &missed, []Result{Absent, Done, Refused, Done}, "look1 again1 send2 refuse2", Rejected},
		{"not shown, repeated", ups, &lost, []Result{Cannot, Done, Confirmed, Done}, "look1 again1 send2 record2", Did},
		{"not shown", finds, &lost, []Result{Cannot, Done}, "look1 review1", InReview},
		{"unsure", ups, &lost, []Result{Unsure, Done}, "look1 mark_uncertain1", Waiting},
		{"unsure for a day", ups, &old, []Result{Unsure, Done}, "look1 review1", InReview},
		{"repeated, existed", repeats, &lost, []Result{Done, Existed, Done}, "again1 send2 record2", Did},
		{"repeated, refused", repeats, &lost, []Result{Done, Refused, Done}, "again1 send2 review2", InReview},
		{"repeated by somebody else", repeats, &lost, []Result{Conflict}, "again1", Overtaken},
		{"repeated for a day", repeats, &old, []Result{Done}, "review1", InReview},
		{"repeated often", repeats, &tried, []Result{Done}, "review5", InReview},
		{"left open, cannot be found out", Certainty{}, &lost, []Result{Done}, "review1", InReview},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := &script{t: t}
			for _, result := range tc.results {
				s.answers = append(s.answers, Report{Result: result})
			}

			m := Machine{Do: s.do, Now: func() time.Time { return now }, Waits: waits, Certainty: tc.can}
			var verdict Verdict
			if tc.open == nil {
				verdict = m.Run()
			} else {
				verdict = m.Settle(*tc.open)
			}

			if acts := strings.Join(s.acts, " "); acts != tc.acts || verdict.Kind != tc.want || len(s.answers) > 0 {
				t.Errorf("acts %q, verdict %s; want %q, %s", acts, verdict.Kind, tc.acts, tc.want)
			}
			if verdict.Kind == Waiting && verdict.Again <= 0 {
				t.Error("it waits, and nothing says for how long")
			}
		})
	}
}
