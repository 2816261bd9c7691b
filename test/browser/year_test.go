//go:build browser

package browser

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/waybillhq/waybill/client"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// seedPast makes the shipments of the last 80 days: many on weekdays, few on
// Sundays, each with its tracking state. {account} and {shard} are the account's.
const seedPast = `
CREATE FUNCTION pg_temp.seed_id(at timestamptz, n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
  SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '{shard}' || substr(md5('s' || n), 1, 17))::uuid
$$;
CREATE TEMP TABLE past AS
WITH days AS (
  SELECT d, date_trunc('day', now()) - d * interval '1 day' AS day,
    CASE extract(dow FROM now() - d * interval '1 day') WHEN 0 THEN 5 WHEN 6 THEN 11 ELSE 24 + d * 7 % 11 + (80 - d) / 9 END::int AS many
  FROM generate_series(1, 80) d
), each AS (
  SELECT day + interval '8 hours' + k * (interval '9 hours' / many) AS at, row_number() OVER (ORDER BY d DESC, k) AS n, d FROM days, generate_series(1, many) k
)
SELECT n, at, d, pg_temp.seed_id(at, n) AS id, (ARRAY['ups', 'usps', 'usps', 'fedex', 'ups', 'usps', 'dhl_express'])[(1 + n * 5 % 7)::int] AS carrier,
  (ARRAY['Ada Lovelace', 'Grace Hopper', 'Hedy Lamarr', 'Mary Jackson', 'Annie Easley', 'Katherine Johnson', 'Barbara Liskov', 'Radia Perlman', 'Frances Allen', 'Jean Bartik', 'Joan Clarke'])[(1 + n * 3 % 11)::int] AS name,
  CASE WHEN n % 61 = 7 THEN 'exception' WHEN d > 6 THEN 'delivered' WHEN d < 2 THEN 'picked_up' WHEN n % 3 = 0 THEN 'out_for_delivery' WHEN n % 3 = 1 THEN 'in_transit' ELSE 'delivered' END AS status,
  CASE WHEN n % 97 = 3 THEN 'voided' ELSE 'purchased' END AS state, n % 9 = 4 AS late
FROM each;
INSERT INTO shipments (id, account_id, livemode, response_version, carrier, request, purchase)
SELECT id, '{account}'::uuid, false, 1, carrier,
  json_build_object('orderId', (7200 + n)::text, 'origin', json_build_object('name', 'Northwind Warehouse', 'address1', '1201 S Figueroa St', 'city', 'Los Angeles', 'state', 'CA', 'zip', '90015', 'country', 'US'),
    'destination', json_build_object('name', name, 'address1', (100 + n % 800) || ' Main St', 'city', 'Austin', 'state', 'TX', 'zip', '78701', 'country', 'US'),
    'parcels', json_build_array(json_build_object('weight', 1.5, 'weightUnit', 'lb', 'grams', 680))),
  json_build_object('carrier', carrier, 'service', 'ground', 'serviceName', CASE carrier WHEN 'usps' THEN 'Ground Advantage' WHEN 'dhl_express' THEN 'Express Worldwide' ELSE 'Ground' END, 'carrierRef', 'ref-' || n, 'trackingNumber', '1Z8A4F0303' || lpad(n::text, 8, '0'),
    'price', json_build_object('Minor', CASE carrier WHEN 'dhl_express' THEN 2890 ELSE 640 END + n * 37 % 900, 'Currency', 'USD'), 'boughtAt', to_char(at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
    'estimateAt', to_char(at + interval '4 days', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'estimateSource', 'carrier', 'simulated', true)
FROM past;
INSERT INTO shipment_states (id, account_id, livemode, state, status, sequence, purchased_at, last_event_at, estimated_delivery_at, estimate_source, carrier, tracking_number, reason)
SELECT id, '{account}'::uuid, false, state::purchase_state, status::tracking_status, 4, at, least(at + CASE WHEN late THEN 6 ELSE 1 + n % 3 END * interval '1 day', now()), at + interval '4 days', 'carrier', carrier,
  '1Z8A4F0303' || lpad(n::text, 8, '0'), CASE status WHEN 'exception' THEN 'address_not_found' END FROM past;
INSERT INTO tracking_events (subject_id, account_id, livemode, piece, code, occurred_at, status, reason, description, location)
SELECT id, '{account}'::uuid, false, 0, code, date_trunc('second', CASE code WHEN 'DL' THEN least(at + CASE WHEN late THEN 6 ELSE 1 + n % 3 END * interval '1 day', now()) ELSE at + interval '5 hours' END), st::tracking_status, NULL, words, 'Austin, TX, US'
FROM past, (VALUES ('OR', 'picked_up', 'Picked up'), ('DL', 'delivered', 'Delivered')) v (code, st, words) WHERE code = 'OR' OR status = 'delivered';
INSERT INTO lookup_keys (account_id, livemode, kind, value, subject_id)
SELECT '{account}'::uuid, false, 'o'::"char", (7200 + n)::text, id FROM past UNION ALL SELECT '{account}'::uuid, false, 't', '1Z8A4F0303' || lpad(n::text, 8, '0'), id FROM past`

