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
	Secret string // the key that was just made; shown this once
	Made   account.APIKey
	Form   keyForm
}

// keyForm is a key to be made, as it was filled in.
type keyForm struct {
	Name, Networks, Days, Limit string
	Scopes                      []string
	Wrong                       problems
}

// Has reports whether the scope is ticked.
func (f keyForm) Has(scope string) bool { return slices.Contains(f.Scopes, scope) }

var scopeWords = map[string]string{
	"*": "Everything", "rates": "Ask for rates", "shipments:read": "See shipments", "shipments:write": "Buy and void labels", "labels": "Fetch labels",
	"tracking": "Track and follow parcels", "webhooks": "Manage webhooks", "events": "Read the event log", "carriers": "See carriers", "routing": "Change routing rules",
}

var keyLives = []choice{{"", "Never"}, {"30", "In 30 days"}, {"90", "In 90 days"}, {"365", "In a year"}}

// keysOf are the keys of the visit's mode, the newest first.
func (v *visit) keysOf() ([]account.APIKey, error) {
	all, err := v.Account.Keys(v.ctx(), v.who.Account.ID)
	all = slices.DeleteFunc(all, func(k account.APIKey) bool { return k.Tenant.Livemode != v.live })
	slices.Reverse(all)
	return all, err
}

// keys handles GET /app/{mode}/keys.
func (s *Web) keys(v *visit) error {
	list, err := v.keysOf()
	if err != nil {
		return err
	}
	p := keyList{Form: keyForm{Scopes: []string{"*"}}}
	p.List, p.Tools = shorten(v, "keys", list, keyStates, keyLine)
	return v.show(http.StatusOK, keysPage(v.frame("API keys", "keys"), p))
}

// makeKey handles POST /app/{mode}/keys. The key is in this answer and never
// again in another.
func (s *Web) makeKey(v *visit) error {
	form := keyForm{Name: v.form("name"), Networks: v.form("networks"), Days: v.form("days"), Limit: v.form("limit"), Scopes: v.r.PostForm["scope"]}
	in := account.NewKeyInput{Account: v.who.Account.ID, Livemode: v.live, Name: form.Name, Scopes: form.Scopes, DailyLimit: form.Limit}
	form.Scopes = narrowScopes(form.Scopes)
	in.Scopes = form.Scopes
	wrong := form.read(&in)
	var p keyList
	var key ship.Key
	err := ship.InvalidFields(wrong)
	if err == nil {
		key, p.Made, err = s.Account.NewKey(v.audited("key.made", "", map[string]string{"name": form.Name}), in)
	}
	status := http.StatusOK
	if problems, mendable := problemsOf(err); mendable {
		form.Wrong = problems
		p.Form, status = form, http.StatusUnprocessableEntity
	} else if err != nil {
		return err
	} else {
		p.Secret, p.Form = string(key), keyForm{Scopes: []string{"*"}}
	}
	if p.List, err = v.keysOf(); err != nil {
		return err
	}
	return v.show(status, keysPage(v.frame("API keys", "keys"), p))
}

// narrowScopes leaves "Everything" out where single scopes are ticked too: who
// ticks them wants less than everything.
func narrowScopes(ticked []string) []string {
	single := slices.DeleteFunc(slices.Clone(ticked), func(scope string) bool { return scope == "*" })
	if len(single) > 0 {
		return single
	}
	return ticked
}

// read fills in what is more than text.
func (f keyForm) read(in *account.NewKeyInput) (wrong []ship.FieldError) {
	if f.Name == "" {
		wrong = append(wrong, ship.FieldError{Pointer: "/name", Detail: "is required, to tell keys apart"})
	}
	if len(f.Scopes) == 0 { // without one the key would get everything
		wrong = append(wrong, ship.FieldError{Pointer: "/scopes", Detail: "choose what the key may do"})
	}
	for part := range strings.FieldsFuncSeq(f.Networks, func(r rune) bool { return strings.ContainsRune(", \n\r\t;", r) }) {
		network, err := netip.ParsePrefix(part)
		if addr, bad := netip.ParseAddr(part); bad == nil {
			network, err = addr.Prefix(addr.BitLen())
		}
		if err != nil {
			return append(wrong, ship.FieldError{Pointer: "/networks", Detail: "write addresses or networks, as 203.0.113.7 or 203.0.113.0/24"})
		}
		in.Networks = append(in.Networks, network.Masked())
	}
	for _, life := range keyLives[1:] {
		if f.Days == life.Value {
			in.ExpiresAt = time.Now().AddDate(0, 0, int(number(f.Days)))
		}
	}
	return wrong
}

// revokeKey handles POST /app/{mode}/keys/{id}/revoke.
func (s *Web) revokeKey(v *visit) error {
	list, err := v.keysOf()
	if err != nil {
		return err
	}
	id, ok := ship.ParseKeyID(v.r.PathValue("id"))
	if !ok || !slices.ContainsFunc(list, func(k account.APIKey) bool { return k.ID == id }) {
		return ship.Errorf(ship.NotFound, "no such key")
	}
	if err := s.Account.Revoke(v.audited("key.revoked", "", nil), id); err != nil {
		return err
	}
	return v.redirect(v.to("keys"), "revoked")
}
