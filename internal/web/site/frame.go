package site

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/web/parts"
)

// A Visitor is a person who is signed in, in one of their accounts.
type Visitor struct {
	Actor   member.Actor
	Account ship.Account
}

// SignedIn reports whether anybody is signed in.
func (w Visitor) SignedIn() bool { return w.Account.ID != "" }

// Can reports whether the person's role allows the action, possibly only after a
// step-up.
func (w Visitor) Can(action member.Action) bool { return w.Actor.Can(action) }

// Name returns the person's name, or the email address they sign in with.
func (w Visitor) Name() string { return cmp.Or(w.Actor.Person.Name, w.Actor.Person.Email) }

// A Frame is what surrounds every page: title, navigation, and mode.
type Frame struct {
	Title   string
	Section string // of the navigation
	Live    bool
	Who     Visitor
	Toast   string
	Path    string // of the request
	Base    string // address of the service, for examples

	Attention shipping.Attention // counts of what needs a person's attention
}

// Mode returns the mode in addresses: "test" or "live".
func (f Frame) Mode() string {
	if f.Live {
		return "live"
	}
	return "test"
}

// tabTitle returns the page's title in the browser's tab. The mode comes first,
// so that even the narrowest tab shows it.
func (f Frame) tabTitle() string {
	if !f.Who.SignedIn() {
		return f.Title + " · Waybill"
	}
	return parts.Plain(f.Mode()) + " · " + f.Title + " · Waybill"
}

// To returns the address of a page in the frame's account and mode.
func (f Frame) To(parts ...string) string { return ModePath(f.Who.Account.ID, f.Live, parts...) }

// Other returns the address of the section in the other mode. A single item
// does not exist there, so it leads to the list; the sandbox exists in test
// mode only.
func (f Frame) Other() string {
	if f.Section == "sandbox" {
		return ModePath(f.Who.Account.ID, !f.Live)
	}
	return f.sectionIn(!f.Live)
}

// Own returns the address of the section in this mode.
func (f Frame) Own() string { return f.sectionIn(f.Live) }

func (f Frame) sectionIn(live bool) string {
	if f.Section == "" { // the overview
		return ModePath(f.Who.Account.ID, live)
	}
	return ModePath(f.Who.Account.ID, live, f.Section)
}

// Frame returns the frame of a page in a section of the navigation.
func (v *Visit) Frame(title, section string) Frame {
	surrounding := Frame{
		Title:   title,
		Section: section,
		Live:    v.Live,
		Who:     v.Who,
		Toast:   toasts[v.Query("done")],
		Path:    v.Request.URL.Path,
		Base:    v.BaseURL,
	}

	// Parts of other pages do not show the counts, and they are queries.
	if !v.IsPart() || section == "" || section == "attention" {
		surrounding.Attention = v.countAttention()
	}
	return surrounding
}

// toasts are the messages that can be shown after a redirect. The address holds
// only the name, so a link from elsewhere cannot put its own text on a page.
var toasts = map[string]string{
	"created":     "Label bought.",
	"pending":     "The carrier has not responded yet; this page updates automatically.",
	"voided":      "Label voided.",
	"voiding":     "The carrier is voiding the label.",
	"handed-over": "Handed over. Print the form for the driver.",
	"advanced":    "Parcel advanced.",
	"uploaded":    "Document uploaded.",

	"nothing-selected": "Select at least one shipment first.",

	"pickup-booked":     "Pickup booked.",
	"pickup-pending":    "The carrier has not confirmed the pickup yet.",
	"pickup-cancelled":  "Pickup cancelled.",
	"resolved":          "Resolved.",
	"return-approved":   "Return approved. The label is being bought.",
	"return-denied":     "Return denied.",
	"purchase-approved": "Approved. The label is being bought.",
	"purchase-denied":   "Denied. Nothing is bought.",
	"missing-decided":   "Decided. It is carried out within seconds.",
	"revoked":           "Key revoked.",
	"terminal-approved": "Terminal approved.",
	"terminal-denied":   "Sign-in denied.",
	"saved":             "Saved.",
	"deleted":           "Deleted.",
	"removed":           "Removed.",
	"erasing":           "The personal data is being erased.",
	"exporting":         "The file is being made. Reload this page in a moment.",
	"redelivered":       "Event resent.",
	"recovering":        "The missed events are being resent.",
	"signed-out":        "You are signed out.",
	"session-ended":     "Session ended.",
	"invited":           "Invitation created.",
	"mail-sent":         "A link is on its way to you by e-mail.",
	"joined":            "Welcome.",
	"connected":         "Single sign-on connected.",
	"rule-saved":        "Saved to the draft.",
	"discarded":         "Draft discarded.",
	"published":         "Published. Applies from the next purchase on.",
	"rolled-back":       "Rolled back. Applies from the next purchase on.",
	"imported":          "Imported. Applies from the next quote on.",
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
	{"end-of-day", "End of day", "clock", "g y", member.ViewShipments},
	{"returns", "Returns", "return", "g t", member.ViewShipments},
	{"approvals", "Approvals", "check", "g v", member.ViewShipments},
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
	{"privacy", "Privacy", "lock", "g p", member.ViewPrivacy},
	{"settings", "Settings", "gear", "g ,", member.ViewSettings},
}

