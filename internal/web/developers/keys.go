package developers

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// keyList is the page of API keys.
type keyList struct {
	List   []account.APIKey
	Tools  site.ShortList
	Secret string // the key that was just created; shown only once
	Made   account.APIKey
	Form   keyForm
}

// keyForm is a key to create, as it was filled in.
type keyForm struct {
	Name, Networks, Days string
	Scopes               []string
	Limit                string // a day
	MaxPerPurchase       string
	ApprovalAbove        string
	Countries            string
	Wrong                site.Problems
}

// keyFormOf reads the form that keyFields shows.
func keyFormOf(v *site.Visit) keyForm {
	return keyForm{
		Name:           v.Form("name"),
		Networks:       v.Form("networks"),
		Days:           v.Form("days"),
		Scopes:         narrowScopes(v.Request.PostForm["scope"]),
		Limit:          v.Form("limit"),
		MaxPerPurchase: v.Form("maxPerPurchase"),
		ApprovalAbove:  v.Form("approvalAbove"),
		Countries:      v.Form("countries"),
	}
}

// limits are those of the key, as they were filled in.
func (f keyForm) limits() account.KeyLimits {
	return account.KeyLimits{
		DailyLimit:       f.Limit,
		MaxPerPurchase:   f.MaxPerPurchase,
		ApprovalAbove:    f.ApprovalAbove,
		AllowedCountries: strings.FieldsFunc(f.Countries, isSeparator),
	}
}

// isSeparator reports whether the character separates the items of a list that a
// person typed.
func isSeparator(r rune) bool { return strings.ContainsRune(", \n\r\t;", r) }

// Has reports whether the scope is selected.
func (f keyForm) Has(scope string) bool { return slices.Contains(f.Scopes, scope) }

var scopeWords = map[string]string{
	"*":               "Everything",
	"rates":           "Get rates",
	"shipments:read":  "View shipments",
	"shipments:write": "Buy and void labels",
	"labels":          "Download labels",
	"tracking":        "Track parcels",
	"webhooks":        "Manage webhooks",
	"events":          "Read events",
	"carriers":        "View carriers",
	"routing":         "Manage routing rules",
	"locations":       "Manage ship-from locations",
	"requests":        "Read the request log",
	"privacy":         "Erase and export personal data",
}

// keyLives are the times after which a key can expire, in days.
var keyLives = []parts.Choice{
	{Value: "", Title: "Never"},
	{Value: "30", Title: "In 30 days"},
	{Value: "90", Title: "In 90 days"},
	{Value: "365", Title: "In a year"},
}

// keysOf returns the keys of the visit's mode, the newest first.
func keysOf(v *site.Visit) ([]account.APIKey, error) {
	list, err := v.Account.Keys(v.Context(), v.Who.Account.ID)
	list = slices.DeleteFunc(list, func(key account.APIKey) bool { return key.Tenant.Livemode != v.Live })
	slices.Reverse(list)
	return list, err
}

// listKeys handles GET /app/{account}/{mode}/keys.
func listKeys(v *site.Visit) error {
	list, err := keysOf(v)
	if err != nil {
		return err
	}
	page := keyList{Form: keyForm{Scopes: []string{"*"}}}
	page.List, page.Tools = site.Shorten(v, "keys", list, keyStates, keyLine)
	return v.Show(http.StatusOK, keysPage(v.Frame("API keys", "keys"), page))
}

// makeKey handles POST /app/{account}/{mode}/keys. The key is shown in this
// answer and never again.
func makeKey(v *site.Visit) error {
	form := keyFormOf(v)
	in := account.NewKeyInput{
		Account:   v.Who.Account.ID,
		Livemode:  v.Live,
		Name:      form.Name,
		Scopes:    form.Scopes,
		KeyLimits: form.limits(),
	}

	var page keyList
	var key ship.Key
	err := ship.InvalidFields(form.parseInto(&in, v.Who.Account.Currency))
	if err == nil {
		ctx := v.Audited("key.made", "", map[string]string{"name": form.Name})
		key, page.Made, err = v.Account.NewKey(ctx, in)
	}

	status := http.StatusOK
	switch invalid, fixable := site.ProblemsOf(err); {
	case fixable:
		page.Form = form
		page.Form.Wrong = invalid
		status = http.StatusUnprocessableEntity
	case err != nil:
		return err
	default:
		page.Secret = string(key)
		page.Form = keyForm{Scopes: []string{"*"}}
	}

	list, err := keysOf(v)
	if err != nil {
		return err
	}
	page.List, page.Tools = site.Shorten(v, "keys", list, keyStates, keyLine)
	return v.Show(status, keysPage(v.Frame("API keys", "keys"), page))
}

