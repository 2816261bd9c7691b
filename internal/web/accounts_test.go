package web

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/web/site"
)

// join makes the person of the role in the bench's account a member of another
// account.
func (b *bench) join(who member.Role, account ship.AccountID, as member.Role) {
	b.Helper()
	actor, err := b.web.Member.Authenticate(b.Context(), b.tokens[who], member.Origin{})
	b.must(err)
	b.must(b.store.AddMember(b.Context(), account, actor.Person.ID, string(as), time.Now()))
}

// bought counts the shipments of an account in test mode.
func (b *bench) bought(account ship.AccountID) int {
	b.Helper()
	list, _, err := b.web.Shipping.Shipments(b.Context(), ship.Tenant{Account: account}, shipping.Filter{Page: ship.Page{Limit: 100}})
	b.must(err)
	return len(list)
}

var newShipmentForm = regexp.MustCompile(`<form id="new"[^>]* action="([^"]+)"`)

func TestAFormIsSentToTheAccountOfItsPage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other := b.account("Elsewhere")
	b.join(member.Owner, other.ID, member.Owner)

	// One tab shows the first account's form while another tab shows the second
	// account.
	page := b.send(member.Owner, b.home+"/shipments/new", nil).Body.String()
	action := newShipmentForm.FindStringSubmatch(page)
	if action == nil {
		t.Fatalf("the page has no form: %s", page)
	}
	there := b.send(member.Owner, site.ModePath(other.ID, false)+"/shipments", nil)
	if there.Code != http.StatusOK || !strings.Contains(there.Body.String(), "Elsewhere") {
		t.Fatalf("the other account: %d", there.Code)
	}

	w := b.send(member.Owner, action[1], addressForm())
	if w.Code != http.StatusSeeOther || !strings.HasPrefix(w.Header().Get("Location"), b.home+"/shipments/shp_") {
		t.Fatalf("the form: %d to %q: %s", w.Code, w.Header().Get("Location"), w.Body)
	}
	if here, there := b.bought(b.owner.ID), b.bought(other.ID); here != 1 || there != 0 {
		t.Errorf("%d shipments in the account of the form and %d in the other, want 1 and 0", here, there)
	}
}

func TestAFormThatIsKeptReturnsToItsAccount(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other := b.account("Elsewhere")
	b.join(member.Owner, other.ID, member.Owner)
	b.stale()

	confirm := b.send(member.Owner, b.home+"/keys", form("name", "of the first", "scope", "rates"))
	if w := b.send(member.Owner, site.ModePath(other.ID, false), nil); w.Code != http.StatusOK {
		t.Fatalf("the other account: %d", w.Code)
	}
	done := b.send(member.Owner, "/app/confirm", form("password", testPassword, "held", heldOn(t, confirm.Body.String())))
	if done.Code != http.StatusOK || !strings.Contains(done.Body.String(), "Northwind Supply") {
		t.Errorf("after the step-up: %d %s", done.Code, done.Body)
	}
	for account, want := range map[ship.AccountID]int{b.owner.ID: 1, other.ID: 0} {
		if keys, err := b.web.Account.Keys(t.Context(), account); err != nil || len(keys) != want {
			t.Errorf("%d keys in %s, want %d: %v", len(keys), account, want, err)
		}
	}
}

func TestTheAccountOfAnotherIsAnAccountThatDoesNotExist(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	stranger := b.account("Elsewhere")
	requestID := regexp.MustCompile(`req_\w+`)

	checked := 0
	for _, r := range rows {
		if !strings.Contains(r.route, "{account}") {
			continue
		}
		checked++
		for _, role := range []member.Role{member.Owner, member.Viewer} {
			var pages []string
			for _, id := range []ship.AccountID{stranger.ID, ship.NewAccountID(0, time.Now()), "acct_1", "nothing"} {
				w := b.send(role, r.path(id, nil), r.form)
				if w.Code != http.StatusNotFound {
					t.Errorf("%s of %s as %s: %d", r.route, id, role, w.Code)
				}
				pages = append(pages, requestID.ReplaceAllString(w.Body.String(), "req"))
			}
			for _, page := range pages[1:] {
				if page != pages[0] {
					t.Errorf("%s: the page of another's account is not the one of no account:\n%s\n%s", r.route, pages[0], page)
				}
			}
		}
	}
	if checked < 80 {
		t.Errorf("%d routes have an account", checked)
	}

	// An event stream answers with a status after which the browser does not
	// reconnect.
	if w := b.send(member.Owner, site.ModePath(stranger.ID, false)+"/live", nil); w.Code != http.StatusNoContent {
		t.Errorf("the stream: %d", w.Code)
	}
}

