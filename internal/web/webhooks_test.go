package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/webhook"
)

func TestTheFormOfAWebhookSendsNoStoredHeadersToANewAddress(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tenant := ship.Tenant{Account: b.owner.ID}
	hook, err := b.web.Webhook.Create(b.Context(), tenant, webhook.Settings{
		URL:     new("http://127.0.0.1:19999/hook"),
		Headers: map[string]string{"Authorization": "Bearer theirs"},
	})
	b.must(err)
	page := b.home + "/webhooks/" + string(hook.ID)
	moved := form("do", "save", "url", "http://127.0.0.1:19998/attacker", "kind", string(ship.ShipmentCreated))

	w := b.send(member.Developer, page, moved)
	if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "never sent to another URL") || !strings.Contains(w.Body.String(), "Remove Authorization") {
		t.Errorf("a new address: %d\n%s", w.Code, w.Body)
	}
	if kept, err := b.web.Webhook.Endpoint(b.Context(), tenant, hook.ID); err != nil || kept.URL != hook.URL || len(kept.HeaderNames) != 1 {
		t.Errorf("afterwards it is %+v, %v", kept, err)
	}

	moved.Set("remove-headers", "yes")
	if w := b.send(member.Developer, page, moved); w.Code != http.StatusSeeOther {
		t.Errorf("without headers: %d\n%s", w.Code, w.Body)
	}
	if changed, err := b.web.Webhook.Endpoint(b.Context(), tenant, hook.ID); err != nil || changed.URL == hook.URL || len(changed.HeaderNames) != 0 {
		t.Errorf("afterwards it is %+v, %v", changed, err)
	}
}
