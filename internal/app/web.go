package app

import (
	"net/http"
	"time"

	apis "github.com/waybillhq/waybill/internal/api"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web"
)

// withWeb puts the dashboard beside the API: each path belongs to one of them.
func (a *App) withWeb(api http.Handler, metrics *httpkit.Metrics) http.Handler {
	pages := web.New(web.Config{
		API:          api,
		Reference:    func() ([]httpkit.ReferenceGroup, error) { return apis.Reference(a.baseURL) },
		Account:      a.services.account,
		Member:       a.services.member,
		Handover:     a.services.handover,
		Inquiry:      a.services.inquiry,
		Returns:      a.services.returns,
		Quoting:      a.services.quoting,
		Addresses:    a.services.addresses,
		Shipping:     a.services.shipping,
		Tracking:     a.services.tracking,
		Webhook:      a.services.webhook,
		Rules:        a.services.rules,
		Journal:      a.services.journal,
		Privacy:      a.services.privacy,
		Batch:        a.services.batch,
		Bulk:         a.services.bulk,
		Box:          a.services.box,
		Heavy:        a.services.heavy,
		Uploads:      a.services.uploads,
		NeedsCustoms: carrierkit.NeedsCustoms,
		Waits: func(id ship.ConnectionID) map[carrier.Operation]time.Duration {
			return a.services.traffic.Waits(string(id))
		},
		RateLimit:      a.cfg.RateLimit,
		RateBurst:      a.cfg.RateBurst,
		BaseURL:        a.baseURL,
		TrustedProxies: a.cfg.TrustedProxies,
		Log:            a.log,
		Metrics:        metrics,
	})

	// Pages that stay open for updates would otherwise hold up a shutdown.
	a.api.http.RegisterOnShutdown(pages.Stop)

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if web.Owns(r.URL.Path) {
			pages.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	})
}
