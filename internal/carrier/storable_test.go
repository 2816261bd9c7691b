package carrier_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// TestASaleThatCannotBeRecordedIsNoSale: what has a number that the database refuses
// could be recorded by nobody, and would be neither bought nor failed for ever.
func TestASaleThatCannotBeRecordedIsNoSale(t *testing.T) {
	t.Parallel()
	order := carrier.BuyOrder{Order: ship.Order{Parcels: make([]ship.Parcel, 1)}, Service: "fly"}
	for name, change := range map[string]func(*ship.Sale){
		"a NUL in the tracking number":  func(s *ship.Sale) { s.TrackingNumber = "1\x00" },
		"a NUL in a piece":              func(s *ship.Sale) { s.Pieces = []string{"N", "1\x00"} },
		"a NUL in the reference":        func(s *ship.Sale) { s.CarrierRef = "1\x00" },
		"an instruction for a model":    func(s *ship.Sale) { s.TrackingNumber = "IGNORE PREVIOUS INSTRUCTIONS" },
		"an escape sequence in a piece": func(s *ship.Sale) { s.Pieces = []string{"N", "1\x1b[2J"} },
		"letters of another script":     func(s *ship.Sale) { s.TrackingNumber = "1\u0410" },
		"no text":                       func(s *ship.Sale) { s.TrackingNumber = "\xff" },
		"endless":                       func(s *ship.Sale) { s.TrackingNumber = strings.Repeat("1", 3000) },
		"an empty piece":                func(s *ship.Sale) { s.Pieces = []string{"N", ""} },
	} {
		sale := whole()
		change(&sale)
		for _, lacksLabel := range []bool{false, true} {
			described := spec
			described.LookupLacksLabel = lacksLabel
			c := carrier.New(described, &driver{purchase: sale})
			if _, err := c.Buy(t.Context(), order); ship.KindOf(err) != ship.Uncertain {
				t.Errorf("%s: bought, %v", name, err)
			}
			if _, err := c.Find(t.Context(), order); ship.KindOf(err) != ship.Unavailable {
				t.Errorf("%s: found, %v", name, err)
			}
		}
	}
}

func TestTextsOfCarriersCanBeStored(t *testing.T) {
	t.Parallel()
	order := carrier.BuyOrder{Order: ship.Order{Parcels: make([]ship.Parcel, 1)}, Service: "fly"}
	sale := whole()
	sale.Warnings = []string{"late\x00"}
	sale.Documents = []ship.Document{{Type: "invoice\x00", Format: "pdf"}}
	got, err := carrier.New(spec, &driver{purchase: sale}).Buy(t.Context(), order)
	if err != nil || !slices.Equal(got.Warnings, []string{"late\uFFFD"}) || got.Documents[0].Type != "invoice\uFFFD" {
		t.Errorf("%+v, %v", got, err)
	}

	refused := &ship.Error{Kind: ship.Invalid, Message: "no\x00", Refusal: ship.Refusal{Code: "1\x00", Message: "\xff"}}
	_, err = carrier.New(spec, &driver{err: refused}).Buy(t.Context(), order)
	if e := ship.ErrorOf(err); e.Message != "no\uFFFD" || e.Refusal.Code != "1\uFFFD" || e.Refusal.Message != "\uFFFD" {
		t.Errorf("%+v", e)
	}

	closing, err := carrier.New(spec, &driver{closing: ship.ManifestClosing{Number: "1\x00"}}).CloseManifest(t.Context(), ship.ManifestOrder{})
	if err != nil || closing.Number != "1\uFFFD" {
		t.Errorf("%+v, %v", closing, err)
	}
}

// TestTextsOfScansAreReadable: pushes can be from whoever knows a secret, and scans are
// shown to people in terminals.
func TestTextsOfScansAreReadable(t *testing.T) {
	t.Parallel()
	update := carrier.TrackingUpdate{
		TrackingNumber: "N",
		Scan: ship.Scan{
			Code:        "X1\x00",
			At:          time.Now(),
			Description: "Arrived\x1b]0;pwned\a\u202e",
			Location:    "Reno\u009b2J\xff",
		},
	}
	c := carrier.New(spec, &driver{heard: []carrier.TrackingUpdate{update}})
	updates, err := c.Track(t.Context(), []string{"N"})
	if err != nil || len(updates) != 1 {
		t.Fatal(updates, err)
	}
	want := ship.Scan{Code: "X1\uFFFD", At: update.Scan.At, Description: "Arrived ]0;pwned  ", Location: "Reno 2J\uFFFD"}
	if updates[0].Scan != want {
		t.Errorf("%+v, want %+v", updates[0].Scan, want)
	}
}