// narrowScopes drops "Everything" if single scopes are selected as well: a
// person who selects them wants less than everything.
func narrowScopes(selected []string) []string {
	single := slices.DeleteFunc(slices.Clone(selected), func(scope string) bool { return scope == "*" })
	if len(single) > 0 {
		return single
	}
	return selected
}

// parseInto parses the networks and the expiry of the form, and returns everything
// that is wrong with the form, so a person corrects it once.
func (f keyForm) parseInto(in *account.NewKeyInput, currency string) (invalid []ship.FieldError) {
	if f.Name == "" {
		invalid = append(invalid, ship.FieldError{Pointer: "/name", Detail: "is required to identify the key"})
	}
	if len(f.Scopes) == 0 { // without one the key would get everything
		invalid = append(invalid, ship.FieldError{Pointer: "/scopes", Detail: "choose at least one permission"})
	}

	for part := range strings.FieldsFuncSeq(f.Networks, isSeparator) {
		network, err := netip.ParsePrefix(part)
		if address, notAddress := netip.ParseAddr(part); notAddress == nil {
			network, err = address.Prefix(address.BitLen())
		}
		if err != nil {
			invalid = append(invalid, ship.FieldError{Pointer: "/networks", Detail: "must be IP addresses or networks, such as 203.0.113.7 or 203.0.113.0/24"})
			break
		}
		in.Networks = append(in.Networks, network.Masked())
	}

	for _, life := range keyLives[1:] {
		if f.Days == life.Value {
			in.ExpiresAt = time.Now().AddDate(0, 0, int(parts.ParseNumber(f.Days)))
		}
	}
	return append(invalid, in.Check(in.Livemode, currency)...)
}

// revokeKey handles POST /app/{account}/{mode}/keys/{id}/revoke.
func revokeKey(v *site.Visit) error {
	list, err := keysOf(v)
	if err != nil {
		return err
	}

	// Revoke takes any id, so the key must be one of this account and mode.
	id, ok := ship.ParseKeyID(v.Request.PathValue("id"))
	if !ok || !slices.ContainsFunc(list, func(key account.APIKey) bool { return key.ID == id }) {
		return ship.Errorf(ship.NotFound, "no such key")
	}

	if err := v.Account.Revoke(v.Audited("key.revoked", "", nil), id); err != nil {
		return err
	}
	return v.Redirect(v.To("keys"), "revoked")
}

var keyLine = site.Line[account.APIKey]{
	ID: func(k account.APIKey) string { return string(k.ID) },
	Text: func(k account.APIKey) string {
		return k.Name + " " + k.Hint + " " + strings.Join(k.Scopes, " ") + " " + scopeLine(k.Scopes)
	},
	State: func(k account.APIKey) string {
		if !k.RevokedAt.IsZero() || !k.ExpiresAt.IsZero() && k.ExpiresAt.Before(time.Now()) {
			return "ended"
		}
		return "on"
	},
}

var keyStates = []parts.Choice{{Value: "", Title: "All keys"}, {Value: "on", Title: "Active"}, {Value: "ended", Title: "Expired or revoked"}}

// exportKeys handles GET /app/{account}/{mode}/keys.csv. It holds no key, only
// hints.
func exportKeys(v *site.Visit) error {
	list, err := keysOf(v)
	if err != nil {
		return err
	}

	out := v.ExportCSV("keys", "id", "name", "hint", "permissions", "allowed addresses", "daily limit", "limit per label", "approval above", "allowed countries", "created", "last used", "expires", "revoked")
	for _, key := range site.Matching(v, list, keyLine) {
		out.Row(
			string(key.ID),
			key.Name,
			key.Hint,
			strings.Join(key.Scopes, " "),
			networkLine(key),
			key.Limits.Daily.String(),
			key.Limits.PerPurchase.String(),
			key.Limits.ApprovalAbove.String(),
			strings.Join(key.Limits.Countries, " "),
			site.TimeCell(key.CreatedAt),
			site.TimeCell(key.LastUsedAt),
			site.TimeCell(key.ExpiresAt),
			site.TimeCell(key.RevokedAt),
		)
	}
	return nil
}
