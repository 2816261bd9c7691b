package api

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/all"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store/storetest"
	"github.com/waybillhq/waybill/internal/tracking"
)

// Somebody who has learned the address of a connection's pushes, but not its
// secret, cannot fill the disk or the log.
func TestAFloodOfUnsignedPushesIsLimited(t *testing.T) {
	t.Parallel()
	key := []byte("0123456789abcdef0123456789abcdef")
	tenant := storetest.Tenant()
	mine := ship.NewConnectionID(tenant.Shard(), time.Now())
	other := ship.NewConnectionID(tenant.Shard(), time.Now().Add(time.Second))
	c := testConfig(t)
	c.Tracking = tracking.New(tracking.Config{
		Log:      c.Log,
		Key:      key,
		TenantOf: func(context.Context, ship.ConnectionID) (ship.Tenant, error) { return tenant, nil },
		Connection: func(_ context.Context, _ ship.Tenant, id ship.ConnectionID) (*carrier.Carrier, error) {
			credentials := carrier.Credentials{"client_id": "a", "client_secret": "b", "account_number": "c"}
			for _, spec := range all.Specs {
				if spec.Name == "ups" {
					return carrier.Open(spec, carrier.Opening{Credentials: credentials, PushSecret: tracking.PushSecret(key, id)})
				}
			}
			return nil, ship.Errorf(ship.NotFound, "no such carrier")
		},
	})
	handler := New(c)

	accepted := 0
	for ; accepted < 3*unverifiedBurst; accepted++ {
		w := send(handler, http.MethodPost, tracking.PushPath(key, mine), "", `{"trackingNumber":"1Z204W4R0308071865"}`, "Credential: guess")
		if w.Code == http.StatusTooManyRequests {
			if w.Header().Get("Retry-After") == "" {
				t.Error("the answer does not say when to come back")
			}
			break
		}
		if w.Code != http.StatusOK {
			t.Fatalf("push %d: %d %s", accepted, w.Code, w.Body)
		}
	}
	if accepted < unverifiedBurst || accepted > 2*unverifiedBurst {
		t.Errorf("%d pushes without a signature are accepted", accepted)
	}

	// The flood is counted for its own connection.
	if w := send(handler, http.MethodPost, tracking.PushPath(key, other), "", "{}", "Credential: guess"); w.Code != http.StatusOK {
		t.Errorf("another connection: %d %s", w.Code, w.Body)
	}
}
