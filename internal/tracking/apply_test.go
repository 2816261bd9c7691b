package tracking_test

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/all"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
	"github.com/waybillhq/waybill/internal/tracking"
	"github.com/waybillhq/waybill/internal/webhook"
)

// bench is a service on a database of its own.
type bench struct {
	*tracking.Service
	store  *store.Store
	log    *webhook.Service
	tenant ship.Tenant
}

func newBench(t *testing.T) *bench {
	t.Helper()
	st := storetest.Open(t)
	return &bench{
		Service: tracking.New(tracking.Config{Store: st, BaseURL: "http://localhost", SandboxStep: time.Microsecond, Log: slog.New(slog.DiscardHandler), Specs: all.Specs}),
		store:   st, log: webhook.New(webhook.Config{Store: st}), tenant: storetest.Tenant(),
	}
}

// buy stores a bought shipment with the given number of pieces.
func (b *bench) buy(t *testing.T, pieces int) ship.Shipment {
	t.Helper()
	sh := storetest.Shipment(b.tenant, "o")
	sh.Order.Parcels = slices.Repeat(sh.Order.Parcels, pieces)
	c := storetest.Bought(sh, "1Z"+string(sh.ID[4:]))
	if _, err := b.store.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return c.Shipment
}

// events reads the tenant's log once it has the given number of events.
func (b *bench) events(t *testing.T, want int) []webhook.Entry {
	t.Helper()
	var all []webhook.Entry
	cursor := ""
	for deadline := time.Now().Add(20 * time.Second); ; {
		got, err := b.log.Events(t.Context(), b.tenant, cursor, nil, 500)
		if err != nil {
			t.Fatal(err)
		}
		all, cursor = append(all, got.Entries...), got.Next
		if len(got.Entries) > 0 {
			continue
		}
		if len(all) >= want || time.Now().After(deadline) {
			return all
		}
		time.Sleep(20 * time.Millisecond) // open transactions of other tests delay the log
	}
}

var codes = []ship.Scan{
	{Code: "MP", Status: ship.LabelGenerated},
	{Code: "OR", Status: ship.PickedUp},
	{Code: "DP", Status: ship.InTransit},
	{Code: "AR", Status: ship.InTransit},
	{Code: "OT", Status: ship.OutForDelivery},
	{Code: "D", Status: ship.Delivered},
	{Code: "X1", Status: ship.Exception, Reason: "weather_delay"},
	{Code: "RS", Status: ship.Exception, Reason: "return_to_sender"},
	{Code: "ZX", Reason: ship.ReasonUnmapped},
}

// scansOf returns a parcel's carrier scans, each once: close together, with
// ties, some before the label and some after delivery.
func scansOf(sh ship.Shipment) []ship.Scan {
	var list []ship.Scan
	seen := map[ship.ScanKey]bool{}
	for range 1 + rand.IntN(8) {
		s := codes[rand.IntN(len(codes))]
		s.Piece = rand.IntN(len(sh.Order.Parcels))
		s.At = sh.CreatedAt().Truncate(time.Second).Add(time.Duration(rand.IntN(6)-1) * time.Second)
		s.Description, s.Location = "Scan "+s.Code, "Reno, NV, US"
		if !seen[s.Key()] {
			seen[s.Key()] = true
			list = append(list, s)
		}
	}
	return list
}

