package ship

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var boughtAt = time.Date(2026, 5, 20, 12, 0, 0, 700e6, time.UTC)

// mapping is a carrier's mapping; two codes are not in it.
var mapping = map[string]Scan{
	"MP": {Status: LabelGenerated}, "OR": {Status: PickedUp}, "DP": {Status: InTransit}, "AR": {Status: InTransit}, "OT": {Status: OutForDelivery},
	"D1": {Status: Delivered}, "D2": {Status: Delivered, Reason: "left_at_door"}, "X1": {Status: Exception, Reason: "weather_delay"},
	"X2": {Status: Exception, Reason: "address_not_found"}, "RS": {Status: Exception, Reason: "return_to_sender"},
	"Q1": {Reason: ReasonUnmapped}, "Q2": {Reason: ReasonUnmapped},
}

// scansOf draws a parcel's carrier scans: a few seconds apart or together, some
// before the label, some after delivery, no two with the same key.
func scansOf(t *rapid.T, pieces int) []Scan {
	drawn := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Scan {
		code := rapid.SampledFrom(slices.Sorted(maps.Keys(mapping))).Draw(t, "code")
		s := mapping[code]
		s.Code = code
		s.Piece = rapid.IntRange(0, pieces-1).Draw(t, "piece")
		s.At = toSecond(boughtAt).Add(time.Duration(rapid.IntRange(-2, 6).Draw(t, "second")) * time.Second)
		s.Description = "Scan " + s.Code
		return s
	}), 0, 12).Draw(t, "scans")
	return distinct(drawn)
}

// newTrackingState is a shipment that was just bought, or a followed parcel.
func newTrackingState(pieces int, followed bool) TrackingState {
	j := TrackingState{
		Subject: Subject{Tenant: Tenant{Account: NewAccountID(9, boughtAt)}, ID: NewRawID(9, boughtAt.Add(-time.Second))},
		Pieces:  pieces, Progress: Progress{Status: Created}, Followed: followed,
	}
	if !followed {
		j.State, j.Sequence, j.BoughtAt, j.NewestAt, j.Progress.Status = StatePurchased, 2, boughtAt, boughtAt, LabelGenerated
	}
	return j
}

// notified is what clients have been notified of about a parcel.
type notified struct {
	trackingState TrackingState
	timeline      []Scan
	log           []string // kind and key of each event, sorted
}

// hearAll has a tracking state hear the batches, one after the other, with what is
// stored in between.
func hearAll(t *rapid.T, j TrackingState, batches [][]Scan) notified {
	var stored []Scan
	var events []Event
	for _, b := range batches {
		fresh, more := j.Apply(slices.Concat(j.OwnScans(), stored), b, EventContext{Now: boughtAt.Add(time.Minute)})
		stored = keep(stored, fresh)
		events = append(events, more...)
		if !slices.IsSortedFunc(more, func(a, b Event) int { return strings.Compare(string(a.ID), string(b.ID)) }) {
			t.Fatalf("the ids of one transaction do not sort in the order of their events")
		}
	}
	out := notified{trackingState: j, timeline: Timeline(slices.Concat(stored, j.OwnScans()))}
	sequence, status, newest := j.Sequence-len(events), LabelGenerated, toSecond(boughtAt)
	if j.Followed {
		status, newest = Created, time.Time{}
	}
	for _, e := range events {
		sequence++
		n := e.Snapshot.Scan
		if e.Sequence != sequence || e.Snapshot.PreviousStatus != status || e.Late != n.At.Before(newest) || e.Kind != n.Status.Kind() {
			t.Fatalf("event %d (%s, late %t) after %s is %+v; want number %d after %s", e.Sequence, e.Kind, e.Late, e.Snapshot.PreviousStatus, n, sequence, status)
		}
		if !slices.Contains(EventKinds, e.Kind) || (e.Tracker != "") != j.Followed || (e.Shipment != "") == j.Followed {
			t.Fatalf("event %+v", e)
		}
		status, newest = e.Snapshot.Status, latest(newest, n.At)
		out.log = append(out.log, fmt.Sprint(e.Kind, " ", n.Piece, " ", n.Code, " ", n.At.Unix()))
	}
	if status != j.Progress.Status && len(events) > 0 {
		t.Fatalf("the last event says %s and the journey %s", status, j.Progress.Status)
	}
	slices.Sort(out.log)
	return out
}

