//go:build chaos

package webhooks

import (
	"net/http"
	"testing"
	"time"

	"github.com/waybillhq/waybill/test/proving"
)

// TestProveRecover has an endpoint be dead for a week of virtual time, until
// it is disabled, and then recover.
func TestProveRecover(t *testing.T) {
	events := proving.Pick(t, 1000, 10_000)
	proving.Beside(t)
	w := newWorld(t, 1)
	c := newCrowd(t, w, []string{"/fail/1"})
	p, a := c.writers[0], c.accounts[0]
	var hooks struct{ Data []struct{ ID string } }
	w.must(a, http.MethodGet, "/v1/webhooks", nil, &hooks)
	id := hooks.Data[0].ID
	since := time.Now()
	c.b.loose.Store(true)
	for n := 0; n < events; n += 250 {
		p.write(250)
	}
	parked := func() bool { return w.count("SELECT count(*) FROM webhook_endpoints WHERE parked") == 1 }
	proving.Await(w.t, "it is parked", 30*time.Second, parked)
	// A week goes by: the next probe is the last. What the dispatcher still had
	// to write when the endpoint was parked would undo that, so it is said again
	// until the endpoint is disabled.
	var saidAt time.Time
	proving.Await(w.t, "it is disabled", time.Minute, func() bool {
		if w.count("SELECT count(*) FROM webhook_endpoints WHERE NOT enabled AND disabled_reason = 'failing'") == 1 {
			return true
		}
		if time.Since(saidAt) < 5*time.Second {
			return false
		}
		saidAt = time.Now()
		for _, sql := range []string{
			"UPDATE webhook_endpoints SET failing_since = now() - interval '7 days', probes = 200",
			"UPDATE river_job SET scheduled_at = now() WHERE kind = 'probe_endpoint' AND state <> 'running'",
		} {
			if _, err := w.pool.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		return false
	})
	c.b.reset()
	start := time.Now()
	w.must(a, http.MethodPost, "/v1/webhooks/"+id+"/recover", map[string]any{"since": since.UTC().Format(time.RFC3339Nano)}, nil)
	proving.Await(w.t, "everything arrives", 5*time.Minute, func() bool { return c.b.count("/fail/1") == events })
	took := time.Since(start)
	c.b.awaitQuiet() // nothing may come twice
	twice, late := c.b.seen()
	report(t, nil, map[string]any{"events": events, "seconds": proving.Round(took.Seconds()), "perSecond": proving.Round(float64(events) / took.Seconds()), "twice": twice, "outOfOrder": late})
	if twice != 0 || late != 0 || c.b.count("/fail/1") != events {
		t.Errorf("%d came twice, %d out of order", twice, late)
	}
	if open := w.count("SELECT count(*) FROM webhook_retries"); open != 0 {
		t.Errorf("%d deliveries are still on the schedule", open)
	}
}
