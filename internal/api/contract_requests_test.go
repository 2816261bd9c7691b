package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/journal"
	"github.com/waybillhq/waybill/internal/ship"
)

func TestContractTheRequestLogIsReadInOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	began := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	note := func(tenant ship.Tenant, path string, status, second int) string {
		id := ship.RequestIDOf(ship.NewRawID(tenant.Shard(), began.Add(time.Duration(second)*time.Second)))
		b.journal.Note(journal.Request{ID: id, Tenant: tenant, Key: ship.NewKeyID(0, began), Method: "GET", Route: path, Path: path, Status: status, Took: 1500 * time.Microsecond})
		return string(id)
	}
	mine := ship.Tenant{Account: b.owner}
	first := note(mine, "/v1/carriers", 200, 1)
	second := note(mine, "/v1/rates", 422, 2)
	third := note(mine, "/v1/shipments", 503, 3)
	note(mine, "/v1/requests", 200, 4)
	note(ship.Tenant{Account: b.owner, Livemode: true}, "/v1/live", 200, 5)
	note(ship.Tenant{Account: ship.NewAccountID(9, began)}, "/v1/other", 200, 6)
	if err := b.journal.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}

	read := func(query string) (ids, next string) {
		t.Helper()
		w := send(b.handler, http.MethodGet, "/v1/requests"+query, b.key, "")
		var page loggedRequests
		if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%s: %d %v", query, w.Code, err)
		}
		var list []string
		for _, request := range page.Data {
			list = append(list, request.ID)
		}
		if len(page.Data) > 0 && (page.Data[0].DurationMs != 1 || page.Data[0].Timestamp.Before(began)) {
			t.Errorf("the entry is %+v", page.Data[0])
		}
		return strings.Join(list, " "), page.NextCursor
	}
	all := strings.Join([]string{first, second, third}, " ")
	if ids, next := read(""); ids != all || next != third {
		t.Errorf("everything: %s, %s", ids, next)
	}
	if ids, next := read("?limit=1&after=" + first); ids != second || next != second {
		t.Errorf("one after the first: %s, %s", ids, next)
	}
	if ids, next := read("?after=" + third); ids != "" || next != third {
		t.Errorf("at the end: %s, %s", ids, next)
	}
	if ids, _ := read("?status=4xx"); ids != second {
		t.Errorf("of clients' errors: %s", ids)
	}
	if ids, _ := read("?since=" + began.Add(2500*time.Millisecond).UTC().Format(time.RFC3339Nano)); ids != third {
		t.Errorf("since a time: %s", ids)
	}
	if ids, next := read("?since=" + time.Now().UTC().Format(time.RFC3339)); ids != "" || !strings.HasPrefix(next, "req_") {
		t.Errorf("since now: %s, %s", ids, next)
	}

	for path, want := range map[string]int{"/v1/requests?after=x": 422, "/v1/requests?status=3xx": 422} {
		if w := send(b.handler, http.MethodGet, path, b.key, ""); w.Code != want {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if w := send(b.handler, http.MethodGet, "/v1/requests", b.newKey(false, "events"), ""); w.Code != http.StatusForbidden {
		t.Errorf("without the scope: %d", w.Code)
	}
}
