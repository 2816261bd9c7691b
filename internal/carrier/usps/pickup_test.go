package usps

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// aWindow is in Washington.
func aWindow() ship.TimeWindow {
	zone := time.FixedZone("", -5*60*60)
	return ship.TimeWindow{
		ReadyAt: time.Date(2026, 3, 4, 10, 0, 0, 0, zone),
		CloseAt: time.Date(2026, 3, 4, 17, 0, 0, 0, zone),
	}
}

func aPickup() ship.PickupOrder {
	return ship.PickupOrder{
		Address: ship.Address{
			Name: "Ada King Lovelace", Company: "Engine Works", Address1: "45 L St SW", Address2: "Suite 7",
			City: "Washington", State: "DC", Zip: "20024-1234", Country: "US", Phone: "+1 (202) 555-0100", Email: "ada@example.com",
		},
		Window: aWindow(),
		Parcels: []ship.PickupParcels{
			{Service: "ground_advantage", Country: "US", Count: 2},
			{Service: "priority_mail_international", Country: "CA", Count: 1},
			{Service: "ground_advantage", Country: "PR", Count: 1},
			{Country: "FR", Count: 3},
			{Count: 5},
		},
		WeightGrams:  5200,
		Instructions: "Ring the bell of the café, then wait",
	}
}

func TestPickupsAreWrittenAsTheGoldenFiles(t *testing.T) {
	island := ship.PickupOrder{
		Address: ship.Address{
			Company: "Sol y Mar", Address1: "100 Calle Sol", City: "San Juan", Zip: "00901", Country: "PR", Phone: "787-555-0100",
		},
		Window:  aWindow(),
		Parcels: []ship.PickupParcels{{Service: "priority_mail", Count: 10}},
	}
	// At this time it is the next day in UTC.
	island.Window.ReadyAt = island.Window.ReadyAt.Add(12 * time.Hour)

	for name, order := range map[string]ship.PickupOrder{"pickup": aPickup(), "pickup-island": island} {
		request, err := pickupOf(order)
		if err != nil {
			t.Fatal(name, err)
		}
		checkGolden(t, name+".json", request)
	}
}

// checkGolden compares a request with its golden file.
func checkGolden(t *testing.T, name string, request any) {
	t.Helper()
	got, err := json.MarshalIndent(request, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')

	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != string(got) {
		t.Errorf("%s differs from its golden file (%v): %s", name, err, got)
	}
}

func TestPickupsThatUSPSDoesNotTake(t *testing.T) {
	for _, tc := range []struct {
		name    string
		change  func(*ship.PickupOrder)
		kind    ship.Kind
		pointer string
	}{
		{"abroad", func(o *ship.PickupOrder) { o.Address.Country, o.Address.State = "CA", "QC" }, ship.Unsupported, ""},
		{"nobody to reach", func(o *ship.PickupOrder) { o.Address.Email, o.Address.Phone = "", "555" }, ship.Invalid, "/address/email"},
		{"a long e-mail address", func(o *ship.PickupOrder) {
			o.Address.Email, o.Address.Phone = strings.Repeat("a", 40)+"@example.com", ""
		}, ship.Invalid, "/address/email"},
		{"no parcels", func(o *ship.PickupOrder) { o.Parcels = nil }, ship.Invalid, "/parcels"},
		{"long instructions", func(o *ship.PickupOrder) { o.Instructions = strings.Repeat("x", 256) }, ship.Invalid, "/instructions"},
		{"instructions in Chinese", func(o *ship.PickupOrder) { o.Instructions = "请按门铃" }, ship.Invalid, "/instructions"},
		{"no ZIP code", func(o *ship.PickupOrder) { o.Address.Zip = "" }, ship.Invalid, "/address/zip"},
	} {
		order := aPickup()
		tc.change(&order)
		_, err := pickupOf(order)
		if ship.KindOf(err) != tc.kind {
			t.Errorf("%s: %v, want %s", tc.name, err, tc.kind)
			continue
		}
		if fields := ship.ErrorOf(err).Fields; tc.pointer != "" && (len(fields) != 1 || fields[0].Pointer != tc.pointer) {
			t.Errorf("%s: %+v, want %s", tc.name, fields, tc.pointer)
		}
	}
}

func TestAPickupOnAnotherDayHasItsWindow(t *testing.T) {
	if moved := movedTo(aWindow(), "2026-03-04"); !moved.ReadyAt.IsZero() {
		t.Errorf("the day that was asked for is %+v", moved)
	}
	if moved := movedTo(aWindow(), "soon"); !moved.ReadyAt.IsZero() {
		t.Errorf("an unreadable day is %+v", moved)
	}
	moved := movedTo(aWindow(), "2026-03-06")
	if moved.ReadyAt.Format(time.RFC3339) != "2026-03-06T10:00:00-05:00" || moved.CloseAt.Format(time.RFC3339) != "2026-03-06T17:00:00-05:00" {
		t.Errorf("two days later is %+v", moved)
	}
}
