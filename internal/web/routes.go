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
	moved        bool          // the page has another address now, which this one leads to
	keeps        bool          // what was typed is kept if the request cannot be served: see keepForm
	handle       func(*visit) error
}

// isOfAccount reports whether the route is of a page of an account, whose path
// names the account and the mode.
func (rt route) isOfAccount() bool { return strings.HasPrefix(rt.path, accountPath) }

// accountPath is where the pages of an account begin.
const accountPath = "/app/{account}/{mode}"

// table lists every route of the dashboard.
func table(config Config) []route {
	s := &Web{Config: config}
	return slices.Concat(
		s.frameRoutes(),
		s.bookmarkRoutes(),
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
		get("/app/{account}/{mode}/search", member.ViewShipments, s.search),
	}
}

// bookmarkRoutes are addresses of pages without an account, from before accounts
// were part of them. Forms are not accepted there: which account they are for
// would be a guess.
func (s *Web) bookmarkRoutes() []route {
	var list []route
	for _, mode := range []string{"test", "live"} {
		for _, rest := range []string{"", "/{section}", "/{section}/{rest...}"} {
			page := get("/app/"+mode+rest, member.ViewSelf, s.bookmark)
			page.moved = true
			list = append(list, page)
		}
	}
	return list
}

// purchasePath is where a label is bought.
const purchasePath = accountPath + "/shipments"

func (s *Web) shipmentRoutes() []route {
	return []route{
		get("/app/{account}/{mode}/shipments", member.ViewShipments, s.shipments),
		get("/app/{account}/{mode}/shipments.csv", member.ExportShipments, s.shipmentsCSV),
		get("/app/{account}/{mode}/shipments/new", member.BuyShipments, s.emptyShipment),
		keeping(post(purchasePath, member.BuyShipments, s.buyShipment)),
		keeping(post("/app/{account}/{mode}/shipments/rates", member.BuyShipments, s.rates)),
		get("/app/{account}/{mode}/shipments/{id}", member.ViewShipments, s.shipment),
		get("/app/{account}/{mode}/shipments/{id}/print", member.PrintLabels, s.printLabel),
		get("/app/{account}/{mode}/shipments/{id}/label/{file}", member.PrintLabels, s.labelFile),
		get("/app/{account}/{mode}/shipments/{id}/documents/{n}", member.PrintLabels, s.shipmentDocument),
		post("/app/{account}/{mode}/shipments/{id}/void", member.VoidShipments, s.voidShipment),
		post("/app/{account}/{mode}/shipments/{id}/advance", member.ControlSandbox, s.advanceShipment),
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
		get("/app/{account}/{mode}/events", member.ViewEvents, s.events),
		get("/app/{account}/{mode}/events.csv", member.ViewEvents, s.eventsCSV),
		get("/app/{account}/{mode}/events/{id}", member.ViewEvents, s.event),
		post("/app/{account}/{mode}/events/{id}/redeliver", member.ManageWebhooks, s.redeliver),

		get("/app/{account}/{mode}/webhooks", member.ViewWebhooks, s.webhooks),
		post("/app/{account}/{mode}/webhooks", member.ManageWebhooks, s.makeWebhook),
		get("/app/{account}/{mode}/webhooks/{id}", member.ViewWebhooks, s.webhook),
		post("/app/{account}/{mode}/webhooks/{id}", member.ManageWebhooks, s.changeWebhook),

		get("/app/{account}/{mode}/keys", member.ViewKeys, s.keys),
		post("/app/{account}/{mode}/keys", member.ManageKeys, s.makeKey),
		post("/app/{account}/{mode}/keys/{id}/revoke", member.ManageKeys, s.revokeKey),
	}
}

// accountRoutes are about the account and its members.
func (s *Web) accountRoutes() []route {
	return []route{
		get("/app/{account}/{mode}", member.ViewOverview, s.overview),

		get("/app/{account}/{mode}/carriers", member.ViewConnections, s.carriers),
		get("/app/{account}/{mode}/connect/{carrier}", member.ManageConnections, s.connectPage),
		post("/app/{account}/{mode}/connect/{carrier}", member.ManageConnections, s.connect),
		get("/app/{account}/{mode}/carriers/{id}", member.ViewConnections, s.connection),
		post("/app/{account}/{mode}/carriers/{id}", member.ManageConnections, s.changeConnection),
		post("/app/{account}/{mode}/carriers/{id}/check", member.CheckConnections, s.checkConnection),

		get("/app/{account}/{mode}/members", member.ViewMembers, s.members),
		post("/app/{account}/{mode}/members", member.ManageMembers, s.invite),
		post("/app/{account}/{mode}/members/{id}", member.ManageMembers, s.changeMember),
		post("/app/{account}/{mode}/invitations/{id}/revoke", member.ManageMembers, s.revokeInvitation),

		get("/app/{account}/{mode}/audit", member.ViewAudit, s.audit),
		get("/app/{account}/{mode}/audit.csv", member.ViewAudit, s.auditCSV),
		get("/app/{account}/{mode}/settings", member.ViewSettings, s.settings),
		post("/app/{account}/{mode}/settings", member.ManageSettings, s.saveSettings),

		get("/app/{account}/{mode}/you", member.ViewSelf, s.you),
		post("/app/{account}/{mode}/you", member.ManageSelf, s.changeYou),
		post("/app/{account}/{mode}/you/secrets", member.ManageOwnSecrets, s.changeSecrets),
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
		if err != nil && !v.keepForm(err) && !s.pages.signIn(v, err) {
			v.fail(err)
		}
	}
}

// admit finds out who asks, in which account and mode, and whether they may.
func (v *visit) admit() error {
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, cmp.Or(v.rt.most, maxForm))
	if v.rt.isOfAccount() {
		mode := v.r.PathValue("mode")
		if mode != "test" && mode != "live" {
			return errNoPage
		}
		v.live = mode == "live"
	}
	if v.rt.open {
		return nil
	}

	if err := v.signIn(); err != nil {
		return err
	}
	return v.who.Actor.Allow(v.rt.action)
}
