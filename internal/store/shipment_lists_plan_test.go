package store_test

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
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
		`INSERT INTO search_numbers (account_id, livemode, shipment_id, numbers) SELECT account_id, livemode, shipment_id, upper(md5(shipment_id::text)) FROM shipment_facts`,
		`UPDATE shipment_facts SET reference = left(shipment_id::text, 6)`,
		`ANALYZE shipment_facts, search_numbers, search_words`,
	} {
		if _, err := f.owner.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	lo, hi := "'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"
	for _, tc := range []struct {
		name  string
		args  map[string]string // besides those of every list
		index string
	}{
		{"sqlFactIDs", nil, "shipment_facts_pkey"},
		{"sqlFactIDsOfStatus", map[string]string{"states": "'{purchased}'", "status": "'in_transit'"}, "shipment_facts_by_status"},
		{"sqlFactIDsOfCarrierUp", map[string]string{"states": "'{purchased}'", "status": "'exception'", "carrier": "'nobody'"}, "shipment_facts_by_carrier"},
		{"sqlFactIDsByDue", map[string]string{"due": "'infinity'", "last": hi, "states": "'{purchased}'", "status": "'exception'"}, "shipment_facts_by_estimate"},
		{"sqlFactIDsByDueUp", map[string]string{"due": "'-infinity'", "last": lo, "status": "'exception'"}, "shipment_facts_by_estimate"},
		{"sqlFactIDsOfState", map[string]string{"states": "'{voiding,voided}'", "state": "'voided'", "carrier": "'ups'"}, "shipment_facts_not_purchased"},
		{"sqlFactIDsOfStateUp", map[string]string{"states": "'{failed}'", "state": "'failed'"}, "shipment_facts_not_purchased"},
		{"sqlFailedIDs", nil, "shipment_facts_not_purchased"},
		{"sqlExceptionIDs", nil, "shipment_facts_exception"},
		{"sqlUnknownIDs", nil, "shipment_facts_uncertain"},
		{"sqlFactIDsOfReference", map[string]string{"reference": "'abcdef'"}, "shipment_facts_by_reference"},
		{"sqlFactIDsOfWords", map[string]string{"word": "'\\xabc0'", "other_words": "'{}'"}, "search_words_pkey"},
		{"sqlRecentNumbers", map[string]string{"pattern": "'%ABC%'"}, "shipment_facts_pkey"},
	} {
		args := map[string]string{
			"account": account, "livemode": "false", "tail": "'{}'", "from": lo, "before": hi, "limit": "51", "states": "NULL::text[]",
			"1": account, "2": "false", "3": lo, "4": hi, "5": "51",
		}
		maps.Copy(args, tc.args)
		plan := f.plan(t, tc.name, args)
		if !strings.Contains(plan, tc.index) || strings.Contains(plan, "Seq Scan") {
			t.Errorf("%s does not use %s:\n%s", tc.name, tc.index, plan)
		}
	}
}

// plan is how the tenant's statement would be done for these values.
func (f *fixture) plan(t *testing.T, name string, args map[string]string) string {
	t.Helper()
	var lines []string
	tenant := f.tenant
	err := asApp(t, f.owner, &tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(t.Context(), "EXPLAIN "+withValues(constants(t)[name], args), pgx.QueryExecModeSimpleProtocol)
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

var argumentNames = regexp.MustCompile(`@[a-z_]+|\$[0-9]+`)

// withValues is a statement with values in place of the names or numbers of its
// arguments, as one that is planned for them; an argument without one is NULL.
func withValues(sql string, args map[string]string) string {
	return argumentNames.ReplaceAllStringFunc(sql, func(name string) string {
		return cmp.Or(args[name[1:]], "NULL")
	})
}

// TestTheTailIsReadFromTheCursorOn has an hour of events before the roll-up's
// cursor: every list and page reads the tail, and must not read them.
func TestTheTailIsReadFromTheCursorOn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	raw := f.tenant.Account.Raw()
	account := fmt.Sprintf("'%x'", raw[:])
	for _, sql := range []string{
		`INSERT INTO events (id, account_id, livemode, subject_id, kind, sequence, body_version, snapshot)
		 SELECT (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint), 12, '0') || substr(md5(n::text), 1, 20))::uuid,
		   ` + account + `, false, md5(n::text)::uuid, 'shipment.created', 1, 1, '{}' FROM generate_series(1, 20000) n`,
		`ANALYZE events`,
	} {
		if _, err := f.owner.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}

	tenant := f.tenant
	err := asApp(t, f.owner, &tenant, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), constants(t)["sqlTailPlan"]); err != nil {
			return err
		}
		tail := withValues(constants(t)["sqlTail"], map[string]string{"1": account, "2": "false"})
		rows, err := tx.Query(t.Context(), "EXPLAIN "+tail, pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			return err
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if plan := strings.Join(lines, "\n"); strings.Contains(plan, "Bitmap") || !strings.Contains(plan, "ROW(txid, id) > ROW(") || !strings.Contains(plan, "Index Cond") {
			t.Errorf("the tail is not read by an index of the log's order:\n%s", plan)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
