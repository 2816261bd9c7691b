package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/budget"
)

// TestALargeBodyIsNotReadWhenTheMemoryIsTaken holds all of the memory.
func TestALargeBodyIsNotReadWhenTheMemoryIsTaken(t *testing.T) {
	c := testConfig(t)
	c.Heavy = budget.New(budget.Options{Waiting: 1, Wait: 10 * time.Millisecond})
	h := New(c)
	release, err := c.Heavy.Reserve(t.Context(), 1<<40)
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
