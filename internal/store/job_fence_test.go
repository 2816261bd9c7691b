package store_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// TestATenantSeesItsOwnJobsAlone attacks the queue's table as a statement of a
// tenant could that an attacker has changed.
func TestATenantSeesItsOwnJobsAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := newTenant()
	test := f.tenant
	test.Livemode = !test.Livemode
	for _, tenant := range []ship.Tenant{f.tenant, test, other} {
		orphan := job.VoidOrphanedLabel{Account: tenant.Account, Livemode: tenant.Livemode, Carrier: "ups", Number: "1Z204W4R0308071865"}
		err := f.InTx(t.Context(), tenant, func(tx *store.Store) error { return tx.Enqueue(t.Context(), orphan, 0) })
		if err != nil {
			t.Fatal(err)
		}
	}

	as := func(tenant *ship.Tenant, sql string, args ...any) (reached int64, err error) {
		t.Helper()
		err = asApp(t, f.owner, tenant, func(tx pgx.Tx) error {
			tag, err := tx.Exec(t.Context(), sql, args...)
			reached = tag.RowsAffected()
			return err
		})
		return reached, err
	}

	for _, sql := range []string{"SELECT args FROM river_job", "UPDATE river_job SET kind = 'settle_void'", "SELECT args FROM river_job FOR UPDATE"} {
		for _, tenant := range []ship.Tenant{f.tenant, test, other} {
			if n, err := as(&tenant, sql); err != nil || n != 1 {
				t.Errorf("%s as %v reaches %d jobs, %v", sql, tenant, n, err)
			}
		}
		stranger := newTenant()
		if n, err := as(&stranger, sql); err != nil || n != 0 {
			t.Errorf("%s as a tenant without jobs reaches %d, %v", sql, n, err)
		}
		if n, err := as(nil, sql); err != nil || n != 0 {
			t.Errorf("%s as nobody reaches %d, %v", sql, n, err)
		}
	}

	// A tenant can neither add a job for another nor turn its own into one.
	for _, sql := range []string{
		"INSERT INTO river_job (args, kind, queue, max_attempts) SELECT jsonb_build_object('account', $1::text, 'livemode', true), 'settle_void', 'money', 25",
		"UPDATE river_job SET args = jsonb_build_object('account', $1::text, 'livemode', true)",
	} {
		_, err := as(&f.tenant, sql, string(other.Account))
		if denied, ok := errors.AsType[*pgconn.PgError](err); !ok || denied.Code != "42501" {
			t.Errorf("%s: %v", sql, err)
		}
	}
	forged := job.SettleVoid{Account: other.Account, Livemode: other.Livemode, Shipment: ship.NewShipmentID(other.Shard(), now())}
	err := f.InTx(t.Context(), f.tenant, func(tx *store.Store) error { return tx.Enqueue(t.Context(), forged, 0) })
	if err == nil {
		t.Error("a tenant's transaction enqueues a job of another tenant")
	}

	// The database writes ids as Go does.
	rows, err := f.owner.Query(t.Context(), "SELECT account_text($1::uuid) FROM generate_series(1, 1)", accountUUID(f.tenant.Account))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[string]); err != nil || text != string(f.tenant.Account) {
		t.Errorf("account_text is %s for %s, %v", text, f.tenant.Account, err)
	}
}

func accountUUID(id ship.AccountID) [16]byte { return id.Raw() }