// keep stores fresh scans the way the database does.
func keep(stored, fresh []Scan) []Scan {
	for _, f := range fresh {
		i := slices.IndexFunc(stored, func(s Scan) bool { return s.Key() == f.Key() })
		if i < 0 {
			stored = append(stored, f)
		} else {
			stored[i].Status, stored[i].Reason = f.Status, f.Reason
		}
	}
	return stored
}

// expected is the contract once more, word by word, over the set of scans.
func expected(j TrackingState, scans []Scan) (status Status, pieces []Status, log []string) {
	for piece := range j.Pieces {
		mine := slices.DeleteFunc(slices.Clone(scans), func(s Scan) bool { return s.Piece != piece || s.Status == "" })
		slices.SortFunc(mine, func(a, b Scan) int {
			if a.At.Equal(b.At) {
				return a.Status.Rank() - b.Status.Rank()
			}
			return a.At.Compare(b.At)
		})
		isReturn := func(s Scan) bool { return s.Reason == "return_to_sender" && !j.IsReturn }
		switch {
		case slices.ContainsFunc(mine, func(delivery Scan) bool {
			return delivery.Status == Delivered && !slices.ContainsFunc(mine, func(s Scan) bool { return isReturn(s) && s.At.Before(delivery.At) })
		}):
			pieces = append(pieces, Delivered)
		case slices.ContainsFunc(mine, isReturn):
			pieces = append(pieces, Exception)
		case len(mine) > 0:
			pieces = append(pieces, mine[len(mine)-1].Status)
		case j.Followed:
			pieces = append(pieces, Created)
		default:
			pieces = append(pieces, LabelGenerated)
		}
	}
	status = pieces[0]
	for _, s := range pieces {
		if s == Exception || status != Exception && s.Rank() < status.Rank() {
			status = s
		}
	}
	for _, s := range scans {
		if s.Status != "" {
			log = append(log, fmt.Sprint(s.Status.Kind(), " ", s.Piece, " ", s.Code, " ", s.At.Unix()))
		}
	}
	slices.Sort(log)
	return status, pieces, log
}

// batchesOf draws an order of arrival: shuffled, cut into batches, with
// repeats, some of which came before the mapping knew their code.
func batchesOf(t *rapid.T, scans []Scan) (batches [][]Scan) {
	arrive := slices.Clone(scans)
	if len(scans) > 0 {
		arrive = append(arrive, rapid.SliceOfN(rapid.SampledFrom(scans), 0, 8).Draw(t, "repeats")...)
	}
	arrive = rapid.Permutation(arrive).Draw(t, "order")
	for i := range arrive {
		// A repeat may differ in its fraction of a second.
		arrive[i].At = arrive[i].At.Add(time.Duration(rapid.IntRange(0, 999).Draw(t, "fraction")) * time.Millisecond)
	}
	var early []Scan
	for _, s := range arrive {
		if s.Status != "" && rapid.IntRange(0, 9).Draw(t, "early") == 0 {
			s.Status, s.Reason = "", ReasonUnmapped
			early = append(early, s)
		}
	}
	arrive = append(early, arrive...)
	for len(arrive) > 0 {
		n := rapid.IntRange(1, len(arrive)).Draw(t, "batch")
		batches, arrive = append(batches, arrive[:n:n]), arrive[n:]
	}
	return batches
}

