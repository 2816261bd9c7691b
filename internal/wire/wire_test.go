package wire_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/wire"
)

var update = flag.Bool("update", false, "write the golden files")

const base = "https://ship.example.com"

// rawAt is an id that does not change from run to run.
func rawAt(at time.Time, tail byte) ship.RawID {
	id := ship.RawIDAt(at)
	id[7], id[15] = 0x10, tail
	return id
}

var (
	created = time.Date(2026, 3, 1, 9, 30, 0, 123456789, time.UTC)
	tenant  = ship.Tenant{Account: ship.AccountIDOf(rawAt(created, 1))}
)

func testShipment() ship.Shipment {
	return ship.Shipment{
		ID:     ship.ShipmentIDOf(rawAt(created, 2)),
		Tenant: tenant,
		Order: ship.Order{
			OrderID:  "ORD-1001 & <co>",
			Parcels:  []ship.Parcel{{Weight: 4.2, WeightUnit: ship.Pound, Dimensions: &ship.Dimensions{Length: 12, Width: 9, Height: 4, Unit: ship.Inch}}},
			Metadata: map[string]string{"channel": "web"},
		},
		Purchase: ship.Purchase{
			Carrier: "ups", Service: "ground", ServiceName: "UPS Ground", TrackingNumber: "1Z999AA10123456784",
			Price: ship.Money{Minor: 1234, Currency: "USD"}, BoughtAt: created.Add(200 * time.Millisecond), Simulated: true,
			Routing: ship.Routing{
				Strategy: "cheapest", Considered: 9,
				RunnerUp: &ship.Rate{Carrier: "usps", Service: "priority", Price: ship.Money{Minor: 1290, Currency: "USD"}, TransitDays: 2},
				Failed:   []ship.FailedOffer{{Carrier: "fedex", Code: "carrier_unavailable", Message: "did not answer"}},
				Version:  3, Rule: "Heavy", Also: []string{"No DHL"}, Why: "the cheapest of what is left",
				Seen: ship.Seen{
					{Carrier: "ups", Service: "ground", Price: ship.Money{Minor: 1234, Currency: "USD"}, Source: "sheet"},
					{Carrier: "usps", Service: "priority", Price: ship.Money{Minor: 1290, Currency: "USD"}, TransitDays: 2},
				},
				Dropped: []ship.Dropped{{Carrier: "dhl_express", Service: "express", Why: "forbidden", Rule: "No DHL"}},
				Raised:  &ship.Raised{To: "adult"},
			},
		},
		State:    ship.StatePurchased,
		Progress: ship.Progress{Status: ship.LabelGenerated, EstimateAt: time.Date(2026, 3, 4, 20, 0, 0, 0, time.UTC), EstimateSource: "service"},
		Sequence: 2,
	}
}

// golden compares got with a file of testdata, byte for byte.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytes.TrimSuffix(want, []byte("\n")), got) {
		t.Errorf("%s differs:\n got %s\nwant %s", name, got, want)
	}
}

func TestShipmentShowsTheSpecificationsFieldsFirst(t *testing.T) {
	b, err := wire.Marshal(wire.ShipmentOf(testShipment(), base))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "shipment.json", b)
	head := `{"id":"shp_01KJMBQDHV0080000000000002","status":"label_generated","carrier":"ups","trackingNumber":"1Z999AA10123456784",` +
		`"labelUrl":"https://ship.example.com/v1/labels/shp_01KJMBQDHV0080000000000002.pdf",`
	if !strings.HasPrefix(string(b), head) {
		t.Errorf("begins with %.300s", b)
	}
}

func TestPendingShipmentLeavesOnlyTheTrackingNumberOut(t *testing.T) {
	s := testShipment()
	s.State = ship.StatePurchasing
	s.Purchase = ship.Purchase{Carrier: "ups", Service: "ground"}
	s.Progress = ship.Progress{Status: ship.Created}
	b, err := wire.Marshal(wire.ShipmentOf(s, base))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "shipment_pending.json", b)
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if _, there := got["trackingNumber"]; there || got["labelStatus"] != "pending" {
		t.Errorf("trackingNumber there: %v, labelStatus %v; want none, pending", there, got["labelStatus"])
	}
	for _, name := range []string{"id", "status", "carrier", "labelUrl"} {
		if got[name] == nil {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestPiecesHaveTheirOwnNumbersAndStatuses(t *testing.T) {
	s := testShipment()
	s.Order.Parcels = append(s.Order.Parcels, ship.Parcel{Weight: 1, WeightUnit: ship.Kilogram, Packaging: "pak"})
	s.Purchase.Pieces = []string{"1Z999AA10123456784", "1Z999AA10123456793"}
	s.Progress.Pieces = []ship.Status{ship.Delivered, ship.InTransit}
	got := wire.ShipmentOf(s, base).Pieces
	if len(got) != 2 || got[1].TrackingNumber != "1Z999AA10123456793" || got[1].Status != "in_transit" ||
		got[0].Status != "delivered" || got[1].Parcel.WeightUnit != "kg" || got[1].Parcel.Packaging != "pak" || got[0].Parcel.Packaging != "custom" {
		t.Errorf("pieces = %+v", got)
	}
}

func TestTrackingShowsNullWhereNoPlaceIsKnown(t *testing.T) {
	s := testShipment()
	scans := append(s.OwnScans(), ship.Scan{
		Code: "DP", At: created.Add(24 * time.Hour), Status: ship.InTransit, Description: "Departed from facility", Location: "Louisville, KY, US",
	})
	b, err := wire.Marshal(wire.TrackingOf(wire.Timeline{
		TrackingNumber: s.Purchase.TrackingNumber, Carrier: "ups", Shipment: s.ID, Progress: s.Progress, Scans: ship.Timeline(scans), CheckedAt: created,
	}))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "tracking.json", b)
	if n := strings.Count(string(b), `"location":null`); n != 2 {
		t.Errorf("%d events without a place, want 2: %s", n, b)
	}
}

func TestTimesAreUTCWithMillisecondsAtMost(t *testing.T) {
	for _, tc := range []struct {
		at   time.Time
		want string
	}{
		{time.Time{}, ""},
		{created, "2026-03-01T09:30:00.123Z"},
		{created.Truncate(time.Second), "2026-03-01T09:30:00Z"},
		{time.Date(2026, 3, 1, 1, 30, 0, 500_000_000, time.FixedZone("", -8*3600)), "2026-03-01T09:30:00.5Z"},
	} {
		if got := wire.Time(tc.at); got != tc.want {
			t.Errorf("Time(%v) = %q, want %q", tc.at, got, tc.want)
		}
	}
}

func BenchmarkShipment(b *testing.B) {
	s := testShipment()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wire.Marshal(wire.ShipmentOf(s, base)); err != nil {
			b.Fatal(err)
		}
	}
}
