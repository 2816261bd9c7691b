package web

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
)

// A visitor is a person who is signed in, in one of their accounts.
type visitor struct {
	Actor   member.Actor
	Account ship.Account
}

func (w visitor) signedIn() bool { return w.Account.ID != "" }

// Can reports whether the person's role allows the action, possibly only after a
// step-up.
func (w visitor) Can(action member.Action) bool { return w.Actor.Can(action) }

// Name is the person's name, or the email address they sign in with.
func (w visitor) Name() string { return cmp.Or(w.Actor.Person.Name, w.Actor.Person.Email) }

// A frame is what surrounds every page: title, navigation, and mode.
type frame struct {
	Title   string
	Section string // of the navigation
	Live    bool
	Who     visitor
	Toast   string
	Path    string // of the request
	Base    string // address of the service, for examples

	Attention shipping.Attention // counts of what needs a person's attention
}

func (f frame) Mode() string {
	if f.Live {
		return "live"
	}
	return "test"
}

// tabTitle is the page's title in the browser's tab. The mode comes first, so
// that even the narrowest tab shows it.
func (f frame) tabTitle() string {
	if !f.Who.signedIn() {
		return f.Title + " · Waybill"
	}
	return plain(f.Mode()) + " · " + f.Title + " · Waybill"
}

// To is the address of a page in the frame's account and mode.
func (f frame) To(parts ...string) string { return modePath(f.Who.Account.ID, f.Live, parts...) }

// Other is the address of the section in the other mode. A single item does not
// exist there, so it leads to the list; the sandbox exists in test mode only.
func (f frame) Other() string {
	if f.Section == "" || f.Section == "sandbox" {
		return modePath(f.Who.Account.ID, !f.Live)
	}
	return modePath(f.Who.Account.ID, !f.Live, f.Section)
}

func (v *visit) frame(title, section string) frame {
	surrounding := frame{
		Title:   title,
		Section: section,
		Live:    v.live,
		Who:     v.who,
		Toast:   toasts[v.query("done")],
		Path:    v.r.URL.Path,
		Base:    v.BaseURL,
	}

	// Parts of other pages do not show the counts, and they are queries.
	if !v.isPart() || section == "" || section == "attention" {
		surrounding.Attention = v.countAttention()
	}
	return surrounding
}

// toasts are the messages that can be shown after a redirect. The address holds
// only the name, so a link from elsewhere cannot put its own text on a page.
var toasts = map[string]string{
	"created":       "Label bought.",
	"pending":       "The carrier has not responded yet; this page updates automatically.",
	"voided":        "Label voided.",
	"voiding":       "The carrier is voiding the label.",
	"advanced":      "Parcel advanced.",
	"revoked":       "Key revoked.",
	"saved":         "Saved.",
	"deleted":       "Deleted.",
	"removed":       "Removed.",
	"redelivered":   "Event resent.",
	"recovering":    "The missed events are being resent.",
	"signed-out":    "You are signed out.",
	"session-ended": "Session ended.",
	"invited":       "Invitation created.",
	"joined":        "Welcome.",
	"rule-saved":    "Saved to the draft.",
	"discarded":     "Draft discarded.",
	"published":     "Published. Applies from the next purchase on.",
	"rolled-back":   "Rolled back. Applies from the next purchase on.",
	"imported":      "Imported. Applies from the next quote on.",
}

// An entry is a link of the navigation.
type entry struct {
	Section, Title, Icon, Key string
	Action                    member.Action
}

// navigation is the main part of the sidebar.
var navigation = []entry{
	{"", "Overview", "home", "g o", member.ViewOverview},
	{"attention", "Needs attention", "alert", "g h", member.ViewShipments},
	{"shipments", "Shipments", "box", "g s", member.ViewShipments},
	{"batches", "Batches", "stack", "g b", member.ViewShipments},
	{"carriers", "Carriers", "truck", "g c", member.ViewConnections},
	{"routing", "Routing", "route", "g r", member.ViewRouting},
}

// developers is the part of the sidebar for developers.
var developers = []entry{
	{"webhooks", "Webhooks", "hook", "g w", member.ViewWebhooks},
	{"events", "Events", "pulse", "g e", member.ViewEvents},
	{"requests", "Requests", "forward", "g q", member.ViewRequests},
	{"keys", "API keys", "key", "g k", member.ViewKeys},
	{"sandbox", "Sandbox", "bolt", "g x", member.ControlSandbox},
	{"reference", "API reference", "book", "g d", member.ViewKeys},
}

// settings is the last part of the sidebar.
var settings = []entry{
	{"members", "Members", "people", "g m", member.ViewMembers},
	{"audit", "Audit log", "list", "g a", member.ViewAudit},
	{"settings", "Settings", "gear", "g ,", member.ViewSettings},
}

// sentence capitalizes a text and ends it with a full stop.
func sentence(s string) string {
	if s == "" {
		return ""
	}

	s = strings.ToUpper(s[:1]) + s[1:]
	if !strings.ContainsAny(s[len(s)-1:], ".?!") {
		s += "."
	}
	return s
}

// index handles GET / and GET /app: it leads to the account used last.
func (s *Web) index(v *visit) error {
	http.Redirect(v.w, v.r, modePath(v.who.Account.ID, false), http.StatusSeeOther)
	return nil
}

// bookmark handles GET of an address without an account: it leads to the same
// page of the account used last.
func (s *Web) bookmark(v *visit) error {
	rest := strings.TrimPrefix(v.r.URL.RequestURI(), "/app/")
	http.Redirect(v.w, v.r, "/app/"+string(v.who.Account.ID)+"/"+rest, http.StatusSeeOther)
	return nil
}

// Menu returns the links that the person's role may see and that exist in the
// mode.
func (f frame) Menu(list []entry) []entry {
	var visible []entry
	for _, link := range list {
		if f.Who.Can(link.Action) && !(f.Live && link.Section == "sandbox") {
			visible = append(visible, link)
		}
	}
	return visible
}

// Count is the number beside a link of the navigation; empty for none.
func (f frame) Count(link entry) string {
	if link.Section != "attention" || f.Attention.Total() == 0 {
		return ""
	}
	return attentionCount(f.Attention)
}

// At is the address of a link of the navigation.
func (f frame) At(link entry) string {
	if link.Section == "" {
		return f.To()
	}
	return f.To(link.Section)
}
