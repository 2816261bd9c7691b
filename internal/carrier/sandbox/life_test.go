package sandbox_test

import (
	"slices"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/ship"
)

var start = time.Date(2026, 11, 16, 9, 0, 0, 700e6, time.UTC)

// live runs a parcel's life to its end, a step every 30 s.
func live(t *testing.T, o ship.Order, name string, scans ...ship.Scan) []ship.Scan {
	t.Helper()
	for step := range 20 {
		next, done := sandbox.Next(o, scans, start.Add(time.Duration(step)*30*time.Second), name)
		if len(next) == 0 && !done {
			t.Fatalf("%s: stuck after %+v", name, scans)
		}
		scans = append(scans, next...)
		if done {
			if again, still := sandbox.Next(o, scans, start.Add(time.Hour), name); len(again) > 0 || !still {
				t.Errorf("%s: %+v after the end", name, again)
			}
			return scans
		}
	}
	t.Fatalf("%s: no end", name)
	return nil
}

func statuses(scans []ship.Scan) []ship.Status {
	var list []ship.Status
	for _, s := range scans {
		list = append(list, s.Status)
	}
	return list
}

func TestAParcelIsPickedUpTravelsAndArrives(t *testing.T) {
	for _, name := range sandbox.Names {
		own := []ship.Scan{ship.CreatedScan(start), ship.LabelScan(start)}
		scans := live(t, order(), name, own...)[2:]
		want := []ship.Status{ship.PickedUp, ship.InTransit, ship.InTransit, ship.OutForDelivery, ship.Delivered}
		if got := statuses(scans); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		if scans[0].Location != "Los Angeles, CA, US" || scans[4].Location != "New York, NY, US" || scans[2].Location == "" {
			t.Errorf("%s: places %+v", name, scans)
		}
		for _, s := range scans {
			if s.Code == "" || s.Description == "" || s.At.Before(start) {
				t.Errorf("%s: scan %+v", name, s)
			}
		}
	}
}

func TestAllPiecesMoveTogether(t *testing.T) {
	o := order()
	o.Parcels = append(o.Parcels, o.Parcels[0])
	p := ship.Advance(ship.Progress{}, live(t, o, "ups"), 2)
	if p.Status != ship.Delivered || !slices.Equal(p.Pieces, []ship.Status{ship.Delivered, ship.Delivered}) {
		t.Errorf("progress %+v", p)
	}
}

func TestLifeGoesOnFromWhereItWasMoved(t *testing.T) {
	o := order()
	out := sandbox.ScanFor(o, ship.OutForDelivery, "", start, "ups")
	scans := live(t, o, "ups", out)
	if got := statuses(scans); !slices.Equal(got, []ship.Status{ship.OutForDelivery, ship.Delivered}) {
		t.Errorf("%v", got)
	}
	weather := sandbox.ScanFor(o, ship.Exception, sandbox.ReasonWeather, start.Add(time.Second), "ups")
	if got := statuses(live(t, o, "ups", out, weather)); got[len(got)-1] != ship.Delivered {
		t.Errorf("after bad weather: %v", got)
	}
	lost := sandbox.ScanFor(o, ship.Exception, sandbox.ReasonLost, start.Add(time.Second), "ups")
	if next, done := sandbox.Next(o, []ship.Scan{out, lost}, start, "ups"); next != nil || !done {
		t.Errorf("a lost parcel goes on: %+v", next)
	}
}

func TestScanForReachesEveryStatusAndReason(t *testing.T) {
	for _, name := range sandbox.Names {
		for _, status := range []ship.Status{ship.PickedUp, ship.InTransit, ship.OutForDelivery, ship.Delivered} {
			if s := sandbox.ScanFor(order(), status, "", start, name); s.Status != status || s.Code == "" || !s.At.Equal(start) {
				t.Errorf("%s %s: %+v", name, status, s)
			}
		}
		codes := map[string]bool{}
		for _, reason := range sandbox.Reasons {
			s := sandbox.ScanFor(order(), ship.Exception, reason, start, name)
			if s.Status != ship.Exception || s.Reason != reason || codes[s.Code] {
				t.Errorf("%s %s: %+v", name, reason, s)
			}
			codes[s.Code] = true
		}
		if s := sandbox.ScanFor(order(), ship.Exception, "", start, name); s.Reason != sandbox.ReasonAddress {
			t.Errorf("%s: without a reason %+v", name, s)
		}
		if s := sandbox.ScanFor(order(), ship.LabelGenerated, "", start, name); s != (ship.Scan{}) {
			t.Errorf("%s: %+v for what no carrier tells", name, s)
		}
	}
}

func TestMagicLives(t *testing.T) {
	for _, name := range sandbox.Names {
		o := order()
		o.Destination.Name = "FAULT EXCEPTION"
		p := ship.Advance(ship.Progress{}, live(t, o, name), 1)
		if p.Status != ship.Exception || p.Reason != sandbox.ReasonAddress {
			t.Errorf("%s: exception ends as %+v", name, p)
		}

		o.Destination.Name = "FAULT UNMAPPED"
		scans := live(t, o, name)
		last := scans[len(scans)-1]
		if last.Status != "" || last.Reason != ship.ReasonUnmapped || ship.Advance(ship.Progress{}, scans, 1).Status != ship.InTransit {
			t.Errorf("%s: unmapped ends as %+v", name, last)
		}

		o.Destination.Name = "FAULT OUT OF ORDER"
		scans = live(t, o, name)
		inOrder := slices.IsSortedFunc(scans, func(a, b ship.Scan) int { return a.At.Compare(b.At) })
		line := ship.Timeline(scans)
		if inOrder || len(line) != len(scans)-1 {
			t.Errorf("%s: out of order is %+v", name, scans)
		}
		want := []ship.Status{ship.Delivered, ship.OutForDelivery, ship.InTransit, ship.InTransit, ship.PickedUp}
		if got := statuses(line); !slices.Equal(got, want) {
			t.Errorf("%s: timeline %v, want %v", name, got, want)
		}
	}
}

func TestAnUnknownCarrierHasNoLife(t *testing.T) {
	if next, done := sandbox.Next(order(), nil, start, "pigeon"); next != nil || !done {
		t.Errorf("%+v", next)
	}
	if s := sandbox.ScanFor(order(), ship.Delivered, "", start, "pigeon"); s != (ship.Scan{}) {
		t.Errorf("%+v", s)
	}
	// A parcel that is only tracked has no order.
	if next, _ := sandbox.Next(ship.Order{}, nil, start, "ups"); len(next) != 1 || next[0].Location != "" {
		t.Errorf("without an order: %+v", next)
	}
}

func BenchmarkNext(b *testing.B) {
	o := order()
	scans := []ship.Scan{sandbox.ScanFor(o, ship.PickedUp, "", start, "ups"), sandbox.ScanFor(o, ship.InTransit, "", start, "ups")}
	b.ReportAllocs()
	for b.Loop() {
		if next, _ := sandbox.Next(o, scans, start, "ups"); len(next) != 1 {
			b.Fatal(next)
		}
	}
}
