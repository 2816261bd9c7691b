package postnl_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/postnl"
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

// TestAHistoryIsRead has the oddities of PostNL's answers: a single old status, a
// list of statuses, and empty texts.
func TestAHistoryIsRead(t *testing.T) {
	t.Parallel()
	for old, want := range map[string]string{
		`{"TimeStamp":"07-07-2022 19:10:28","StatusCode":"01","StatusDescription":"Shipment pre-alerted"}`:                                                                          "1 2022-07-07T17:10:28 label_generated |",
		`[{"TimeStamp":"07-11-2022 19:10:28","StatusCode":"5","StatusDescription":"{}"},{"TimeStamp":"{}","StatusCode":"6"},{"TimeStamp":"07-11-2022 20:00:00","StatusCode":"98"}]`: "5 2022-11-07T18:10:28 in_transit |98 2022-11-07T19:00:00  unmapped|",
		`"{}"`: "",
	} {
		opened := openVia(t, said(`{"CompleteStatus":{"Shipment":{"MainBarcode":"3SDEVC288882229","Barcode":"3SDEVC288882229","Reference":"{}","DeliveryDate":"2022-11-08",
			"Status":{"TimeStamp":"08-11-2022 10:13:20","StatusCode":"7","StatusDescription":"Shipment out for delivery"},"OldStatus":`+old+`}}}`))
		updates, err := opened.Track(t.Context(), []string{"3SDEVC288882229"})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, u := range updates {
			s := u.Scan
			got += strings.TrimRight(strings.Join([]string{s.Code, s.At.Format("2006-01-02T15:04:05"), string(s.Status), s.Reason}, " "), "") + "|"
		}
		if want += "7 2022-11-08T09:13:20 out_for_delivery |"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestAParcelThatPostNLDoesNotHaveHasNoUpdates(t *testing.T) {
	t.Parallel()
	opened := openVia(t, carriertest.Server(t, newStandIn(t, emulator.Faults{})))
	updates, err := opened.Track(t.Context(), []string{"3SDEVC000000001", "no number"})
	if err != nil || len(updates) != 0 {
		t.Errorf("%d updates, %v", len(updates), err)
	}
	_, err = opened.FetchProof(t.Context(), ship.Purchase{TrackingNumber: "3SDEVC000000001"})
	if ship.KindOf(err) != ship.NotFound {
		t.Errorf("proof: %v", err)
	}
}

// TestEveryPublishedStatusHasAMeaning reads PostNL's list, which is not part of the
// project.
func TestEveryPublishedStatusHasAMeaning(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("CARRIER_SPECS")
	if folder == "" {
		t.Skip("CARRIER_SPECS names no folder of carriers' data")
	}
	data, err := os.ReadFile(filepath.Join(folder, "postnl", "status-map.json"))
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
		if status, _, known := postnl.Spec.MeaningOf(listed.Code); !known || string(status) != listed.Normalized {
			t.Errorf("%s means %q, want %q", listed.Code, status, listed.Normalized)
		}
	}
	if len(list.Codes) != 23 {
		t.Errorf("%d codes, want 23", len(list.Codes))
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	carriertest.Numbers(t, postnl.Spec, map[string]carriertest.NumberFormat{
		"S10":    {Payload: `[A-Z]{2}[0-9]{8}`, Check: s10, After: "NL"},
		"parcel": {Payload: `3S[A-Z]{4}[0-9]{7,9}`},
	})
	for number, want := range map[string]carrier.Recognition{
		"3SDEVC288882229": carrier.Fits,
		"CD123456785NL":   carrier.Fits,
		"CD123456786NL":   carrier.NotRecognized,
		"CD123456785DE":   carrier.NotRecognized,
		"3SDEVC28":        carrier.NotRecognized,
		"3S288882229":     carrier.NotRecognized,
	} {
		if got := postnl.Spec.Recognize(number); got != want {
			t.Errorf("%s: %v, want %v", number, got, want)
		}
	}
}

// s10 is the check digit as the Universal Postal Union describes it.
func s10(payload string) int {
	sum := 0
	for i, weight := range []int{8, 6, 4, 2, 3, 5, 9, 7} {
		sum += int(payload[2+i]-'0') * weight
	}
	return []int{5, 0, 9, 8, 7, 6, 5, 4, 3, 2, 1}[sum%11]
}
