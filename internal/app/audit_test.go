package app_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/client"
	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/app"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// auditRow is what the database has of an entry.
type auditRow struct {
	Action, Target, Actor, Address, Reason string
	Key                                    *string
	Count                                  int
}

func auditRows(t *testing.T, conn *pgx.Conn) map[string]auditRow {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT action, target, actor, coalesce(host(remote_address), ''), coalesce(details->>'reason', ''), api_key_id::text, coalesce((details->>'count')::int, 1) FROM audit_log ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[auditRow])
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]auditRow{}
	for _, row := range list {
		name := row.Action
		if row.Reason != "" {
			name += " " + row.Reason
		}
		row.Count += found[name].Count
		found[name] = row
	}
	return found
}

// TestReadsAndRefusalsOfKeysAreInTheAuditLog has keys that are refused for every
// reason, lists, and a link to a label, with the running service.
func TestReadsAndRefusalsOfKeysAreInTheAuditLog(t *testing.T) {
	t.Parallel()
	const canary = "Quetzalcoatlus"
	url := storetest.URL(t)
	cfg := settings(t, url, "RATE_LIMIT", "200", "RATE_BURST", "40")
	a := run(t, cfg, app.AllRoles)
	accounts, done, err := app.OpenAccounts(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	owner, err := accounts.Create(t.Context(), account.Settings{Name: new("Test")})
	if err != nil {
		t.Fatal(err)
	}
	newKey := func(in account.NewKeyInput) (string, ship.KeyID) {
		t.Helper()
		in.Account = owner.ID
		key, row, err := accounts.NewKey(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return string(key), row.ID
	}

	whole, _ := newKey(account.NewKeyInput{})
	narrow, _ := newKey(account.NewKeyInput{Scopes: []string{"rates"}})
	revoked, revokedID := newKey(account.NewKeyInput{})
	if err := accounts.Revoke(t.Context(), revokedID); err != nil {
		t.Fatal(err)
	}
	request := func(key, path string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.BaseURL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		return resp.StatusCode
	}

	c := client.New(whole, client.Options{BaseURL: a.BaseURL()})
	to := destination
	to.Name = canary
	to.Address1 = "1 " + canary + " St"
	to.Email = canary + "@example.com"
	shipment, err := c.CreateShipment(t.Context(), client.ShipmentRequest{OrderID: "o1", Destination: to, Parcel: &client.Parcel{Weight: 2.5}})
	if err != nil {
		t.Fatal(err)
	}
	link, err := c.LabelLink(t.Context(), shipment.ID, "zpl", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if status, _ := get(t, link.URL); status != http.StatusOK {
			t.Errorf("the link answers %d", status)
		}
	}
	for _, path := range []string{"/v1/shipments?q=" + canary, "/v1/shipments", "/v1/events"} {
		request(whole, path)
		if status := request(narrow, path); status != http.StatusForbidden {
			t.Errorf("%s without the scope: %d", path, status)
		}
		if status := request(revoked, path); status != http.StatusUnauthorized {
			t.Errorf("%s with a revoked key: %d", path, status)
		}
		request("sk_test_nobody", path)
	}
	limited := 0
	for range 300 {
		if request(narrow, "/v1/shipments") == http.StatusTooManyRequests {
			limited++
		}
	}

	// The worker chains what was written while it runs.
	chained := 0
	conn := storetest.Conn(t, url)
	for range 200 {
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM audit_chain").Scan(&chained); err != nil || chained > 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}

	// What is left is written when the service stops.
	if err := a.stop(); err != nil {
		t.Error(err)
	}
	found := auditRows(t, conn)
	for name, want := range map[string]auditRow{
		"shipment.listed":               {Count: 1},
		"event.listed":                  {Count: 1},
		"label_link.made":               {Count: 1, Target: shipment.ID},
		"label_link.opened":             {Count: 3, Target: shipment.ID, Actor: "link"},
		"key.denied invalid_api_key":    {Count: 3, Target: string(revokedID)},
		"key.denied insufficient_scope": {Count: 3},
	} {
		row, ok := found[name]
		if !ok || row.Count < want.Count || row.Address != "127.0.0.1" || want.Target != "" && row.Target != want.Target || want.Actor != "" && row.Actor != want.Actor || want.Actor == "" && row.Key == nil {
			t.Errorf("%s: %+v, want %+v from 127.0.0.1", name, row, want)
		}
	}
	if limited > 0 && found["key.denied rate_limited"].Count != limited {
		t.Errorf("%d requests over the limit are recorded as %+v", limited, found["key.denied rate_limited"])
	}

	// What was written last is chained at the next start.
	st, err := store.Open(t.Context(), store.Options{URL: url, Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	verified, err := st.VerifyAudit(t.Context(), time.Now())
	if err != nil || verified.Entries == 0 || len(verified.Breaks) > 0 {
		t.Errorf("the chain: %+v, %v", verified, err)
	}

	var entries int
	var texts string
	if err := conn.QueryRow(t.Context(), "SELECT count(*), string_agg(l::text, ' ') FROM audit_log l").Scan(&entries, &texts); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.ToLower(texts), strings.ToLower(canary)) {
		t.Error("the audit log has a value of the recipient")
	}
	if entries > 60 {
		t.Errorf("some 320 requests became %d entries", entries)
	}
}