// arrivals returns the scans of all parcels as carriers report them: twice, in
// any order, for many parcels together, and for some parcels twice in one
// batch.
func arrivals(parcels []ship.Shipment, scans [][]ship.Scan) (batches [][]tracking.Update) {
	var all []tracking.Update
	for i, sh := range parcels {
		for _, s := range slices.Concat(scans[i], scans[i]) {
			s.At = s.At.Add(time.Duration(rand.IntN(1000)) * time.Millisecond)
			all = append(all, tracking.Update{
				Subject: ship.Subject{Tenant: sh.Tenant, ID: sh.ID.Raw()},
				Scans:   []store.NewScan{{Scan: s, Raw: []byte(`{"code":"` + s.Code + `"}`)}},
			})
		}
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for len(all) > 0 {
		n := min(1+rand.IntN(40), len(all))
		batches, all = append(batches, all[:n]), all[n:]
	}
	return batches
}

func TestAnyOrderAtOnceTellsWhatThePureModelTells(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const parcels, carriers = 300, 8
	shipments, scans := make([]ship.Shipment, parcels), make([][]ship.Scan, parcels)
	for i := range shipments {
		shipments[i] = b.buy(t, 1+i%3)
		scans[i] = scansOf(shipments[i])
	}
	batches := make(chan []tracking.Update)
	var wg sync.WaitGroup
	for range carriers {
		wg.Go(func() {
			for heard := range batches {
				err := b.ApplyUpdates(t.Context(), heard)
				for range 20 {
					if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "40P01" {
						t.Error("a deadlock")
					}
					if ship.KindOf(err) != ship.Unavailable {
						break
					}
					err = b.ApplyUpdates(t.Context(), heard) // a worker tries again
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, heard := range arrivals(shipments, scans) {
		batches <- heard
	}
	close(batches)
	wg.Wait()
	want := map[ship.ShipmentID][]string{}
	total := 0
	for i, sh := range shipments {
		want[sh.ID] = b.compare(t, sh, scans[i])
		total += len(want[sh.ID])
	}
	checkLog(t, b.events(t, total), want)
}

// compare compares a parcel with the pure model, and returns what the log must
// contain about it.
func (b *bench) compare(t *testing.T, sh ship.Shipment, scans []ship.Scan) (log []string) {
	t.Helper()
	j := ship.TrackingState{
		Subject: ship.Subject{Tenant: sh.Tenant, ID: sh.ID.Raw()}, State: ship.StatePurchased, Sequence: 2, Pieces: len(sh.Order.Parcels),
		BoughtAt: sh.Purchase.BoughtAt, NewestAt: sh.Purchase.BoughtAt, Progress: ship.Progress{Status: ship.LabelGenerated},
	}
	own := j.OwnScans()
	fresh, events := j.Apply(own, scans, ship.EventContext{Now: time.Now()})
	got, err := b.Track(t.Context(), b.tenant, string(sh.ID), "")
	if err != nil {
		t.Fatal(err)
	}
	if got.Progress.Status != j.Progress.Status || got.Progress.Reason != j.Progress.Reason || !slices.Equal(got.Progress.Pieces, j.Progress.Pieces) {
		t.Errorf("%s is %s (%s) %v, want %s (%s) %v", sh.ID, got.Progress.Status, got.Progress.Reason, got.Progress.Pieces,
			j.Progress.Status, j.Progress.Reason, j.Progress.Pieces)
	}
	if line := ship.Timeline(slices.Concat(own, fresh)); !reflect.DeepEqual(got.Scans, line) {
		t.Errorf("the timeline of %s is\n%+v\nwant\n%+v", sh.ID, got.Scans, line)
	}
	log = []string{"shipment.created", "label.generated"}
	for _, e := range events {
		log = append(log, notifiedOf(e))
	}
	slices.Sort(log)
	return log
}

func notifiedOf(e ship.Event) string {
	s := e.Snapshot.Scan
	if s == nil {
		return string(e.Kind)
	}
	return fmt.Sprint(e.Kind, " ", s.Piece, " ", s.Code, " ", s.At.Unix())
}

// checkLog compares the log with the events that it must contain for each
// parcel, numbered without gaps.
func checkLog(t *testing.T, entries []webhook.Entry, want map[ship.ShipmentID][]string) {
	t.Helper()
	got, numbers := map[ship.ShipmentID][]string{}, map[ship.ShipmentID][]int{}
	for _, e := range entries {
		if !slices.Contains(ship.EventKinds, e.Event.Kind) {
			t.Errorf("an event of kind %s", e.Event.Kind)
		}
		id := e.Event.Shipment
		got[id], numbers[id] = append(got[id], notifiedOf(e.Event)), append(numbers[id], e.Event.Sequence)
	}
	for id, log := range want {
		slices.Sort(got[id])
		slices.Sort(numbers[id])
		if !slices.Equal(got[id], log) {
			t.Errorf("the log of %s is\n%q\nwant\n%q", id, got[id], log)
		}
		for i, n := range numbers[id] {
			if n != i+1 {
				t.Errorf("the events of %s are numbered %v", id, numbers[id])
				break
			}
		}
	}
}

// TestAReturnShipmentIsDeliveredToItsSender has two parcels with the same scans: one
// that is sent back, and a return, for which being sent back is nothing unusual.
func TestAReturnShipmentIsDeliveredToItsSender(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	outbound := b.buy(t, 1)
	back := storetest.Shipment(b.tenant, "o")
	back.Order.IsReturn = true
	bought := storetest.Bought(back, "1Z"+string(back.ID[4:]))
	if _, err := b.store.Create(t.Context(), bought); err != nil {
		t.Fatal(err)
	}

	at := time.Now().UTC().Truncate(time.Second)
	for _, scan := range []ship.Scan{
		{Code: "D", At: at.Add(2 * time.Hour), Status: ship.Delivered},
		{Code: "RS", At: at.Add(time.Hour), Status: ship.Exception, Reason: "return_to_sender"}, // late
		{Code: "ZX", At: at.Add(3 * time.Hour), Reason: ship.ReasonUnmapped},
	} {
		var updates []tracking.Update
		for _, id := range []ship.ShipmentID{outbound.ID, back.ID} {
			updates = append(updates, tracking.Update{Subject: ship.Subject{Tenant: b.tenant, ID: id.Raw()}, Scans: []store.NewScan{{Scan: scan}}})
		}
		if err := b.ApplyUpdates(t.Context(), updates); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[ship.ShipmentID]string{outbound.ID: "exception return_to_sender", back.ID: "delivered "} {
		got, err := b.Track(t.Context(), b.tenant, string(id), "")
		if err != nil || string(got.Progress.Status)+" "+got.Progress.Reason != want {
			t.Errorf("%s: %s %s, %v; want %s", id, got.Progress.Status, got.Progress.Reason, err, want)
		}
	}
}

func TestOddTextOfOneParcelKeepsNoOtherOut(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	odd, plain := b.buy(t, 1), b.buy(t, 1)
	at := time.Now().Add(time.Minute)
	err := b.ApplyUpdates(t.Context(), []tracking.Update{
		{Subject: ship.Subject{Tenant: b.tenant, ID: odd.ID.Raw()}, Scans: []store.NewScan{
			{Scan: ship.Scan{Code: "D\x00P", At: at, Status: ship.InTransit, Description: "caf\xe9", Location: "\x00"}, Raw: []byte("<html>")},
			{Scan: ship.Scan{Code: "Q", At: at, Status: "teleported", Description: "a status nobody has"}},
		}},
		{Subject: ship.Subject{Tenant: b.tenant, ID: plain.ID.Raw()}, Scans: []store.NewScan{{Scan: ship.Scan{Code: "DP", At: at, Status: ship.InTransit}}}},
		{Subject: ship.Subject{Tenant: b.tenant, ID: ship.NewRawID(7, time.Now())}, Scans: []store.NewScan{{Scan: ship.Scan{Code: "DP", At: at, Status: ship.InTransit}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, sh := range []ship.Shipment{odd, plain} {
		if got, err := b.Track(t.Context(), b.tenant, string(sh.ID), ""); err != nil || got.Progress.Status != ship.InTransit {
			t.Errorf("%s, %v", got.Progress.Status, err)
		}
	}
}

func TestAnEstimateIsKeptUntilTheCarrierGivesAnother(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sh := b.buy(t, 1)
	subject := ship.Subject{Tenant: b.tenant, ID: sh.ID.Raw()}
	day := time.Date(2030, 1, 2, 0, 0, 0, 0, time.UTC)
	err := b.ApplyUpdates(t.Context(), []tracking.Update{{Subject: subject, EstimateAt: day}, {Subject: subject}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.Track(t.Context(), b.tenant, sh.Purchase.TrackingNumber, "")
	if err != nil || !got.Progress.EstimateAt.Equal(day) || got.Progress.EstimateSource != "carrier" || got.CheckedAt.IsZero() {
		t.Errorf("estimate %v (%s), checked %v, %v", got.Progress.EstimateAt, got.Progress.EstimateSource, got.CheckedAt, err)
	}
}
