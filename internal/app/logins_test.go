package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/client"
	"github.com/waybillhq/waybill/internal/app"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// TestALoginThatOwnsNothingServes runs the service with the login that owns
// nothing: it sells, tracks, and keeps the partitions.
func TestALoginThatOwnsNothingServes(t *testing.T) {
	t.Parallel()
	owner := storetest.URL(t)
	conn := storetest.Conn(t, owner)
	ctx := t.Context()

	// Upkeep has something to do: partitions that are too old, and one that is
	// missing.
	past := time.Now().UTC().AddDate(0, 0, -45)
	if err := store.MaintainPartitions(ctx, owner, past, nil); err != nil {
		t.Fatal(err)
	}
	old := "events_" + past.Format("20060102")
	missing := "events_" + time.Now().UTC().AddDate(0, 0, 2).Format("20060102")
	if _, err := conn.Exec(ctx, "DROP TABLE "+missing); err != nil {
		t.Fatal(err)
	}

	cfg := settings(t, storetest.ServingURL(t, owner))
	a := run(t, cfg, app.AllRoles)
	c := client.New(newKey(t, cfg), client.Options{BaseURL: a.BaseURL()})

	shipment, err := c.CreateShipment(ctx, client.ShipmentRequest{OrderID: "o1", Destination: destination, Parcel: &client.Parcel{Weight: 2.5}}, client.IdempotencyKey("k1"))
	if err != nil || shipment.LabelStatus != "ready" {
		t.Fatalf("shipment %+v, %v", shipment, err)
	}
	for range 10 {
		if _, err = c.Advance(ctx, shipment.ID, "", ""); err != nil {
			break
		}
	}
	if shipment, err = c.Shipment(ctx, shipment.ID); err != nil || shipment.Status != "delivered" {
		t.Errorf("the parcel is %s, %v; want delivered", shipment.Status, err)
	}

	var done int
	var hasOld, hasMissing bool
	for range 200 {
		err := conn.QueryRow(ctx, `SELECT count(*) FILTER (WHERE kind IN ('maintain_partitions', 'delete_idempotency_keys', 'delete_batches') AND state = 'completed'),
			to_regclass($1) IS NOT NULL, to_regclass($2) IS NOT NULL FROM river_job`, old, missing).Scan(&done, &hasOld, &hasMissing)
		if err != nil {
			t.Fatal(err)
		}
		if done == 3 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if done != 3 || hasOld || !hasMissing {
		t.Errorf("%d jobs are done; %s exists: %t, %s exists: %t", done, old, hasOld, missing, hasMissing)
	}

	// After an upgrade of the program alone it says what to run, and as whom.
	if err := a.stop(); err != nil {
		t.Error(err)
	}
	if _, err := conn.Exec(ctx, "DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version)"); err != nil {
		t.Fatal(err)
	}
	if _, err := app.New(ctx, cfg, app.AllRoles); err == nil || !strings.Contains(err.Error(), `set MIGRATE_DATABASE_URL to the login that owns the tables, postgres, and run "waybill migrate"`) {
		t.Errorf("with an older schema: %v", err)
	}
}
