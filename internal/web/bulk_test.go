package web

import (
	"context"
	"crypto/sha256"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/bulk"
	"github.com/waybillhq/waybill/internal/handover"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/web/site"
)

// bulkActions connects bulk actions to the bench's own services.
func (b *bench) bulkActions(c site.Config) *bulk.Service {
	return bulk.New(bulk.Config{
		Store: b.store, Account: c.Account.AccountIn, Log: c.Log, Void: c.Shipping.Void,
		RefusedVoid: func(ctx context.Context, t ship.Tenant, id ship.ShipmentID) (string, error) {
			refused, _, err := c.Shipping.RefusedVoidOf(ctx, t, id)
			return refused.Reason, err
		},
		Return: func(ctx context.Context, r bulk.ReturnRequest) (ship.Shipment, error) {
			got, err := c.Shipping.Return(ctx, shipping.ReturnInput{Shipment: r.Shipment, BuyInput: shipping.BuyInput{
				Tenant: r.Tenant, Account: r.Account, Person: r.Person, IdempotencyKey: r.Key, Fingerprint: sha256.Sum256([]byte(r.Key)),
			}})
			return got.Shipment, err
		},
		Close: func(ctx context.Context, r bulk.ManifestRequest) (store.Manifest, error) {
			got, err := c.Handover.CloseManifest(ctx, handover.ManifestInput{
				Tenant: r.Tenant, Account: r.Account, Seller: handover.Seller{Connection: r.Connection, Carrier: r.Carrier},
				Shipments: r.Shipments, Address: r.Address, Name: ship.NameOf(r.Key),
			})
			return got.Manifest, err
		},
	})
}

var onceField = regexp.MustCompile(`name="once" value="([^"]+)"`)

// startBulk selects shipments, confirms the action and returns its page. The form
// is sent twice, as a second click does.
func (b *bench) startBulk(kind string, list ...ship.Shipment) (path string, id ship.BulkActionID) {
	b.Helper()
	chosen := url.Values{}
	for _, shipment := range list {
		chosen.Add("id", string(shipment.ID))
	}
	review := b.send(member.Shipper, b.home+"/bulk/"+kind, chosen)
	once := onceField.FindStringSubmatch(review.Body.String())
	if review.Code != http.StatusOK || once == nil {
		b.Fatalf("review: %d %s", review.Code, review.Body)
	}

	chosen.Set("once", once[1])
	for range 2 {
		w := b.send(member.Shipper, b.home+"/bulk/"+kind, chosen)
		if at := w.Header().Get("Location"); w.Code != http.StatusSeeOther || path != "" && at != path {
			b.Fatalf("start: %d %q after %q: %s", w.Code, at, path, w.Body)
		}
		path = w.Header().Get("Location")
	}
	id, ok := ship.ParseBulkActionID(path[strings.LastIndex(path, "/")+1:])
	if !ok {
		b.Fatalf("the action is at %s", path)
	}
	return path, id
}

func (b *bench) workBulk(id ship.BulkActionID) bulk.Action {
	b.Helper()
	tenant := ship.Tenant{Account: b.owner.ID}
	_, err := b.web.Bulk.Work(b.Context(), tenant, id)
	b.must(err)
	action, err := b.web.Bulk.Action(b.Context(), tenant, id)
	b.must(err)
	return action
}

