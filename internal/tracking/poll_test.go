package tracking_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/all"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
	"github.com/waybillhq/waybill/internal/tracking"
)

// pollBench is a database with connections to emulators, for several copies of
// the service.
type pollBench struct {
	store    *store.Store
	tenant   ship.Tenant
	carriers map[string]*carrier.Carrier
	standIns map[string]*emulator.Server
	asked    *asked
}

// asked sends requests, and counts how often each number was asked about.
type asked struct {
	mu      sync.Mutex
	numbers map[string]int
	order   []string
	hang    func() // called before a request is sent; may be nil
	via     carrier.Doer
}

func (a *asked) Do(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	text := r.URL.String() + string(body)
	a.mu.Lock()
	hang := a.hang
	for n := range a.numbers {
		if strings.Contains(text, n) {
			a.numbers[n]++
			a.order = append(a.order, n)
		}
	}
	a.mu.Unlock()
	if hang != nil && strings.Contains(text, "track") {
		hang()
	}
	return a.via.Do(r)
}

// times returns how often each of the numbers was asked about.
func (a *asked) times(numbers ...string) (list []int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, n := range numbers {
		if !slices.Contains(list, a.numbers[n]) {
			list = append(list, a.numbers[n])
		}
	}
	return list
}

func newPollBench(t *testing.T, names ...string) *pollBench {
	t.Helper()
	b := &pollBench{
		store: storetest.Open(t), tenant: ship.Tenant{Account: storetest.Tenant().Account, Livemode: true},
		carriers: map[string]*carrier.Carrier{}, standIns: map[string]*emulator.Server{}, asked: &asked{numbers: map[string]int{}, via: carriertest.Via(t)},
	}
	for _, name := range names {
		ledger, err := emulator.OpenLedger("")
		if err != nil {
			t.Fatal(err)
		}
		b.standIns[name] = standIns[name].open(ledger)
		b.standIns[name].LookupScale = 0
		server := httptest.NewServer(b.standIns[name])
		t.Cleanup(server.Close)
		spec := all.Specs[slices.IndexFunc(all.Specs, func(s carrier.Spec) bool { return s.Name == name })]
		path, err := url.Parse(spec.LiveURL)
		if err != nil {
			t.Fatal(err)
		}
		c, err := carrier.Open(spec, carrier.Opening{Credentials: standIns[name].given, BaseURL: server.URL + path.Path, Live: true, Via: b.asked})
		if err != nil {
			t.Fatal(err)
		}
		c.Connection = ship.NewConnectionID(b.tenant.Shard(), time.Now())
		b.carriers[name] = c
	}
	return b
}

// copy returns another copy of the service.
func (b *pollBench) copy(batch int, claim time.Duration) *tracking.Service {
	return tracking.New(tracking.Config{
		Specs: all.Specs, Store: b.store, BaseURL: "http://test", Log: slog.New(slog.DiscardHandler), PollBatch: batch, PollClaim: claim,
		Connection: func(_ context.Context, _ ship.Tenant, id ship.ConnectionID) (*carrier.Carrier, error) {
			for _, c := range b.carriers {
				if c.Connection == id {
					return c, nil
				}
			}
			return nil, ship.Errorf(ship.NotFound, "no such connection")
		},
		Connected: func(context.Context, ship.Tenant) (list []*carrier.Carrier, _ error) {
			for _, c := range b.carriers {
				list = append(list, c)
			}
			return list, nil
		},
	})
}

// parcels records the given number of bought parcels of a carrier, which have
// been due for a while.
func (b *pollBench) parcels(t *testing.T, name string, count int, since time.Duration) (numbers []string, shipments []ship.Shipment) {
	t.Helper()
	for i := range count {
		number := map[string]string{"fedex": "7946", "dhl_express": "10"}[name] + fmt.Sprintf("%08d", i)
		sh := storetest.Shipment(b.tenant, "o"+number)
		sh.Purchase.Carrier, sh.Purchase.Connection, sh.Purchase.Simulated = name, b.carriers[name].Connection, false
		sh.Order.ShipDate = ship.DateOf(time.Now())
		if _, err := b.store.Intend(t.Context(), sh, store.Attempt{Number: 1, Reference: "S" + number, Carrier: name}, ship.KeyName{}); err != nil {
			t.Fatal(err)
		}
		c := storetest.Bought(sh, number)
		c.PollAt = time.Now().Add(-since + time.Duration(i)*time.Millisecond)
		if _, err := b.store.Settle(t.Context(), store.Settlement{Creation: c, Attempt: 1, BoughtBy: 1}); err != nil {
			t.Fatal(err)
		}
		numbers, shipments = append(numbers, number), append(shipments, c.Shipment)
		b.asked.mu.Lock()
		b.asked.numbers[number] = 0
		b.asked.mu.Unlock()
	}
	return numbers, shipments
}

