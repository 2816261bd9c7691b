// Package locations has the pages of the places that an account ships from.
package locations

import (
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/web/site"
)

// Routes lists the routes of the locations.
func Routes() []site.Route {
	return []site.Route{
		site.Get("/app/{account}/{mode}/settings/locations", member.ViewSettings, list),
		site.Get("/app/{account}/{mode}/settings/locations/new", member.ManageSettings, getNew),
		site.Post("/app/{account}/{mode}/settings/locations", member.ManageSettings, add),
		site.Get("/app/{account}/{mode}/settings/locations/{id}", member.ViewSettings, getOne),
		site.Post("/app/{account}/{mode}/settings/locations/{id}", member.ManageSettings, change),
		site.Post("/app/{account}/{mode}/settings/locations/{id}/remove", member.ManageSettings, remove),
	}
}
