package web

import (
	"net/http"

	"github.com/waybillhq/waybill/internal/ship"
)

// search handles GET /app/{mode}/search: the finder's answers.
func (s *Web) search(v *visit) error {
	text := v.query("q")
	var found []ship.Shipment
	var err error
	if text != "" {
		found, err = s.Shipping.Search(v.ctx(), v.tenant(), text)
	}
	if err != nil {
		return err
	}
	f := v.frame("Find", "shipments")
	switch {
	case v.isPart():
		return v.show(http.StatusOK, hits(f, text, found))
	case len(found) == 1:
		return v.redirect(v.to("shipments", string(found[0].ID)), "")
	}
	return v.show(http.StatusOK, searchPage(f, text, found))
}