// past gives the account a quarter of a year of work, so that charts have
// something to show.
func (c *town) past(account ship.AccountID) {
	c.Helper()
	now := time.Now()
	for at := now.AddDate(0, 0, -84); at.Before(now); at = at.AddDate(0, 0, 14) {
		c.must(store.MaintainPartitions(c.Context(), c.data, at, nil))
	}
	owner, raw := storetest.Conn(c.T, c.data), account.Raw()
	_, err := owner.PgConn().Exec(c.Context(), strings.NewReplacer("{account}", fmt.Sprintf("%x", raw[:]), "{shard}", fmt.Sprintf("%03x", raw.Shard())).Replace(seedPast)).ReadAll()
	c.must(err)
	c.must(store.Recount(c.Context(), c.data))
	for ready := false; !ready; time.Sleep(50 * time.Millisecond) {
		c.must(owner.QueryRow(c.Context(), "SELECT ready FROM facts_progress").Scan(&ready))
	}
}

// calls are those of the last day to the carrier, more by day than by night,
// and a bad quarter of an hour.
func (c *town) calls() {
	c.Helper()
	st, err := store.Open(c.Context(), store.Options{URL: c.data, Connections: 2})
	c.must(err)
	defer st.Close()
	owner := storetest.Conn(c.T, c.data)
	var account, connection [16]byte
	c.must(owner.QueryRow(c.Context(), "SELECT account_id, id FROM connections").Scan(&account, &connection))
	now := time.Now().Truncate(5 * time.Minute)
	for i := 1; i < 24*4; i++ {
		at := now.Add(-time.Duration(i) * 15 * time.Minute)
		busy := 14 - min(abs(at.Hour()-13), 13)
		for k, op := range []string{"rates", "buy", "track"} {
			times := make([]int32, 33)
			calls := store.Calls{Tenant: ship.Tenant{Account: ship.AccountIDOf(account)}, Connection: ship.ConnectionIDOf(connection), Operation: op, Slot: at, Calls: busy * (3 - k), Times: times}
			times[14+k], times[18] = int32(calls.Calls-busy/5), int32(busy/5)
			if i == 17 || i == 18 {
				calls.Failed = calls.Calls / 2
			}
			c.must(st.AddCalls(c.Context(), []store.Calls{calls}))
		}
	}
}

// contract has two parcels go over the account's own contract with UPS.
func (c *town) contract() {
	c.Helper()
	for i, to := range recipients[:2] {
		sh, err := c.api.CreateShipment(c.Context(), client.ShipmentRequest{OrderID: fmt.Sprint(10301 + i), Destination: to, Parcel: &client.Parcel{Weight: 12, WeightUnit: "lb"}})
		c.must(err)
		c.extras = append(c.extras, c.home+"/shipments/"+sh.ID+"/exchanges")
	}
}

func abs(n int) int { return max(n, -n) }

