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

// TestOwnersDoNotWaitForOthersThatCannotBeReached has the mail to one account take
// all the time that there is.
func TestOwnersDoNotWaitForOthersThatCannotBeReached(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	st, err := store.Open(t.Context(), store.Options{URL: url, Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	notified := false
	s := webhook.New(webhook.Config{
		Store: st, BaseURL: "https://ship.example.com",
		People: func(context.Context, ship.AccountID) ([]string, error) { return []string{"dev@example.com"}, nil },
		Mail: func(ctx context.Context, _ []string, _, text string) error {
			if strings.Contains(text, "https://first.example.com") {
				<-ctx.Done()
			}
			notified = notified || ctx.Err() == nil
			return ctx.Err()
		},
	})
	for i, host := range []string{"first", "second"} {
		settings := store.EndpointSettings{URL: "https://" + host + ".example.com", Signature: "v1", Secret: []byte("s"), Enabled: true}
		if _, err := st.AddEndpoint(t.Context(), storetest.Tenant(), ship.NewEndpointID(7, time.Now().Add(time.Duration(i)*time.Second)), settings); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := storetest.Conn(t, url).Exec(t.Context(), "UPDATE webhook_endpoints SET enabled = false, disabled_reason = 'failing'"); err != nil {
		t.Fatal(err)
	}
	for try := 0; try < 30 && !notified; try++ {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		_ = s.NotifyOwners(ctx)
		cancel()
	}
	if !notified {
		t.Error("the second owner is never notified")
	}
}
