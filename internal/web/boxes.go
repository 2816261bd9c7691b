package web

import (
	"net/http"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/ship"
)

// boxList is the page of saved boxes, and the one that is being added.
type boxList struct {
	List  []account.Box
	Name  string
	Sides [3]string
	Unit  string
	Wrong problems
}

// boxes handles GET /app/{account}/{mode}/boxes.
func (s *Web) boxes(v *visit) error {
	return v.showBoxes(http.StatusOK, boxList{Unit: string(v.who.Account.Units.Length)})
}

func (v *visit) showBoxes(status int, page boxList) error {
	list, err := v.Account.Boxes(v.ctx(), v.tenant())
	if err != nil {
		return err
	}
	page.List = list
	return v.show(status, boxesPage(v.frame("Boxes", "shipments"), page))
}

// addBox handles POST /app/{account}/{mode}/boxes.
func (s *Web) addBox(v *visit) error {
	page := boxList{
		Name:  v.form("name"),
		Sides: [3]string{v.form("length"), v.form("width"), v.form("height")},
		Unit:  v.form("unit"),
	}
	dimensions := ship.Dimensions{
		Length: number(page.Sides[0]),
		Width:  number(page.Sides[1]),
		Height: number(page.Sides[2]),
		Unit:   ship.LengthUnit(page.Unit),
	}

	ctx := v.audited("box.added", "", map[string]string{
		"name": page.Name,
		"size": boxSize(account.Box{Dimensions: dimensions}),
	})
	_, err := s.Account.AddBox(ctx, v.tenant(), page.Name, dimensions, v.who.Account.Units)
	if invalid, fixable := problemsOf(err); fixable {
		page.Wrong = invalid
		return v.showBoxes(http.StatusUnprocessableEntity, page)
	}
	if err != nil {
		return err
	}
	return v.redirect(v.to("boxes"), "saved")
}

// removeBox handles POST /app/{account}/{mode}/boxes/{id}/remove.
func (s *Web) removeBox(v *visit) error {
	id, ok := ship.ParseBoxID(v.r.PathValue("id"))
	if !ok {
		return errNoPage
	}
	if err := s.Account.RemoveBox(v.audited("box.removed", "", nil), v.tenant(), id); err != nil {
		return err
	}
	return v.redirect(v.to("boxes"), "removed")
}
