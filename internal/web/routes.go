package web

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/member"
)

// A route is one page, or one action on a page. The table is the whole
// dashboard: a path that is not in it does not exist.
type route struct {
	method, path string
	action       member.Action // that the person's role must allow
	open         bool          // no sign-in is needed
	most         int64         // largest request in bytes; 0 for maxForm
	keeps        bool          // what was typed is kept if the request cannot be served: see keepForm
	handle       func(*visit) error
}

// patterns returns the route's patterns for the mux: one for each mode, if its
// path has a mode.
func (rt route) patterns() []string {
	pattern := rt.method + " " + rt.path
	if !strings.Contains(pattern, "{mode}") {
		return []string{pattern}
	}
	return []string{
		strings.Replace(pattern, "{mode}", "test", 1),
		strings.Replace(pattern, "{mode}", "live", 1),
	}
}

// table lists every route of the dashboard.
func (s *Web) table() []route {
	return slices.Concat(
		s.frameRoutes(),
		s.signInRoutes(),
		s.attentionRoutes(),
		s.shipmentRoutes(),
		s.formRoutes(),
		s.batchRoutes(),
		s.routingRoutes(),
		s.sheetRoutes(),
		s.developerRoutes(),
		s.journalRoutes(),
		s.sandboxRoutes(),
		s.referenceRoutes(),
		s.accountRoutes(),
		s.shortRoutes(),
		s.logoRoutes(),
		s.trackRoutes(),
	)
}

func get(path string, action member.Action, handle func(*visit) error) route {
	return route{method: http.MethodGet, path: path, action: action, handle: handle}
}

func post(path string, action member.Action, handle func(*visit) error) route {
	return route{method: http.MethodPost, path: path, action: action, handle: handle}
}

// keeping marks a route whose form is kept if it cannot be served.
func keeping(rt route) route {
	rt.keeps = true
	return rt
}

func (s *Web) frameRoutes() []route {
	return []route{
		{method: http.MethodGet, path: staticPath, open: true, handle: s.serveStatic},
		get("/{$}", member.ViewSelf, s.index),
		get("/app", member.ViewSelf, s.index),
		get("/app/{mode}/search", member.ViewShipments, s.search),
	}
}

func (s *Web) shipmentRoutes() []route {
	return []route{
		get("/app/{mode}/shipments", member.ViewShipments, s.shipments),
		get("/app/{mode}/shipments.csv", member.ExportShipments, s.shipmentsCSV),
		get("/app/{mode}/shipments/new", member.BuyShipments, s.emptyShipment),
		keeping(post("/app/{mode}/shipments", member.BuyShipments, s.buyShipment)),
		keeping(post("/app/{mode}/shipments/rates", member.BuyShipments, s.rates)),
		get("/app/{mode}/shipments/{id}", member.ViewShipments, s.shipment),
		get("/app/{mode}/shipments/{id}/print", member.PrintLabels, s.printLabel),
		get("/app/{mode}/shipments/{id}/label/{file}", member.PrintLabels, s.labelFile),
		get("/app/{mode}/shipments/{id}/documents/{n}", member.PrintLabels, s.shipmentDocument),
		post("/app/{mode}/shipments/{id}/void", member.VoidShipments, s.voidShipment),
		post("/app/{mode}/shipments/{id}/advance", member.ControlSandbox, s.advanceShipment),
	}
}

// signInRoutes are how people sign in, set up access, and confirm who they are.
func (s *Web) signInRoutes() []route {
	return []route{
		open(get("/app/login", "", s.login)),
		open(post("/app/login", "", s.passwordLogin)),
		open(post("/app/login/code", "", s.codeLogin)),
		open(post("/app/login/passkey", "", s.passkeyLogin)),
		open(post("/app/login/passkey/begin", "", s.beginPasskeyLogin)),
		open(post("/app/login/oidc", "", s.oidcLogin)),
		open(get("/app/oidc", "", s.oidcBack)),

		open(get("/app/setup", "", s.setup)),
		open(post("/app/setup", "", s.makeOwner)),
		open(get("/app/invite/{token}", "", s.invitation)),
		open(post("/app/invite/{token}", "", s.acceptInvitation)),
		open(get("/app/reset/{token}", "", s.reset)),
		open(post("/app/reset/{token}", "", s.setPasswordByLink)),

		post("/app/logout", member.ViewSelf, s.logout),
		post(resumePath, member.ViewSelf, s.resume),
		get("/app/confirm", member.ViewSelf, s.confirm),
		post("/app/confirm", member.ViewSelf, s.stepUp),
		post("/app/confirm/passkey", member.ViewSelf, s.passkeyStepUp),
		post("/app/passkey/begin", member.ViewSelf, s.beginPasskey),
	}
}

