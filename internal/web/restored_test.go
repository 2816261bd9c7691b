package web

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/restore"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
)

// restores keeps and opens what a recovery log has of missing purchases.
func (b *bench) restores() *restore.Watch {
	b.Helper()
	box, err := seal.New([]byte("0123456789abcdef0123456789abcdef"))
	b.must(err)
	return restore.New(restore.Config{Store: b.store, Box: box, Slog: slog.New(slog.DiscardHandler)})
}

// addMissing records a purchase that a restore lost.
func (b *bench) addMissing(t ship.Tenant, order, number string) ship.ShipmentID {
	b.Helper()
	id := ship.NewShipmentID(t.Shard(), time.Now())
	b.must(b.restores().AddSale(b.Context(), restore.Entry{
		At:       time.Now(),
		Tenant:   t,
		Shipment: id,
		Attempt:  1,
		Order:    ship.Order{OrderID: order, Destination: people[0], Parcels: []ship.Parcel{{Weight: 1}}},
		Purchase: ship.Purchase{Carrier: "ups", Service: "ground", TrackingNumber: number, Price: ship.Money{Minor: 1250, Currency: "USD"}},
		Sale:     &ship.Sale{},
	}))
	return id
}

// missingStates are the states of the purchases of the account that a restore lost.
func (b *bench) missingStates(t ship.Tenant) map[ship.ShipmentID]string {
	b.Helper()
	list, err := b.store.MissingPage(b.Context(), store.MissingChoice{Tenant: t}, 100, 0)
	b.must(err)
	states := map[ship.ShipmentID]string{}
	for _, missing := range list {
		states[missing.Shipment] = missing.State
	}
	return states
}

func newRestoredBench(t *testing.T) (*bench, ship.Tenant) {
	t.Helper()
	b := newBench(t)
	b.web.Shipping = shipping.New(shipping.Config{Store: b.store, Restores: b.restores(), Waits: shipping.DefaultWaits, Log: slog.New(slog.DiscardHandler)})
	return b, ship.Tenant{Account: b.owner.ID, Livemode: true}
}

const heldText = "Purchases wait for a decision after a restore."

// TestAPersonDecidesAboutMissingPurchases: everybody sees what a restore lost, and owners and
// developers decide.
func TestAPersonDecidesAboutMissingPurchases(t *testing.T) {
	t.Parallel()
	b, tenant := newRestoredBench(t)
	if page := b.send(member.Viewer, b.liveHome+"/restored", nil).Body.String(); !strings.Contains(page, "No missing purchases") || strings.Contains(page, heldText) {
		t.Error("an account without missing purchases has some, or is held")
	}
	adopted := b.addMissing(tenant, "lost-1", "1Z1")
	held := b.addMissing(tenant, "lost-2", "1Z2")
	voided := b.addMissing(tenant, "lost-3", "1Z3")

	page := b.send(member.Viewer, b.liveHome+"/restored", nil).Body.String()
	for _, want := range []string{"lost-1", "1Z2", "$12.50", "Ada Lovelace", "UPS", "Undecided", heldText, "Ask an owner or a developer"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if strings.Contains(page, "/restored/review") {
		t.Error("a viewer is offered to decide")
	}
	needs := b.send(member.Viewer, b.liveHome+"/attention", nil).Body.String()
	if !strings.Contains(needs, "1Z1") || !strings.Contains(needs, "Missing purchases") || !strings.Contains(needs, `<span class="count">3</span>`) {
		t.Error("they do not need attention")
	}
	if test := b.send(member.Owner, b.home, nil).Body.String(); strings.Contains(test, heldText) {
		t.Error("test mode is held")
	}

	for _, role := range []member.Role{member.Viewer, member.Shipper} {
		if w := b.send(role, b.liveHome+"/restored", form("do", "void", "id", string(voided), "seen", "1")); w.Code != http.StatusForbidden {
			t.Errorf("a %s decides: %d", role, w.Code)
		}
		if w := b.send(role, b.liveHome+"/restored/review?do=void&of=missing", nil); w.Code != http.StatusForbidden {
			t.Errorf("a %s reviews: %d", role, w.Code)
		}
	}
	for _, decision := range []struct {
		role member.Role
		do   string
		id   ship.ShipmentID
		want string
	}{
		{member.Owner, "adopt", adopted, store.PurchaseAdopting},
		{member.Developer, "hold", held, store.PurchaseHeld},
		{member.Owner, "void", voided, store.PurchaseVoiding},
	} {
		if w := b.send(decision.role, b.liveHome+"/restored", form("do", decision.do, "id", string(decision.id), "seen", "1")); w.Code != http.StatusSeeOther {
			t.Errorf("%s: %d %s", decision.do, w.Code, w.Body)
		}
		if got := b.missingStates(tenant)[decision.id]; got != decision.want {
			t.Errorf("%s makes it %s, want %s", decision.do, got, decision.want)
		}
	}
	if page := b.send(member.Viewer, b.liveHome, nil).Body.String(); strings.Contains(page, heldText) {
		t.Error("the account is held when all is decided")
	}
}

func TestADecisionAboutAllIsReviewedOnce(t *testing.T) {
	t.Parallel()
	b, tenant := newRestoredBench(t)
	first := b.addMissing(tenant, "lost-1", "1Z1")
	b.addMissing(tenant, "lost-2", "1Z2")

	review := b.send(member.Owner, b.liveHome+"/restored/review?do=void&of=missing", nil)
	for _, want := range []string{"Void 2 purchases", "$25.00", "This cannot be undone", "lost-1", `name="seen" value="2"`} {
		if !strings.Contains(review.Body.String(), want) {
			t.Errorf("the review does not have %q", want)
		}
	}

	// Another copy of the service has found one more meanwhile.
	b.addMissing(tenant, "lost-3", "1Z3")
	fields := form("do", "void", "of", store.PurchaseMissing, "seen", "2")
	if w := b.send(member.Owner, b.liveHome+"/restored", fields); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "have changed since they were shown") {
		t.Errorf("a decision about others: %d", w.Code)
	}
	if got := b.missingStates(tenant)[first]; got != store.PurchaseMissing {
		t.Errorf("a refused decision makes it %s", got)
	}

	fields.Set("seen", "3")
	if w := b.send(member.Owner, b.liveHome+"/restored", fields); w.Code != http.StatusSeeOther {
		t.Errorf("a decision about all: %d %s", w.Code, w.Body)
	}
	if states := fmt.Sprint(b.missingStates(tenant)); strings.Count(states, store.PurchaseVoiding) != 3 {
		t.Errorf("after it they are %s", states)
	}
}

// TestAMissingPurchaseOfAnotherAccountIsNotDecided names one of a stranger.
func TestAMissingPurchaseOfAnotherAccountIsNotDecided(t *testing.T) {
	t.Parallel()
	b, tenant := newRestoredBench(t)
	stranger := ship.Tenant{Account: ship.NewAccountID(tenant.Shard(), time.Now()), Livemode: true}
	id := b.addMissing(stranger, "theirs", "1Z9")

	if w := b.send(member.Owner, b.liveHome+"/restored", form("do", "void", "id", string(id), "seen", "1")); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("a decision about a stranger's purchase: %d", w.Code)
	}
	if page := b.send(member.Owner, b.liveHome+"/restored", nil).Body.String(); strings.Contains(page, "theirs") {
		t.Error("a stranger's purchase is listed")
	}
	if got := b.missingStates(stranger)[id]; got != store.PurchaseMissing {
		t.Errorf("it is %s", got)
	}
}