// pollAll polls until nothing is due.
func pollAll(t *testing.T, s *tracking.Service) (total int) {
	t.Helper()
	for range 100 {
		n, err := s.Poll(t.Context())
		if err != nil {
			t.Error(err)
		}
		if total += n; n == 0 {
			return total
		}
	}
	t.Error("there is no end to what is due")
	return total
}

func TestNoTwoCopiesAskAboutTheSameParcel(t *testing.T) {
	t.Parallel()
	b := newPollBench(t, "fedex")
	numbers, _ := b.parcels(t, "fedex", 40, time.Hour)
	if err := b.standIns["fedex"].Turn(emulator.Faults{Latency: emulator.Duration(300 * time.Millisecond)}); err != nil {
		t.Fatal(err)
	}
	var copies sync.WaitGroup
	totals := make([]int, 6) // more copies than requests: some start while all parcels are being polled
	for i := range totals {
		copies.Go(func() { totals[i] = pollAll(t, b.copy(10, time.Hour)) })
	}
	copies.Wait()
	totals[0] += pollAll(t, b.copy(10, time.Hour)) // parcels that were locked at their first look
	if got := b.asked.times(numbers...); !slices.Equal(got, []int{1}) {
		t.Errorf("the parcels were asked about %v times, by copies that asked about %v", got, totals)
	}
}

func TestWhatAKilledCopyClaimedIsTakenOver(t *testing.T) {
	t.Parallel()
	b := newPollBench(t, "fedex")
	numbers, _ := b.parcels(t, "fedex", 20, time.Hour)
	killed, stuck := make(chan struct{}), make(chan struct{})
	var dead atomic.Bool
	b.asked.hang = func() {
		if dead.CompareAndSwap(false, true) {
			close(stuck)
			<-killed
		}
	}
	const claim = 3 * time.Second
	var first sync.WaitGroup
	began := time.Now()
	first.Go(func() { _, _ = b.copy(100, claim).Poll(context.Background()) })
	defer first.Wait()
	defer close(killed)
	<-stuck
	second := b.copy(100, claim)
	taken, err := second.Poll(t.Context())
	if err != nil || taken != 0 && time.Since(began) < claim {
		t.Errorf("%d are asked about that another copy has claimed, %v", taken, err)
	}
	for deadline := time.Now().Add(20 * time.Second); taken < len(numbers) && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		n, err := second.Poll(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		taken += n
	}
	if taken != len(numbers) {
		t.Errorf("%d of %d are taken over", taken, len(numbers))
	}
}

func TestALimitedConnectionHoldsNoOtherUp(t *testing.T) {
	t.Parallel()
	b := newPollBench(t, "fedex", "dhl_express")
	late, _ := b.parcels(t, "fedex", 40, 2*time.Hour)
	other, _ := b.parcels(t, "dhl_express", 15, time.Hour)
	s := b.copy(10, time.Hour)
	if err := b.standIns["fedex"].Turn(emulator.Faults{Limit: 1}); err != nil {
		t.Fatal(err)
	}
	pollAll(t, s)
	if got := b.asked.times(other...); !slices.Equal(got, []int{1}) {
		t.Errorf("beside a connection that is limited the other's parcels were asked about %v times", got)
	}
	if err := b.standIns["fedex"].Turn(emulator.Faults{}); err != nil {
		t.Fatal(err)
	}
	b.asked.mu.Lock()
	b.asked.order = nil
	b.asked.mu.Unlock()
	for deadline := time.Now().Add(20 * time.Second); len(b.asked.order) == 0 && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		pollAll(t, s)
	}
	if first := b.asked.order[:min(10, len(b.asked.order))]; !slices.Equal(slices.Sorted(slices.Values(first)), late[:10]) {
		t.Errorf("after the limit %v were asked about first", first)
	}
	if len(b.asked.order) != len(late) {
		t.Errorf("after the limit %d are asked about, not %d", len(b.asked.order), len(late))
	}
}

