package e2e

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store/storetest"
	"github.com/waybillhq/waybill/internal/tracking"
)

// links is what a copy of the service has signed.
type links struct {
	label string // path and query of a label link
	page  string // path of a tracking page
	rate  string // id of a rate
	push  string // path of a connection's pushes
}

// serveWith starts the service with a SIGNING_KEY, and returns how to stop it.
func serveWith(t *testing.T, w *world, key string) (address string, end func()) {
	t.Helper()
	address, pid := w.serve("SIGNING_KEY="+key, "BASE_URL=")
	return address, func() {
		process, err := os.FindProcess(pid)
		if err != nil {
			t.Fatal(err)
		}
		_ = process.Signal(os.Interrupt)
		for range 1000 {
			if _, err := http.Get(address + "/readyz"); err != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Error("the service does not stop")
	}
}

// signedBy has the service sign a link of each kind.
func signedBy(t *testing.T, address, key string) (signed links) {
	t.Helper()
	decode := func(body []byte, into any) {
		t.Helper()
		if err := json.Unmarshal(body, into); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
	}
	pathOf := func(text string) string {
		t.Helper()
		parsed, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed.RequestURI()
	}

	made := create(t, address, key)
	_, body := call(t, http.MethodGet, address+"/v1/shipments/"+made.ID, key, "")
	var shown struct{ TrackingPageURL string }
	decode(body, &shown)
	signed.page = pathOf(shown.TrackingPageURL)

	_, body = call(t, http.MethodPost, address+"/v1/shipments/"+made.ID+"/label-link", key, "{}")
	var link struct{ URL string }
	decode(body, &link)
	signed.label = pathOf(link.URL)

	quoted := strings.Replace(order, `"orderId":"1001",`, "", 1)
	_, body = call(t, http.MethodPost, address+"/v1/rates", key, quoted)
	var rates struct{ Rates []struct{ ID string } }
	decode(body, &rates)
	if len(rates.Rates) == 0 {
		t.Fatalf("no rates in %s", body)
	}
	signed.rate = rates.Rates[0].ID
	return signed
}

// wantValid checks whether the service accepts links.
func wantValid(t *testing.T, address, key, when string, signed links, valid bool) {
	t.Helper()
	buy := strings.TrimSuffix(order, "}") + `,"rateId":"` + signed.rate + `"}`
	for what, answered := range map[string]func() int{
		"label link":    func() int { resp, _ := call(t, http.MethodGet, address+signed.label, "", ""); return resp.StatusCode },
		"tracking page": func() int { resp, _ := call(t, http.MethodGet, address+signed.page, "", ""); return resp.StatusCode },
		"rate id": func() int {
			resp, _ := call(t, http.MethodPost, address+"/v1/shipments", key, buy)
			return resp.StatusCode
		},
		"address of pushes": func() int { resp, _ := call(t, http.MethodPost, address+signed.push, "", "{}"); return resp.StatusCode },
	} {
		if status := answered(); (status < 300) != valid {
			t.Errorf("%s, the %s answers %d", when, what, status)
		}
	}
}

// TestLinksSurviveTheRotationOfTheSigningKey replaces the signing key, with the
// old one behind it for a while.
func TestLinksSurviveTheRotationOfTheSigningKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	account, key := w.account("Acme")
	w.run("connection", "add", "--account", account, "--carrier", "ups", "--set", "client_id=me", "--set", "client_secret=hunter2", "--set", "account_number=A1B2C3")
	conn := storetest.Conn(t, w.database)
	var id [16]byte
	var own []byte
	if err := conn.QueryRow(t.Context(), "SELECT id, signing_key FROM connections, instance").Scan(&id, &own); err != nil {
		t.Fatal(err)
	}
	connection := ship.ConnectionIDOf(id)
	fresh := []byte(strings.Repeat("k", 32))

	address, end := serveWith(t, w, "")
	before := signedBy(t, address, key)
	before.push = tracking.PushPath(own, connection)
	wantValid(t, address, key, "before", before, true)
	end()

	address, end = serveWith(t, w, base64.StdEncoding.EncodeToString(fresh)+",database")
	wantValid(t, address, key, "with both keys", before, true)
	after := signedBy(t, address, key)
	after.push = tracking.PushPath(fresh, connection)
	wantValid(t, address, key, "with both keys", after, true)
	end()

	address, _ = serveWith(t, w, base64.StdEncoding.EncodeToString(fresh))
	wantValid(t, address, key, "with the new key alone", before, false)
	wantValid(t, address, key, "with the new key alone", after, true)
}
