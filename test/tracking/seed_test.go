//go:build chaos

package tracking

import (
	"fmt"
	"time"
)

// bought is what the API tells of a purchase.
type bought struct{ ID, TrackingNumber, LabelStatus string }

// buy buys a parcel at a carrier.
func (w *world) buy(carrier, order string) bought {
	w.t.Helper()
	address := func(name, street, city, state, zip string) map[string]any {
		return map[string]any{"name": name, "address1": street, "city": city, "state": state, "zip": zip, "country": "US", "phone": "+14155550100"}
	}
	var got bought
	w.must("POST", "/v1/shipments", map[string]any{
		"orderId": order, "carrier": carrier, "origin": address("Warehouse", "1 Market St", "San Francisco", "CA", "94105"),
		"destination": address("Ada Lovelace", "350 5th Avenue", "New York", "NY", "10118"),
		"parcel":      map[string]any{"weight": 2.5, "weightUnit": "lb", "dimensions": map[string]any{"length": 10, "width": 8, "height": 4, "unit": "in"}},
	}, &got)
	if got.TrackingNumber == "" {
		w.t.Fatalf("%s sold nothing: %+v", carrier, got)
	}
	return got
}

// The statements that make a model's parcels: each is like the one that was
// bought from its carrier, with an id and a number of its own. It was subscribed
// to, and is not asked about for a day.
var cloning = []string{
	`INSERT INTO shipments (id, account_id, livemode, version, carrier, ordered, deal)
	 SELECT cloned(s.id, c.n), s.account_id, s.livemode, s.version, s.carrier, s.ordered, jsonb_set(s.deal::jsonb, '{trackingNumber}', to_jsonb(c.number))::json
	 FROM clones c JOIN shipments s ON s.id = c.template`,
	`INSERT INTO journeys (id, account_id, livemode, state, status, sequence, bought_at, newest_at, checked_at, carrier, number)
	 SELECT cloned(j.id, c.n), j.account_id, j.livemode, 'purchased', 'label_generated', 2, j.bought_at, j.bought_at, j.checked_at, j.carrier, c.number
	 FROM clones c JOIN journeys j ON j.id = c.template`,
	`INSERT INTO names (account_id, livemode, kind, name, id)
	 SELECT j.account_id, j.livemode, 't', c.number, cloned(j.id, c.n) FROM clones c JOIN journeys j ON j.id = c.template`,
	`INSERT INTO events (id, account_id, livemode, subject, kind, sequence, version, snapshot)
	 SELECT cloned(e.id, c.n * 4 + e.sequence), e.account_id, e.livemode, cloned(e.subject, c.n), e.kind, e.sequence, e.version, e.snapshot
	 FROM clones c JOIN events e ON e.subject = c.template AND e.sequence <= 2`,
	`INSERT INTO watches (account_id, livemode, id, connection, due_at, pushed_until)
	 SELECT w.account_id, w.livemode, cloned(w.id, c.n), w.connection, now() + interval '1 day', now() + interval '10 days'
	 FROM clones c JOIN watches w ON w.id = c.template`,
	`VACUUM ANALYZE shipments, journeys, names, events, watches`,
}

// seed records the parcels from to below to.
func (w *world) seed(from, to int) {
	w.t.Helper()
	start := time.Now()
	conn, err := w.pool.Acquire(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Release()
	exec := func(sql string, args ...any) {
		if _, err := conn.Exec(w.t.Context(), sql, args...); err != nil {
			w.t.Fatalf("%.60s: %v", sql, err)
		}
	}
	exec(`CREATE OR REPLACE FUNCTION cloned(id uuid, n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS
		$$ SELECT (left(replace(id::text, '-', ''), 16) || lpad(to_hex(n), 16, '0'))::uuid $$`)
	exec(`DROP TABLE IF EXISTS clones`)
	exec(`CREATE TEMP TABLE clones (n bigint, number text, template uuid)`)
	for i, name := range carrierNames {
		like := w.template(name)
		exec(`INSERT INTO clones SELECT n, $4 || lpad(n::text, $5, '0'), $3 FROM generate_series($1::int, $2::int - 1) n WHERE greatest(0, n % 4 - 1) = $6`,
			from, to, like, prefixes[name], widths[name], i)
	}
	for _, sql := range cloning {
		exec(sql)
	}
	w.t.Logf("%d parcels recorded in %.1f s", to-from, time.Since(start).Seconds())
}

// template is the parcel of a carrier that the others are made from; it is
// bought if there is none.
func (w *world) template(carrier string) (id [16]byte) {
	w.t.Helper()
	const first = `SELECT id FROM journeys WHERE carrier = $1 AND state = 'purchased' ORDER BY id LIMIT 1`
	if w.count(`SELECT count(*) FROM journeys WHERE carrier = $1 AND state = 'purchased'`, carrier) == 0 {
		w.buy(carrier, fmt.Sprint("template of ", carrier))
	}
	if err := w.pool.QueryRow(w.t.Context(), first, carrier).Scan(&id); err != nil {
		w.t.Fatal(err)
	}
	return id
}

// askAbout has USPS asked about one in so many of its parcels now.
func (w *world) askAbout(part, parts int) {
	w.t.Helper()
	if _, err := w.pool.Exec(w.t.Context(), `UPDATE watches w SET due_at = now() FROM journeys j
		WHERE j.account_id = w.account_id AND j.livemode = w.livemode AND j.id = w.id AND j.carrier = 'usps' AND get_byte(uuid_send(w.id), 15) % $2 = $1`, part, parts); err != nil {
		w.t.Logf("nothing is asked this time: %v", err) // Postgres was killed just now
	}
}
