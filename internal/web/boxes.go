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

// boxes handles GET /app/{mode}/boxes.
func (s *Web) boxes(v *visit) error {
	return v.showBoxes(http.StatusOK, boxList{Unit: string(v.who.Account.Units.Length)})
}

func (v *visit) showBoxes(status int, p boxList) error {
	var err error
	if p.List, err = v.Account.Boxes(v.ctx(), v.tenant()); err != nil {
		return err
	}
	return v.show(status, boxesPage(v.frame("Boxes", "shipments"), p))
}

// addBox handles POST /app/{mode}/boxes.
func (s *Web) addBox(v *visit) error {
	p := boxList{Name: v.form("name"), Sides: [3]string{v.form("length"), v.form("width"), v.form("height")}, Unit: v.form("unit")}
	d := ship.Dimensions{Length: number(p.Sides[0]), Width: number(p.Sides[1]), Height: number(p.Sides[2]), Unit: ship.LengthUnit(p.Unit)}
	details := map[string]string{"name": p.Name, "size": boxSize(account.Box{Dimensions: d})}
	_, err := s.Account.AddBox(v.audited("box.added", "", details), v.tenant(), p.Name, d, v.who.Account.Units)
	if wrong, mendable := problemsOf(err); mendable {
		p.Wrong = wrong
		return v.showBoxes(http.StatusUnprocessableEntity, p)
	}
	if err != nil {
		return err
	}
	return v.redirect(v.to("boxes"), "saved")
}

// removeBox handles POST /app/{mode}/boxes/{id}/remove.
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
