package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/web/site"
)

// TestHeavyWorkIsTurnedAwayWhenTheMemoryIsTaken holds all of the memory, and
// tries everything that needs some.
func TestHeavyWorkIsTurnedAwayWhenTheMemoryIsTaken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	prices := []byte(prices("ground", 9))
	try := map[string]func() *httptest.ResponseRecorder{
		"a rate sheet": func() *httptest.ResponseRecorder {
			return b.upload(member.Owner, b.home+"/rate-sheets", "csv", prices, "name", "x", "for", "ups")
		},
		"orders": func() *httptest.ResponseRecorder {
			return b.upload(member.Owner, b.home+"/batches", "file", []byte(sampleFile))
		},
		"a logo": func() *httptest.ResponseRecorder {
			return b.upload(member.Owner, b.home+"/settings/logo", "logo", progressiveJPEG(64, 2))
		},
		"a back-test": func() *httptest.ResponseRecorder {
			return b.send(member.Owner, b.home+"/routing/backtest", form("which", "published"))
		},
		"a download of a back-test": func() *httptest.ResponseRecorder {
			return b.send(member.Owner, b.home+"/routing/backtest.csv", form("which", "published"))
		},
	}

	release, err := b.web.Heavy.Reserve(t.Context(), "acct_other", 1<<40)
	b.must(err)
	for name, send := range try {
		w := send()
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), "busy with other files") {
			t.Errorf("%s: %d, Retry-After %q", name, w.Code, w.Header().Get("Retry-After"))
		}
	}
	if w := b.send(member.Owner, b.home+"/shipments", nil); w.Code != http.StatusOK {
		t.Errorf("other pages: %d", w.Code)
	}

	release()
	for name, send := range try {
		if w := send(); w.Code >= http.StatusBadRequest {
			t.Errorf("%s, when there is room: %d", name, w.Code)
		}
	}
}

func TestRoutesOfLargeFilesReserveMemory(t *testing.T) {
	for _, rt := range table(Config{}) {
		if rt.MaxBytes > site.MaxForm && rt.Memory == 0 {
			t.Errorf("%s takes %d bytes and reserves none", rt.Path, rt.MaxBytes)
		}
	}
}

// TestABacktestOfAVersionThatCannotBeTakesThePublishedRules has a number that no
// column of the database holds.
func TestABacktestOfAVersionThatCannotBeTakesThePublishedRules(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if w := b.send(member.Owner, b.home+"/routing/backtest.csv", form("which", "8658344608215303872")); w.Code != 200 {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
}