func TestTheRoleInTheAccountOfTheAddressDecides(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other := b.account("Elsewhere")
	b.join(member.Owner, other.ID, member.Viewer)

	for _, tc := range []struct {
		home string
		path string
		form url.Values
		want int
	}{
		{b.home, "/keys", nil, http.StatusOK},
		{site.ModePath(other.ID, false), "/keys", nil, http.StatusForbidden},
		{b.home, "/shipments", addressForm(), http.StatusSeeOther},
		{site.ModePath(other.ID, false), "/shipments", addressForm(), http.StatusForbidden},
		{site.ModePath(other.ID, true), "/shipments", addressForm(), http.StatusForbidden},
		{site.ModePath(other.ID, false), "/shipments", nil, http.StatusOK},
	} {
		if w := b.send(member.Owner, tc.home+tc.path, tc.form); w.Code != tc.want {
			t.Errorf("%s%s: %d, want %d", tc.home, tc.path, w.Code, tc.want)
		}
	}
	if n := b.bought(other.ID); n != 0 {
		t.Errorf("a viewer bought %d labels", n)
	}
}

func TestAddressesWithoutAnAccountLeadToTheOneUsedLast(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other := b.account("Elsewhere")
	b.join(member.Owner, other.ID, member.Owner)

	for _, account := range []ship.AccountID{other.ID, b.owner.ID} {
		b.send(member.Owner, site.ModePath(account, false), nil)
		for path, want := range map[string]string{
			"/":                                 site.ModePath(account, false),
			"/app":                              site.ModePath(account, false),
			"/app/test":                         site.ModePath(account, false),
			"/app/live":                         site.ModePath(account, true),
			"/app/live/shipments":               site.ModePath(account, true) + "/shipments",
			"/app/test/shipments?to=a%2Fb&x=1":  site.ModePath(account, false) + "/shipments?to=a%2Fb&x=1",
			"/app/test/rate-sheets/a%2Fb/x.csv": site.ModePath(account, false) + "/rate-sheets/a%2Fb/x.csv",
		} {
			if w := b.send(member.Owner, path, nil); w.Code != http.StatusSeeOther || w.Header().Get("Location") != want {
				t.Errorf("%s: %d to %q, want %q", path, w.Code, w.Header().Get("Location"), want)
			}
		}
	}

	for _, path := range []string{"/app/test", "/app/test/shipments", "/app/live/shipments", "/app/live/keys", "/app/test/batches/x/rows/1"} {
		if w := b.send(member.Owner, path, addressForm()); w.Code != http.StatusNotFound {
			t.Errorf("POST %s: %d, want 404", path, w.Code)
		}
	}
	if w := b.send(member.Owner, strings.TrimSuffix(b.home, "test")+"other/shipments", nil); w.Code != http.StatusNotFound {
		t.Errorf("a mode that does not exist: %d", w.Code)
	}
	if n := b.bought(b.owner.ID) + b.bought(other.ID); n != 0 {
		t.Errorf("%d labels were bought", n)
	}
}

func TestTheProfileLinksToTheOtherAccounts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other := b.account("Elsewhere")
	b.join(member.Owner, other.ID, member.Owner)

	for home, link := range map[string]string{b.home: site.ModePath(other.ID, false), b.liveHome: site.ModePath(other.ID, true)} {
		page := b.send(member.Owner, home+"/you", nil).Body.String()
		if !strings.Contains(page, `href="`+link+`"`) {
			t.Errorf("%s/you has no link to %s", home, link)
		}
	}
}
