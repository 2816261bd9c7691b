package dhlparcelde_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/dhlparcelde"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
)

// TestEveryEventOfTheListHasAMeaning reads DHL's own list of events, which is not
// part of the project.
func TestEveryEventOfTheListHasAMeaning(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("CARRIER_SPECS")
	if folder == "" {
		t.Skip("CARRIER_SPECS names no folder of carriers' data")
	}
	data, err := os.ReadFile(filepath.Join(folder, "dhl-parcel-de", "event-ric-combinations-2024-07.csv"))
	if err != nil {
		t.Fatal(err)
	}
	reader := csv.NewReader(bytes.NewReader(data))
	reader.Comma = ';'
	rows, err := reader.ReadAll()
	if err != nil || len(rows) != 339 {
		t.Fatalf("%d rows, want the header and 338: %v", len(rows), err)
	}

	standard := map[string]bool{}
	for _, row := range rows[1:] {
		code := row[2] + "/" + row[0]
		standard[row[2]] = true
		if _, reason, known := dhlparcelde.Spec.MeaningOf(code); !known {
			t.Errorf("%s has no meaning: %s", code, reason)
		}
	}
	if len(standard) != 16 {
		t.Errorf("%d standard events, want 16", len(standard))
	}
}

// TestMeanings holds the codes that are easily read wrongly.
func TestMeanings(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"ZU/DLVRD":   "delivered ",
		"ZU/DLVRD/R": "exception return_to_sender",
		"ZU/DSPSD":   "exception destroyed",
		"PO/LDTMV":   "out_for_delivery ",
		"PO/LDTMV/R": "exception return_to_sender",
		"PO/SRTED":   "in_transit at_destination_facility",
		"PO/NTDEL":   "exception delivery_attempt_failed",
		"LA/HLDCC":   "in_transit available_for_pickup",
		"ZN/DLVRF":   "exception refused",
		"BV/NEWCD":   "exception carrier_exception",
		"DD/STORN":   " data_service",
		"DD/ADVIS/R": " data_service",
		"XX":         " unmapped",
	} {
		status, reason, _ := dhlparcelde.Spec.MeaningOf(code)
		if got := fmt.Sprintf("%s %s", status, reason); got != want {
			t.Errorf("%s: %s, want %s", code, got, want)
		}
	}
}

// TestScansOfAParcel follows one parcel to its delivery, and another back.
func TestScansOfAParcel(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	c := openWith(t, credentials(), carriertest.Server(t, s))
	sale, err := c.Buy(t.Context(), domesticOrder())
	if err != nil {
		t.Fatal(err)
	}
	script := []emulator.Scan{
		{Code: "VA/PARCV", Text: "announced", City: "Bonn"},
		{Code: "PO/LDTMV", Text: "loaded"},
		{Code: "ZU/DLVRD/R", Text: "delivered to the sender"},
	}
	if err := s.Turn(emulator.Faults{Tracking: script}); err != nil {
		t.Fatal(err)
	}

	updates, err := c.Track(t.Context(), []string{sale.TrackingNumber, "00340433836442636597", "no number;"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range updates {
		if u.TrackingNumber != sale.TrackingNumber || time.Since(u.Scan.At) > 2*time.Minute || time.Since(u.Scan.At) < 0 || len(u.Raw) == 0 {
			t.Errorf("%+v at %v", u, u.Scan.At)
		}
		got = append(got, fmt.Sprintf("%s %s %s", u.Scan.Status, u.Scan.Reason, u.Scan.Location))
	}
	want := "label_generated  Bonn, DEU|out_for_delivery  Hamburg, DEU|exception return_to_sender Hamburg, DEU"
	if strings.Join(got, "|") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, "|"), want)
	}
}

// TestAnUnknownNumberIsNoError has DHL answer 200 with a code.
func TestAnUnknownNumberIsNoError(t *testing.T) {
	t.Parallel()
	c := openWith(t, credentials(), carriertest.Server(t, newStandIn(t)))
	updates, err := c.Track(t.Context(), []string{"00340433836442636597"})
	if err != nil || len(updates) != 0 {
		t.Errorf("%v %v", updates, err)
	}
}

// TestThePasswordIsNotKept records the exchanges of a password with characters
// that XML and URLs write in other ways.
func TestThePasswordIsNotKept(t *testing.T) {
	t.Parallel()
	given := credentials()
	given["password"] = `Pa&ss "w<o>rd'`
	kept := make(chan carrier.Exchange, 8)
	ctx := carrier.WithExchanges(t.Context(), func(e carrier.Exchange) { kept <- e })

	c := openWith(t, given, carriertest.Recorded(carriertest.Server(t, newStandIn(t))))
	if _, err := c.Track(ctx, []string{"00340433836442636597"}); ship.KindOf(err) != ship.Forbidden {
		t.Fatalf("err = %v", err)
	}
	exchange := <-kept
	text := fmt.Sprintf("%+v", exchange)
	if strings.Contains(text, "rd%26") || strings.Contains(text, "Pa%26") || strings.Contains(text, "Pa&") || !strings.Contains(text, "secret") {
		t.Errorf("the exchange is kept as %s", text)
	}
}