// developerRoutes are about events, webhooks and API keys.
func (s *Web) developerRoutes() []route {
	return []route{
		get("/app/{mode}/events", member.ViewEvents, s.events),
		get("/app/{mode}/events.csv", member.ViewEvents, s.eventsCSV),
		get("/app/{mode}/events/{id}", member.ViewEvents, s.event),
		post("/app/{mode}/events/{id}/redeliver", member.ManageWebhooks, s.redeliver),

		get("/app/{mode}/webhooks", member.ViewWebhooks, s.webhooks),
		post("/app/{mode}/webhooks", member.ManageWebhooks, s.makeWebhook),
		get("/app/{mode}/webhooks/{id}", member.ViewWebhooks, s.webhook),
		post("/app/{mode}/webhooks/{id}", member.ManageWebhooks, s.changeWebhook),

		get("/app/{mode}/keys", member.ViewKeys, s.keys),
		post("/app/{mode}/keys", member.ManageKeys, s.makeKey),
		post("/app/{mode}/keys/{id}/revoke", member.ManageKeys, s.revokeKey),
	}
}

// accountRoutes are about the account and its members.
func (s *Web) accountRoutes() []route {
	return []route{
		get("/app/{mode}", member.ViewOverview, s.overview),

		get("/app/{mode}/carriers", member.ViewConnections, s.carriers),
		get("/app/{mode}/connect/{carrier}", member.ManageConnections, s.connectPage),
		post("/app/{mode}/connect/{carrier}", member.ManageConnections, s.connect),
		get("/app/{mode}/carriers/{id}", member.ViewConnections, s.connection),
		post("/app/{mode}/carriers/{id}", member.ManageConnections, s.changeConnection),
		post("/app/{mode}/carriers/{id}/check", member.CheckConnections, s.checkConnection),

		get("/app/{mode}/members", member.ViewMembers, s.members),
		post("/app/{mode}/members", member.ManageMembers, s.invite),
		post("/app/{mode}/members/{id}", member.ManageMembers, s.changeMember),
		post("/app/{mode}/invitations/{id}/revoke", member.ManageMembers, s.revokeInvitation),

		get("/app/{mode}/audit", member.ViewAudit, s.audit),
		get("/app/{mode}/audit.csv", member.ViewAudit, s.auditCSV),
		get("/app/{mode}/settings", member.ViewSettings, s.settings),
		post("/app/{mode}/settings", member.ManageSettings, s.saveSettings),

		get("/app/{mode}/you", member.ViewSelf, s.you),
		post("/app/{mode}/you", member.ManageSelf, s.changeYou),
		post("/app/{mode}/you/secrets", member.ManageOwnSecrets, s.changeSecrets),
	}
}

func open(rt route) route {
	rt.open = true
	return rt
}

// maxForm is the largest form in bytes that a route accepts by default.
const maxForm = 1 << 20

// serve answers one route: headers, the person, the mode, then the handler.
func (s *Web) serve(rt route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		httpkit.From(r.Context()).Route = rt.path
		secure(w.Header())

		v := &visit{Web: s, w: w, r: r, rt: rt}
		err := v.admit()
		if err == nil {
			v.admitted = true
			err = rt.handle(v)
		}

		// keepForm comes first: a redirect to the sign-in page would lose what
		// was typed.
		if err != nil && !v.keepForm(err) && !v.redirectToSignIn(err) {
			v.fail(err)
		}
	}
}

// admit finds out who asks and in which mode, and whether they may.
func (v *visit) admit() error {
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, cmp.Or(v.rt.most, maxForm))
	v.live = strings.HasPrefix(v.r.URL.Path, "/app/live/") || v.r.URL.Path == "/app/live"
	if v.rt.open {
		return nil
	}

	if err := v.signIn(); err != nil {
		return err
	}
	return v.who.Actor.Allow(v.rt.action)
}
