package royalmail_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/royalmail"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
)

// said answers every request with one body.
type said string

// Do is carrier.Doer.
func (s said) Do(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{},
		Body:       io.NopCloser(strings.NewReader(string(s))),
		Request:    r,
	}, nil
}

func TestAHistoryIsRead(t *testing.T) {
	t.Parallel()
	opened := openVia(t, said(`{"mailPieces":{"mailPieceId":"090367574000000FE1E1B","summary":{"oneDBarcode":"FQ087430672GB"},
		"estimatedDelivery":{"date":"2017-02-20","endOfEstimatedWindow":"11:00:00+01:00"},"events":[
		{"eventCode":"EVKOP","eventName":"Delivered","eventDateTime":"2016-10-21T10:04:00+01:00","locationName":"Stafford DO"},
		{"eventCode":"EVNMI","eventName":"Forwarded - Mis-sort","eventDateTime":"2016-10-20T10:04:00+01:00","locationName":"Stafford DO"},
		{"eventCode":"EVZZZ","eventName":"Item is ready for collection","eventDateTime":"2016-10-20T09:00:00+01:00"},
		{"eventCode":"EVZZY","eventName":"Gobbledegook","eventDateTime":"2016-10-20T08:00:00+01:00"},
		{"eventCode":"EVKOP","eventName":"no time"}]}}`))
	updates, err := opened.Track(t.Context(), []string{"FQ087430672GB"})
	if err != nil {
		t.Fatal(err)
	}

	want := []string{
		"EVKOP 2016-10-21T09:04 delivered  Stafford DO",
		"EVNMI 2016-10-20T09:04 in_transit misrouted Stafford DO",
		"EVZZZ/available 2016-10-20T08:00 in_transit available_for_pickup ",
		"EVZZY 2016-10-20T07:00  unmapped ",
	}
	var got []string
	for _, u := range updates {
		s := u.Scan
		got = append(got, strings.Join([]string{s.Code, s.At.Format("2006-01-02T15:04"), string(s.Status), s.Reason, s.Location}, " "))
		if u.EstimateAt.Format("2006-01-02T15:04") != "2017-02-20T10:00" {
			t.Errorf("estimate: %v", u.EstimateAt)
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestAParcelThatNobodyScannedHasNoUpdates asks about a new label and about a
// number of nobody.
func TestAParcelThatNobodyScannedHasNoUpdates(t *testing.T) {
	t.Parallel()
	opened := openVia(t, carriertest.Server(t, newStandIn(t, emulator.Faults{})))
	bought, err := opened.Buy(t.Context(), domesticOrder())
	if err != nil {
		t.Fatal(err)
	}
	updates, err := opened.Track(t.Context(), []string{bought.TrackingNumber, "RB123456785GB", "no number"})
	if err != nil || len(updates) != 0 {
		t.Errorf("%d updates, %v", len(updates), err)
	}
	_, err = opened.FetchProof(t.Context(), ship.Purchase{TrackingNumber: bought.TrackingNumber})
	if ship.KindOf(err) != ship.NotFound {
		t.Errorf("proof: %v", err)
	}
}

// TestEveryKnownEventHasAMeaning reads the list of events that users collected,
// which is not part of the project.
func TestEveryKnownEventHasAMeaning(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("CARRIER_SPECS")
	if folder == "" {
		t.Skip("CARRIER_SPECS names no folder of carriers' data")
	}
	data, err := os.ReadFile(filepath.Join(folder, "royal-mail", "event-map.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Codes []struct{ Code, Normalized string }
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	for _, listed := range list.Codes {
		if status, _, known := royalmail.Spec.MeaningOf(listed.Code); !known || string(status) != listed.Normalized {
			t.Errorf("%s means %q, want %q", listed.Code, status, listed.Normalized)
		}
	}
	if len(list.Codes) != 35 {
		t.Errorf("%d codes, want 35", len(list.Codes))
	}
}