func TestManyLabelsAreVoidedAndEachFailureHasItsReason(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.buy(b.owner, "v-1", people[0], 1)
	moving := b.buy(b.owner, "v-2", people[0], 1)
	before := b.buy(b.owner, "v-3", people[0], 1)
	_, err := b.web.Shipping.Void(b.Context(), before.Tenant, before.ID)
	b.must(err)

	if w := b.send(member.Viewer, b.home+"/bulk/void", form("id", string(first.ID))); w.Code != http.StatusForbidden {
		t.Errorf("a viewer voids: %d", w.Code)
	}
	path, id := b.startBulk(bulk.Void, first, moving)

	// The parcel moves after the action was started, and before its turn.
	_, err = b.web.Tracking.Advance(b.Context(), moving.Tenant, moving.ID, ship.Delivered, "")
	b.must(err)
	action := b.workBulk(id)
	if action.State != bulk.Done || action.Rows[bulk.RowDone] != 1 || action.Rows[bulk.RowFailed] != 1 {
		t.Errorf("the action is %s with %v", action.State, action.Rows)
	}
	page := b.send(member.Viewer, path, nil).Body.String()
	for _, want := range []string{"Finished with errors", "1 voided, 1 failed", "v-2", "was not voided"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if strings.Contains(page, "every 1s") {
		t.Error("the page of a finished action asks on")
	}

	review := b.send(member.Shipper, b.home+"/bulk/void", form("id", string(before.ID))).Body.String()
	if !strings.Contains(review, "Its label was voided before.") || onceField.MatchString(review) {
		t.Error("a label that was voided before can be voided")
	}
}

func TestABulkActionGoesOnAfterACrashAndBuysEachReturnOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	list := []ship.Shipment{b.buy(b.owner, "r-1", people[0], 1), b.buy(b.owner, "r-2", people[0], 1)}
	path, id := b.startBulk(bulk.Return, list...)

	// The process dies after the first return was bought, and before that was
	// recorded.
	died := b.bulkActions(b.web.Config)
	buy := died.Return
	died.Return = func(ctx context.Context, r bulk.ReturnRequest) (ship.Shipment, error) {
		if r.Shipment == list[0].ID {
			_, err := buy(ctx, r)
			b.must(err)
		}
		return ship.Shipment{}, ship.Errorf(ship.Internal, "died")
	}
	if _, err := died.Work(b.Context(), list[0].Tenant, id); err == nil {
		t.Fatal("the process did not die")
	}

	action := b.workBulk(id)
	if action.State != bulk.Done || action.Rows[bulk.RowDone] != 2 {
		t.Errorf("the action is %s with %v", action.State, action.Rows)
	}
	for _, shipment := range list {
		returns, err := b.web.Shipping.Returns(b.Context(), shipment.Tenant, shipment.ID)
		if err != nil || len(returns) != 1 {
			t.Errorf("%s has the returns %v, %v", shipment.Order.OrderID, returns, err)
		}
	}
	if page := b.send(member.Shipper, path, nil).Body.String(); !strings.Contains(page, "Print 2 return labels") {
		t.Error("the labels of the returns cannot be printed")
	}
	if page := b.send(member.Shipper, b.home+"/bulk", nil).Body.String(); !strings.Contains(page, "Create returns") {
		t.Error("the list does not have the action")
	}
}

func TestSelectedLabelsAreHandedOverOnOneManifestPerCarrier(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for order, carrier := range map[string]string{"m-1": "usps", "m-2": "usps", "m-3": "ups"} {
		b.shipWith(carrier, order)
	}
	list, _, err := b.web.Shipping.Shipments(b.Context(), ship.Tenant{Account: b.owner.ID}, shipping.Filter{Page: ship.Page{Limit: 10}})
	b.must(err)

	_, id := b.startBulk(bulk.Manifest, list...)
	if action := b.workBulk(id); action.State != bulk.Done || action.Rows[bulk.RowDone] != 3 {
		t.Fatalf("the action is %s with %v", action.State, action.Rows)
	}
	manifests, err := b.web.Handover.Manifests(b.Context(), list[0].Tenant, ship.Page{Limit: 10})
	if err != nil || len(manifests) != 2 {
		t.Errorf("%d manifests, %v; want one for each carrier", len(manifests), err)
	}

	w := b.send(member.Shipper, b.home+"/bulk/manifest", form("id", string(list[0].ID)))
	if !strings.Contains(w.Body.String(), "It is on manifest man_") {
		t.Errorf("a label that is on a manifest: %s", w.Body)
	}
}

func TestPackingSlipsArePrinted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sh := b.buy(b.owner, "p-1", people[0], 1)
	for _, paper := range []string{"", "a4", "letter"} {
		w := b.send(member.Shipper, b.home+"/shipments/"+string(sh.ID)+"/packing-slip?paper="+paper, nil)
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Body.String(), "%PDF") {
			t.Errorf("on %q: %d %s", paper, w.Code, w.Body)
		}
	}
	w := b.send(member.Shipper, b.home+"/shipments/packing-slips.pdf", form("all", "1", "paper", "a4"))
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Body.String(), "%PDF") {
		t.Errorf("of all: %d %s", w.Code, w.Body)
	}
}
