package api

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/budget"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// TestALargeBodyIsNotReadWhenTheMemoryIsTaken holds all of the memory.
func TestALargeBodyIsNotReadWhenTheMemoryIsTaken(t *testing.T) {
	c := testConfig(t)
	c.Heavy = budget.New(budget.Options{Waiting: 1, Wait: 10 * time.Millisecond})
	h := New(c)
	release, err := c.Heavy.Reserve(t.Context(), "acct_other", 1<<40)
	if err != nil {
		t.Fatal(err)
	}

	w := sendVouched(h, http.MethodPut, "/v1/rate-sheets/x", "not even JSON")
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), "service_unavailable") {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	release()
	if w := sendVouched(h, http.MethodPut, "/v1/rate-sheets/x", "not even JSON"); w.Code != http.StatusBadRequest {
		t.Errorf("when there is room: %d", w.Code)
	}

	for _, rt := range newServer(c).order {
		if rt.maxBody > 0 && rt.memory == 0 {
			t.Errorf("%s takes %d bytes and reserves none", rt.id, rt.maxBody)
		}
	}
}

// TestSlowBodiesKeepNobodyFromTheMemory is the attack: one account announces bodies
// that would need all of the memory, and sends a byte of each now and then. Another
// account's file is parsed at once.
func TestSlowBodiesKeepNobodyFromTheMemory(t *testing.T) {
	c := testConfig(t)
	c.Heavy = budget.New(budget.Options{Bytes: 256 << 20, Waiting: 16, Wait: time.Second})
	c.Uploads = httpkit.NewUploads(t.TempDir())
	h := New(c)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		attacker := account.Principal{Tenant: ship.Tenant{Account: "acct_attacker"}, Key: "key_attacker"}
		h.ServeHTTP(w, r.WithContext(httpkit.WithPrincipal(r.Context(), attacker)))
	}))
	defer server.Close()

	for range 8 {
		connection, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		_, err = io.WriteString(connection, "PUT /v1/rate-sheets/x HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 3000000\r\n\r\n{")
		if err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(300 * time.Millisecond) // the requests are under way

	began := time.Now()
	w := sendVouched(h, http.MethodPut, "/v1/rate-sheets/x", "not even JSON")
	if w.Code != http.StatusBadRequest || time.Since(began) > 500*time.Millisecond {
		t.Errorf("a file of another account is answered with %d after %s: %s", w.Code, time.Since(began), w.Body)
	}
}
