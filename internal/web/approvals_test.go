package web

import (
	"crypto/rand"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// askForApproval writes a purchase down that waits for an approval, as a key of the
// account asks for it.
func (b *bench) askForApproval(t ship.Tenant) ship.Approval {
	b.Helper()
	_, key, err := b.web.Account.NewKey(b.Context(), account.NewKeyInput{Account: t.Account, Livemode: t.Livemode, Name: "Shopping agent"})
	b.must(err)
	approval := ship.Approval{
		ID:        ship.NewApprovalID(t.Shard(), time.Now()),
		Tenant:    t,
		Key:       key.ID,
		Price:     ship.Money{Minor: 4210, Currency: "USD"},
		ExpiresAt: time.Now().Add(time.Hour),
	}
	shipment := storetest.Shipment(t, "agent-1")
	shipment.Order.Destination = people[0]
	shipment.Purchase.Approval = approval.ID
	shipment.Purchase.Price = approval.Price
	approval.Shipment = shipment.ID
	b.must(b.store.InTx(b.Context(), t, func(tx *store.Store) error {
		if _, err := tx.Intend(b.Context(), shipment, store.Attempt{Number: 1, Reference: rand.Text(), Carrier: "ups", Service: "ground"}, ship.KeyName{}); err != nil {
			return err
		}
		return tx.AddApproval(b.Context(), approval)
	}))
	return approval
}

// TestAPersonDecidesAboutAPurchase: everybody sees what waits, only who may buy
// decides, and once.
func TestAPersonDecidesAboutAPurchase(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tenant := ship.Tenant{Account: b.owner.ID}
	if page := b.send(member.Viewer, b.home+"/approvals", nil).Body.String(); !strings.Contains(page, "No approvals") {
		t.Error("an account without approvals has some")
	}
	denied := b.askForApproval(tenant)
	approved := b.askForApproval(tenant)

	page := b.send(member.Viewer, b.home+"/approvals", nil).Body.String()
	for _, want := range []string{"$42.10", "Austin", "Ada Lovelace", "UPS Ground", "Shopping agent", "agent-1", `<span class="count">2</span>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if strings.Contains(page, "Approve and buy") {
		t.Error("a viewer is offered to approve")
	}
	path := func(a ship.Approval, how string) string { return b.home + "/approvals/" + string(a.ID) + "/" + how }
	if w := b.send(member.Viewer, path(approved, "approve"), form()); w.Code != http.StatusForbidden {
		t.Errorf("a viewer approves: %d", w.Code)
	}

	if w := b.send(member.Shipper, path(denied, "deny"), form()); w.Code != http.StatusSeeOther {
		t.Errorf("deny: %d", w.Code)
	}
	if w := b.send(member.Shipper, path(denied, "approve"), form()); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "is denied already") {
		t.Errorf("approve after a denial: %d", w.Code)
	}
	if w := b.send(member.Shipper, path(approved, "approve"), form()); w.Code != http.StatusSeeOther {
		t.Errorf("approve: %d", w.Code)
	}

	history := b.send(member.Viewer, b.home+"/approvals", nil).Body.String()
	if strings.Contains(history, "Deny</button>") || !strings.Contains(history, "Denied") || !strings.Contains(history, "Approved") {
		t.Error("the history does not have the decisions")
	}
	for id, want := range map[ship.ApprovalID]ship.ApprovalStatus{denied.ID: ship.ApprovalDenied, approved.ID: ship.ApprovalApproved} {
		stored, err := b.store.Approval(t.Context(), tenant, id)
		if err != nil || stored.Status != want || stored.DecidedBy == "" || stored.Decider == "" {
			t.Errorf("stored is %+v, %v", stored, err)
		}
	}
}

// TestAKeyIsCreatedWithItsLimits fills in the form in both modes.
func TestAKeyIsCreatedWithItsLimits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	fields := form("name", "Agent", "scope", "*", "limit", "500", "maxPerPurchase", "40", "approvalAbove", "0", "countries", "us, CA")
	w := b.send(member.Owner, b.liveHome+"/keys", fields)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "$40.00 a label · approval for every purchase · only to CA, US") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for field, wrong := range map[string]string{"maxPerPurchase": "0", "approvalAbove": "much", "countries": "Germany"} {
		w := b.send(member.Owner, b.liveHome+"/keys", form("name", "Agent", "scope", "*", field, wrong))
		if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "such as") {
			t.Errorf("%s %s: %d", field, wrong, w.Code)
		}
	}

	// Everything that is wrong is said at once.
	w = b.send(member.Owner, b.liveHome+"/keys", form("scope", "*", "limit", "-1", "approvalAbove", "much", "countries", "Germany", "networks", "home"))
	for _, text := range []string{"required to identify the key", "such as 500", "such as 25", "such as US or DE", "such as 203.0.113.7"} {
		if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), text) {
			t.Errorf("%d, no %q", w.Code, text)
		}
	}
}
