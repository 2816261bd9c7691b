package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// TestShipmentsAreFoundByPartsAndWords looks for shipments before and after
// they are rolled up: what is new is found at once.
func TestShipmentsAreFoundByPartsAndWords(t *testing.T) {
	t.Parallel()
	f := newFixture(t)

	orders := []struct {
		order, number, name, company, city, email, reference string
	}{
		{"WEB-2026/1001", "1Z999AA10123456784", "Jürgen Müller", "", "Zürich", "juergen.mueller@example.com", "PO 7"},
		{"WEB-2026/1002", "9400111899223100001", "Ada Byron-King", "Analytical Engines", "New York", "ada@byron.example", ""},
		{"A1", "794600000001", "Grace Hopper", "", "New Haven", "", "PO 7"},
	}
	made := map[string]ship.ShipmentID{}
	for _, o := range orders {
		f.rollUp(t) // the next is a new one beside those that have facts
		sh := shipmentOf(f.tenant, o.order)
		sh.Order.Reference = o.reference
		sh.Order.Destination.Name = o.name
		sh.Order.Destination.Company = o.company
		sh.Order.Destination.City = o.city
		sh.Order.Destination.Email = o.email
		if _, err := f.Create(t.Context(), bought(sh, o.number)); err != nil {
			t.Fatal(err)
		}
		made[o.order] = sh.ID
	}

	first, second, third := "WEB-2026/1001", "WEB-2026/1002", "A1"
	cases := []struct {
		filter store.ShipmentFilter
		want   []string // newest first
	}{
		{store.ShipmentFilter{Query: "1001"}, []string{first}},
		{store.ShipmentFilter{Query: "web-2026"}, []string{second, first}},
		{store.ShipmentFilter{Query: "2026/10"}, []string{second, first}},
		{store.ShipmentFilter{Query: "9400 1118 9922"}, []string{second}},
		{store.ShipmentFilter{Query: "aa101234"}, []string{first}},
		{store.ShipmentFilter{Query: "a1"}, []string{third}},
		{store.ShipmentFilter{Query: "muller"}, []string{first}},
		{store.ShipmentFilter{Query: "müller zurich"}, []string{first}},
		{store.ShipmentFilter{Query: "mull"}, nil},
		{store.ShipmentFilter{Query: "Byron-King"}, []string{second}},
		{store.ShipmentFilter{Query: "engines"}, []string{second}},
		{store.ShipmentFilter{Query: "ADA@byron.example"}, []string{second}},
		{store.ShipmentFilter{Query: "byron.example"}, []string{second}},
		{store.ShipmentFilter{Query: "juergen.mueller"}, []string{first}},
		{store.ShipmentFilter{Query: "juergen.mueller@byron.example"}, nil},
		{store.ShipmentFilter{Query: "new"}, []string{third, second}},
		{store.ShipmentFilter{Query: "new york"}, []string{second}},
		{store.ShipmentFilter{Query: "new", Status: ship.Delivered}, nil},
		{store.ShipmentFilter{Query: "%"}, nil},
		{store.ShipmentFilter{Query: "1_77"}, nil},
		{store.ShipmentFilter{Reference: "PO 7"}, []string{third, first}},
		{store.ShipmentFilter{Reference: "PO"}, nil},
		{store.ShipmentFilter{Number: "794600000001"}, []string{third}},
		{store.ShipmentFilter{Number: "794600000001", Query: "hopper"}, []string{third}},
		{store.ShipmentFilter{Number: "794600000001", Query: "ada"}, nil},
		{store.ShipmentFilter{OrderID: "A1", Query: "ada"}, nil},
	}
	check := func(when string) {
		t.Helper()
		for _, tc := range cases {
			list, err := f.Shipments(t.Context(), f.tenant, tc.filter, ship.Page{Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, sh := range list {
				got = append(got, sh.Order.OrderID)
			}
			if fmt.Sprint(got) != fmt.Sprint(tc.want) {
				t.Errorf("%s, %+v finds %v, want %v", when, tc.filter, got, tc.want)
			}
		}
	}

	check("before the last roll-up")
	f.rollUp(t)
	check("after it")

	other := f.tenant
	other.Livemode = !other.Livemode
	if list, err := f.Shipments(t.Context(), other, store.ShipmentFilter{Query: "1001"}, ship.Page{Limit: 10}); err != nil || len(list) > 0 {
		t.Errorf("another mode finds %d shipments, %v", len(list), err)
	}
}

// TestWordsOfPeopleAreStoredAsHashes reads the index as somebody with a copy of
// the database would.
func TestWordsOfPeopleAreStoredAsHashes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sh := shipmentOf(f.tenant, "o1")
	sh.Order.Destination.Name = "Quirinius Featherstonehaugh"
	sh.Order.Destination.Email = "quirinius@featherstonehaugh.example"
	if _, err := f.Create(t.Context(), bought(sh, "1Z1")); err != nil {
		t.Fatal(err)
	}
	f.rollUp(t)

	words := one[int](t, f.owner, "SELECT count(*) FROM search_words")
	if words < 4 {
		t.Fatalf("%d words are indexed, want the names and both halves of the e-mail address", words)
	}
	for _, table := range []string{"search_words", "search_numbers", "shipment_facts", "daily_shipment_counts"} {
		rows, err := f.owner.Query(t.Context(), "SELECT convert_from(word, 'LATIN1') FROM (SELECT x::text::bytea AS word FROM "+table+" x) y")
		if err != nil {
			t.Fatal(err)
		}
		texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			if lower := strings.ToLower(text); strings.Contains(lower, "quirinius") || strings.Contains(lower, "feather") {
				t.Errorf("%s holds a name in clear: %s", table, text)
			}
		}
	}
}

