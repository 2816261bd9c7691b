package tracking

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// noon returns noon on a day in New York.
var noon = time.Date(2026, 3, 4, 17, 0, 0, 0, time.UTC)

func TestTheNextQuestion(t *testing.T) {
	t.Parallel()
	const no = time.Duration(-1)
	us := clockAt("US", "NY")
	at := outlook{from: us, to: us}
	for _, tc := range []struct {
		name     string
		status   ship.Status
		quiet    time.Duration // since the last news
		estimate time.Duration // from now; 0 for none
		o        outlook
		now      time.Time
		want     time.Duration // until the next poll; marks move it by up to 7 minutes
	}{
		{"a new label", ship.LabelGenerated, time.Hour, 0, at, noon, often},
		{"a new label at night", ship.LabelGenerated, time.Hour, 0, at, noon.Add(10 * time.Hour), nowAndThen},
		{"a new label before the morning", ship.LabelGenerated, time.Hour, 0, at, noon.Add(-6 * time.Hour), time.Hour},
		{"a new label at night where the clock is not known", ship.LabelGenerated, time.Hour, 0, outlook{}, noon.Add(10 * time.Hour), often},
		{"a new label in a summer's morning", ship.LabelGenerated, time.Hour, 0, at, time.Date(2026, 7, 1, 11, 5, 0, 0, time.UTC), often},
		{"a label that lies about, long before its day", ship.LabelGenerated, 3 * day, 3 * day, at, noon, nowAndThen},
		{"a label that lies about, in the afternoon", ship.LabelGenerated, 3 * day, 0, at, noon, nowAndThen},
		{"just picked up", ship.PickedUp, time.Hour, 0, at, noon, often},
		{"just picked up, at night", ship.PickedUp, time.Hour, 0, at, noon.Add(10 * time.Hour), often},
		{"under way", ship.InTransit, 30 * time.Hour, 5 * day, at, noon, often},
		{"quiet, days before it is expected", ship.InTransit, 2 * day, 2 * day, at, noon, nowAndThen},
		{"quiet, in the morning of its day", ship.InTransit, 2 * day, 10 * time.Hour, at, noon.Add(-5 * time.Hour), often},
		{"quiet, in the afternoon of its day", ship.InTransit, 2 * day, 10 * time.Hour, at, noon.Add(2 * time.Hour), nowAndThen},
		{"quiet before the morning of its day", ship.InTransit, 2 * day, 10 * time.Hour, at, noon.Add(-8 * time.Hour), time.Hour},
		{"quiet and overdue, in the morning", ship.InTransit, 5 * day, -3 * day, at, noon.Add(-5 * time.Hour), often},
		{"quiet, expected who knows when, in the morning", ship.InTransit, 5 * day, 0, at, noon.Add(-5 * time.Hour), often},
		{"out for delivery", ship.OutForDelivery, 6 * time.Hour, 0, at, noon, often},
		{"out for delivery, at night", ship.OutForDelivery, 15 * time.Hour, 0, at, noon.Add(10 * time.Hour), nowAndThen},
		{"held", ship.Exception, time.Hour, 0, at, noon, often},
		{"pushed", ship.InTransit, time.Hour, 0, outlook{true, us, us}, noon, 8 * often},
		{"pushed and quiet", ship.InTransit, 3 * day, 3 * day, outlook{true, us, us}, noon, rarely},
		{"asleep", ship.InTransit, 11 * day, 0, at, noon, rarely},
		{"asleep on its day", ship.InTransit, 11 * day, time.Hour, at, noon, rarely},
		{"silent", ship.InTransit, 46 * day, 0, at, noon, no},
		{"silent with pushes", ship.InTransit, 46 * day, 0, outlook{true, us, us}, noon, no},
		{"delivered", ship.Delivered, time.Minute, 0, at, noon, no},
	} {
		j := ship.TrackingState{Progress: ship.Progress{Status: tc.status}, NewestAt: tc.now.Add(-tc.quiet)}
		if tc.estimate != 0 {
			j.Progress.EstimateAt = tc.now.Add(tc.estimate)
		}
		next, more := nextPoll(j, tc.o, tc.now)
		if more != (tc.want != no) {
			t.Errorf("%s: asked about again is %t", tc.name, more)
		}
		if wait := next.Sub(tc.now); more && (wait > tc.want || wait <= tc.want-often/4) {
			t.Errorf("%s: next in %s, want %s", tc.name, wait, tc.want)
		}
	}
}

func TestParcelsOfAnAccountAreAskedAboutTogether(t *testing.T) {
	t.Parallel()
	mine, other := tenantEndingIn(10), tenantEndingIn(200)
	marks := map[time.Time]bool{}
	for m := range 28 {
		j := ship.TrackingState{Subject: ship.Subject{Tenant: mine}, NewestAt: noon, Progress: ship.Progress{Status: ship.InTransit}}
		next, _ := nextPoll(j, outlook{}, noon.Add(time.Duration(m)*time.Minute))
		marks[next] = true
		again, _ := nextPoll(j, outlook{}, next.Add(90*time.Second))
		if again.Sub(next) != often {
			t.Errorf("asked about 90 s late, a parcel is asked about again after %s", again.Sub(next))
		}
	}
	if len(marks) > 5 {
		t.Errorf("parcels are asked about at %d moments in half an hour", len(marks))
	}
	for m := range marks {
		if alignToMark(other, m.Add(time.Minute)).Equal(m) {
			t.Errorf("another account's are asked about at the same moment %s", m)
		}
	}
}

func tenantEndingIn(b byte) ship.Tenant {
	raw := ship.NewRawID(7, noon)
	raw[15] = b
	return ship.Tenant{Account: ship.AccountIDOf(raw), Livemode: true}
}

func TestClocksOfPlaces(t *testing.T) {
	t.Parallel()
	winter := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	summer := time.Date(2026, 7, 15, 12, 0, 0, 0, time.UTC)
	for place, want := range map[[2]string][2]string{
		{"US", "NY"}: {"07:00", "08:00"},
		{"US", "CA"}: {"04:00", "05:00"},
		{"US", "HI"}: {"02:00", "02:00"},
		{"US", ""}:   {"07:00", "08:00"},
		{"DE", "BE"}: {"13:00", "14:00"},
		{"GB", ""}:   {"12:00", "13:00"},
		{"JP", ""}:   {"21:00", "21:00"},
	} {
		at := clockAt(place[0], place[1])
		if at.zone == nil {
			t.Errorf("%v has no clock", place)
			continue
		}
		got := [2]string{winter.In(at.zone).Format("15:04"), summer.In(at.zone).Format("15:04")}
		if got != want {
			t.Errorf("%v: %v in winter and summer, want %v", place, got, want)
		}
	}
	for _, place := range [][2]string{{"XX", ""}, {"", ""}} {
		if at := clockAt(place[0], place[1]); at.zone != nil {
			t.Errorf("%v has the clock of %s", place, at.zone)
		}
	}
}
