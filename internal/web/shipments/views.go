package shipments

import (
	"net/http"
	"strings"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// saved returns the part of a filter that a view keeps. Search words are left out:
// they name people, and a view stays when the data of a person is erased.
func (q shipmentQuery) saved() shipmentQuery {
	q.Order = ""
	q.To = ""
	q.Cursor = ""
	q.Sort = q.sortable(q.Sort)
	return q
}

// viewQuery is the filter of a view.
func viewQuery(view account.SavedView) shipmentQuery {
	return readShipmentQuery(func(name string) string { return view.Filter[name] })
}

// isView reports whether the filter is exactly that of a view.
func (q shipmentQuery) isView(view account.SavedView) bool {
	return q.address("") == viewQuery(view).address("")
}

// maySaveView reports whether the filter is worth a view and has none yet.
func (p shipmentList) maySaveView() bool {
	kept := p.Filter.saved()
	if kept == (shipmentQuery{}) {
		return false
	}
	for _, view := range p.Views {
		if kept.isView(view) {
			return false
		}
	}
	return true
}

// words describe a filter.
func (q shipmentQuery) words() string {
	var list []string
	if status, ok := parts.StatusFilterOf(q.Status); ok && q.Status != "" {
		list = append(list, status.Title)
	}
	if q.Carrier != "" {
		list = append(list, parts.CarrierTitle(q.Carrier))
	}
	for _, period := range periods {
		if q.Days != "" && period.Value == q.Days {
			list = append(list, strings.ToLower(period.Title))
		}
	}
	if q.From != "" {
		list = append(list, "from "+q.From)
	}
	if q.Until != "" {
		list = append(list, "until "+q.Until)
	}
	switch q.Sort {
	case "oldest":
		list = append(list, "oldest first")
	case "due":
		list = append(list, "expected first")
	case "due-last":
		list = append(list, "expected last")
	}
	if len(list) == 0 {
		return "All shipments"
	}
	return strings.Join(list, ", ")
}

// viewList is the page of saved views.
type viewList struct {
	Filter shipmentQuery // to save; empty for none
	Name   string
	Shared bool
	List   []account.SavedView
	Wrong  site.Problems
}

// mayShare reports whether the person can save views for everybody.
func mayShare(f site.Frame) bool { return f.Who.Can(member.BuyShipments) }

// mayDelete reports whether the person can delete a view: their own, and shared
// ones of others if they manage the account.
func mayDelete(f site.Frame, view account.SavedView) bool {
	return view.Person == f.Who.Actor.Person.ID || view.IsShared && f.Who.Can(member.ManageSettings)
}

// listViews handles GET /app/{account}/{mode}/views: the saved views, and a form to
// save the filter of the address.
func listViews(v *site.Visit) error {
	return showViews(v, http.StatusOK, viewList{Filter: readShipmentQuery(v.Query).saved()})
}

func showViews(v *site.Visit, status int, page viewList) error {
	var err error
	if page.List, err = v.Account.Views(v.Context(), v.Who.Account.ID, v.Who.Actor.Person.ID); err != nil {
		return err
	}
	return v.Show(status, viewsPage(v.Frame("Saved views", "shipments"), page))
}

// saveView handles POST /app/{account}/{mode}/views.
func saveView(v *site.Visit) error {
	page := viewList{
		Filter: readShipmentQuery(v.Form).saved(),
		Name:   v.Form("name"),
		Shared: v.Form("shared") != "" && v.Who.Can(member.BuyShipments),
	}
	view := account.SavedView{
		Name:     page.Name,
		Filter:   map[string]string{},
		Person:   v.Who.Actor.Person.ID,
		IsShared: page.Shared,
	}
	for _, field := range page.Filter.fields() {
		if field[1] != "" {
			view.Filter[field[0]] = field[1]
		}
	}

	err := v.Account.SaveView(v.Audited("", "", nil), v.Who.Account.ID, view)
	if wrong, fixable := site.ProblemsOf(err); fixable {
		page.Wrong = wrong
		return showViews(v, http.StatusUnprocessableEntity, page)
	}
	if err != nil {
		return err
	}
	return v.Redirect(v.To("views"), "saved")
}

// deleteView handles POST /app/{account}/{mode}/views/{id}/delete.
func deleteView(v *site.Visit) error {
	id, ok := ship.ParseViewID(v.Request.PathValue("id"))
	if !ok {
		return site.ErrNoPage
	}
	err := v.Account.DeleteView(v.Audited("", "", nil), v.Who.Account.ID, id, v.Who.Actor.Person.ID, v.Who.Can(member.ManageSettings))
	if err != nil {
		return err
	}
	return v.Redirect(v.To("views"), "deleted")
}
