package overview

import (
	"net/http"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/site"
)

// search handles GET /app/{account}/{mode}/search: the results of the search box.
func search(v *site.Visit) error {
	text := v.Query("q")
	var found []ship.Shipment
	if text != "" {
		var err error
		if found, err = v.Shipping.Search(v.Context(), v.Tenant(), text); err != nil {
			return err
		}
	}

	frame := v.Frame("Search", "shipments")
	switch {
	case v.IsPart():
		return v.Show(http.StatusOK, hits(frame, text, found))
	case len(found) == 1:
		return v.Redirect(v.To("shipments", string(found[0].ID)), "")
	}
	return v.Show(http.StatusOK, searchPage(frame, text, found))
}
