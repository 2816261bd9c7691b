package returnrequests

import (
	"net/http"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/site"
)

// requests is the page: what waits, and what was decided.
type requests struct {
	Waiting []ship.ReturnRequest
	Decided []ship.ReturnRequest
	Older   string // address of the next page; empty on the last
	Enabled bool   // recipients can ask
	Wrong   site.Problems
	At      ship.ReturnRequestID // that the problems are about
}

// shown is how many requests of a kind the page lists.
const shown = 50

// listRequests handles GET /app/{account}/{mode}/returns.
func listRequests(v *site.Visit) error { return listWith(v, http.StatusOK, "", site.Problems{}) }

// listWith shows the page, with the problems of a decision.
func listWith(v *site.Visit, status int, at ship.ReturnRequestID, wrong site.Problems) error {
	rule, err := v.Returns.Rule(v.Context(), v.Tenant())
	if err != nil {
		return err
	}
	page := requests{Enabled: rule.Enabled, Wrong: wrong, At: at}

	// What waits is on the first page, whole: the oldest of it must not hide.
	before := ship.Page{Limit: shown + 1}
	if cursor, ok := ship.ParseReturnRequestID(v.Query("before")); ok {
		before.Before = cursor.Raw()
	} else {
		for _, state := range []ship.ReturnState{ship.ReturnRequested, ship.ReturnFailed} {
			waiting, err := v.Returns.Requests(v.Context(), v.Tenant(), state, ship.Page{Limit: shown})
			if err != nil {
				return err
			}
			page.Waiting = append(page.Waiting, waiting...)
		}
	}

	list, err := v.Returns.Requests(v.Context(), v.Tenant(), "", before)
	if err != nil {
		return err
	}
	if len(list) > shown {
		list = list[:shown]
		page.Older = v.To("returns") + "?before=" + string(list[shown-1].ID)
	}
	for _, request := range list {
		if !waits(request) {
			page.Decided = append(page.Decided, request)
		}
	}
	return v.Show(status, requestsPage(v.Frame("Returns", "returns"), page))
}

// waits reports whether a person has to decide.
func waits(request ship.ReturnRequest) bool {
	return request.State == ship.ReturnRequested || request.State == ship.ReturnFailed
}

// approve handles POST /app/{account}/{mode}/returns/{id}/approve. The label counts
// against the person's daily limit.
func approve(v *site.Visit) error {
	id, ok := ship.ParseReturnRequestID(v.Request.PathValue("id"))
	if !ok {
		return site.ErrNoPage
	}
	_, err := v.Returns.Approve(v.Audited("", "", nil), v.Tenant(), id, ship.Spender{Person: v.Who.Actor.Person.ID})
	return answer(v, id, err, "return-approved")
}

// deny handles POST /app/{account}/{mode}/returns/{id}/deny.
func deny(v *site.Visit) error {
	id, ok := ship.ParseReturnRequestID(v.Request.PathValue("id"))
	if !ok {
		return site.ErrNoPage
	}
	_, err := v.Returns.Deny(v.Audited("", "", nil), v.Tenant(), id, v.Form("reason"))
	return answer(v, id, err, "return-denied")
}

// answer shows what is wrong with a decision, or goes back to the page.
func answer(v *site.Visit, id ship.ReturnRequestID, err error, done string) error {
	if ship.KindOf(err) == ship.NotFound {
		return site.ErrNoPage
	}
	if wrong, fixable := site.ProblemsOf(err); fixable {
		return listWith(v, http.StatusUnprocessableEntity, id, wrong)
	}
	if err != nil {
		return err
	}
	return v.Redirect(v.To("returns"), done)
}

// stateWords are the states of requests as people read them.
var stateWords = map[ship.ReturnState]string{
	ship.ReturnRequested: "Requested",
	ship.ReturnApproved:  "Approved",
	ship.ReturnDenied:    "Denied",
	ship.ReturnLabelSent: "Label sent",
	ship.ReturnFailed:    "Label not bought",
}

// badges are the looks of the states.
var badges = map[ship.ReturnState]string{
	ship.ReturnRequested: "badge-warn",
	ship.ReturnApproved:  "badge-in_transit",
	ship.ReturnDenied:    "badge-created",
	ship.ReturnLabelSent: "badge-ok",
	ship.ReturnFailed:    "badge-failed",
}

// wrongAt returns the problem of the request's form.
func (p requests) wrongAt(id ship.ReturnRequestID) string {
	if p.At != id {
		return ""
	}
	return p.Wrong.At("/reason")
}
