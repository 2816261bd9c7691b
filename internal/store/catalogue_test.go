package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/waybillhq/waybill/internal/effect"
	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// reviewed are the unique indexes that do not begin with the account: what
// they hold is made here at random, so a clash tells nobody anything.
var reviewed = []string{"api_keys_key_hash_key", "audit_chain_position_key", "events_pkey", "invitations_token_hash_key"}

// accountWide are the tables whose rows are of an account in both modes: the
// account alone is their fence.
var accountWide = []string{"account_logos", "audit_anchors", "audit_chain", "audit_log", "audit_pending", "column_mappings", "invitations", "members", "saved_views"}

// runAsOwner are the functions that run as the tables' owner, whoever calls
// them: they check their arguments, and TestTheServingLoginOwnsNothing attacks
// them.
var runAsOwner = []string{"create_due_partitions", "drop_expired_partition", "drop_expired_shipments", "log_horizon_holders", "release_shards"}

// ownedBy chooses the rows of a tenant, given as two arguments.
func ownedBy(table string) string {
	if slices.Contains(accountWide, table) {
		return "account_id = $1 AND $2::boolean IS NOT NULL"
	}
	return "account_id = $1 AND livemode = $2"
}

func TestEveryTenantTableIsFenced(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	column := `JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'account_id' WHERE c.relkind IN ('r', 'p')`
	tables := one[int](t, f.owner, `SELECT count(*) FROM pg_class c `+column)
	if tables < 31 {
		t.Errorf("only %d tables hold tenants' rows", tables)
	}
	for what, sql := range map[string]string{
		"without forced row-level security": `SELECT c.relname FROM pg_class c ` + column + ` AND NOT (c.relrowsecurity AND c.relforcerowsecurity)`,
		"without a policy for each role": `SELECT c.relname FROM pg_class c ` + column + ` AND NOT c.relispartition
			AND (SELECT count(*) FROM pg_policy p WHERE p.polrelid = c.oid AND p.polcmd = '*' AND p.polpermissive) <> 2`,
		"with and without livemode": `SELECT c.relname FROM pg_class c ` + column + ` AND (c.relname = ANY ('{` + strings.Join(accountWide, ",") + `}')) = EXISTS
			(SELECT FROM pg_attribute m WHERE m.attrelid = c.oid AND m.attname = 'livemode' AND m.attnotnull)`,
		"that may be without an account": `SELECT c.relname FROM pg_class c ` + column + ` AND NOT a.attnotnull`,
		"that tenants reach past a policy": `SELECT c.relname FROM pg_class c ` + column + ` AND c.relispartition
			AND (has_table_privilege('waybill_app', c.oid, 'SELECT') OR has_table_privilege('waybill_group', c.oid, 'SELECT'))`,
		"that run as somebody else": `SELECT p.proname FROM pg_proc p WHERE p.prosecdef AND p.pronamespace = 'public'::regnamespace AND p.proname <> ALL ('{` + strings.Join(runAsOwner, ",") + `}')
			UNION ALL SELECT p.proname FROM pg_proc p WHERE p.prosecdef AND NOT coalesce('search_path=pg_catalog, pg_temp' = ANY (p.proconfig), false)
			UNION ALL SELECT p.proname FROM pg_proc p WHERE p.prosecdef AND p.pronamespace = 'public'::regnamespace AND has_function_privilege('waybill_app', p.oid, 'EXECUTE')
			UNION ALL SELECT relname FROM pg_class WHERE relkind IN ('v', 'm') AND relnamespace = 'public'::regnamespace`,
		"of a role that passes fences": `SELECT rolname FROM pg_roles WHERE rolname IN ('waybill_app', 'waybill_group', 'waybill_sys') AND (rolsuper OR rolbypassrls OR rolcanlogin OR rolcreaterole)`,
	} {
		rows, err := f.owner.Query(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		if bad, err := pgx.CollectRows(rows, pgx.RowTo[string]); err != nil || len(bad) > 0 {
			t.Errorf("things %s: %v %v", what, bad, err)
		}
	}
}

func TestUniqueIndexesBeginWithTheAccount(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rows, err := f.owner.Query(t.Context(), `
		SELECT x.relname FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attname = 'account_id'
		WHERE i.indisunique AND NOT x.relispartition AND i.indkey[0] <> a.attnum ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := pgx.CollectRows(rows, pgx.RowTo[string]); err != nil || !slices.Equal(got, reviewed) {
		t.Errorf("unique indexes that could tell one tenant of another: %v %v, reviewed are %v", got, err, reviewed)
	}
}

// tenantTables are the tables that hold tenants' rows, partitions aside.
func tenantTables(t *testing.T, f *fixture) []string {
	t.Helper()
	rows, err := f.owner.Query(t.Context(), `
		SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'account_id'
		WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// fill gives the tenant a row in every table.
func fill(t *testing.T, f *fixture, tenant ship.Tenant) {
	t.Helper()
	ctx := t.Context()
	if err := f.SaveAccount(ctx, ship.Account{ID: tenant.Account, Name: "A", Units: ship.DefaultUnits, Currency: "USD"}, "account.made"); err != nil {
		t.Fatal(err)
	}
	key := ship.NewKey(tenant.Shard(), tenant.Livemode)
	if err := f.AddKey(ctx, store.KeyRow{ID: ship.NewKeyID(7, now()), Tenant: tenant, Hash: key.Hash(), Hint: key.Hint(), Scopes: []string{"*"}}); err != nil {
		t.Fatal(err)
	}
	connection := store.Connection{ID: ship.NewConnectionID(7, now()), Tenant: tenant, Carrier: "ups", Name: "Main", WrappedKey: []byte{1}, Credentials: []byte{2}}
	if err := f.AddConnection(ctx, connection); err != nil {
		t.Fatal(err)
	}
	if err := f.Watch(ctx, ship.Subject{Tenant: tenant, ID: ship.NewRawID(7, now())}, connection.ID, now()); err != nil {
		t.Fatal(err)
	}
	if fresh, err := f.AddPushes(ctx, []store.Push{{ID: ship.NewRawID(7, now()), Tenant: tenant, Connection: connection.ID, Body: []byte("{}")}}, now()); err != nil || len(fresh) != 1 {
		t.Fatal(fresh, err)
	}
	if err := f.SetSubscription(ctx, tenant, connection.ID, now()); err != nil {
		t.Fatal(err)
	}
	if err := f.CountDeliveries(ctx, map[store.Lane]ship.TransitDays{laneOf(tenant, "ground"): took(3)}); err != nil {
		t.Fatal(err)
	}
	fillRouting(t, f, tenant)
	intended := f.intend(t, tenant, "intended")
	orphaned := intended.Purchase
	orphaned.TrackingNumber, orphaned.Simulated = "1Z9", false
	if err := f.RecordOrphan(ctx, store.OrphanedLabel{Tenant: tenant, Shipment: intended.ID, Attempt: 1, FoundBy: "lookup", Purchase: orphaned}); err != nil {
		t.Fatal(err)
	}
	awaited := f.intend(t, tenant, "awaited")
	if err := f.AddApproval(ctx, ship.Approval{
		ID: ship.NewApprovalID(7, now()), Tenant: tenant, Shipment: awaited.ID, Key: ship.NewKeyID(7, now()), Price: ship.Money{Minor: 1, Currency: "USD"}, ExpiresAt: now(),
	}); err != nil {
		t.Fatal(err)
	}
	paper := store.Settlement{Creation: bought(intended, "1Z8"), Attempt: 1, BoughtBy: 1, Documents: []ship.Document{{Type: "invoice", Format: "pdf", Data: []byte("%PDF")}}}
	if _, err := f.Settle(ctx, paper); err != nil {
		t.Fatal(err)
	}
	sh := f.create(t, tenant, "bought", "1Z"+string(tenant.Account[20:]))
	f.hear(t, sh, ship.Scan{Code: "OR", At: now(), Status: ship.PickedUp, Description: "Origin scan"})
	if ok, err := f.TakeKey(ctx, tenant, "k", [32]byte{1}, time.Minute); !ok || err != nil {
		t.Fatal(ok, err)
	}
	e, err := f.AddEndpoint(ctx, tenant, ship.NewEndpointID(7, now()), hookSettings())
	if err != nil {
		t.Fatal(err)
	}
	event := ship.NewEventIDs(7, now(), 1)[0]
	if err := f.AddAttempts(ctx, []store.WebhookAttempt{{ID: ship.NewAttemptID(7, now()), Tenant: tenant, Endpoint: e.ID, Event: event, Number: 1, Trigger: "auto", Outcome: "failed"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.owner.Exec(ctx, `INSERT INTO webhook_retries (account_id, livemode, endpoint_id, event_id, event_txid, slot, attempts, next_attempt_at) VALUES ($1, $2, $3, $4, '9', $5, 1, now())`,
		[16]byte(tenant.Account.Raw()), tenant.Livemode, [16]byte(e.ID.Raw()), [16]byte(event.Raw()), e.Slot); err != nil {
		t.Fatal(err)
	}
	fillMembers(t, f, tenant)
	if err := f.SaveLogo(ctx, tenant.Account, store.Logo{Hash: "00", Width: 1, Height: 1, Picture: []byte{1}}); err != nil {
		t.Fatal(err)
	}
	fillJournal(t, f, tenant)
	fillFacts(t, f, sh)
	fillBatches(t, f, tenant)
	fillLookups(t, f, tenant, sh)
	fillErasures(t, f, tenant, sh)
	fillHandover(t, f, tenant, sh)
	fillBulkWork(t, f, tenant, sh)
	fillReturns(t, f, tenant, sh)
	object := store.CompatObject{ID: ship.NewRawID(7, now()), Kind: "address", Reference: "r", Body: []byte("{}"), KeyVersion: ship.ServiceKeys, ExpiresAt: now()}
	if err := f.AddCompatObjects(ctx, tenant, object); err != nil {
		t.Fatal(err)
	}

	// Entries of the audit log are pending until they are chained.
	for _, sql := range []string{
		"INSERT INTO audit_chain (account_id, number, entry_id, hash) VALUES ($1, 1, gen_random_uuid(), '') ON CONFLICT DO NOTHING",
		"INSERT INTO audit_anchors (account_id, number, hash) VALUES ($1, 0, '') ON CONFLICT DO NOTHING",
	} {
		if _, err := f.owner.Exec(ctx, sql, [16]byte(tenant.Account.Raw())); err != nil {
			t.Fatal(err)
		}
	}
}

func fillLookups(t *testing.T, f *fixture, tenant ship.Tenant, sh ship.Shipment) {
	t.Helper()
	connection := ship.NewConnectionID(tenant.Shard(), time.Now())
	if err := f.RecordControl(t.Context(), tenant, connection, sh.ID, true); err != nil {
		t.Fatal(err)
	}
}

func fillErasures(t *testing.T, f *fixture, tenant ship.Tenant, sh ship.Shipment) {
	t.Helper()
	erasure := store.Erasure{ID: ship.NewErasureID(7, now()), Tenant: tenant, Kind: "shipment", Shipment: sh.ID, Encrypted: []byte{1}}
	if err := f.AddErasure(t.Context(), erasure, job.Erase{Account: tenant.Account, Livemode: tenant.Livemode, Erasure: erasure.ID}); err != nil {
		t.Fatal(err)
	}
	export := store.Export{ID: ship.NewExportID(7, now()), Tenant: tenant, Kind: "email", SubjectHash: []byte{1}, Encrypted: []byte{1}}
	if err := f.AddExport(t.Context(), export, job.Export{Account: tenant.Account, Livemode: tenant.Livemode, Export: export.ID}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.EraseOlder(t.Context(), tenant, now().AddDate(0, 0, -90)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.owner.Exec(t.Context(), `INSERT INTO erasure_shipments (account_id, livemode, erasure_id, shipment_id) VALUES ($1, $2, $3, $4)`,
		[16]byte(tenant.Account.Raw()), tenant.Livemode, [16]byte(erasure.ID.Raw()), [16]byte(sh.ID.Raw())); err != nil {
		t.Fatal(err)
	}
}

func fillHandover(t *testing.T, f *fixture, tenant ship.Tenant, sh ship.Shipment) {
	t.Helper()
	if err := f.AddLocation(t.Context(), tenant, ship.Location{ID: ship.NewLocationID(7, now()), Name: "Reno"}); err != nil {
		t.Fatal(err)
	}
	pickup := store.Pickup{ID: ship.NewPickupID(7, now()), Tenant: tenant, Carrier: "ups", PlaceHash: []byte{1}}
	pickup.Order.Window = ship.TimeWindow{ReadyAt: now(), CloseAt: now()}
	if err := f.AddPickup(t.Context(), pickup); err != nil {
		t.Fatal(err)
	}
	manifest := store.Manifest{ID: ship.NewManifestID(7, now()), Tenant: tenant, Carrier: "ups", Scope: store.ManifestLabels}
	manifest.State = effect.Pending
	manifest.Order = ship.ManifestOrder{ShipDate: ship.DateOf(now()), Labels: []ship.ManifestLabel{{Shipment: sh.ID}}}
	manifest, err := f.AddManifest(t.Context(), manifest)
	if err != nil {
		t.Fatal(err)
	}
	submission := store.DocumentSubmission{ID: ship.NewRawID(7, now()), Carrier: "ups"}
	if _, err := f.AddUpload(t.Context(), tenant, sh.ID, ship.Document{Type: "other", Format: "pdf", Data: []byte("%PDF")}, &submission); err != nil {
		t.Fatal(err)
	}
	if _, err := f.owner.Exec(t.Context(), `INSERT INTO upload_expiries (account_id, livemode, shipment_id, position, expires_at)
		SELECT account_id, livemode, shipment_id, position, now() FROM documents WHERE position >= 100 ON CONFLICT DO NOTHING`); err != nil {
		t.Fatal(err)
	}
	form := ship.ManifestClosing{Documents: []ship.Document{{Type: "scan_form", Format: "pdf", Data: []byte("%PDF")}}}
	if err := f.RecordManifest(t.Context(), manifest, form); err != nil {
		t.Fatal(err)
	}
}

func fillBulkWork(t *testing.T, f *fixture, tenant ship.Tenant, sh ship.Shipment) {
	t.Helper()
	if err := f.RecordPrints(t.Context(), tenant, []ship.ShipmentID{sh.ID}, now()); err != nil {
		t.Fatal(err)
	}
	labels := store.LabelFile{
		ID:        ship.NewLabelFileID(7, now()),
		Tenant:    tenant,
		Key:       "k",
		Shipments: []ship.ShipmentID{sh.ID},
		Format:    store.LabelFormat{Format: "zpl", Size: "4x6", DPI: 203},
	}
	if isNew, err := f.PrepareLabelFile(t.Context(), labels); !isNew || err != nil {
		t.Fatal(isNew, err)
	}
	rendered := []store.LabelRendering{{Shipment: sh.ID, Data: []byte("^XA^XZ")}}
	if err := f.SaveLabelRenderings(t.Context(), tenant, labels.Format, rendered); err != nil {
		t.Fatal(err)
	}
	action := store.BulkAction{ID: ship.NewBulkActionID(7, now()), Tenant: tenant, Kind: "void", Key: "k", Person: ship.NewPersonID(now())}
	rows := []store.BulkRow{{Position: 1, Shipment: sh.ID, State: "waiting", Key: "bulk-1"}}
	view := store.SavedView{ID: ship.NewViewID(7, now()), Name: "Late", Filter: map[string]string{"status": "exception"}, Person: action.Person}
	if err := f.SaveView(t.Context(), tenant.Account, view); err != nil {
		t.Fatal(err)
	}
	if err := f.SaveColumnMapping(t.Context(), tenant.Account, [32]byte{1}, []byte("{}"), 9); err != nil {
		t.Fatal(err)
	}
	if isNew, err := f.AddBulkAction(t.Context(), action, rows); !isNew || err != nil {
		t.Fatal(isNew, err)
	}
}

func fillReturns(t *testing.T, f *fixture, tenant ship.Tenant, sh ship.Shipment) {
	t.Helper()
	if err := f.SaveReturnRule(t.Context(), tenant, ship.DefaultReturnRule()); err != nil {
		t.Fatal(err)
	}
	request := ship.ReturnRequest{
		ID: ship.NewReturnRequestID(7, now()), Tenant: tenant, Shipment: sh.ID, State: ship.ReturnRequested,
		Reason: "Wrong size", Language: "en", PaidBy: ship.PaidByAccount,
	}
	if added, err := f.AddReturnRequest(t.Context(), request, nil); err != nil || !added {
		t.Fatal(added, err)
	}
}

func fillJournal(t *testing.T, f *fixture, tenant ship.Tenant) {
	t.Helper()
	connection, ctx := ship.NewConnectionID(7, now()), t.Context()
	err := errors.Join(
		f.AddRequests(ctx, []store.Request{{ID: ship.RequestIDOf(ship.NewRawID(7, now())), Tenant: tenant, Key: ship.NewKeyID(7, now()), Method: "GET", Route: "/v1/shipments", Path: "/v1/shipments", Status: 200}}),
		f.AddExchanges(ctx, []store.CarrierExchange{{ID: ship.NewRawID(7, now()), Tenant: tenant, Shipment: ship.NewShipmentID(7, now()), Connection: connection, CarrierCode: []byte{1}}}),
		f.AddCalls(ctx, []store.Calls{{Tenant: tenant, Connection: connection, Operation: "buy", Slot: now(), Calls: 1, Times: []int32{1}}}),
	)
	if err != nil {
		t.Fatal(err)
	}
}

// fillFacts counts all shipments, and then changes one without an event.
func fillFacts(t *testing.T, f *fixture, sh ship.Shipment) {
	t.Helper()
	if err := store.Recount(t.Context(), f.url); err != nil {
		t.Fatal(err)
	}
	if _, err := f.RollUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := f.Move(t.Context(), sh, ship.StateVoiding); err != nil {
		t.Fatal(err)
	}
}

func fillBatches(t *testing.T, f *fixture, tenant ship.Tenant) {
	t.Helper()
	b := store.Batch{ID: ship.NewBatchID(7, now()), Tenant: tenant, Name: "orders.csv", State: "mapping", Header: []string{"order"}, Mapping: []byte("{}")}
	if err := f.AddBatch(t.Context(), b, [][]string{{"1001"}}); err != nil {
		t.Fatal(err)
	}
	box := store.Box{ID: ship.NewBoxID(7, now()), Name: "small", Dimensions: ship.Dimensions{Length: 1, Width: 1, Height: 1, Unit: ship.Inch}}
	if err := f.AddBox(t.Context(), tenant, box); err != nil {
		t.Fatal(err)
	}
	check := store.AddressCheck{Hash: []byte{1}, Encrypted: []byte{2}, At: now()}
	if err := f.KeepAddressCheck(t.Context(), tenant, "ups", check); err != nil {
		t.Fatal(err)
	}
	lost := store.MissingPurchase{Tenant: tenant, Shipment: ship.NewShipmentID(7, now()), Attempt: 1, Carrier: "ups", Service: "ground", RequestedAt: now(), State: store.PurchaseHeld}
	if err := f.AddMissing(t.Context(), []store.MissingPurchase{lost}); err != nil {
		t.Fatal(err)
	}
}

func fillRouting(t *testing.T, f *fixture, tenant ship.Tenant) {
	t.Helper()
	ctx := t.Context()
	err := f.InTx(ctx, tenant, func(tx *store.Store) error {
		if _, err := tx.PublishRules(ctx, tenant, store.RuleBook{Version: 1, Book: []byte(`{"rules":[]}`)}); err != nil {
			return err
		}
		if _, err := tx.SaveRuleDraft(ctx, tenant, []byte(`{"rules":[]}`)); err != nil {
			return err
		}
		_, err := tx.AddRateSheet(ctx, tenant, store.RateSheet{Name: "contract", Carrier: "ups", CSV: "x"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestATenantSeesAndTouchesItsOwnRowsAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine := f.tenant
	others := []ship.Tenant{newTenant(), {Account: mine.Account, Livemode: true}}
	fill(t, f, mine)
	for _, o := range others {
		fill(t, f, o)
	}
	app, err := pgx.Connect(t.Context(), f.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = app.Close(t.Context()) }()
	for _, table := range tenantTables(t, f) {
		for _, o := range append(others, mine) {
			if n := one[int](t, f.owner, "SELECT count(*) FROM "+table+" WHERE "+ownedBy(table), [16]byte(o.Account.Raw()), o.Livemode); n == 0 {
				t.Fatalf("%s has no row of a tenant: the test shows nothing", table)
			}
		}
		checkUnset(t, app, table)
		for _, o := range others {
			if o.Account == mine.Account && slices.Contains(accountWide, table) {
				continue
			}
			checkFence(t, f, app, table, mine, o)
		}
	}
}

// asApp runs fn as the tenants' role, with the settings of the tenant or, for
// nil, without.
func asApp(t *testing.T, app *pgx.Conn, tenant *ship.Tenant, fn func(pgx.Tx) error) error {
	t.Helper()
	tx, err := app.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	if _, err := tx.Exec(t.Context(), "SET LOCAL ROLE waybill_app"); err != nil {
		t.Fatal(err)
	}
	if tenant != nil {
		raw := tenant.Account.Raw()
		_, err := tx.Exec(t.Context(), "SELECT set_config('waybill.account', $1, true), set_config('waybill.livemode', $2, true)",
			fmt.Sprintf("%x", raw[:]), fmt.Sprint(tenant.Livemode))
		if err != nil {
			t.Fatal(err)
		}
	}
	return fn(tx)
}

func checkUnset(t *testing.T, app *pgx.Conn, table string) {
	t.Helper()
	err := asApp(t, app, nil, func(tx pgx.Tx) error {
		var n int
		if err := tx.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil || n == 0 {
			return err
		}
		return fmt.Errorf("%d rows", n)
	})
	if !denied(err) && err != nil {
		t.Errorf("%s without a tenant: %v", table, err)
	}
}

func denied(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "42501"
}

// checkFence tries to see, change, delete, take and add another's rows.
func checkFence(t *testing.T, f *fixture, app *pgx.Conn, table string, mine, other ship.Tenant) {
	t.Helper()
	theirs := " WHERE " + ownedBy(table)
	args := []any{[16]byte(other.Account.Raw()), other.Livemode}
	row := one[string](t, f.owner, "SELECT to_json(x)::text FROM "+table+" x"+theirs+" LIMIT 1", args...)
	for _, tc := range []struct {
		sql  string
		args []any
	}{
		{"SELECT FROM " + table + theirs, args},
		{"UPDATE " + table + " SET account_id = account_id" + theirs, args},
		{"DELETE FROM " + table + theirs, args},
		{"UPDATE " + table + " SET account_id = $1, livemode = $2", args},
		{"INSERT INTO " + table + " SELECT * FROM json_populate_record(NULL::" + table + ", $1)", []any{row}},
	} {
		if slices.Contains(accountWide, table) {
			tc.sql = strings.ReplaceAll(tc.sql, "SET account_id = $1, livemode = $2", "SET account_id = CASE WHEN $2::boolean IS NOT NULL THEN $1::uuid END")
		}
		err := asApp(t, app, &mine, func(tx pgx.Tx) error {
			tag, err := tx.Exec(t.Context(), tc.sql, tc.args...)
			if err == nil && tag.RowsAffected() > 0 {
				return fmt.Errorf("%d rows", tag.RowsAffected())
			}
			return err
		})
		if !denied(err) && err != nil {
			t.Errorf("%s: %v", tc.sql, err)
		}
	}
	if table == "api_keys" {
		return // tenants' statements never touch it
	}
	err := asApp(t, app, &mine, func(tx pgx.Tx) error {
		var own, all int
		if err := tx.QueryRow(t.Context(), "SELECT count(*) FILTER (WHERE "+ownedBy(table)+"), count(*) FROM "+table,
			[16]byte(mine.Account.Raw()), mine.Livemode).Scan(&own, &all); err != nil || own > 0 && own == all {
			return err
		}
		return fmt.Errorf("%d own rows of %d", own, all)
	})
	if err != nil {
		t.Errorf("%s: %v", table, err)
	}
}