// TestAnyOrderAndRepetitionTellsTheSameStory runs 10,000 histories of one to
// three pieces.
func TestAnyOrderAndRepetitionTellsTheSameStory(t *testing.T) {
	t.Parallel()
	for range 100 { // of a hundred each
		rapid.Check(t, oneStory)
	}
}

func oneStory(t *rapid.T) {
	j := newTrackingState(rapid.IntRange(1, 3).Draw(t, "pieces"), rapid.Bool().Draw(t, "followed"))
	j.IsReturn = rapid.Bool().Draw(t, "return")
	scans := scansOf(t, j.Pieces)
	status, pieces, log := expected(j, scans)
	first := hearAll(t, j, [][]Scan{scans})
	for range 3 {
		got := hearAll(t, j, batchesOf(t, scans))
		if got.trackingState.Progress.Status != status || !slices.Equal(got.log, log) {
			t.Fatalf("status %s, log %q\nwant %s, %q", got.trackingState.Progress.Status, got.log, status, log)
		}
		if j.Pieces > 1 && len(log) > 0 && !slices.Equal(got.trackingState.Progress.Pieces, pieces) {
			t.Fatalf("pieces %s, want %s", got.trackingState.Progress.Pieces, pieces)
		}
		if got.trackingState.Progress.Reason != first.trackingState.Progress.Reason || got.trackingState.Sequence != first.trackingState.Sequence {
			t.Fatalf("reason %q after %d events, or %q after %d", got.trackingState.Progress.Reason, got.trackingState.Sequence,
				first.trackingState.Progress.Reason, first.trackingState.Sequence)
		}
		if !reflect.DeepEqual(got.timeline, first.timeline) {
			t.Fatalf("one timeline is\n%+v\nthe other is\n%+v", got.timeline, first.timeline)
		}
	}
	checkTimeline(t, first.timeline, scans, len(j.OwnScans()))
}

// checkTimeline holds a timeline against the contract: complete, newest first,
// the further status first in a tie, unmapped scans with the status below.
func checkTimeline(t *rapid.T, line, scans []Scan, own int) {
	if len(line) != len(scans)+own {
		t.Fatalf("%d entries of %d scans and %d of our own", len(line), len(scans), own)
	}
	mapped := func(s Scan) bool { return s.Reason != ReasonUnmapped }
	for i, s := range line {
		if !s.Status.Valid() {
			t.Fatalf("entry %d has status %q", i, s.Status)
		}
		if i == 0 {
			continue
		}
		newer := line[i-1]
		if newer.At.Before(s.At) || newer.At.Equal(s.At) && mapped(newer) && mapped(s) && newer.Status.Rank() < s.Status.Rank() {
			t.Fatalf("entry %d (%s at %v) stands before %s at %v", i-1, newer.Status, newer.At, s.Status, s.At)
		}
		if !mapped(newer) && newer.Status != s.Status {
			t.Fatalf("an unmapped scan is shown as %s above %s", newer.Status, s.Status)
		}
	}
}

