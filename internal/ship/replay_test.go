package ship

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// tables draws a carrier's table: what each code means, some that change
// nothing, some unknown.
func tables(t *rapid.T) map[string]Scan {
	table, codes := map[string]Scan{}, slices.Sorted(maps.Keys(mapping))
	for _, code := range codes {
		switch meaning := mapping[rapid.SampledFrom(codes).Draw(t, code)]; {
		case meaning.Reason != ReasonUnmapped:
			table[code] = meaning
		case rapid.Bool().Draw(t, code+" is known"):
			table[code] = Scan{Reason: "no_news"}
		}
	}
	return table
}

func meaningOf(table map[string]Scan) CodeMeaning {
	return func(code string) (Status, string, bool) {
		m, known := table[code]
		if !known {
			return "", ReasonUnmapped, false
		}
		return m.Status, m.Reason, true
	}
}

// read gives scans what they mean by a table.
func read(scans []Scan, table map[string]Scan) []Scan {
	list := slices.Clone(scans)
	for i := range list {
		list[i].Status, list[i].Reason, _ = meaningOf(table)(list[i].Code)
	}
	return list
}

func reread(j *TrackingState, stored []Scan, table map[string]Scan) (changed []Scan, events []Event) {
	changed, events = j.Remap(slices.Concat(j.OwnScans(), stored), meaningOf(table), EventContext{Now: boughtAt.Add(time.Hour)})
	for _, c := range changed {
		i := slices.IndexFunc(stored, func(s Scan) bool { return s.Key() == c.Key() })
		stored[i] = c
	}
	return changed, events
}

func TestABetterTableLeadsToWhatItWouldHaveFromTheStart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces, followed := rapid.IntRange(1, 3).Draw(t, "pieces"), rapid.Bool().Draw(t, "followed")
		scans := scansOf(t, pieces)
		first, then := tables(t), tables(t)
		for code, m := range first {
			if _, known := then[code]; !known {
				then[code] = m // a better table does not forget
			}
		}
		j := newTrackingState(pieces, followed)
		stored, events := j.Apply(j.OwnScans(), read(scans, first), EventContext{Now: boughtAt.Add(time.Minute)})
		_, more := reread(&j, stored, then)
		events = append(events, more...)

		want := newTrackingState(pieces, followed)
		heard, _ := want.Apply(want.OwnScans(), read(scans, then), EventContext{Now: boughtAt.Add(time.Minute)})
		if p := Advance(want.Progress, slices.Concat(heard, want.OwnScans()), pieces); j.Progress.Pieces != nil && !reflect.DeepEqual(j.Progress, p) ||
			j.Progress.Status != p.Status || j.Progress.Reason != p.Reason {
			t.Errorf("it is %+v, want %+v", j.Progress, p)
		}
		line := Timeline(slices.Concat(stored, j.OwnScans()))
		for i := range line {
			line[i].Notified = false
		}
		if wanted := Timeline(slices.Concat(heard, want.OwnScans())); !reflect.DeepEqual(line, wanted) {
			t.Errorf("timeline\n%+v\nwant\n%+v", line, wanted)
		}
		if changed, again := reread(&j, stored, then); len(changed) > 0 || len(again) > 0 {
			t.Errorf("a second time, %d scans change and %d events are written", len(changed), len(again))
		}
		var log, wantLog []string
		for i, e := range events {
			if e.Sequence != len(j.OwnScans())+i+1 {
				t.Errorf("event %d has number %d", i, e.Sequence)
			}
			log = append(log, fmt.Sprint(Scan{Piece: e.Snapshot.Scan.Piece, Code: e.Snapshot.Scan.Code, At: e.Snapshot.Scan.At}.Key()))
		}
		for _, s := range scans {
			if first[s.Code].Status != "" || then[s.Code].Status != "" {
				wantLog = append(wantLog, fmt.Sprint(s.Key()))
			}
		}
		slices.Sort(log)
		slices.Sort(wantLog)
		if !slices.Equal(log, wantLog) {
			t.Errorf("told of %v, want each once: %v", log, wantLog)
		}
	})
}

func TestWhatWasTakenBackIsNotToldAgain(t *testing.T) {
	j := newTrackingState(1, false)
	scan := Scan{Code: "AR", At: toSecond(boughtAt).Add(time.Hour), Status: InTransit}
	stored, events := j.Apply(j.OwnScans(), []Scan{scan}, EventContext{Now: boughtAt})
	if len(events) != 1 {
		t.Fatalf("%d events", len(events))
	}
	if _, events = reread(&j, stored, map[string]Scan{"AR": {Reason: "no_news"}}); len(events) != 0 || j.Progress.Status != LabelGenerated || stored[0].Status != "" {
		t.Errorf("after it was taken back: %s, %+v, %d events", j.Progress.Status, stored, len(events))
	}
	// A copy with the old table hears of it again.
	fresh, events := j.Apply(slices.Concat(j.OwnScans(), stored), []Scan{scan}, EventContext{Now: boughtAt})
	if len(events) != 0 || len(fresh) != 1 || j.Progress.Status != InTransit {
		t.Errorf("heard again: %s, %+v, %d events", j.Progress.Status, fresh, len(events))
	}
	// So does a third table.
	if _, events = reread(&j, stored, map[string]Scan{"AR": {Status: PickedUp}}); len(events) != 0 || j.Progress.Status != PickedUp || j.Sequence != 3 {
		t.Errorf("after a third table: %s, %d events, %d in all", j.Progress.Status, len(events), j.Sequence)
	}
}

func TestATableThatForgetsTakesNothingAway(t *testing.T) {
	j := newTrackingState(1, false)
	stored, _ := j.Apply(j.OwnScans(), []Scan{{Code: "AR", At: boughtAt, Status: InTransit}}, EventContext{Now: boughtAt})
	if changed, events := reread(&j, stored, nil); len(changed) != 0 || len(events) != 0 || j.Progress.Status != InTransit {
		t.Errorf("%s, %+v, %d events", j.Progress.Status, changed, len(events))
	}
	failed := FailedScan(boughtAt, ReasonPurchaseFailed)
	if _, differs := failed.Remap(func(string) (Status, string, bool) { return Delivered, "", true }); differs {
		t.Error("an event of the service's own is read by a carrier's table")
	}
}
