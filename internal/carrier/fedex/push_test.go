package fedex_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/fedex"
	"github.com/waybillhq/waybill/internal/emulator"
	stand "github.com/waybillhq/waybill/internal/emulator/fedex"
	"github.com/waybillhq/waybill/internal/ship"
)

const (
	pushSecret    = "Wb7dQ2mKx9TzRfYc4LhNsPgVjE3uAo6i"
	oldPushSecret = "Wb7oldQ2mKx9TzRfYc4LhNsPgVjE3uAo"
)

// listener returns a driver that receives pushes.
func listener(t testing.TB, secret string) *carrier.Carrier {
	t.Helper()
	c, err := carrier.Open(fedex.Spec, carrier.Opening{Credentials: credentials(), BaseURL: fedex.Spec.TestURL, PushSecret: secret, OldPushSecrets: []string{oldPushSecret}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mac(secret, body string) []byte {
	h := hmac.New(sha256.New, []byte(secret))
	_, _ = h.Write([]byte(body))
	return h.Sum(nil)
}

func signed(secret, body string) http.Header {
	return http.Header{"Fdx-Signature": {base64.StdEncoding.EncodeToString(mac(secret, body))}}
}

// pushed is a push as FedEx describes it.
var pushed = `{"transactionId":"1","outputMetaData":{"attemptNumber":1},"output":{"completeTrackResults":[` +
	result(one, story(one, shipped, scan("2026-03-03T07:00:00-06:00", "PU", "Picked up", memphis, ""))) + `]}}`

func TestSignedPushesAreHeardAndOthersAreNot(t *testing.T) {
	c := listener(t, pushSecret)
	other := strings.Replace(pushed, `"PU"`, `"DL"`, 1)
	for name, x := range map[string]struct {
		header http.Header
		body   string
		want   ship.Kind
	}{
		"signed":                {signed(pushSecret, pushed), pushed, ""},
		"signed as before":      {signed(oldPushSecret, pushed), pushed, ""},
		"signed in hexadecimal": {http.Header{"Fdx-Signature": {hex.EncodeToString(mac(pushSecret, pushed))}}, pushed, ""},
		"with blanks around":    {http.Header{"Fdx-Signature": {" " + base64.StdEncoding.EncodeToString(mac(pushSecret, pushed)) + " "}}, pushed, ""},
		"another token":         {signed("another", pushed), pushed, ship.Forbidden},
		"no token":              {signed("", pushed), pushed, ship.Forbidden},
		"another body":          {signed(pushSecret, pushed), other, ship.Forbidden},
		"a blank more":          {signed(pushSecret, pushed), pushed + " ", ship.Forbidden},
		"no signature":          {http.Header{}, pushed, ship.Forbidden},
		"an empty one":          {http.Header{"Fdx-Signature": {""}}, pushed, ship.Forbidden},
		"half of it":            {http.Header{"Fdx-Signature": {base64.StdEncoding.EncodeToString(mac(pushSecret, pushed)[:16])}}, pushed, ship.Forbidden},
		"in another header":     {http.Header{"Authorization": signed(pushSecret, pushed)["Fdx-Signature"]}, pushed, ship.Forbidden},
	} {
		push, err := c.DecodePush(x.header, []byte(x.body))
		if ship.KindOf(err) != x.want || push.Verified != (x.want == "") || len(push.Updates) != btoi(x.want == "") {
			t.Errorf("%s: %+v, %v", name, push, err)
		}
	}
	if _, err := listener(t, "").DecodePush(signed("", pushed), []byte(pushed)); ship.KindOf(err) != ship.Forbidden {
		t.Errorf("a connection without a token takes a push: %v", err)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestAPushTellsWhatAPollTells(t *testing.T) {
	c := listener(t, pushSecret)
	for _, x := range timelines {
		push, err := c.DecodePush(signed(pushSecret, x.body), []byte(x.body))
		if err != nil || !push.Verified {
			t.Errorf("%s: %v", x.name, err)
		}
		if got := lines(push.Updates); !slices.Equal(got, x.want) {
			t.Errorf("%s: heard %v", x.name, got)
		}
		again, err := c.DecodePush(signed(pushSecret, x.body), []byte(x.body))
		if err != nil || !slices.Equal(lines(again.Updates), lines(push.Updates)) {
			t.Errorf("%s: a repeat is another: %v", x.name, err)
		}
	}
}

func TestOddPushesAreRefusedOrReadAsFarAsTheyGo(t *testing.T) {
	c := listener(t, pushSecret)
	large := pushed[:len(pushed)-1] + strings.Repeat(" ", 1<<20) + "}"
	for name, x := range map[string]struct {
		body    string
		want    ship.Kind
		numbers []string
	}{
		"oversized":               {large, ship.Invalid, nil},
		"a web page":              {"<!doctype html>", ship.Invalid, nil},
		"cut off":                 {pushed[:len(pushed)/2], ship.Invalid, nil},
		"empty":                   {"", ship.Invalid, nil},
		"a list":                  {"[]", "", nil},
		"a test of the address":   {`{"output":{}}`, "", nil},
		"a parcel without scans":  {trackingBody(result(one, story(one, ""))), "", []string{one}},
		"scans that are all odd":  {trackingBody(result(one, story(one, "", `{"date":"?"}`))), "", []string{one}},
		"a number and no story":   {trackingBody(result(one)), "", []string{one}},
		"no number and no scans":  {trackingBody(`{"trackResults":[{}]}`), "", nil},
		"scans without a number":  {trackingBody(`{"trackResults":[` + strings.Replace(story("", "", scan("2026-03-03T07:00:00Z", "PU", "", "", "")), one, "", 1) + `]}`), "", nil},
		"an error for the number": {trackingBody(unknown(one)), "", []string{one}},
	} {
		push, err := c.DecodePush(signed(pushSecret, x.body), []byte(x.body))
		if ship.KindOf(err) != x.want || len(push.Updates) != 0 || !slices.Equal(push.Numbers, x.numbers) {
			t.Errorf("%s: %+v, %v", name, push, err)
		}
	}
}

// TestTheStandInsPushesAreHeard has the driver decode all pushes about a parcel
// of the emulator.
func TestTheStandInsPushesAreHeard(t *testing.T) {
	ledger, err := emulator.OpenLedger("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ledger.Close() })
	server := stand.New(ledger)
	if err := server.Turn(emulator.Faults{Tracking: []emulator.Scan{{Code: "OC"}, {Code: "PU"}, {After: emulator.Duration(100 * time.Millisecond), Code: "DL"}}}); err != nil {
		t.Fatal(err)
	}
	bodies := make(chan carrier.Push, 20)
	c := listener(t, pushSecret)
	ears := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		push, bad := c.DecodePush(r.Header, body)
		if err != nil || bad != nil {
			t.Error(err, bad)
		}
		bodies <- push
	}))
	t.Cleanup(ears.Close)
	via := carriertest.Server(t, server)
	p, err := open(t, credentials(), via).Buy(t.Context(), pieces())
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://portal/_emulator/push", strings.NewReader(`{"url":"`+ears.URL+`","token":"`+pushSecret+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := via.Do(r)
	if err != nil || resp.StatusCode != http.StatusNoContent {
		t.Fatal(resp, err)
	}
	_ = resp.Body.Close()
	scans := make([][]ship.Scan, len(p.Pieces))
	for range 9 {
		push := <-bodies
		i := slices.Index(p.Pieces, push.Updates[0].TrackingNumber)
		scans[i] = append(scans[i], push.Updates[0].Scan)
	}
	for i, list := range scans {
		if got := ship.Advance(ship.Progress{}, list, 1); len(list) != 3 || got.Status != ship.Delivered {
			t.Errorf("piece %d is %s after %v", i, got.Status, list)
		}
	}
	polled, err := open(t, credentials(), via).Track(t.Context(), p.Pieces[:1])
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range polled {
		if !slices.ContainsFunc(scans[0], func(s ship.Scan) bool { return s.Key() == h.Scan.Key() }) {
			t.Errorf("polled %s, and pushed another", line(h))
		}
	}
}

func FuzzHear(f *testing.F) {
	for _, x := range timelines {
		f.Add(x.body)
	}
	f.Add(pushed)
	c := listener(f, pushSecret)
	f.Fuzz(func(t *testing.T, body string) {
		push, err := c.DecodePush(signed(pushSecret, body), []byte(body))
		if err != nil {
			if ship.KindOf(err) != ship.Invalid {
				t.Fatalf("a signed push: %v", err)
			}
			return
		}
		for _, h := range push.Updates {
			if status, reason, _ := fedex.Spec.MeaningOf(h.Scan.Code); status != h.Scan.Status || reason != h.Scan.Reason || strings.HasPrefix(h.Scan.Code, ".") {
				t.Fatalf("%s alone means %s/%s", h.Scan.Code, status, reason)
			}
		}
	})
}
