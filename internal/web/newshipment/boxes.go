package newshipment

import (
	"net/http"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// boxList is the page of saved boxes, and the one that is being added.
type boxList struct {
	List  []account.Box
	Name  string
	Sides [3]string
	Unit  string
	Wrong site.Problems
}

// listBoxes handles GET /app/{account}/{mode}/boxes.
func listBoxes(v *site.Visit) error {
	return showBoxes(v, http.StatusOK, boxList{Unit: string(v.Who.Account.Units.Length)})
}

func showBoxes(v *site.Visit, status int, page boxList) error {
	list, err := v.Account.Boxes(v.Context(), v.Tenant())
	if err != nil {
		return err
	}
	page.List = list
	return v.Show(status, boxesPage(v.Frame("Boxes", "shipments"), page))
}

// addBox handles POST /app/{account}/{mode}/boxes.
func addBox(v *site.Visit) error {
	page := boxList{
		Name:  v.Form("name"),
		Sides: [3]string{v.Form("length"), v.Form("width"), v.Form("height")},
		Unit:  v.Form("unit"),
	}
	dimensions := ship.Dimensions{
		Length: parts.ParseNumber(page.Sides[0]),
		Width:  parts.ParseNumber(page.Sides[1]),
		Height: parts.ParseNumber(page.Sides[2]),
		Unit:   ship.LengthUnit(page.Unit),
	}

	ctx := v.Audited("box.added", "", map[string]string{
		"name": page.Name,
		"size": boxSize(account.Box{Dimensions: dimensions}),
	})
	_, err := v.Account.AddBox(ctx, v.Tenant(), page.Name, dimensions, v.Who.Account.Units)
	if invalid, fixable := site.ProblemsOf(err); fixable {
		page.Wrong = invalid
		return showBoxes(v, http.StatusUnprocessableEntity, page)
	}
	if err != nil {
		return err
	}
	return v.Redirect(v.To("boxes"), "saved")
}

// removeBox handles POST /app/{account}/{mode}/boxes/{id}/remove.
func removeBox(v *site.Visit) error {
	id, ok := ship.ParseBoxID(v.Request.PathValue("id"))
	if !ok {
		return site.ErrNoPage
	}
	if err := v.Account.RemoveBox(v.Audited("box.removed", "", nil), v.Tenant(), id); err != nil {
		return err
	}
	return v.Redirect(v.To("boxes"), "removed")
}
