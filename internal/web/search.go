package web

import (
	"net/http"

	"github.com/waybillhq/waybill/internal/ship"
)

// search handles GET /app/{account}/{mode}/search: the results of the search box.
func (s *Web) search(v *visit) error {
	text := v.query("q")
	var found []ship.Shipment
	if text != "" {
		var err error
		if found, err = s.Shipping.Search(v.ctx(), v.tenant(), text); err != nil {
			return err
		}
	}

	frame := v.frame("Search", "shipments")
	switch {
	case v.isPart():
		return v.show(http.StatusOK, hits(frame, text, found))
	case len(found) == 1:
		return v.redirect(v.to("shipments", string(found[0].ID)), "")
	}
	return v.show(http.StatusOK, searchPage(frame, text, found))
}
