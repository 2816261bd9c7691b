package approvals

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// list is the page: what waits, and what was decided.
type list struct {
	Waiting []shipping.ApprovalView
	More    bool // others wait besides
	Decided []shipping.ApprovalView
	Older   string // address of the next page; empty on the last
	Keys    map[ship.KeyID]account.APIKey
	Wrong   site.Problems
}

// shown is how many approvals of a kind the page lists.
const shown = 50

// listApprovals handles GET /app/{account}/{mode}/approvals.
func listApprovals(v *site.Visit) error { return listWith(v, http.StatusOK, site.Problems{}) }

// listWith shows the page, with the problems of a decision.
func listWith(v *site.Visit, status int, wrong site.Problems) error {
	page := list{Wrong: wrong, Keys: map[ship.KeyID]account.APIKey{}}
	keys, err := v.Account.Keys(v.Context(), v.Who.Account.ID)
	if err != nil {
		return err
	}
	for _, key := range keys {
		page.Keys[key.ID] = key
	}

	// What waits is on the first page, the oldest first: it expires first.
	before := ship.Page{Limit: shown}
	if cursor, ok := ship.ParseApprovalID(v.Query("before")); ok {
		before.Before = cursor.Raw()
	} else {
		page.Waiting, page.More, err = v.Shipping.WaitingApprovals(v.Context(), v.Tenant(), ship.RawID{}, shown)
		if err != nil {
			return err
		}
	}

	decided, more, err := v.Shipping.DecidedApprovals(v.Context(), v.Tenant(), before)
	if err != nil {
		return err
	}
	page.Decided = decided
	if more {
		page.Older = v.To("approvals") + "?before=" + string(decided[shown-1].Approval.ID)
	}
	return v.Show(status, approvalsPage(v.Frame("Approvals", "approvals"), page))
}

// approve handles POST /app/{account}/{mode}/approvals/{id}/approve.
func approve(v *site.Visit) error { return decide(v, ship.ApprovalApproved, "purchase-approved") }

// deny handles POST /app/{account}/{mode}/approvals/{id}/deny.
func deny(v *site.Visit) error { return decide(v, ship.ApprovalDenied, "purchase-denied") }

func decide(v *site.Visit, status ship.ApprovalStatus, done string) error {
	id, ok := ship.ParseApprovalID(v.Request.PathValue("id"))
	if !ok {
		return site.ErrNoPage
	}

	_, err := v.Shipping.DecideApproval(v.Audited("", "", nil), v.Tenant(), id, shipping.Decision{
		Status: status,
		By:     v.Who.Actor.Person.ID,
		Name:   v.Who.Name(),
	})
	if ship.KindOf(err) == ship.NotFound {
		return site.ErrNoPage
	}
	if wrong, fixable := site.ProblemsOf(err); fixable {
		return listWith(v, http.StatusUnprocessableEntity, wrong)
	}
	if err != nil {
		return err
	}
	return v.Redirect(v.To("approvals"), done)
}

// keyName returns what the key of an approval is called.
func (p list) keyName(id ship.KeyID) string {
	key := p.Keys[id]
	name := cmp.Or(key.Name, key.Hint, string(id))
	if !key.RevokedAt.IsZero() {
		name += " (revoked)"
	}
	return name
}

// parcelLine returns what is to be shipped: the weight and size of one parcel, or
// the number of several and their weights.
func parcelLine(parcels []ship.Parcel) string {
	words := make([]string, len(parcels))
	for i, parcel := range parcels {
		words[i] = parts.Weight(parcel)
	}
	if len(parcels) == 1 {
		if size := parts.Size(parcels[0]); size != "" {
			words = append(words, size)
		}
		return strings.Join(words, " · ")
	}
	return strconv.Itoa(len(parcels)) + ": " + strings.Join(words, ", ")
}

// title returns what is to be bought: the carrier and its service.
func title(shipment ship.Shipment) string {
	return parts.CarrierTitle(shipment.Purchase.Carrier) + " " + parts.ServiceTitle(shipment)
}

// statusWords are the statuses as people read them.
var statusWords = map[ship.ApprovalStatus]string{
	ship.ApprovalWaiting:  "Waiting",
	ship.ApprovalApproved: "Approved",
	ship.ApprovalDenied:   "Denied",
	ship.ApprovalExpired:  "Expired",
}

// badges are the looks of the statuses.
var badges = map[ship.ApprovalStatus]string{
	ship.ApprovalWaiting:  "badge-warn",
	ship.ApprovalApproved: "badge-ok",
	ship.ApprovalDenied:   "badge-failed",
	ship.ApprovalExpired:  "badge-created",
}

// outcome returns what became of a purchase that was approved; empty while it is
// under way or bought.
func outcome(view shipping.ApprovalView) string {
	if view.Approval.Status != ship.ApprovalApproved {
		return ""
	}
	return parts.LabelWord(view.Shipment.State)
}
