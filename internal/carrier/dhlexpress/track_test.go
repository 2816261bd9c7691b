package dhlexpress_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/dhlexpress"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
)

func TestTimelinesAreReadAsTheyCome(t *testing.T) {
	for _, c := range timelines {
		t.Run(c.name, func(t *testing.T) {
			var heard []carrier.TrackingUpdate
			// The answer is the same whichever kind of number was asked for.
			for _, numbers := range [][]string{{one, two}, {jd1, jd2}} {
				some, err := openWith(t, credentials, &fixed{status: 200, body: c.body}).Track(t.Context(), numbers)
				if err != nil {
					t.Fatal(err)
				}
				heard = append(heard, some...)
			}
			if got := lines(heard); !slices.Equal(got, c.want) {
				t.Errorf("heard\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(c.want, "\n\t"))
			}
			for _, h := range heard {
				status, reason, _ := dhlexpress.Spec.MeaningOf(h.Scan.Code)
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

func TestUnknownNumbersAreNoErrorAndNoAnswerIsOne(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   ship.Kind
	}{
		"DHL knows none":       {404, `{"title":"Not data found","detail":"No data found","status":"404"}`, ""},
		"a proxy says so":      {404, `<html>`, ship.Unavailable},
		"nobody says anything": {200, `{}`, ship.Unavailable},
		"a list":               {200, `[]`, ship.Unavailable},
		"an object":            {200, `{"shipments":{}}`, ship.Unavailable},
		"a refusal":            {400, `{"detail":"400104: bad waybill","status":"400"}`, ship.Invalid},
	} {
		heard, err := openWith(t, credentials, &fixed{status: c.status, body: c.body}).Track(t.Context(), []string{one})
		if ship.KindOf(err) != c.want || heard != nil {
			t.Errorf("%s: %v, %v", name, heard, err)
		}
	}
}

// strict is a DHL that refuses the switch for zones where it is not described.
type strict struct{ queries []string }

func (s *strict) Do(r *http.Request) (*http.Response, error) {
	s.queries = append(s.queries, r.URL.Query().Get("requestGMTOffsetPerEvent"))
	if r.URL.Query().Has("requestGMTOffsetPerEvent") {
		return (&fixed{status: 400, body: `{"detail":"Parameters not having correct format: requestGMTOffsetPerEvent","status":"400"}`}).Do(r)
	}
	return (&fixed{status: 200, body: timelines[0].body}).Do(r)
}

func TestZonesAreAskedForAndDoneWithout(t *testing.T) {
	via := &strict{}
	heard, err := openWith(t, credentials, via).Track(t.Context(), []string{one})
	if err != nil || len(heard) != 4 || !slices.Equal(via.queries, []string{"true", ""}) {
		t.Errorf("heard %v after %q: %v", lines(heard), via.queries, err)
	}
}

// counted records how many numbers each request contained.
type counted struct {
	via   carrier.Doer
	sizes []string
}

func (c *counted) Do(r *http.Request) (*http.Response, error) {
	q := r.URL.Query()
	if w, p := len(q["shipmentTrackingNumber"]), len(q["pieceTrackingNumber"]); w+p > 0 {
		c.sizes = append(c.sizes, strconv.Itoa(w)+"+"+strconv.Itoa(p))
	}
	if n := len(r.URL.RequestURI()); n > 8000 {
		return nil, fmt.Errorf("the address has %d characters", n)
	}
	return c.via.Do(r)
}

func TestManyNumbersAreAskedForAtOnce(t *testing.T) {
	server := newStandIn(t)
	if err := server.Turn(emulator.Faults{Tracking: []emulator.Scan{{Code: "PU", Text: "Picked up"}, {Code: "OK", Text: "Delivered"}}}); err != nil {
		t.Fatal(err)
	}
	via := &counted{via: newContract(t).Checked(carriertest.Server(t, server))}
	c := openWith(t, credentials, via)
	single, err := c.Buy(t.Context(), domesticOrder())
	if err != nil {
		t.Fatal(err)
	}
	several, err := c.Buy(t.Context(), foreignOrder())
	if err != nil || len(several.Pieces) != 2 {
		t.Fatal(several.Pieces, err)
	}
	numbers := append([]string{"", "no number", single.TrackingNumber}, several.Pieces...)
	for i := range 200 {
		numbers = append(numbers, strconv.Itoa(4000000000+i), fmt.Sprintf("JD0146%014d", 900000+i))
	}
	heard, err := c.Track(t.Context(), numbers)
	if err != nil || len(heard) != 6 || !slices.Equal(via.sizes, []string{"200+0", "1+0", "0+150", "0+52"}) {
		t.Fatalf("heard %v in questions of %v: %v", lines(heard), via.sizes, err)
	}
	seen := map[string]int{}
	for _, h := range heard {
		seen[h.TrackingNumber]++
		if h.Scan.ZoneUnknown || h.EstimateAt.IsZero() || time.Since(h.Scan.At) > time.Minute {
			t.Error(line(h))
		}
	}
	if len(seen) != 3 || seen[single.TrackingNumber] != 2 || seen[several.Pieces[0]] != 2 || seen[several.Pieces[1]] != 2 {
		t.Errorf("heard of %v", seen)
	}
	if heard, err := c.Track(t.Context(), []string{"#"}); err != nil || heard != nil || len(via.sizes) != 4 {
		t.Errorf("what cannot be a number: %v, %v, %v", heard, err, via.sizes)
	}
}

func TestDHLDoesNotPush(t *testing.T) {
	c := openWith(t, credentials, nil)
	if _, err := c.DecodePush(http.Header{}, nil); ship.KindOf(err) != ship.Unsupported {
		t.Error(err)
	}
	if slices.Contains(c.Abilities(), "subscribe") || !slices.Contains(c.Abilities(), "track") {
		t.Error(c.Abilities())
	}
}

// TestThePublishedAnswerIsRead compares DHL's own example with what is decoded
// from it.
func TestThePublishedAnswerIsRead(t *testing.T) {
	dir := os.Getenv("CARRIER_SPECS")
	if dir == "" {
		t.Skip("CARRIER_SPECS is not set")
	}
	file, err := os.Open(filepath.Join(dir, "dhl-express", "examples", "get_shipments_shipmentTrackingNumber_tracking",
		"response-200-sample-tracking-response-for-shipment-tracking-number.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	body, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	for number, want := range map[string]int{"1234567890": 13, "JD012345678901234567": 13} { // of its own ten, and three about all
		heard, err := openWith(t, credentials, &fixed{status: 200, body: string(body)}).Track(t.Context(), []string{number})
		if err != nil {
			t.Fatal(err)
		}
		var scans []ship.Scan
		for _, h := range heard {
			scans = append(scans, h.Scan)
			if h.Scan.Reason == ship.ReasonUnmapped || h.EstimateAt.IsZero() {
				t.Error(line(h))
			}
		}
		if p := ship.Advance(ship.Progress{}, scans, 1); p.Status != ship.Delivered || len(scans) != want {
			t.Errorf("%s is %s after %d:\n\t%s", number, p.Status, len(scans), strings.Join(lines(heard), "\n\t"))
		}
	}
}