func TestAParcelThatIsGoneIsNotAskedAbout(t *testing.T) {
	t.Parallel()
	b := newPollBench(t, "fedex")
	numbers, shipments := b.parcels(t, "fedex", 2, time.Hour)
	s := b.copy(100, time.Hour)
	const foreign = "794699999999"
	b.asked.numbers[foreign] = 0
	followed, _, err := s.Follow(t.Context(), b.tenant, "", foreign, "fedex")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Unfollow(t.Context(), b.tenant, followed.Tracker); err != nil {
		t.Fatal(err)
	}
	if err := b.store.PastOrder(t.Context(), shipments[0]); err != nil { // as a void does
		t.Fatal(err)
	}
	if n, err := s.Poll(t.Context()); err != nil || n != 1 {
		t.Errorf("%d are asked about, %v", n, err)
	}
	if gone := b.asked.times(foreign, numbers[0]); !slices.Equal(gone, []int{0}) || !slices.Equal(b.asked.times(numbers[1]), []int{1}) {
		t.Errorf("asked about: %v", b.asked.numbers)
	}
}

// TestATrackerThatWasCutOffIsPolledOnceItIsAskedForAgain has the process die between
// writing the tracker down and beginning to poll.
func TestATrackerThatWasCutOffIsPolledOnceItIsAskedForAgain(t *testing.T) {
	t.Parallel()
	b := newPollBench(t, "fedex")
	s := b.copy(100, time.Hour)
	const number = "794699999999"
	b.asked.numbers[number] = 0
	if _, _, err := b.store.Follow(t.Context(), b.tenant, "", ship.NewTrackerID(b.tenant.Shard(), time.Now()), number, "fedex"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, isNew, err := s.Follow(t.Context(), b.tenant, "", number, "fedex"); err != nil || isNew {
			t.Fatalf("new is %t, %v", isNew, err)
		}
	}
	if n, err := s.Poll(t.Context()); err != nil || n != 1 {
		t.Errorf("%d are asked about, %v", n, err)
	}
}

func TestAParcelThatVanishesBetweenItsClaimAndTheQuestionCostsNothing(t *testing.T) {
	t.Parallel()
	b := newPollBench(t, "fedex")
	b.parcels(t, "fedex", 1, time.Hour)
	gone := ship.Subject{Tenant: b.tenant, ID: ship.NewRawID(b.tenant.Shard(), time.Now())}
	if err := b.store.Watch(t.Context(), gone, b.carriers["fedex"].Connection, time.Now().Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	s := b.copy(1, time.Millisecond)
	if n := pollAll(t, s); n != 2 {
		t.Errorf("%d were due", n)
	}
	time.Sleep(10 * time.Millisecond)
	if n := pollAll(t, s); n != 0 {
		t.Errorf("%d are due again", n)
	}
}

func TestAParcelWhoseDeliveryWasPushedIsNotAskedAbout(t *testing.T) {
	t.Parallel()
	b := newPollBench(t, "fedex")
	numbers, shipments := b.parcels(t, "fedex", 2, time.Hour)
	s := b.copy(100, time.Millisecond)
	delivery := ship.Scan{Code: "DL", Status: ship.Delivered, At: time.Now().UTC()}
	err := s.ApplyUpdates(t.Context(), []tracking.Update{{
		Subject: ship.Subject{Tenant: b.tenant, ID: shipments[0].ID.Raw()},
		Scans:   []store.NewScan{{Scan: delivery}},
	}})
	if err != nil {
		t.Fatal(err)
	}

	pollAll(t, s)
	if !slices.Equal(b.asked.times(numbers[0]), []int{0}) || !slices.Equal(b.asked.times(numbers[1]), []int{1}) {
		t.Errorf("asked about: %v", b.asked.numbers)
	}
	time.Sleep(10 * time.Millisecond)
	if n := pollAll(t, s); n != 0 {
		t.Errorf("%d are still polled", n)
	}
}
