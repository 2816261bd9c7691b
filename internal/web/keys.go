package web

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/ship"
)

// keyList is the page of API keys.
type keyList struct {
	List   []account.APIKey
	Tools  shortList
	Secret string // the key that was just created; shown only once
	Made   account.APIKey
	Form   keyForm
}

// keyForm is a key to create, as it was filled in.
type keyForm struct {
	Name, Networks, Days, Limit string
	Scopes                      []string
	Wrong                       problems
}

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
}

// keyLives are the times after which a key can expire, in days.
var keyLives = []choice{
	{"", "Never"},
	{"30", "In 30 days"},
	{"90", "In 90 days"},
	{"365", "In a year"},
}

// keysOf are the keys of the visit's mode, the newest first.
func (v *visit) keysOf() ([]account.APIKey, error) {
	list, err := v.Account.Keys(v.ctx(), v.who.Account.ID)
	list = slices.DeleteFunc(list, func(key account.APIKey) bool { return key.Tenant.Livemode != v.live })
	slices.Reverse(list)
	return list, err
}

// keys handles GET /app/{account}/{mode}/keys.
func (s *Web) keys(v *visit) error {
	list, err := v.keysOf()
	if err != nil {
		return err
	}
	page := keyList{Form: keyForm{Scopes: []string{"*"}}}
	page.List, page.Tools = shorten(v, "keys", list, keyStates, keyLine)
	return v.show(http.StatusOK, keysPage(v.frame("API keys", "keys"), page))
}

// makeKey handles POST /app/{account}/{mode}/keys. The key is shown in this
// answer and never again.
func (s *Web) makeKey(v *visit) error {
	form := keyForm{
		Name:     v.form("name"),
		Networks: v.form("networks"),
		Days:     v.form("days"),
		Limit:    v.form("limit"),
	}
	form.Scopes = narrowScopes(v.r.PostForm["scope"])
	in := account.NewKeyInput{
		Account:    v.who.Account.ID,
		Livemode:   v.live,
		Name:       form.Name,
		Scopes:     form.Scopes,
		DailyLimit: form.Limit,
	}

	var page keyList
	var key ship.Key
	err := ship.InvalidFields(form.parseInto(&in))
	if err == nil {
		ctx := v.audited("key.made", "", map[string]string{"name": form.Name})
		key, page.Made, err = s.Account.NewKey(ctx, in)
	}

	status := http.StatusOK
	switch invalid, fixable := problemsOf(err); {
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

	if page.List, err = v.keysOf(); err != nil {
		return err
	}
	return v.show(status, keysPage(v.frame("API keys", "keys"), page))
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

// parseInto parses the networks and the expiry of the form, and returns what is
// wrong with the form.
func (f keyForm) parseInto(in *account.NewKeyInput) (invalid []ship.FieldError) {
	if f.Name == "" {
		invalid = append(invalid, ship.FieldError{Pointer: "/name", Detail: "is required to identify the key"})
	}
	if len(f.Scopes) == 0 { // without one the key would get everything
		invalid = append(invalid, ship.FieldError{Pointer: "/scopes", Detail: "choose at least one permission"})
	}

	isSeparator := func(r rune) bool { return strings.ContainsRune(", \n\r\t;", r) }
	for part := range strings.FieldsFuncSeq(f.Networks, isSeparator) {
		network, err := netip.ParsePrefix(part)
		if address, notAddress := netip.ParseAddr(part); notAddress == nil {
			network, err = address.Prefix(address.BitLen())
		}
		if err != nil {
			return append(invalid, ship.FieldError{Pointer: "/networks", Detail: "must be IP addresses or networks, such as 203.0.113.7 or 203.0.113.0/24"})
		}
		in.Networks = append(in.Networks, network.Masked())
	}

	for _, life := range keyLives[1:] {
		if f.Days == life.Value {
			in.ExpiresAt = time.Now().AddDate(0, 0, int(number(f.Days)))
		}
	}
	return invalid
}

// revokeKey handles POST /app/{account}/{mode}/keys/{id}/revoke.
func (s *Web) revokeKey(v *visit) error {
	list, err := v.keysOf()
	if err != nil {
		return err
	}

	// Revoke takes any id, so the key must be one of this account and mode.
	id, ok := ship.ParseKeyID(v.r.PathValue("id"))
	if !ok || !slices.ContainsFunc(list, func(key account.APIKey) bool { return key.ID == id }) {
		return ship.Errorf(ship.NotFound, "no such key")
	}

	if err := s.Account.Revoke(v.audited("key.revoked", "", nil), id); err != nil {
		return err
	}
	return v.redirect(v.to("keys"), "revoked")
}
