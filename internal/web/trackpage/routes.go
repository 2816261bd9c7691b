package trackpage

import (
	"net/http"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/web/site"
)

// Routes lists the pages for recipients. They do not sign in: the address is
// all they have, so a page shows no more than they already know.
func Routes() []site.Route {
	pages := trackPages{
		limiter: httpkit.NewLimiter(trackRate, trackBurst),
		forms:   httpkit.NewSlowLimiter(formEvery, formBurst),
	}
	missing := func(v *site.Visit) error { return NoParcel(v, http.StatusNotFound, "missing") }

	// Recipients have a limit of their own, and must not see the dashboard's page
	// about it.
	return []site.Route{
		site.Unlimited(site.Open(site.Get("/track/{token}", "", pages.show))),
		site.Unlimited(site.Open(site.Get("/track/{token}/logo/{hash}", "", pages.logo))),
		site.Unlimited(site.Open(site.Get("/track/{token}/return", "", pages.showReturn))),
		site.Unlimited(site.Open(site.Post("/track/{token}/return", "", pages.askForReturn))),
		site.Unlimited(site.Open(site.Post("/track/{token}/return/label", "", pages.returnLabel))),
		site.Unlimited(site.Open(site.Get("/track/", "", missing))),
	}
}
