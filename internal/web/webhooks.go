package web

import (
	"net/http"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/webhook"
)

// hookList is the page of webhooks.
type hookList struct {
	List  []webhook.Endpoint
	Tools shortList
	Form  hookForm
}

// hookForm is an endpoint as it was filled in.
type hookForm struct {
	URL, Description, Signature string
	Kinds                       []string // none means all
	Wrong                       problems
}

// Has reports whether the kind is selected.
func (f hookForm) Has(kind ship.EventKind) bool {
	return len(f.Kinds) == 0 || slices.Contains(f.Kinds, string(kind))
}

func (v *visit) hookForm() hookForm {
	form := hookForm{URL: v.form("url"), Description: v.form("description"), Signature: v.form("signature")}
	form.Kinds = v.r.PostForm["kind"] // parsed by the line above
	return form
}

func (f hookForm) settings() webhook.Settings {
	settings := webhook.Settings{URL: &f.URL, Description: &f.Description, Kinds: []ship.EventKind{}}
	if f.Signature != "" {
		settings.Signature = &f.Signature
	}

	for _, kind := range f.Kinds {
		settings.Kinds = append(settings.Kinds, ship.EventKind(kind))
	}

	// The wildcard also covers kinds of events that are added later.
	if len(f.Kinds) == len(ship.EventKinds) {
		settings.Kinds = []ship.EventKind{webhook.AllKinds}
	}
	return settings
}

var signatureKinds = []choice{
	{webhook.SignV1, "Secret (HMAC, v1)"},
	{webhook.SignV1a, "Public key (Ed25519, v1a)"},
	{webhook.SignBoth, "Both"},
}

// webhooks handles GET /app/{account}/{mode}/webhooks.
func (s *Web) webhooks(v *visit) error {
	endpoints, err := s.Webhook.Endpoints(v.ctx(), v.tenant())
	if err != nil {
		return err
	}

	var page hookList
	page.List, page.Tools = shorten(v, "webhooks", endpoints, hookStates, hookLine)
	return v.show(http.StatusOK, webhooksPage(v.frame("Webhooks", "webhooks"), page))
}

// makeWebhook handles POST /app/{account}/{mode}/webhooks. The answer shows the
// secret, only this once.
func (s *Web) makeWebhook(v *visit) error {
	form := v.hookForm()
	ctx := v.audited("webhook.made", "", map[string]string{"url": form.URL})
	endpoint, err := s.Webhook.Create(ctx, v.tenant(), form.settings())
	if found, fixable := problemsOf(err); fixable {
		form.Wrong = found
		endpoints, err := s.Webhook.Endpoints(v.ctx(), v.tenant())
		if err != nil {
			return err
		}
		page := hookList{List: endpoints, Form: form}
		return v.show(http.StatusUnprocessableEntity, webhooksPage(v.frame("Webhooks", "webhooks"), page))
	}
	if err != nil {
		return err
	}
	return v.showHook(http.StatusOK, hookView{Endpoint: endpoint})
}

// hookView is the page of one webhook.
type hookView struct {
	webhook.Endpoint
	Deliveries []webhook.Attempt
	Next       string
	At         string
	Tried      *webhook.Attempt
	Problem    string
	Form       hookForm // as it is, or as it was filled in
}

// State returns the endpoint's state in words, and the class of its badge.
func (p hookView) State() (word, class string) { return hookState(p.Endpoint) }

func hookState(endpoint webhook.Endpoint) (word, class string) {
	switch {
	case !endpoint.Enabled && endpoint.DisabledReason == webhook.DisabledByClient:
		return "Disabled", "badge"
	case !endpoint.Enabled && endpoint.DisabledReason == webhook.DisabledGone:
		return "Gone (410)", "badge badge-fail"
	case !endpoint.Enabled:
		return "Disabled: failing for days", "badge badge-fail"
	case endpoint.Parked:
		return "Paused: failing", "badge badge-parked"
	case endpoint.Failures > 0:
		return "Failing", "badge badge-warn"
	}
	return "Working", "badge badge-ok"
}

// hookFormOf returns the form of an endpoint with its current settings.
func hookFormOf(endpoint webhook.Endpoint) hookForm {
	form := hookForm{URL: endpoint.URL, Description: endpoint.Description, Signature: endpoint.Signature}
	if slices.Contains(endpoint.Kinds, webhook.AllKinds) {
		return form
	}
	for _, kind := range endpoint.Kinds {
		form.Kinds = append(form.Kinds, string(kind))
	}
	return form
}

