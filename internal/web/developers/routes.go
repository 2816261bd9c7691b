package developers

import (
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/web/site"
)

// Routes lists the routes of events, webhooks, keys, the log of requests, the
// sandbox and the API reference.
func Routes(config site.Config) []site.Route {
	reference := newReferencePages(config)

	return []site.Route{
		site.Get("/app/{account}/{mode}/events", member.ViewEvents, listEvents),
		site.Get("/app/{account}/{mode}/events.csv", member.ViewEvents, exportEvents),
		site.Get("/app/{account}/{mode}/events/{id}", member.ViewEvents, getEvent),
		site.Post("/app/{account}/{mode}/events/{id}/redeliver", member.ManageWebhooks, redeliver),

		site.Get("/app/{account}/{mode}/webhooks", member.ViewWebhooks, listWebhooks),
		site.Get("/app/{account}/{mode}/webhooks.csv", member.ViewWebhooks, exportWebhooks),
		site.Post("/app/{account}/{mode}/webhooks", member.ManageWebhooks, makeWebhook),
		site.Get("/app/{account}/{mode}/webhooks/{id}", member.ViewWebhooks, getWebhook),
		site.Post("/app/{account}/{mode}/webhooks/{id}", member.ManageWebhooks, changeWebhook),

		site.Get("/app/{account}/{mode}/keys", member.ViewKeys, listKeys),
		site.Get("/app/{account}/{mode}/keys.csv", member.ViewKeys, exportKeys),
		site.Post("/app/{account}/{mode}/keys", member.ManageKeys, makeKey),
		site.Post("/app/{account}/{mode}/keys/{id}/revoke", member.ManageKeys, revokeKey),

		site.Get("/app/{account}/{mode}/device", member.ViewKeys, getDevice),
		site.Post("/app/{account}/{mode}/device", member.ManageKeys, decideDevice),

		site.Get("/app/{account}/{mode}/requests", member.ViewRequests, reference.listRequests),
		site.Get("/app/{account}/{mode}/requests.csv", member.ViewRequests, exportRequests),
		site.Get("/app/{account}/{mode}/requests/{id}", member.ViewRequests, getRequest),

		site.Get("/app/{account}/{mode}/sandbox", member.ControlSandbox, getSandbox),
		site.Post("/app/{account}/{mode}/sandbox", member.ControlSandbox, forceFault),

		site.Get("/app/{account}/{mode}/reference", member.ViewKeys, reference.show),
		site.Get("/app/{account}/{mode}/reference/{operation}", member.ViewKeys, reference.show),
		site.Post("/app/{account}/{mode}/reference", member.ManageKeys, reference.makeKey),
	}
}
