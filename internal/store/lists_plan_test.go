package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestListsStayOnTheirIndexesBehindTheFence has the tenants' role plan the
// lists: row-level security keeps a comparison that could leak out of index
// conditions.
func TestListsStayOnTheirIndexesBehindTheFence(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	raw := f.tenant.Account.Raw()
	account := fmt.Sprintf("'%x'", raw[:])
	for _, sql := range []string{
		`INSERT INTO shipment_facts (account_id, livemode, id, day, carrier, service, status, state, currency, minor, promised, on_time, due_at)
		 SELECT ` + account + `, false, md5(n::text)::uuid, '2026-01-01', (ARRAY['ups', 'fedex'])[1 + n % 2], 'ground', (ARRAY['delivered', 'in_transit', 'exception'])[1 + n % 3], 'purchased', 'USD', 1, false, false,
		   now() + n * interval '1 minute' FROM generate_series(1, 20000) n`,
		`INSERT INTO recipient_words (account_id, livemode, word, id) SELECT account_id, livemode, 'w' || left(id::text, 3), id FROM shipment_facts`,
		`ANALYZE shipment_facts, recipient_words`,
	} {
		if _, err := f.owner.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	lo, hi := "'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"
	for _, tc := range []struct {
		name  string
		args  []string
		index string
	}{
		{"sqlFactIDs", []string{"'{}'", "51", lo, hi}, "shipment_facts_pkey"},
		{"sqlFactIDsOfStatus", []string{"'{}'", "51", lo, hi, "'exception'"}, "shipment_facts_by_status"},
		{"sqlFactIDsOfCarrierUp", []string{"'{}'", "51", lo, hi, "'exception'", "'nobody'"}, "shipment_facts_by_carrier"},
		{"sqlFactIDsByDue", []string{"'{}'", "51", "'infinity'", hi, "'exception'"}, "shipment_facts_by_due"},
		{"sqlFactIDsByDueUp", []string{"'{}'", "51", "'-infinity'", lo, "'exception'"}, "shipment_facts_by_due"},
		{"sqlExceptionIDs", []string{lo, hi, "51"}, "shipment_facts_exception"},
		{"sqlUnknownIDs", []string{lo, hi, "51"}, "shipment_facts_unknown"},
		{"sqlFactIDsTo", []string{lo, hi, "'{}'", "11", "'wab'", "'wac'", "'{}'", "NULL", "NULL", "51"}, "recipient_words_pkey"},
	} {
		plan := f.plan(t, tc.name, append([]string{account, "false"}, tc.args...))
		if !strings.Contains(plan, tc.index) || strings.Contains(plan, "Seq Scan") {
			t.Errorf("%s does not use %s:\n%s", tc.name, tc.index, plan)
		}
	}
}

// plan is how the tenant's statement would be done for these values.
func (f *fixture) plan(t *testing.T, name string, args []string) string {
	t.Helper()
	var lines []string
	tenant := f.tenant
	err := asApp(t, f.owner, &tenant, func(tx pgx.Tx) error {
		for _, sql := range []string{"SET LOCAL plan_cache_mode = force_custom_plan", "PREPARE " + name + " AS " + constants(t)[name]} {
			if _, err := tx.Exec(t.Context(), sql); err != nil {
				return err
			}
		}
		rows, err := tx.Query(t.Context(), "EXPLAIN EXECUTE "+name+" ("+strings.Join(args, ", ")+")", pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			return err
		}
		lines, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return strings.Join(lines, "\n")
}
