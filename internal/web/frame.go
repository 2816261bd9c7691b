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

// Can reports whether the person's role allows the action, perhaps after a
// step-up.
func (w visitor) Can(a member.Action) bool { return w.Actor.Can(a) }

// Name is the person's, or the address they sign in with.
func (w visitor) Name() string { return cmp.Or(w.Actor.Person.Name, w.Actor.Person.Email) }

// A frame is what stands around every page.
type frame struct {
	Title   string
	Section string // of the navigation
	Live    bool
	Who     visitor
	Toast   string
	Path    string // behind the mode, so that the switch keeps the page
	Base    string // address of the service, for examples

	Attention shipping.Attention // what waits for a person
}

func (f frame) Mode() string {
	if f.Live {
		return "live"
	}
	return "test"
}

// tabTitle is the page's name in the browser. The mode comes first, so that
// the narrowest tab says it too.
func (f frame) tabTitle() string {
	if !f.Who.signedIn() {
		return f.Title + " · Waybill"
	}
	return plain(f.Mode()) + " · " + f.Title + " · Waybill"
}

// To is the address of a page in the frame's mode.
func (f frame) To(parts ...string) string { return modePath(f.Live, parts...) }

// Other is the same list in the other mode. A single thing is not there, and
// the sandbox is in test mode alone.
func (f frame) Other() string {
	if f.Section == "" || f.Section == "sandbox" {
		return modePath(!f.Live)
	}
	return modePath(!f.Live, f.Section)
}

func (v *visit) frame(title, section string) frame {
	f := frame{Title: title, Section: section, Live: v.live, Who: v.who, Toast: toasts[v.query("done")], Path: v.r.URL.Path, Base: v.BaseURL}
	if !v.isPart() || section == "" || section == "attention" { // other parts do not show it
		f.Attention = v.waiting()
	}
	return f
}

// toasts are what can be said after a redirect. The address holds the name, so
// nobody else can put words there.
var toasts = map[string]string{
	"created":       "Label bought.",
	"pending":       "The carrier has not answered yet; this page follows it.",
	"voided":        "Label voided.",
	"voiding":       "The carrier is voiding the label.",
	"advanced":      "Parcel moved on.",
	"revoked":       "Key revoked.",
	"saved":         "Saved.",
	"deleted":       "Deleted.",
	"removed":       "Removed.",
	"redelivered":   "Sent again.",
	"recovering":    "The missed events are being sent.",
	"signed-out":    "You are signed out.",
	"session-ended": "Session ended.",
	"invited":       "Invitation created.",
	"joined":        "Welcome.",
	"rule-saved":    "Saved in the draft.",
	"discarded":     "Draft discarded.",
	"published":     "Published. Used from the next purchase on.",
	"rolled-back":   "Rolled back. Used from the next purchase on.",
	"imported":      "Imported. Used from the next quote on.",
}

// An entry is a line of the navigation.
type entry struct {
	Section, Title, Icon, Key string
	Action                    member.Action
}

// navigation is the list at the side.
var navigation = []entry{
	{"", "Overview", "home", "g o", member.ViewOverview},
	{"attention", "Needs attention", "alert", "g h", member.ViewShipments},
	{"shipments", "Shipments", "box", "g s", member.ViewShipments},
	{"batches", "Batches", "stack", "g b", member.ViewShipments},
	{"carriers", "Carriers", "truck", "g c", member.ViewConnections},
	{"routing", "Routing", "route", "g r", member.ViewRouting},
}

// developers is the part of it for those who write programs.
var developers = []entry{
	{"webhooks", "Webhooks", "hook", "g w", member.ViewWebhooks},
	{"events", "Events", "pulse", "g e", member.ViewEvents},
	{"requests", "Requests", "forward", "g q", member.ViewRequests},
	{"keys", "API keys", "key", "g k", member.ViewKeys},
	{"sandbox", "Sandbox", "bolt", "g x", member.ControlSandbox},
	{"reference", "API reference", "book", "g d", member.ViewKeys},
}

// settings is the last part of it.
var settings = []entry{
	{"members", "Members", "people", "g m", member.ViewMembers},
	{"audit", "Audit log", "list", "g a", member.ViewAudit},
	{"settings", "Settings", "gear", "g ,", member.ViewSettings},
}

// sentence is text as it stands on a page.
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

// index handles GET / and GET /app.
func (s *Web) index(v *visit) error {
	http.Redirect(v.w, v.r, "/app/test", http.StatusSeeOther)
	return nil
}

// Menu is the part of the list that the person's role may see, and that the
// mode has.
func (f frame) Menu(list []entry) []entry {
	var out []entry
	for _, e := range list {
		if f.Who.Can(e.Action) && !(f.Live && e.Section == "sandbox") {
			out = append(out, e)
		}
	}
	return out
}

// Count is the number on a line of the navigation; empty for none.
func (f frame) Count(e entry) string {
	if e.Section != "attention" || f.Attention.Total() == 0 {
		return ""
	}
	return attentionCount(f.Attention)
}

// At is the address of a line of the navigation.
func (f frame) At(e entry) string {
	if e.Section == "" {
		return f.To()
	}
	return f.To(e.Section)
}
