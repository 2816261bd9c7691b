package worker

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/bulk"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

func testWorker(lasting bool, do func() (time.Duration, error)) *worker[job.SettlePurchase] {
	return &worker[job.SettlePurchase]{
		jobObserver: jobObserver{log: slog.New(slog.DiscardHandler), observe: (*Metrics)(nil).observe, retry: retryAfter},
		do:          func(context.Context, job.SettlePurchase) (time.Duration, error) { return do() },
		lasting:     lasting,
	}
}

func TestJobsAboutMoneyAreNeverCancelledOrDiscarded(t *testing.T) {
	t.Parallel()
	for _, do := range []func() (time.Duration, error){
		func() (time.Duration, error) { return 0, ship.Errorf(ship.NotFound, "gone") },
		func() (time.Duration, error) { return 0, ship.Errorf(ship.Invalid, "wrong") },
		func() (time.Duration, error) { return time.Minute, errors.New("odd") },
		func() (time.Duration, error) { return 0, context.DeadlineExceeded },
		func() (time.Duration, error) { panic("bug") },
	} {
		err := testWorker(true, do).Work(t.Context(), &river.Job[job.SettlePurchase]{JobRow: &rivertype.JobRow{}})
		snooze, ok := errors.AsType[*rivertype.JobSnoozeError](err)
		if !ok || snooze.Duration < retryAfter {
			t.Errorf("err = %v, want a snooze of at least %s", err, retryAfter)
		}
	}
}

func TestASettledPurchaseEndsItsJobAndAnOpenOneComesAgain(t *testing.T) {
	t.Parallel()
	row := &river.Job[job.SettlePurchase]{JobRow: &rivertype.JobRow{}}
	if err := testWorker(true, func() (time.Duration, error) { return 0, nil }).Work(t.Context(), row); err != nil {
		t.Errorf("settled: %v", err)
	}
	err := testWorker(true, func() (time.Duration, error) { return 7 * time.Second, nil }).Work(t.Context(), row)
	if snooze, ok := errors.AsType[*rivertype.JobSnoozeError](err); !ok || snooze.Duration != 7*time.Second {
		t.Errorf("open: %v, want a snooze of 7s", err)
	}
}

func TestOtherJobsAreCancelledOnlyIfTheyCanNeverWork(t *testing.T) {
	t.Parallel()
	row := &river.Job[job.SettlePurchase]{JobRow: &rivertype.JobRow{}}
	for kind, cancelled := range map[ship.Kind]bool{ship.Invalid: true, ship.Conflict: true, ship.Unavailable: false, ship.Internal: false} {
		err := testWorker(false, func() (time.Duration, error) { return 0, ship.Errorf(kind, "no") }).Work(t.Context(), row)
		if _, got := errors.AsType[*rivertype.JobCancelError](err); got != cancelled || err == nil {
			t.Errorf("%s: %v, cancelled %t, want %t", kind, err, got, cancelled)
		}
	}
}

// TestJobsOfAnAccountThatMovesStayOpen is about jobs that are due while the shard of
// their account is frozen: only open jobs go with it, or are done if it stays.
func TestJobsOfAnAccountThatMovesStayOpen(t *testing.T) {
	t.Parallel()
	row := &river.Job[job.SettlePurchase]{JobRow: &rivertype.JobRow{}}
	for _, lasting := range []bool{true, false} {
		err := testWorker(lasting, func() (time.Duration, error) {
			return 0, &ship.Error{Kind: ship.Unavailable, Message: "moving", Err: store.ErrMisdirected}
		}).Work(t.Context(), row)
		if _, ok := errors.AsType[*rivertype.JobSnoozeError](err); !ok {
			t.Errorf("lasting %t: %v, want a snooze", lasting, err)
		}
	}
}

func TestALoopWaitsLongerWhileIdleAndNotWhileBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		work, calls := 3, 0
		go Loop{Name: "test", Least: 250 * time.Millisecond, Most: time.Second, Log: slog.New(slog.DiscardHandler), Do: func(context.Context) (int, error) {
			calls++
			work--
			return max(work, 0), nil
		}}.Run(ctx)
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if calls != 3 { // 2 left, 1 left, none left
			t.Errorf("%d calls at once, want 3", calls)
		}
		time.Sleep(4 * time.Second) // after 250 ms, 500 ms, 1 s, 1 s, 1 s
		synctest.Wait()
		if calls != 8 {
			t.Errorf("%d calls after 4 s, want 8", calls)
		}
		cancel()
		synctest.Wait()
	})
}

func TestALoopLogsAFailureOnceAndItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var out bytes.Buffer
		calls := 0
		go Loop{Name: "test", Least: time.Second, Most: time.Second, Log: slog.New(slog.NewTextHandler(&out, nil)), Do: func(context.Context) (int, error) {
			if calls++; calls <= 5 {
				return 0, errors.New("no database")
			}
			return 0, nil
		}}.Run(ctx)
		time.Sleep(time.Minute)
		synctest.Wait()
		cancel()
		synctest.Wait()
		if n := strings.Count(out.String(), "no database"); n != 1 {
			t.Errorf("the failure is logged %d times:\n%s", n, &out)
		}
		if n := strings.Count(out.String(), "recovered"); n != 1 {
			t.Errorf("its end is logged %d times:\n%s", n, &out)
		}
	})
}

// bench is a runner on a real database.
type bench struct {
	store    *store.Store
	url      string
	shipping *shipping.Service
	tenant   ship.Tenant
	account  ship.Account
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{url: storetest.URL(t)}
	var err error
	if b.store, err = store.Open(t.Context(), store.Options{URL: b.url, Connections: 4}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.store.Close)
	var simulated []*carrier.Carrier
	for _, spec := range sandbox.Specs() {
		c, err := carrier.Open(spec, carrier.Opening{})
		if err != nil {
			t.Fatal(err)
		}
		simulated = append(simulated, c)
	}
	labels, err := label.NewRenderer("")
	if err != nil {
		t.Fatal(err)
	}
	waits := shipping.DefaultWaits
	waits.Buy = 0 // so that the job looks as soon as Settle says
	waits.Settle, waits.Look = time.Second, 10*time.Millisecond
	sellers := carrier.Accounts{Simulated: simulated}
	b.shipping = shipping.New(shipping.Config{
		Store: b.store, Accounts: sellers, Quoting: quoting.New(quoting.Config{Accounts: sellers, SigningKey: make([]byte, 32)}), Labels: labels, SigningKey: make([]byte, 32), BaseURL: "http://test", Waits: waits, Log: slog.New(slog.DiscardHandler),
	})
	if b.account, err = account.New(b.store).Create(t.Context(), account.Settings{Name: new("Test")}); err != nil {
		t.Fatal(err)
	}
	b.tenant = ship.Tenant{Account: b.account.ID}
	return b
}

func (b *bench) run(t *testing.T, changes ...func(*Config)) *Metrics {
	t.Helper()
	metrics, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	c := Config{
		Services: Services{Shipping: b.shipping, Store: b.store, Batch: batch.New(batch.Config{Store: b.store, Retention: 24 * time.Hour}), Bulk: bulk.New(bulk.Config{Store: b.store, Retention: 24 * time.Hour})},
		Log:      slog.New(slog.NewTextHandler(t.Output(), nil)), Metrics: metrics,
	}
	for _, change := range changes {
		change(&c)
	}
	r, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := r.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return metrics
}

// eventually waits for the condition.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after 20 s there is still no %s", what)
		}
	}
}

func TestAPurchaseThatLostItsAnswerIsSettledByItsJob(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run(t)
	id := b.loseAnAnswer(t)
	b.findOpen(t)
	b.settles(t, id)
}

func TestTheJobOfACopyThatDiedIsGivenToAnother(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.loseAnAnswer(t)
	b.findOpen(t)
	if _, err := storetest.Conn(t, b.url).Exec(t.Context(), `UPDATE river_job SET state = 'running', attempt = 1, attempted_at = now() - interval '5 seconds', attempted_by = '{dead}'`); err != nil {
		t.Fatal(err)
	}
	b.run(t, func(c *Config) { c.RescueAfter, c.RetryAfter = 4*time.Second, 100*time.Millisecond })
	b.settles(t, id)
}

// loseAnAnswer buys from a carrier that sells and does not say so.
func (b *bench) loseAnAnswer(t *testing.T) ship.ShipmentID {
	t.Helper()
	bought, err := b.shipping.Buy(t.Context(), shipping.BuyInput{Tenant: b.tenant, Account: b.account, OneParcel: true, Order: ship.Order{
		OrderID:     "o1",
		Destination: ship.Address{Name: "FAULT TIMEOUT AFTER PURCHASE", Address1: "1 Main St", City: "Austin", State: "TX", Zip: "78701", Country: "US"},
		Parcels:     []ship.Parcel{{Weight: 1, WeightUnit: ship.Pound}},
	}})
	if err != nil || !bought.Pending {
		t.Fatalf("Buy = %+v, %v; want pending", bought, err)
	}
	return bought.Shipment.ID
}

// findOpen has the purchase found that is open, which takes until its settle
// job may look.
func (b *bench) findOpen(t *testing.T) {
	t.Helper()
	conn := storetest.Conn(t, b.url)
	eventually(t, "settle job", func() bool {
		if err := b.shipping.FindOpen(t.Context()); err != nil {
			t.Fatal(err)
		}
		var n int
		return conn.QueryRow(t.Context(), "SELECT count(*) FROM river_job WHERE kind = 'settle_purchase'").Scan(&n) == nil && n == 1
	})
}