// TestNumbersAreFoundByTheirIndex has the system's role plan the search for a
// part of a number.
func TestNumbersAreFoundByTheirIndex(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	raw := f.tenant.Account.Raw()
	account := fmt.Sprintf("'%x'", raw[:])
	for _, sql := range []string{
		`INSERT INTO search_numbers (account_id, livemode, shipment_id, numbers)
		 SELECT ` + account + `, false, md5(n::text)::uuid, 'ORDER' || n || ' 1Z' || md5(n::text)
		 FROM generate_series(1, 20000) n`,
		`VACUUM ANALYZE search_numbers`, // the index of new rows is a list until then
	} {
		if _, err := f.owner.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}

	conn, err := f.System().Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	err = pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
		for _, sql := range []string{
			constants(t)["sqlPlanAnew"],
			constants(t)["sqlSearchByIndex"],
		} {
			if _, err := tx.Exec(t.Context(), sql); err != nil {
				return err
			}
		}
		rows, err := tx.Query(t.Context(), "EXPLAIN "+withValues(constants(t)["sqlAllNumbers"], map[string]string{
			"account":  account,
			"livemode": "false",
			"from":     "'00000000-0000-0000-0000-000000000000'",
			"before":   "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
			"tail":     "'{}'",
			"pattern":  "'%ER1234%'",
			"limit":    "11",
		}), pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			return err
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if plan := strings.Join(lines, "\n"); !strings.Contains(plan, "search_numbers_by_part") {
			t.Errorf("the search does not use search_numbers_by_part:\n%s", plan)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// rollUp takes all that happened into the facts.
func (f *fixture) rollUp(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		did, err := f.RollUp(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		// Another database of the cluster can hold the log's horizon back.
		behind := one[bool](t, f.owner, `SELECT EXISTS (SELECT FROM events e, facts_progress r WHERE (e.txid, e.id) > (r.cursor_txid, r.cursor_id)) OR NOT (SELECT ready FROM facts_progress)`)
		if did == 0 && !behind {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the log is not rolled up after 30 s")
		}
		time.Sleep(10 * time.Millisecond)
	}
}
