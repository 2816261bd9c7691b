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

// Has reports whether the kind is ticked.
func (f hookForm) Has(kind ship.EventKind) bool {
	return len(f.Kinds) == 0 || slices.Contains(f.Kinds, string(kind))
}

func (v *visit) hookForm() hookForm {
	f := hookForm{URL: v.form("url"), Description: v.form("description"), Signature: v.form("signature")}
	f.Kinds = v.r.PostForm["kind"]
	return f
}

func (f hookForm) settings() webhook.Settings {
	set := webhook.Settings{URL: &f.URL, Description: &f.Description, Kinds: []ship.EventKind{}}
	if f.Signature != "" {
		set.Signature = &f.Signature
	}
	for _, k := range f.Kinds {
		set.Kinds = append(set.Kinds, ship.EventKind(k))
	}
	if len(f.Kinds) == len(ship.EventKinds) {
		set.Kinds = []ship.EventKind{webhook.AllKinds}
	}
	return set
}

var signatureKinds = []choice{{webhook.SignV1, "Secret (HMAC, v1)"}, {webhook.SignV1a, "Public key (Ed25519, v1a)"}, {webhook.SignBoth, "Both"}}

// webhooks handles GET /app/{mode}/webhooks.
func (s *Web) webhooks(v *visit) error {
	list, err := s.Webhook.Endpoints(v.ctx(), v.tenant())
	if err != nil {
		return err
	}
	var p hookList
	p.List, p.Tools = shorten(v, "webhooks", list, hookStates, hookLine)
	return v.show(http.StatusOK, webhooksPage(v.frame("Webhooks", "webhooks"), p))
}

// makeWebhook handles POST /app/{mode}/webhooks. The answer shows the secret
// this once.
func (s *Web) makeWebhook(v *visit) error {
	form := v.hookForm()
	e, err := s.Webhook.Create(v.audited("webhook.made", "", map[string]string{"url": form.URL}), v.tenant(), form.settings())
	if wrong, mendable := problemsOf(err); mendable {
		form.Wrong = wrong
		list, err := s.Webhook.Endpoints(v.ctx(), v.tenant())
		if err != nil {
			return err
		}
		return v.show(http.StatusUnprocessableEntity, webhooksPage(v.frame("Webhooks", "webhooks"), hookList{List: list, Form: form}))
	}
	if err != nil {
		return err
	}
	return v.showHook(http.StatusOK, hookView{Endpoint: e})
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

// State is one word for how it does, and the class of its badge.
func (p hookView) State() (word, class string) { return hookState(p.Endpoint) }

func hookState(e webhook.Endpoint) (word, class string) {
	switch {
	case !e.Enabled && e.DisabledReason == webhook.DisabledByClient:
		return "Switched off", "badge"
	case !e.Enabled && e.DisabledReason == webhook.DisabledGone:
		return "Gone (410)", "badge badge-fail"
	case !e.Enabled:
		return "Disabled: failing for days", "badge badge-fail"
	case e.Parked:
		return "Parked: failing", "badge badge-parked"
	case e.Failures > 0:
		return "Failing", "badge badge-warn"
	}
	return "Working", "badge badge-ok"
}

// hookFormOf is the form of a webhook as it is.
func hookFormOf(e webhook.Endpoint) hookForm {
	f := hookForm{URL: e.URL, Description: e.Description, Signature: e.Signature}
	for _, k := range e.Kinds {
		if k == webhook.AllKinds {
			return hookForm{URL: e.URL, Description: e.Description, Signature: e.Signature}
		}
		f.Kinds = append(f.Kinds, string(k))
	}
	return f
}

// hookOf reads the webhook of the address.
func (v *visit) hookOf() (hookView, error) {
	id, ok := ship.ParseEndpointID(v.r.PathValue("id"))
	if !ok {
		return hookView{}, ship.Coded(ship.NotFound, "webhook_not_found", "no such webhook")
	}
	e, err := v.Webhook.Endpoint(v.ctx(), v.tenant(), id)
	return hookView{Endpoint: e}, err
}

// webhook handles GET /app/{mode}/webhooks/{id}.
func (s *Web) webhook(v *visit) error {
	p, err := v.hookOf()
	if err != nil {
		return err
	}
	return v.showHook(http.StatusOK, p)
}

// showHook adds the deliveries and shows the page.
func (v *visit) showHook(status int, p hookView) error {
	page := ship.Page{Limit: pageSize}
	p.At = v.query("cursor")
	if p.Form.URL == "" {
		p.Form = hookFormOf(p.Endpoint)
	}
	if id, ok := ship.ParseAttemptID(p.At); ok {
		page.Before = id.Raw()
	}
	list, more, err := v.Webhook.Deliveries(v.ctx(), v.tenant(), p.ID, page)
	if err != nil {
		return err
	}
	p.Deliveries = list
	if more {
		p.Next = v.to("webhooks", string(p.ID)) + "?cursor=" + string(list[len(list)-1].ID)
	}
	return v.show(status, webhookPage(v.frame("Webhook", "webhooks"), p))
}

// hookDone is what the audit log calls what was done.
var hookDone = map[string]string{"save": "changed", "enable": "enabled", "disable": "disabled", "recover": "recovered", "delete": "deleted"}

// changeWebhook handles POST /app/{mode}/webhooks/{id}: what the button says.
func (s *Web) changeWebhook(v *visit) error {
	p, err := v.hookOf()
	if err != nil {
		return err
	}
	t, id, back := v.tenant(), p.ID, v.to("webhooks", string(p.ID))
	done, what := "saved", v.form("do")
	ctx := v.audited("webhook."+hookDone[what], "", nil)
	switch what {
	case "test":
		return v.tryHook(p)
	case "rotate":
		if p.Endpoint, err = s.Webhook.RotateSecret(v.audited("webhook.secret_rotated", "", nil), t, id); err != nil {
			return err
		}
		return v.showHook(http.StatusOK, p)
	case "save":
		p.Form = v.hookForm()
		_, err = s.Webhook.Update(ctx, t, id, p.Form.settings())
		if wrong, mendable := problemsOf(err); mendable {
			p.Form.Wrong = wrong
			return v.showHook(http.StatusUnprocessableEntity, p)
		}
	case "enable", "disable":
		_, err = s.Webhook.Update(ctx, t, id, webhook.Settings{Enabled: new(what == "enable")})
	case "recover":
		_, err = s.Webhook.Recover(ctx, t, id, time.Now().Add(-hours(v.form("hours"))))
		done = "recovering"
	case "delete":
		err = s.Webhook.Delete(ctx, t, id)
		done, back = "deleted", v.to("webhooks")
	default:
		return errNoPage
	}
	if err != nil {
		return err
	}
	return v.redirect(back, done)
}

// hours reads how far back to go; a day if it is not said.
func hours(s string) time.Duration {
	n := number(s)
	if n <= 0 || n > 24*30 {
		n = 24
	}
	return time.Duration(n * float64(time.Hour))
}

// tryHook sends a test event and shows what became of it.
func (v *visit) tryHook(p hookView) error {
	kind := ship.EventKind(v.form("kind"))
	if !slices.Contains(ship.EventKinds, kind) {
		kind = ship.ShipmentCreated
	}
	a, err := v.Webhook.Test(v.ctx(), v.tenant(), p.ID, kind)
	if wrong, mendable := problemsOf(err); mendable {
		p.Problem = wrong.All
		return v.showHook(http.StatusUnprocessableEntity, p)
	}
	if err != nil {
		return err
	}
	p.Tried = &a
	return v.showHook(http.StatusOK, p)
}