func (b *bench) settles(t *testing.T, id ship.ShipmentID) {
	t.Helper()
	eventually(t, "label", func() bool {
		sh, err := b.shipping.Shipment(t.Context(), b.tenant, id)
		return err == nil && sh.State == ship.StatePurchased
	})
}

func TestPeriodicJobsRunAtTheStart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	conn := storetest.Conn(t, b.url)
	if _, err := conn.Exec(t.Context(), `INSERT INTO idempotency_keys (account_id, livemode, key, fingerprint, created_at)
		SELECT gen_random_uuid(), false, 'k', '', now() - interval '2 days' FROM generate_series(1, 6000)`); err != nil {
		t.Fatal(err)
	}
	for _, age := range []time.Duration{0, 48 * time.Hour} {
		file := store.Batch{ID: ship.NewBatchID(7, time.Now().Add(-age)), Tenant: b.tenant, Name: "orders.csv", State: batch.Done, Header: []string{"order"}, Mapping: []byte("{}")}
		if err := b.store.AddBatch(t.Context(), file, [][]string{{"1001"}}); err != nil {
			t.Fatal(err)
		}
	}
	b.run(t)
	eventually(t, "end of the old file", func() bool {
		var n int
		return conn.QueryRow(t.Context(), "SELECT count(*) FROM batches").Scan(&n) == nil && n == 1
	})
	eventually(t, "end of the old keys", func() bool {
		var n int
		return conn.QueryRow(t.Context(), "SELECT count(*) FROM idempotency_keys").Scan(&n) == nil && n == 0
	})
	eventually(t, "completed job of each kind", func() bool {
		var n int
		return conn.QueryRow(t.Context(), "SELECT count(DISTINCT kind) FROM river_job WHERE state = 'completed'").Scan(&n) == nil && n == 5
	})
}

func TestWorkInPartsGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var after []ship.ShipmentID // by part
	jobs := river.NewWorkers()
	observer := jobObserver{log: slog.New(slog.DiscardHandler), observe: (*Metrics)(nil).observe, retry: time.Millisecond}
	addLasting(jobs, observer, func(ctx context.Context, _ job.SweepAttempts) (time.Duration, error) {
		return inParts(ctx, func(_ context.Context, last ship.ShipmentID) (ship.ShipmentID, error) {
			switch after = append(after, last); len(after) {
			case 1:
				return "shp_1", nil
			case 2:
				return "shp_2", nil
			case 3:
				return "", context.DeadlineExceeded
			}
			return "", nil
		})
	})

	client, err := river.NewClient(riverpgxv5.New(b.store.System()), &river.Config{
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 1}}, Workers: jobs, TestOnly: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	completed, unsubscribe := client.Subscribe(river.EventKindJobCompleted)
	defer unsubscribe()
	if _, err := client.Insert(t.Context(), job.SweepAttempts{}, nil); err != nil {
		t.Fatal(err)
	}
	if err := client.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer client.StopAndCancel(context.WithoutCancel(t.Context())) //nolint:errcheck // the test has ended

	select {
	case <-completed:
	case <-time.After(20 * time.Second):
		t.Fatal("the job is not completed")
	}
	if want := []ship.ShipmentID{"", "shp_1", "shp_2", "shp_2"}; !slices.Equal(after, want) {
		t.Errorf("the parts began after %q, want %q", after, want)
	}
}

func TestAJobThatCannotBeDoneInPartsHasMoreTime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	jobs := river.NewWorkers()
	observer := jobObserver{log: slog.New(slog.DiscardHandler), observe: (*Metrics)(nil).observe, retry: time.Millisecond}
	addLong(jobs, observer, time.Minute, func(ctx context.Context, _ job.Export) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
			return nil
		}
	})
	client, err := river.NewClient(riverpgxv5.New(b.store.System()), &river.Config{
		Queues:  map[string]river.QueueConfig{store.QueuePrivacy: {MaxWorkers: 1}},
		Workers: jobs, JobTimeout: 100 * time.Millisecond, RescueStuckJobsAfter: 200 * time.Millisecond, TestOnly: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	ended, unsubscribe := client.Subscribe(river.EventKindJobCompleted, river.EventKindJobSnoozed)
	defer unsubscribe()
	if err := client.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer client.StopAndCancel(context.WithoutCancel(t.Context())) //nolint:errcheck // the test has ended
	if _, err := client.Insert(t.Context(), job.Export{}, &river.InsertOpts{Queue: store.QueuePrivacy}); err != nil {
		t.Fatal(err)
	}
	select {
	case event := <-ended:
		if event.Kind != river.EventKindJobCompleted {
			t.Errorf("it ended as %s", event.Kind)
		}
	case <-time.After(30 * time.Second):
		t.Error("it does not end")
	}
}