// TestAParcelThatWasSentBackIsNotDelivered has a parcel delivered to its sender,
// in any order of arrival. Each scan keeps its own status in the timeline.
func TestAParcelThatWasSentBackIsNotDelivered(t *testing.T) {
	t.Parallel()
	scan := func(hour int, code string) Scan {
		s := mapping[code]
		s.Code = code
		s.At = toSecond(boughtAt).Add(time.Duration(hour) * time.Hour)
		return s
	}
	for name, tc := range map[string]struct {
		scans    []Scan
		isReturn bool
		status   Status
		reason   string
	}{
		"sent back":                        {[]Scan{scan(1, "OT"), scan(2, "RS")}, false, Exception, "return_to_sender"},
		"sent back and moving":             {[]Scan{scan(1, "RS"), scan(2, "DP"), scan(3, "X1")}, false, Exception, "return_to_sender"},
		"delivered to the sender":          {[]Scan{scan(1, "OT"), scan(2, "RS"), scan(3, "DP"), scan(4, "D2")}, false, Exception, "return_to_sender"},
		"delivered before it was sent":     {[]Scan{scan(1, "D2"), scan(2, "RS"), scan(3, "D1")}, false, Delivered, "left_at_door"},
		"delivered in the same second":     {[]Scan{scan(1, "RS"), scan(1, "D1")}, false, Delivered, ""},
		"a return shipment":                {[]Scan{scan(1, "OR"), scan(2, "RS"), scan(3, "D1")}, true, Delivered, ""},
		"a return shipment under way":      {[]Scan{scan(1, "RS"), scan(2, "DP")}, true, InTransit, ""},
		"another exception, and delivered": {[]Scan{scan(1, "X2"), scan(2, "D1")}, false, Delivered, ""},
	} {
		rapid.Check(t, func(t *rapid.T) {
			j := newTrackingState(1, false)
			j.IsReturn = tc.isReturn
			got := hearAll(t, j, batchesOf(t, tc.scans))
			progress := got.trackingState.Progress
			if progress.Status != tc.status || progress.Reason != tc.reason {
				t.Fatalf("%s: %s (%s), want %s (%s)", name, progress.Status, progress.Reason, tc.status, tc.reason)
			}
			for _, entry := range got.timeline {
				if own, isCarriers := mapping[entry.Code]; isCarriers && (entry.Status != own.Status || entry.Reason != own.Reason) {
					t.Fatalf("%s: the scan %s is shown as %s (%s)", name, entry.Code, entry.Status, entry.Reason)
				}
			}
		})
	}
}

func TestDeliveriesAreThoseToTheRecipient(t *testing.T) {
	t.Parallel()
	at := toSecond(boughtAt)
	scans := []Scan{
		{Code: "back", At: at.Add(3 * time.Hour), Status: Delivered},
		{Code: "other", Piece: 1, At: at.Add(3 * time.Hour), Status: Delivered},
		{Code: "RS", At: at.Add(2 * time.Hour), Status: Exception, Reason: ReasonReturnToSender},
		{Code: "first", At: at.Add(time.Hour), Status: Delivered},
	}
	codesOf := func(isReturn bool) (codes string) {
		for _, scan := range Deliveries(scans, isReturn) {
			codes += scan.Code + " "
		}
		return codes
	}
	if got := codesOf(false); got != "other first " {
		t.Errorf("deliveries of a shipment: %s", got)
	}
	if got := codesOf(true); got != "back other first " {
		t.Errorf("deliveries of a return: %s", got)
	}
}

func TestASecondOfSilenceIsNotLate(t *testing.T) {
	t.Parallel()
	j := newTrackingState(1, false)
	_, events := j.Apply(j.OwnScans(), []Scan{{Code: "OR", At: boughtAt.Add(200 * time.Millisecond), Status: PickedUp}}, EventContext{Now: boughtAt})
	if events[0].Late {
		t.Error("a scan in the second of the label is late")
	}
	_, events = j.Apply(j.OwnScans(), []Scan{{Code: "DP", At: boughtAt.Add(-time.Minute), Status: InTransit}}, EventContext{Now: boughtAt})
	if !events[0].Late {
		t.Error("a scan from before the label is not late")
	}
}