// belongings are what people keep in the dashboard: boxes, a logo, a rate
// sheet and files of orders.
func (c *town) belongings() {
	c.Helper()
	_, err := c.api.CreateShipment(c.Context(), client.ShipmentRequest{
		OrderID: "N-hand-over", Carrier: "usps", Destination: recipients[0], Parcel: &client.Parcel{Weight: 2},
	})
	c.must(err)
	voided, err := c.api.CreateShipment(c.Context(), client.ShipmentRequest{
		OrderID: "N-bulk", Destination: recipients[1], Parcel: &client.Parcel{Weight: 2},
	})
	c.must(err)
	c.send(c.home+"/bulk/void", url.Values{"id": {voided.ID}, "once": {"town"}}, "", "", nil)
	c.send(c.home+"/views", url.Values{"name": {"Problems of the week"}, "status": {"exception"}, "days": {"7"}}, "", "", nil)
	_, err = c.api.CloseManifest(c.Context(), client.ManifestRequest{Carrier: "usps"})
	c.must(err)
	_, err = c.api.CreateLocation(c.Context(), client.LocationRequest{
		Name: "Reno warehouse", CutoffTimes: []client.CutoffTime{{Time: "17:00"}, {Carrier: "usps", Time: "15:30"}},
		Address: client.Address{Name: "Northwind Warehouse", Address1: "1 Commerce Way", City: "Reno", State: "NV", Zip: "89502", Country: "US"},
	})
	c.must(err)
	_, err = c.api.SetReturnRule(c.Context(), client.ReturnRule{
		Enabled: true, Days: 30, Reasons: []string{"Wrong size", "Damaged or defective"}, PaidBy: "account", Approval: "manual",
	})
	c.must(err)
	delivered, err := c.api.CreateShipment(c.Context(), client.ShipmentRequest{
		OrderID: "N-return", Destination: recipients[2], Parcel: &client.Parcel{Weight: 2},
	})
	c.must(err)
	c.post(http.MethodPost, "/v1/sandbox/shipments/"+delivered.ID+"/advance", `{"status":"delivered"}`)
	c.extras = append(c.extras, c.public(c.home+"/shipments/"+delivered.ID)+"/return")

	for _, box := range [][4]string{{"Small carton", "8", "6", "4"}, {"Shoe box", "13", "8", "5"}, {"Poster tube", "25", "4", "4"}} {
		c.send(c.home+"/boxes", url.Values{"name": {box[0]}, "length": {box[1]}, "width": {box[2]}, "height": {box[3]}, "unit": {"in"}}, "", "", nil)
	}
	logo, err := os.ReadFile("testdata/logo.png")
	c.must(err)
	c.send(c.home+"/settings/logo", nil, "logo", "logo.png", logo)
	c.post(http.MethodPut, "/v1/rate-sheets/regional-2026", `{"carrier":"fedex","csv":"[sheet]\nname,FedEx contract 2026\ncurrency,USD\nvalid from,2025-01-01\n[services]\nservice,name\nground,FedEx Ground\n[zones]\nzone,country\n1,US\n2,CA\n[rates]\nservice,up to,zone 1,zone 2\nground,3 lb,8.90,14.20\nground,20 lb,14.50,19.00\nground,150 lb,24.00,31.00\n"}`)
	c.batch("spring-catalogue.csv", 24, false)
	c.batch("monday-orders.csv", 12, true)
}

// batch uploads a file of orders and has its columns named; one that is bad has
// lines to fix, another is bought.
func (c *town) batch(name string, n int, bad bool) {
	c.Helper()
	var b bytes.Buffer
	b.WriteString("Order,Ship to name,Street,Town,State,Postcode,Country,Weight\n")
	first := 11020
	if bad {
		first = 12020 // orders that were shipped before would be left out
	}
	for i := range n {
		to, weight, state := recipients[i%len(recipients)], fmt.Sprintf("%d.5", 1+i%7), ""
		if state = to.State; bad && i == 3 {
			state = "Tixas"
		}
		if bad && i == 7 {
			weight = "heavy"
		}
		fmt.Fprintf(&b, "%d,%s,%s,%s,%s,%s,US,%s\n", first+i, to.Name, to.Address1, to.City, state, to.Zip, weight)
	}
	at := c.send(c.home+"/batches", nil, "file", name, b.Bytes())
	columns := url.Values{"fixed.weightUnit": {"lb"}}
	for i, field := range []string{"order", "name", "address1", "city", "state", "zip", "country", "weight"} {
		columns.Set(fmt.Sprint("column.", i), field)
	}
	c.send(at+"/columns", columns, "", "", nil)
	c.becomes(at, map[bool]string{true: "Buy ", false: fmt.Sprint("Buy ", n, " labels")}[bad])
	if !bad {
		c.send(at, url.Values{"do": {"buy"}}, "", "", nil)
		c.becomes(at, fmt.Sprint("Print ", n, " labels"))
		c.bought = at
	}
}

// becomes waits until a page says something.
func (c *town) becomes(path, text string) {
	c.Helper()
	for range 300 {
		if _, body := c.get(path); strings.Contains(body, text) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	c.Fatalf("%s never says %q", path, text)
}

// send posts a form as the owner, with a file if one is named, and returns the
// path that it leads to.
func (c *town) send(path string, values url.Values, field, file string, data []byte) string {
	c.Helper()
	var body bytes.Buffer
	kind := "application/x-www-form-urlencoded"
	if field == "" {
		body.WriteString(values.Encode())
	} else {
		form := multipart.NewWriter(&body)
		part, err := form.CreateFormFile(field, file)
		c.must(err)
		_, err = part.Write(data)
		c.must(err)
		c.must(form.Close())
		kind = form.FormDataContentType()
	}
	r, err := http.NewRequestWithContext(c.Context(), http.MethodPost, c.base+path, &body)
	c.must(err)
	r.Header.Set("Content-Type", kind)
	r.AddCookie(&http.Cookie{Name: "waybill", Value: c.owner})
	answer, err := http.DefaultTransport.RoundTrip(r)
	c.must(err)
	answer.Body.Close()
	if answer.StatusCode != http.StatusSeeOther {
		c.Fatalf("POST %s: %s", path, answer.Status)
	}
	to, _, _ := strings.Cut(answer.Header.Get("Location"), "?")
	return to
}