// hookOf reads the endpoint that the address names.
func (v *visit) hookOf() (hookView, error) {
	id, ok := ship.ParseEndpointID(v.r.PathValue("id"))
	if !ok {
		return hookView{}, ship.Coded(ship.NotFound, "webhook_not_found", "no such webhook")
	}

	endpoint, err := v.Webhook.Endpoint(v.ctx(), v.tenant(), id)
	return hookView{Endpoint: endpoint}, err
}

// webhook handles GET /app/{account}/{mode}/webhooks/{id}.
func (s *Web) webhook(v *visit) error {
	page, err := v.hookOf()
	if err != nil {
		return err
	}
	return v.showHook(http.StatusOK, page)
}

// showHook adds the deliveries and shows the page.
func (v *visit) showHook(status int, view hookView) error {
	if view.Form.URL == "" {
		view.Form = hookFormOf(view.Endpoint)
	}

	view.At = v.query("cursor")
	page := ship.Page{Limit: pageSize}
	if id, ok := ship.ParseAttemptID(view.At); ok {
		page.Before = id.Raw()
	}
	list, more, err := v.Webhook.Deliveries(v.ctx(), v.tenant(), view.ID, page)
	if err != nil {
		return err
	}
	view.Deliveries = list
	if more {
		view.Next = v.to("webhooks", string(view.ID)) + "?cursor=" + string(list[len(list)-1].ID)
	}
	return v.show(status, webhookPage(v.frame("Webhook", "webhooks"), view))
}

// hookDone is what the audit log calls the actions of the buttons.
var hookDone = map[string]string{
	"save":    "changed",
	"enable":  "enabled",
	"disable": "disabled",
	"recover": "recovered",
	"delete":  "deleted",
}

// changeWebhook handles POST /app/{account}/{mode}/webhooks/{id}: the action of
// the button.
func (s *Web) changeWebhook(v *visit) error {
	page, err := v.hookOf()
	if err != nil {
		return err
	}

	tenant := v.tenant()
	action := v.form("do")
	ctx := v.audited("webhook."+hookDone[action], "", nil)
	back := v.to("webhooks", string(page.ID))
	done := "saved"
	switch action {
	case "test":
		return v.tryHook(page)

	case "rotate":
		ctx := v.audited("webhook.secret_rotated", "", nil)
		if page.Endpoint, err = s.Webhook.RotateSecret(ctx, tenant, page.ID); err != nil {
			return err
		}
		return v.showHook(http.StatusOK, page) // a redirect would lose the new secret

	case "save":
		page.Form = v.hookForm()
		_, err = s.Webhook.Update(ctx, tenant, page.ID, page.Form.settings())
		if found, fixable := problemsOf(err); fixable {
			page.Form.Wrong = found
			return v.showHook(http.StatusUnprocessableEntity, page)
		}

	case "enable", "disable":
		_, err = s.Webhook.Update(ctx, tenant, page.ID, webhook.Settings{Enabled: new(action == "enable")})

	case "recover":
		_, err = s.Webhook.Recover(ctx, tenant, page.ID, time.Now().Add(-hours(v.form("hours"))))
		done = "recovering"

	case "delete":
		err = s.Webhook.Delete(ctx, tenant, page.ID)
		back = v.to("webhooks")
		done = "deleted"

	default:
		return errNoPage
	}
	if err != nil {
		return err
	}
	return v.redirect(back, done)
}

// hours parses how far back to recover events. It is a day if the number is
// missing, invalid or more than 30 days.
func hours(text string) time.Duration {
	n := number(text)
	if n <= 0 || n > 24*30 {
		n = 24
	}
	return time.Duration(n * float64(time.Hour))
}

// tryHook sends a test event and shows the result.
func (v *visit) tryHook(page hookView) error {
	kind := ship.EventKind(v.form("kind"))
	if !slices.Contains(ship.EventKinds, kind) {
		kind = ship.ShipmentCreated
	}

	attempt, err := v.Webhook.Test(v.ctx(), v.tenant(), page.ID, kind)
	if found, fixable := problemsOf(err); fixable {
		page.Problem = found.All
		return v.showHook(http.StatusUnprocessableEntity, page)
	}
	if err != nil {
		return err
	}
	page.Tried = &attempt
	return v.showHook(http.StatusOK, page)
}
