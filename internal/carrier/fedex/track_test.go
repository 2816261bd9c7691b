package fedex_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/fedex"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
)

func TestTimelinesAreReadAsTheyCome(t *testing.T) {
	for _, c := range timelines {
		t.Run(c.name, func(t *testing.T) {
			heard, err := open(t, credentials(), canned{200, c.body}).Track(t.Context(), []string{one, two, "794600000009"})
			if err != nil {
				t.Fatal(err)
			}
			if got := lines(heard); !slices.Equal(got, c.want) {
				t.Errorf("heard\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(c.want, "\n\t"))
			}
			for _, h := range heard {
				status, reason, _ := fedex.Spec.MeaningOf(h.Scan.Code)
				if status != h.Scan.Status || reason != h.Scan.Reason {
					t.Errorf("%s alone means %s/%s", h.Scan.Code, status, reason)
				}
				if !json.Valid(h.Raw) || h.Raw[0] != '{' || !strings.Contains(c.body, string(h.Raw)) {
					t.Errorf("kept %s", h.Raw)
				}
			}
		})
	}
}

func TestScansInAnyOrderMakeOneTimeline(t *testing.T) {
	heard, err := open(t, credentials(), canned{200, timelines[0].body}).Track(t.Context(), []string{one})
	if err != nil {
		t.Fatal(err)
	}
	var scans []ship.Scan
	for _, h := range heard {
		scans = append(scans, h.Scan)
	}
	want := ship.Timeline(scans)
	slices.Reverse(scans)
	if got := ship.Timeline(append(scans, scans...)); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if p := ship.Advance(ship.Progress{}, scans, 1); p.Status != ship.Delivered {
		t.Errorf("the parcel is %s", p.Status)
	}
}

func TestAnswersThatTellNothingAreNoAnswers(t *testing.T) {
	fault := func(code string) string { return `{"error":{"code":"` + code + `","message":"no"}}` }
	for body, want := range map[string]ship.Kind{
		`{}`: ship.Unavailable, `[]`: ship.Unavailable, `null`: ship.Unavailable, `{"output":[]}`: ship.Unavailable,
		`{"output":{"completeTrackResults":null}}`:                                                    ship.Unavailable,
		`{"output":{"cxsErrors":[{"code":"SYSTEM.UNAVAILABLE","message":"no"}]}}`:                     ship.Unavailable,
		trackingBody(result(one, fault("SYSTEM.UNEXPECTED.ERROR"))):                                   ship.Unavailable,
		trackingBody(result(one, fault("TRACKING.TRACKINGNUMBER.INVALID"))):                           "",
		trackingBody(result(one, fault("SYSTEM.UNEXPECTED.ERROR")), timelinesResult):                  "",
		`{"output":{"completeTrackResults":[]}}`:                                                      "",
		`{"output":{"cxsErrors":[{"code":"TRACKING.DATA.NOTFOUND"}],"alerts":"none of the numbers"}}`: "",
	} {
		if _, err := open(t, credentials(), canned{200, body}).Track(t.Context(), []string{one}); ship.KindOf(err) != want {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
	absent := canned{404, `{"errors":[{"code":"TRACKING.TRACKINGNUMBER.NOTFOUND","message":"no"}]}`}
	if heard, err := open(t, credentials(), absent).Track(t.Context(), []string{one}); err != nil || heard != nil {
		t.Errorf("a number that FedEx does not know: %v, %v", heard, err)
	}
	gateway := canned{404, `{"errors":[{"code":"NOT.FOUND.ERROR","message":"no"}]}`}
	if _, err := open(t, credentials(), gateway).Track(t.Context(), []string{one}); err == nil {
		t.Error("a path that is not there is no answer")
	}
}

var timelinesResult = result(two, story(two, shipped, scan("2026-03-03T07:00:00-06:00", "PU", "Picked up", memphis, "")))

// counted records the requests for tracking numbers.
type counted struct {
	via   carrier.Doer
	sizes []int
}

func (c *counted) Do(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/trackingnumbers") {
		sent, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		var body struct{ TrackingInfo []struct{} }
		if err := json.NewDecoder(sent).Decode(&body); err != nil {
			return nil, err
		}
		c.sizes = append(c.sizes, len(body.TrackingInfo))
	}
	return c.via.Do(r)
}

func TestManyNumbersGoThirtyACall(t *testing.T) {
	server := newServer(t)
	if err := server.Turn(emulator.Faults{Tracking: []emulator.Scan{{Code: "PU", Text: "Picked up"}}}); err != nil {
		t.Fatal(err)
	}
	via := &counted{via: newContractOf(t, "openapi", nil).Checked(carriertest.Server(t, server))}
	c := open(t, twoProjects(), via)
	p, err := c.Buy(t.Context(), pieces())
	if err != nil {
		t.Fatal(err)
	}
	numbers := append([]string{"", "not a number", "<>"}, p.Pieces...)
	for i := range 40 {
		numbers = append(numbers, strconv.Itoa(400000000000+i))
	}
	heard, err := c.Track(t.Context(), numbers)
	if err != nil || len(heard) != 3 || !slices.Equal(via.sizes, []int{30, 13}) {
		t.Fatalf("heard %v in calls of %v: %v", lines(heard), via.sizes, err)
	}
	for i, h := range heard {
		if h.TrackingNumber != p.Pieces[i] || h.Scan.Status != ship.PickedUp || h.EstimateAt.IsZero() {
			t.Errorf("piece %d: %s", i, line(h))
		}
	}
	if heard, err := c.Track(t.Context(), []string{"#"}); err != nil || heard != nil || len(via.sizes) != 2 {
		t.Errorf("what cannot be a number: %v, %v, calls %v", heard, err, via.sizes)
	}
}

// TestRecordedAnswersAreRead compares FedEx's published and recorded responses
// with what is decoded from them.
func TestRecordedAnswersAreRead(t *testing.T) {
	dir := os.Getenv("CARRIER_SPECS")
	if dir == "" {
		t.Skip("CARRIER_SPECS is not set")
	}
	for file, want := range map[string]struct {
		number string
		scans  int
		status ship.Status
		zones  int // scans without a zone
	}{
		"track-documented-full-shape.json":               {"123456789012", 1, ship.PickedUp, 0},
		"track-ground-mixed-timestamp-formats-real.json": {"730000000002", 17, ship.Delivered, 1},
		"track-duplicate-number-real.json":               {"770000000001", 8, ship.Delivered, 0},
	} {
		body, err := os.ReadFile(filepath.Join(dir, "fedex", "responses", file))
		if err != nil {
			t.Fatal(err)
		}
		heard, err := open(t, credentials(), canned{200, string(body)}).Track(t.Context(), []string{want.number})
		if err != nil {
			t.Fatal(err)
		}
		var scans []ship.Scan
		unzoned := 0
		for _, h := range heard {
			scans = append(scans, h.Scan)
			if h.Scan.ZoneUnknown {
				unzoned++
			}
			if h.Scan.Reason == ship.ReasonUnmapped || h.TrackingNumber != want.number {
				t.Errorf("%s: %s", file, line(h))
			}
		}
		if p := ship.Advance(ship.Progress{}, scans, 1); p.Status != want.status || len(scans) != want.scans || unzoned != want.zones {
			t.Errorf("%s: %s after\n\t%s", file, p.Status, strings.Join(lines(heard), "\n\t"))
		}
	}
}

// TestADeliveryToTheSenderIsNoDelivery: a parcel that FedEx takes back ends with
// the same event as one that is delivered.
func TestADeliveryToTheSenderIsNoDelivery(t *testing.T) {
	server := newServer(t)
	c := open(t, credentials(), carriertest.Server(t, server))
	bought, err := c.Buy(t.Context(), buyOrder())
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		scans  []string
		status ship.Status
		reason string
	}{
		"delivered":            {[]string{"OC", "PU", "DL"}, ship.Delivered, ""},
		"back with the sender": {[]string{"OC", "PU", "RS", "DL"}, ship.Exception, "return_to_sender"},
	} {
		var script []emulator.Scan
		for _, code := range x.scans {
			script = append(script, emulator.Scan{Code: code, Text: code})
		}
		if err := server.Turn(emulator.Faults{Tracking: script}); err != nil {
			t.Fatal(err)
		}
		updates, err := c.Track(t.Context(), []string{bought.TrackingNumber})
		if err != nil {
			t.Fatal(err)
		}
		var last ship.Scan
		for _, update := range updates {
			if strings.HasPrefix(update.Scan.Code, "DL") {
				last = update.Scan
			}
		}
		status, reason, known := fedex.Spec.MeaningOf(last.Code)
		if last.Status != x.status || last.Reason != x.reason || status != x.status || reason != x.reason || !known {
			t.Errorf("%s: %+v, and its code means %s %s", name, last, status, reason)
		}
	}
}