// getIndex handles GET / and GET /app: it leads to the account used last.
func getIndex(v *Visit) error {
	http.Redirect(v.Writer, v.Request, ModePath(v.Who.Account.ID, false), http.StatusSeeOther)
	return nil
}

// redirectBookmark handles GET of an address without an account: it leads to
// the same page of the account used last.
func redirectBookmark(v *Visit) error {
	rest := strings.TrimPrefix(v.Request.URL.RequestURI(), "/app/")
	http.Redirect(v.Writer, v.Request, "/app/"+string(v.Who.Account.ID)+"/"+rest, http.StatusSeeOther)
	return nil
}

// Menu returns the links that the person's role may see and that exist in the
// mode.
func (f Frame) Menu(list []entry) []entry {
	var visible []entry
	for _, link := range list {
		if f.Who.Can(link.Action) && !(f.Live && link.Section == "sandbox") {
			visible = append(visible, link)
		}
	}
	return visible
}

// Count returns the number beside a link of the navigation; empty for none.
func (f Frame) Count(link entry) string {
	switch {
	case link.Section == "attention" && f.Attention.Total() > 0:
		return AttentionCount(f.Attention)
	case link.Section == "approvals" && f.Attention.Approvals > 0:
		return Bounded(f.Attention.Approvals)
	}
	return ""
}

// At returns the address of a link of the navigation.
func (f Frame) At(link entry) string {
	if link.Section == "" {
		return f.To()
	}
	return f.To(link.Section)
}

// countAttention counts what needs attention and the visitor may see. If
// counting fails, the page is shown without the counts.
func (v *Visit) countAttention() shipping.Attention {
	if !v.Who.SignedIn() || !v.Who.Can(member.ViewShipments) {
		return shipping.Attention{}
	}

	counts, err := v.Shipping.Attention(v.Context(), v.Tenant())
	if err != nil {
		v.Log.WarnContext(v.Context(), "could not count what needs attention", "error", err)
	}

	// The count must agree with the list, which leaves these out as well.
	if !v.Who.Can(member.ViewWebhooks) {
		counts.Endpoints = 0
	}
	if !v.Who.Can(member.ViewConnections) {
		counts.Connections = 0
	}
	return counts
}

// AttentionCount formats the number beside the list's name.
func AttentionCount(a shipping.Attention) string { return Bounded(a.Total()) }

// Bounded formats a count that stops at shipping.AttentionLimit: "99+" stands
// for it and more.
func Bounded(n int) string {
	if n >= shipping.AttentionLimit {
		return strconv.Itoa(shipping.AttentionLimit-1) + "+"
	}
	return strconv.Itoa(n)
}

// htmxConfig limits htmx to what the pages' security policy allows: no eval, no
// styles of its own, no history in the browser's storage, and no requests to
// other servers.
const htmxConfig = `{"includeIndicatorStyles":false,"allowEval":false,"allowScriptTags":false,"selfRequestsOnly":true,"historyCacheSize":0,"historyRestoreAsHxRequest":false,` +
	`"responseHandling":[{"code":"204","swap":false},{"code":"[23]..","swap":true},{"code":"422","swap":true},{"code":"[45]..","swap":false,"error":true}]}`
