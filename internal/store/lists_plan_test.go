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
		`INSERT INTO shipment_facts (account_id, livemode, shipment_id, day, carrier, service, status, state, currency, amount_minor, had_estimate, on_time, estimated_delivery_at)
		 SELECT ` + account + `, false, md5(n::text)::uuid, '2026-01-01', (ARRAY['ups', 'fedex'])[1 + n % 2], 'ground', (ARRAY['delivered', 'in_transit', 'exception'])[1 + n % 3], CASE WHEN n % 500 = 0 THEN 'voided' ELSE 'purchased' END, 'USD', 1, false, false,
		   now() + n * interval '1 minute' FROM generate_series(1, 20000) n`,
		`INSERT INTO search_words (account_id, livemode, word_hash, shipment_id) SELECT account_id, livemode, decode(left(md5(shipment_id::text), 3) || '0', 'hex'), shipment_id FROM shipment_facts`,
		`UPDATE shipment_facts SET search_numbers = upper(md5(shipment_id::text)), reference = left(shipment_id::text, 6)`,
		`ANALYZE shipment_facts, search_words`,
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
		{"sqlFactIDs", []string{"'{}'", "51", lo, hi, "NULL"}, "shipment_facts_pkey"},
		{"sqlFactIDsOfStatus", []string{"'{}'", "51", lo, hi, "'{purchased}'", "'in_transit'"}, "shipment_facts_by_status"},
		{"sqlFactIDsOfCarrierUp", []string{"'{}'", "51", lo, hi, "'{purchased}'", "'exception'", "'nobody'"}, "shipment_facts_by_carrier"},
		{"sqlFactIDsByDue", []string{"'{}'", "51", "'infinity'", hi, "'{purchased}'", "'exception'"}, "shipment_facts_by_estimate"},
		{"sqlFactIDsByDueUp", []string{"'{}'", "51", "'-infinity'", lo, "NULL", "'exception'"}, "shipment_facts_by_estimate"},
		{"sqlFactIDsOfState", []string{"'{}'", "51", lo, hi, "'{voiding,voided}'", "'voided'", "NULL", "'ups'"}, "shipment_facts_not_purchased"},
		{"sqlFactIDsOfStateUp", []string{"'{}'", "51", lo, hi, "'{failed}'", "'failed'", "NULL", "NULL"}, "shipment_facts_not_purchased"},
		{"sqlFailedIDs", []string{lo, hi, "51"}, "shipment_facts_not_purchased"},
		{"sqlExceptionIDs", []string{lo, hi, "51"}, "shipment_facts_exception"},
		{"sqlUnknownIDs", []string{lo, hi, "51"}, "shipment_facts_uncertain"},
		{"sqlFactIDsOfReference", []string{"'{}'", "51", lo, hi, "NULL", "'abcdef'", "NULL", "NULL"}, "shipment_facts_by_reference"},
		{"sqlFactIDsOfWords", []string{lo, hi, "'{}'", "11", "NULL", "NULL", "'\\xabc0'", "'{}'", "NULL"}, "search_words_pkey"},
		{"sqlRecentNumbers", []string{lo, hi, "'{}'", "11", "NULL", "NULL", "'%ABC%'", "NULL"}, "shipment_facts_pkey"},
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
