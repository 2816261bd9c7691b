package certify_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/certify"
	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// benchAccounts has the one carrier account of a bench.
type benchAccounts struct{ *bench }

func (b benchAccounts) Account(context.Context, ship.AccountID) (ship.Account, error) {
	return b.options.Account, nil
}

func (b benchAccounts) Carrier(context.Context, ship.Tenant, ship.ConnectionID) (*carrier.Carrier, error) {
	return b.options.Carrier, nil
}

// measuring runs a walk whose labels the emulator shows late, and returns what is
// left to the service.
func measuring(t *testing.T, emulatorScale, scale float64) (b *bench, st *store.Store, m *certify.Measurer, report certify.Report, later []job.MeasureDelay) {
	t.Helper()
	b = newBench(t, "ups")
	b.server.LookupScale = emulatorScale
	st = storetest.Open(t)
	b.options.Tenant = storetest.Tenant()
	b.options.Tenant.Livemode = true
	b.options.Carrier.Connection = ship.NewConnectionID(b.options.Tenant.Shard(), time.Now())
	b.options.Account.Origin = &ship.Address{Name: "Warehouse", Company: "Acme", Address1: "500 Main St", City: "Austin", State: "TX", Zip: "78701", Country: "US", Phone: "+1 512 555 0100"}
	b.options.Scale = scale
	b.options.Measured = func(ctx context.Context, delay time.Duration) error {
		return st.MeasureDelay(ctx, b.options.Tenant, b.options.Carrier.Connection, delay)
	}
	b.options.Measure = func(_ context.Context, j job.MeasureDelay) error {
		later = append(later, j)
		return nil
	}
	report = b.run(t)
	return b, st, &certify.Measurer{Store: st, Accounts: benchAccounts{b}, Scale: scale, Log: slog.New(slog.DiscardHandler)}, report, later
}

func (b *bench) lookup(t *testing.T, st *store.Store) store.ConnectionLookup {
	t.Helper()
	known, err := st.ConnectionLookup(t.Context(), b.options.Tenant, b.options.Carrier.Connection)
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// work runs the job until its look-ups end.
func work(t *testing.T, m *certify.Measurer, j job.MeasureDelay) {
	t.Helper()
	for {
		again, err := m.Work(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		if again == 0 {
			return
		}
		time.Sleep(again)
	}
}

func TestALabelThatIsVisibleAtOnceIsMeasuredByTheWalk(t *testing.T) {
	t.Parallel()
	b, st, _, report, later := measuring(t, 0, 1)
	if len(later) != 0 || result(report, "visibility delay") != certify.OK {
		t.Errorf("left to the service: %v; %q", later, result(report, "visibility delay"))
	}
	if known := b.lookup(t, st); len(known.Measured) != 1 || known.Measured[0] > time.Minute {
		t.Errorf("measured %v", known.Measured)
	}
	if sold, voided := b.sales(); len(sold) != len(voided) {
		t.Errorf("sold %v, voided %v", sold, voided)
	}
}

func TestALateLabelIsMeasuredByTheServiceAndVoidedThen(t *testing.T) {
	t.Parallel()
	b, st, m, report, later := measuring(t, 1, 0.01)
	if len(later) != 1 || report.Count(certify.Failed) != 0 || len(report.Open()) != 0 {
		t.Fatalf("left to the service: %v; %d failed, open %v", later, report.Count(certify.Failed), report.Open())
	}
	sold, voided := b.sales()
	if len(voided) != len(sold)-1 {
		t.Errorf("the walk sold %v and voided %v; want all but one", sold, voided)
	}

	// The first look is a minute after the sale. The label becomes visible after
	// that, and the look after 5 minutes finds it.
	j := later[0]
	j.BoughtAt = time.Now()
	for range 2 {
		again, err := m.Work(t.Context(), j)
		if err != nil || again == 0 {
			t.Fatalf("a look at a label that is not visible: again in %v, %v", again, err)
		}
		time.Sleep(again)
	}
	b.server.LookupScale = 0
	if again, err := m.Work(t.Context(), j); err != nil || again != 0 {
		t.Fatalf("a look at a label that is visible: again in %v, %v", again, err)
	}
	known := b.lookup(t, st)
	if len(known.Measured) != 1 || known.Measured[0] < 5*time.Minute || !known.ControlFound {
		t.Errorf("measured %v, control found: %t", known.Measured, known.ControlFound)
	}

	// The void is a job of its own: after a crash only that is repeated.
	j.Measured = true
	for range 2 {
		if again, err := m.Work(t.Context(), j); again != 0 || err != nil {
			t.Errorf("void: %v, %v", again, err)
		}
	}
	if sold, voided := b.sales(); len(voided) < len(sold) {
		t.Errorf("sold %v, voided %v", sold, voided)
	}
	if known := b.lookup(t, st); len(known.Measured) != 1 {
		t.Errorf("measured %v", known.Measured)
	}
}

func TestALabelThatIsNeverVisibleIsAControlThatFailed(t *testing.T) {
	t.Parallel()
	b, st, m, _, later := measuring(t, 1, 0.0001)
	if len(later) != 1 {
		t.Fatalf("left to the service: %v", later)
	}
	work(t, m, later[0])
	if known := b.lookup(t, st); len(known.Measured) != 0 || known.FailingSince.IsZero() {
		t.Errorf("measured %v, failing since %v", known.Measured, known.FailingSince)
	}
}
