package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/web/approvals"
	"github.com/waybillhq/waybill/internal/web/batches"
	"github.com/waybillhq/waybill/internal/web/carriers"
	"github.com/waybillhq/waybill/internal/web/developers"
	"github.com/waybillhq/waybill/internal/web/endofday"
	"github.com/waybillhq/waybill/internal/web/locations"
	"github.com/waybillhq/waybill/internal/web/newshipment"
	"github.com/waybillhq/waybill/internal/web/overview"
	"github.com/waybillhq/waybill/internal/web/restored"
	"github.com/waybillhq/waybill/internal/web/returnrequests"
	"github.com/waybillhq/waybill/internal/web/routing"
	"github.com/waybillhq/waybill/internal/web/shipments"
	"github.com/waybillhq/waybill/internal/web/signin"
	"github.com/waybillhq/waybill/internal/web/site"
	"github.com/waybillhq/waybill/internal/web/team"
	"github.com/waybillhq/waybill/internal/web/trackpage"
)

// table lists every route of the dashboard: a path that is not in it does not
// exist.
func table(config Config) []site.Route {
	return slices.Concat(
		site.Routes(),
		signin.Routes(),
		overview.Routes(),
		shipments.Routes(),
		newshipment.Routes(),
		batches.Routes(),
		endofday.Routes(),
		locations.Routes(),
		returnrequests.Routes(),
		approvals.Routes(),
		restored.Routes(),
		carriers.Routes(),
		routing.Routes(),
		developers.Routes(config),
		team.Routes(),
		trackpage.Routes(),
	)
}

// noPage answers for addresses that do not exist. Recipients of parcels must
// not learn that there is a dashboard.
func noPage(v *site.Visit) error {
	if strings.HasPrefix(v.Request.URL.Path, "/track") {
		return trackpage.NoParcel(v, http.StatusNotFound, "missing")
	}
	return site.ErrNoPage
}
