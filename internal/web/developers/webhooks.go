package developers

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
	"github.com/waybillhq/waybill/internal/webhook"
)

// hookList is the page of webhooks.
type hookList struct {
	List  []webhook.Endpoint
	Tools site.ShortList
	Form  hookForm
}

// hookForm is an endpoint as it was filled in.
type hookForm struct {
	URL, Description, Signature string
	Kinds                       []string // none means all
	RemoveHeaders               bool
	Wrong                       site.Problems
}

// Has reports whether the kind is selected.
func (f hookForm) Has(kind ship.EventKind) bool {
	return len(f.Kinds) == 0 || slices.Contains(f.Kinds, string(kind))
}

func readHookForm(v *site.Visit) hookForm {
	form := hookForm{URL: v.Form("url"), Description: v.Form("description"), Signature: v.Form("signature")}
	form.Kinds = v.Request.PostForm["kind"] // parsed by the line above
	form.RemoveHeaders = v.Form("remove-headers") != ""
	return form
}

func (f hookForm) settings() webhook.Settings {
	settings := webhook.Settings{URL: &f.URL, Description: &f.Description, Kinds: []ship.EventKind{}}
	if f.Signature != "" {
		settings.Signature = &f.Signature
	}
	if f.RemoveHeaders {
		settings.Headers = map[string]string{}
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

var signatureKinds = []parts.Choice{
	{Value: webhook.SignV1, Title: "Secret (HMAC, v1)"},
	{Value: webhook.SignV1a, Title: "Public key (Ed25519, v1a)"},
	{Value: webhook.SignBoth, Title: "Both"},
}

// signatureChoices are the ways to sign that a form offers. A webhook in the format
// of another API keeps its own.
func signatureChoices(present string) []parts.Choice {
	isListed := func(choice parts.Choice) bool { return choice.Value == present }
	if present == "" || slices.ContainsFunc(signatureKinds, isListed) {
		return signatureKinds
	}
	return []parts.Choice{{Value: present, Title: "Format of another API (" + present + ")"}}
}

// listWebhooks handles GET /app/{account}/{mode}/webhooks.
func listWebhooks(v *site.Visit) error {
	endpoints, err := v.Webhook.Endpoints(v.Context(), v.Tenant())
	if err != nil {
		return err
	}

	var page hookList
	page.List, page.Tools = site.Shorten(v, "webhooks", endpoints, hookStates, hookLine)
	return v.Show(http.StatusOK, webhooksPage(v.Frame("Webhooks", "webhooks"), page))
}

// makeWebhook handles POST /app/{account}/{mode}/webhooks. The answer shows the
// secret, only this once.
func makeWebhook(v *site.Visit) error {
	form := readHookForm(v)
	ctx := v.Audited("webhook.made", "", map[string]string{"url": form.URL})
	endpoint, err := v.Webhook.Create(ctx, v.Tenant(), form.settings())
	if found, fixable := site.ProblemsOf(err); fixable {
		form.Wrong = found
		endpoints, err := v.Webhook.Endpoints(v.Context(), v.Tenant())
		if err != nil {
			return err
		}
		page := hookList{List: endpoints, Form: form}
		return v.Show(http.StatusUnprocessableEntity, webhooksPage(v.Frame("Webhooks", "webhooks"), page))
	}
	if err != nil {
		return err
	}
	return showHook(v, http.StatusOK, hookView{Endpoint: endpoint})
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
func hookOf(v *site.Visit) (hookView, error) {
	id, ok := ship.ParseEndpointID(v.Request.PathValue("id"))
	if !ok {
		return hookView{}, ship.Coded(ship.NotFound, "webhook_not_found", "no such webhook")
	}

	endpoint, err := v.Webhook.Endpoint(v.Context(), v.Tenant(), id)
	return hookView{Endpoint: endpoint}, err
}

// getWebhook handles GET /app/{account}/{mode}/webhooks/{id}.
func getWebhook(v *site.Visit) error {
	page, err := hookOf(v)
	if err != nil {
		return err
	}
	return showHook(v, http.StatusOK, page)
}

// showHook adds the deliveries and shows the page.
func showHook(v *site.Visit, status int, view hookView) error {
	if view.Form.URL == "" {
		view.Form = hookFormOf(view.Endpoint)
	}

	view.At = v.Query("cursor")
	page := ship.Page{Limit: site.PageSize}
	if id, ok := ship.ParseAttemptID(view.At); ok {
		page.Before = id.Raw()
	}
	list, more, err := v.Webhook.Deliveries(v.Context(), v.Tenant(), view.ID, page)
	if err != nil {
		return err
	}
	view.Deliveries = list
	if more {
		view.Next = v.To("webhooks", string(view.ID)) + "?cursor=" + string(list[len(list)-1].ID)
	}
	return v.Show(status, webhookPage(v.Frame("Webhook", "webhooks"), view))
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
func changeWebhook(v *site.Visit) error {
	page, err := hookOf(v)
	if err != nil {
		return err
	}

	tenant := v.Tenant()
	action := v.Form("do")
	ctx := v.Audited("webhook."+hookDone[action], "", nil)
	back := v.To("webhooks", string(page.ID))
	done := "saved"
	switch action {
	case "test":
		return tryHook(v, page)

	case "rotate":
		ctx := v.Audited("webhook.secret_rotated", "", nil)
		if page.Endpoint, err = v.Webhook.RotateSecret(ctx, tenant, page.ID); err != nil {
			return err
		}
		return showHook(v, http.StatusOK, page) // a redirect would lose the new secret

	case "save":
		page.Form = readHookForm(v)
		_, err = v.Webhook.Update(ctx, tenant, page.ID, page.Form.settings())
		if found, fixable := site.ProblemsOf(err); fixable {
			page.Form.Wrong = found
			return showHook(v, http.StatusUnprocessableEntity, page)
		}

	case "enable", "disable":
		_, err = v.Webhook.Update(ctx, tenant, page.ID, webhook.Settings{Enabled: new(action == "enable")})

	case "recover":
		_, err = v.Webhook.Recover(ctx, tenant, page.ID, time.Now().Add(-hours(v.Form("hours"))))
		done = "recovering"

	case "delete":
		err = v.Webhook.Delete(ctx, tenant, page.ID)
		back = v.To("webhooks")
		done = "deleted"

	default:
		return site.ErrNoPage
	}
	if err != nil {
		return err
	}
	return v.Redirect(back, done)
}

// hours parses how far back to recover events. It is a day if the number is
// missing, invalid or more than 30 days.
func hours(text string) time.Duration {
	n := parts.ParseNumber(text)
	if n <= 0 || n > 24*30 {
		n = 24
	}
	return time.Duration(n * float64(time.Hour))
}

// tryHook sends a test event and shows the result.
func tryHook(v *site.Visit, page hookView) error {
	kind := ship.EventKind(v.Form("kind"))
	if !slices.Contains(ship.EventKinds, kind) {
		kind = ship.ShipmentCreated
	}

	attempt, err := v.Webhook.Test(v.Context(), v.Tenant(), page.ID, kind)
	if found, fixable := site.ProblemsOf(err); fixable {
		page.Problem = found.All
		return showHook(v, http.StatusUnprocessableEntity, page)
	}
	if err != nil {
		return err
	}
	page.Tried = &attempt
	return showHook(v, http.StatusOK, page)
}

var hookLine = site.Line[webhook.Endpoint]{
	ID:   func(e webhook.Endpoint) string { return string(e.ID) },
	Text: func(e webhook.Endpoint) string { return e.URL + " " + e.Description },
	State: func(e webhook.Endpoint) string {
		switch {
		case !e.Enabled:
			return "off"
		case e.Parked || e.Failures > 0:
			return "failing"
		}
		return "on"
	},
}

var hookStates = []parts.Choice{
	{Value: "", Title: "All states"},
	{Value: "on", Title: "Working"},
	{Value: "failing", Title: "Failing"},
	{Value: "off", Title: "Off"},
}

// exportWebhooks handles GET /app/{account}/{mode}/webhooks.csv.
func exportWebhooks(v *site.Visit) error {
	list, err := v.Webhook.Endpoints(v.Context(), v.Tenant())
	if err != nil {
		return err
	}

	out := v.ExportCSV("webhooks", "id", "address", "description", "state", "events", "failures", "failing since", "last success")
	for _, endpoint := range site.Matching(v, list, hookLine) {
		word, _ := parts.EndpointState(endpoint)
		out.Row(
			string(endpoint.ID),
			endpoint.URL,
			endpoint.Description,
			word,
			kindLine(endpoint.Kinds),
			strconv.Itoa(endpoint.Failures),
			site.TimeCell(endpoint.FailingSince),
			site.TimeCell(endpoint.LastSuccessAt),
		)
	}
	return nil
}