func TestACodeThatIsMappedLaterIsToldOnce(t *testing.T) {
	t.Parallel()
	j := newTrackingState(1, false)
	unmapped := Scan{Code: "Q1", At: boughtAt.Add(time.Hour), Reason: ReasonUnmapped, Description: "as first heard"}
	fresh, events := j.Apply(j.OwnScans(), []Scan{unmapped}, EventContext{Now: boughtAt})
	if len(fresh) != 1 || len(events) != 0 || j.Progress.Status != LabelGenerated {
		t.Fatalf("%d fresh, %d events, %s", len(fresh), len(events), j.Progress.Status)
	}
	known := append(j.OwnScans(), fresh...)
	mapped := Scan{Code: "Q1", At: unmapped.At, Status: InTransit, Description: "another text"}
	fresh, events = j.Apply(known, []Scan{unmapped, mapped, mapped}, EventContext{Now: boughtAt})
	if len(fresh) != 1 || len(events) != 1 || fresh[0].Status != InTransit || fresh[0].Description != "as first heard" || j.Progress.Status != InTransit {
		t.Fatalf("fresh %+v, %d events, %s", fresh, len(events), j.Progress.Status)
	}
	mapped.Status = Exception
	if fresh, events = j.Apply(append(j.OwnScans(), fresh...), []Scan{mapped}, EventContext{Now: boughtAt}); len(fresh)+len(events) != 0 {
		t.Errorf("a corrected status is told again: %+v", events)
	}
}

func TestAScanOfAPieceThatIsNotThereIsDropped(t *testing.T) {
	t.Parallel()
	j := newTrackingState(2, false)
	fresh, events := j.Apply(j.OwnScans(), []Scan{{Piece: 2, Code: "OR", At: boughtAt, Status: PickedUp}, {Piece: -1, Code: "OR", At: boughtAt, Status: PickedUp}}, EventContext{})
	if len(fresh)+len(events) != 0 {
		t.Errorf("%d scans and %d events of no piece", len(fresh), len(events))
	}
}

func TestAShipmentIsAnnouncedOnceAndBeforeAllElse(t *testing.T) {
	t.Parallel()
	for range 50 {
		j := TrackingState{Subject: Subject{Tenant: Tenant{Account: NewAccountID(9, boughtAt)}, ID: NewRawID(9, boughtAt)}, Pieces: 1, State: StateFailed, Progress: Progress{Status: Created}}
		delivery := EventContext{Now: boughtAt.Add(time.Second)}
		first := j.Announce(delivery)
		_, then := j.Apply(j.OwnScans(), []Scan{FailedScan(delivery.Now, ReasonPurchaseFailed)}, delivery)
		if len(first) != 1 || first[0].Kind != ShipmentCreated || first[0].Sequence != 1 || len(then) != 1 || then[0].Sequence != 2 || then[0].ID <= first[0].ID {
			t.Fatalf("first %+v\nthen %+v", first, then)
		}
		if again := j.Announce(delivery); again != nil {
			t.Fatalf("announced again: %+v", again)
		}
	}
}

func TestWhatTheServiceKnowsCountsUntilACarrierSpeaks(t *testing.T) {
	t.Parallel()
	created, failed := CreatedScan(boughtAt), FailedScan(boughtAt.Add(time.Hour), ReasonPurchaseFailed)
	unconfirmed := FailedScan(boughtAt, ReasonPurchaseUnconfirmed)
	label, picked := LabelScan(boughtAt.Add(time.Minute)), Scan{Code: "OR", At: boughtAt.Add(-time.Hour), Status: PickedUp}
	for _, tc := range []struct {
		scans  []Scan
		status Status
		reason string
	}{
		{nil, Created, ""},
		{[]Scan{created}, Created, ""},
		{[]Scan{created, unconfirmed}, Exception, ReasonPurchaseUnconfirmed},
		{[]Scan{failed, created, unconfirmed}, Exception, ReasonPurchaseFailed},
		{[]Scan{unconfirmed, failed, created}, Exception, ReasonPurchaseFailed},
		{[]Scan{failed, label, created}, LabelGenerated, ""},
		{[]Scan{failed, label, picked, created}, PickedUp, ""},
	} {
		for range 3 {
			if p := Advance(Progress{}, tc.scans, 1); p.Status != tc.status || p.Reason != tc.reason || p.Pieces != nil {
				t.Errorf("%d scans: %s %q %s, want %s %q", len(tc.scans), p.Status, p.Reason, p.Pieces, tc.status, tc.reason)
			}
			slices.Reverse(tc.scans)
		}
	}
}
