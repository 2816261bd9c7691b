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
	`INSERT INTO shipments (id, account_id, livemode, response_version, carrier, request, purchase)
	 SELECT cloned(s.id, c.n), s.account_id, s.livemode, s.response_version, s.carrier, s.request, jsonb_set(s.purchase::jsonb, '{trackingNumber}', to_jsonb(c.number))::json
	 FROM clones c JOIN shipments s ON s.id = c.template`,
	`INSERT INTO shipment_states (id, account_id, livemode, state, status, sequence, purchased_at, last_event_at, checked_at, carrier, tracking_number)
	 SELECT cloned(st.id, c.n), st.account_id, st.livemode, 'purchased', 'label_generated', 2, st.purchased_at, st.purchased_at, st.checked_at, st.carrier, c.number
	 FROM clones c JOIN shipment_states st ON st.id = c.template`,
	`INSERT INTO lookup_keys (account_id, livemode, kind, value, subject_id)
	 SELECT st.account_id, st.livemode, 't', c.number, cloned(st.id, c.n) FROM clones c JOIN shipment_states st ON st.id = c.template`,
	`INSERT INTO events (id, account_id, livemode, subject_id, kind, sequence, body_version, snapshot)
	 SELECT cloned(e.id, c.n * 4 + e.sequence), e.account_id, e.livemode, cloned(e.subject_id, c.n), e.kind, e.sequence, e.body_version, e.snapshot
	 FROM clones c JOIN events e ON e.subject_id = c.template AND e.sequence <= 2`,
	`INSERT INTO carrier_polls (account_id, livemode, subject_id, connection_id, due_at, push_subscribed_until)
	 SELECT p.account_id, p.livemode, cloned(p.subject_id, c.n), p.connection_id, now() + interval '1 day', now() + interval '10 days'
	 FROM clones c JOIN carrier_polls p ON p.subject_id = c.template`,
	`VACUUM ANALYZE shipments, shipment_states, lookup_keys, events, carrier_polls`,
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
	const first = `SELECT id FROM shipment_states WHERE carrier = $1 AND state = 'purchased' ORDER BY id LIMIT 1`
	if w.count(`SELECT count(*) FROM shipment_states WHERE carrier = $1 AND state = 'purchased'`, carrier) == 0 {
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
	if _, err := w.pool.Exec(w.t.Context(), `UPDATE carrier_polls p SET due_at = now() FROM shipment_states st
		WHERE st.account_id = p.account_id AND st.livemode = p.livemode AND st.id = p.subject_id AND st.carrier = 'usps' AND get_byte(uuid_send(p.subject_id), 15) % $2 = $1`, part, parts); err != nil {
		w.t.Logf("nothing is asked this time: %v", err) // Postgres was killed just now
	}
}
