package webhook_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
	"github.com/waybillhq/waybill/internal/webhook"
)

func TestOwnersAreToldOnceOfAnEndpointThatWasGivenUp(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	st, err := store.Open(t.Context(), store.Options{URL: url, Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	conn, tenant := storetest.Conn(t, url), storetest.Tenant()
	var letters []string
	down := errors.New("the mail server is down")
	s := webhook.New(webhook.Config{
		Store: st, BaseURL: "https://ship.example.com",
		People: func(_ context.Context, a ship.AccountID) ([]string, error) { return []string{"dev@example.com"}, nil },
		Mail: func(_ context.Context, to []string, subject, text string) error {
			if down == nil {
				letters = append(letters, strings.Join(to, " ")+"\n"+subject+"\n"+text)
			}
			return down
		},
	})
	e, err := st.AddEndpoint(t.Context(), tenant, ship.NewEndpointID(7, time.Now()), store.EndpointSettings{URL: "https://shop.example.com/hook", Signature: "v1", Secret: []byte("s"), Enabled: true})
	if err != nil {
		t.Fatal(err)
	}
	tell := func() error { t.Helper(); return s.NotifyOwners(t.Context()) }
	state := func(set string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), "UPDATE webhook_endpoints SET "+set+" WHERE id = $1", [16]byte(e.ID.Raw())); err != nil {
			t.Fatal(err)
		}
	}
	if err := tell(); err != nil {
		t.Errorf("of nothing: %v", err)
	}
	state("enabled = false, disabled_reason = 'failing'")
	if err := tell(); !errors.Is(err, down) {
		t.Errorf("without a mail server: %v", err)
	}
	down = nil
	for range 2 {
		if err := tell(); err != nil {
			t.Error(err)
		}
	}
	if len(letters) != 1 || !strings.HasPrefix(letters[0], "dev@example.com\n") || !strings.Contains(letters[0], "https://ship.example.com/app/"+string(tenant.Account)+"/test/webhooks/"+string(e.ID)) {
		t.Fatalf("the letters are %q", letters)
	}
	if _, err := st.ChangeEndpoint(t.Context(), tenant, e.ID, "webhook.changed", func(e *store.Endpoint) error { e.Enabled, e.DisabledReason = true, ""; return nil }); err != nil {
		t.Fatal(err)
	}
	state("enabled = false, disabled_reason = 'gone'")
	if err := tell(); err != nil || len(letters) != 2 || !strings.Contains(letters[1], "410") {
		t.Errorf("of the next time: %v, %q", err, letters)
	}
	state("enabled = false, disabled_reason = 'client', notified_at = NULL")
	if err := tell(); err != nil || len(letters) != 2 {
		t.Errorf("of what the client switched off: %v, %q", err, letters[2:])
	}
}
