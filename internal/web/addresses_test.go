package web

import (
	"context"
	"errors"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/member/oidctest"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/site"
)

const (
	victim         = "victim@corp.example"
	thiefsPassword = "chosen by the inviter"
	ownPassword    = "chosen by the victim"
)

// withMembers gives the dashboard a service of people with further settings,
// over the same database.
func (b *bench) withMembers(change func(*member.Config)) {
	b.Helper()
	c := member.Config{
		Store:       b.store,
		Box:         b.web.Box,
		BaseURL:     testBase,
		Log:         b.web.Log,
		CheapHashes: true,
	}
	change(&c)
	service, err := member.New(c)
	b.must(err)
	b.web.Member = service
}

// A mailbox has what the dashboard mails.
type mailbox struct {
	mu    sync.Mutex
	texts map[string][]string // by recipient
	fails bool
}

func (m *mailbox) send(_ context.Context, to []string, subject, text string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fails {
		return errors.New("451 try again later")
	}
	for _, address := range to {
		m.texts[address] = append(m.texts[address], subject+"\n\n"+text)
	}
	return nil
}

// withMail has the dashboard send mail.
func (b *bench) withMail() *mailbox {
	b.Helper()
	m := &mailbox{texts: map[string][]string{}}
	b.withMembers(func(c *member.Config) { c.Mail = m.send })
	return m
}

var linkPath = regexp.MustCompile(`/app/(?:invite|reset)/[\w-]+`)

// link returns the path of the link in the last message to the address.
func (m *mailbox) link(to string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	texts := m.texts[to]
	if len(texts) == 0 {
		return ""
	}
	return linkPath.FindString(texts[len(texts)-1])
}

// invite has an owner invite the address on the page of the members, and
// returns the path of the link that the page shows; "" if it shows none.
func (b *browser) invite(account ship.AccountID, email string) string {
	b.Helper()
	w := b.open(site.ModePath(account, false)+"/members", form("email", email, "role", "owner"))
	if w.Code != http.StatusOK {
		b.Fatalf("invite %s: %d %s", email, w.Code, w.Body)
	}
	return linkPath.FindString(w.Body.String())
}

// accept answers the form of an invitation, and returns the status.
func (b *browser) accept(link, password string) int {
	return b.open(link, form("name", "Victoria", "password", password)).Code
}

// reset sets a password with a link.
func (b *browser) reset(link, password string) {
	b.Helper()
	if w := b.open(link, form("password", password)); w.Code != http.StatusSeeOther {
		b.Fatalf("set a password: %d %s", w.Code, w.Body)
	}
}

// reaches reports whether the browser opens pages of the account.
func (b *browser) reaches(account ship.AccountID) bool {
	return b.open(site.ModePath(account, false)+"/shipments", nil).Code == http.StatusOK
}

// pathOf returns the path of a link.
func pathOf(link string) string { return strings.TrimPrefix(link, testBase) }

// takeover is an account whose owner has invited the victim and accepted in
// their name, and another account.
type takeover struct {
	*bench
	thief *browser // signed in under the victim's address
	other ship.AccountID
	boss  *browser // the owner of the other account
}

func newTakeover(t *testing.T) takeover {
	t.Helper()
	b := newBench(t)
	inviter := b.browser()
	if !inviter.signIn("dana@example.com", testPassword) {
		t.Fatal("the inviter does not sign in")
	}
	thief := b.browser()
	if code := thief.accept(inviter.invite(b.owner.ID, victim), thiefsPassword); code != http.StatusSeeOther || !thief.reaches(b.owner.ID) {
		t.Fatalf("the inviter accepts in the name of the victim: %d", code)
	}

	other := b.account("Corp").ID
	link, err := b.web.Member.AddMember(t.Context(), member.Operator(other), member.AddMemberInput{Email: "boss@corp.example", Role: member.Owner})
	b.must(err)
	boss := b.browser()
	boss.reset(pathOf(link), testPassword)
	if !boss.signIn("boss@corp.example", testPassword) || !boss.reaches(other) {
		t.Fatal("the owner of the other account does not sign in")
	}
	return takeover{bench: b, thief: thief, other: other, boss: boss}
}

// wantNoAccess fails if the thief reaches the other account, with the session
// they had or with the password that they set.
func (a takeover) wantNoAccess(when string) {
	a.Helper()
	again := a.browser()
	again.signIn(victim, thiefsPassword)
	for name, browser := range map[string]*browser{"session": a.thief, "password": again} {
		if browser.reaches(a.other) {
			a.Errorf("%s, the inviter's %s opens the other account", when, name)
		}
	}
}

// wantReplaced fails unless the victim, in this browser, has the other account,
// and the thief has nothing left.
func (a takeover) wantReplaced(by *browser) {
	a.Helper()
	if !by.reaches(a.other) {
		a.Error("the victim does not reach the account that they joined")
	}
	a.wantNoAccess("after the victim proved the address")
	if a.thief.reaches(a.owner.ID) || a.browser().signIn(victim, thiefsPassword) {
		a.Error("the inviter still signs in as the victim")
	}
}

func TestAnInviterGainsNoAccountThatTheInvitedIsAddedTo(t *testing.T) {
	t.Parallel()
	a := newTakeover(t)
	link, err := a.web.Member.AddMember(t.Context(), member.Operator(a.other), member.AddMemberInput{Email: victim, Role: member.Owner})
	a.must(err)
	a.wantNoAccess("added by the operator")

	own := a.browser()
	own.reset(pathOf(link), ownPassword)
	if !own.signIn(victim, ownPassword) {
		t.Fatal("the victim does not sign in with the password they set")
	}
	a.wantReplaced(own)
}

func TestAnInviterGainsNoAccountThatTheInvitedIsInvitedTo(t *testing.T) {
	t.Parallel()
	a := newTakeover(t)
	link := a.boss.invite(a.other, victim)

	// Suppose the thief has the link, too.
	page := a.thief.open(link, nil).Body.String()
	if strings.Contains(page, "<form method=\"post\" action=\"/app/invite/") || !strings.Contains(page, "waybill member reset") {
		t.Errorf("the page offers to join: %s", page)
	}
	if w := a.thief.open(link, form("as", "me")); w.Code != http.StatusConflict {
		t.Errorf("to join with the session: %d", w.Code)
	}
	if code := a.browser().accept(link, thiefsPassword); code != http.StatusUnprocessableEntity {
		t.Errorf("to join with another password: %d", code)
	}
	a.wantNoAccess("invited")

	// The operator gives the victim a link, and then they accept.
	proof, err := a.web.Member.ResetURL(t.Context(), member.Operator(""), victim, false)
	a.must(err)
	a.wantNoAccess("with a link of the operator that is not used")
	own := a.browser()
	own.reset(pathOf(proof), ownPassword)
	if w := own.open(link, form("name", "V", "password", thiefsPassword)); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("somebody who is not signed in accepts for the victim: %d", w.Code)
	}
	if !own.signIn(victim, ownPassword) {
		t.Fatal("the victim does not sign in")
	}
	if w := own.open(link, form("as", "me")); w.Code != http.StatusSeeOther {
		t.Fatalf("the victim accepts: %d %s", w.Code, w.Body)
	}
	a.wantReplaced(own)
}

func TestAnInvitationByMailReplacesWhoeverUsedTheAddress(t *testing.T) {
	t.Parallel()
	a := newTakeover(t)
	mail := a.withMail()
	if link := a.boss.invite(a.other, victim); link != "" {
		t.Errorf("the inviter is shown %s", link)
	}
	a.wantNoAccess("invited by mail")

	own := a.browser()
	if code := own.accept(mail.link(victim), ownPassword); code != http.StatusSeeOther {
		t.Fatalf("the victim accepts: %d", code)
	}
	a.wantReplaced(own)
}

func TestSingleSignOnReplacesWhoeverUsedTheAddress(t *testing.T) {
	t.Parallel()
	a := newTakeover(t)
	provider := a.withProvider()
	link := a.boss.invite(a.other, victim)

	own := a.browser()
	claims := map[string]any{"sub": "v-1", "email": victim, "email_verified": false, "name": "Victoria"}
	if w := own.singleSignOn(provider, claims); w == http.StatusSeeOther {
		t.Error("an address that the provider has not verified signs in")
	}
	if !a.thief.reaches(a.owner.ID) {
		t.Error("a sign-in that failed ends the session of somebody else")
	}

	claims["email_verified"] = true
	if w := own.singleSignOn(provider, claims); w != http.StatusSeeOther {
		t.Fatalf("single sign-on of the victim: %d", w)
	}
	if w := own.open(link, form("as", "me")); w.Code != http.StatusSeeOther {
		t.Fatalf("the victim accepts: %d %s", w.Code, w.Body)
	}
	a.wantReplaced(own)
}

// withProvider has the dashboard sign people in with an identity provider.
func (b *bench) withProvider() *oidctest.Provider {
	b.Helper()
	provider := oidctest.New(b)
	b.withMembers(func(c *member.Config) {
		c.OIDC = member.OIDC{
			Issuer:       provider.URL,
			ClientID:     oidctest.ClientID,
			ClientSecret: oidctest.ClientSecret,
			Transport:    provider.Client().Transport,
		}
	})
	return provider
}

var providerLink = regexp.MustCompile(`href="([^"]+/authorize\?[^"]+)"`)

// singleSignOn signs in with the provider as the user, and returns the status
// of the answer.
func (b *browser) singleSignOn(provider *oidctest.Provider, user map[string]any) int {
	b.Helper()
	return b.visitProvider(provider, "/app/login/oidc", user)
}

// visitProvider submits a form that leads to the provider, is the user there,
// and returns the status of the page that they come back to.
func (b *browser) visitProvider(provider *oidctest.Provider, path string, user map[string]any) int {
	b.Helper()
	page := b.open(path, url.Values{}).Body.String()
	found := providerLink.FindStringSubmatch(page)
	if found == nil {
		b.Fatalf("no link to the provider: %s", page)
	}
	address, err := url.Parse(html.UnescapeString(found[1]))
	b.must(err)
	asked := address.Query()
	back := url.Values{"state": {asked.Get("state")}, "code": {provider.Authorize(asked, user)}}
	return b.open("/app/oidc?"+back.Encode(), nil).Code
}

func TestAMailedInvitationProvesTheAddressAndAShownOneDoesNot(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	inviter := b.browser()
	if !inviter.signIn("dana@example.com", testPassword) {
		t.Fatal("the inviter does not sign in")
	}
	shown := inviter.invite(b.owner.ID, "shown@example.com")
	mail := b.withMail()
	if link := inviter.invite(b.owner.ID, "mailed@example.com"); link != "" {
		t.Errorf("the link of a mailed invitation is shown: %s", link)
	}

	for _, link := range []string{shown, mail.link("mailed@example.com")} {
		if code := b.browser().accept(link, ownPassword); code != http.StatusSeeOther {
			t.Fatalf("accept %s: %d", link, code)
		}
	}
	page := inviter.open(b.home+"/members", nil).Body.String()
	if !strings.Contains(page, "shown@example.com (not verified)") || strings.Contains(page, "mailed@example.com (not verified)") {
		t.Errorf("the members are %s", page)
	}

	// A mail that is not accepted is reported, and the invitation can be sent
	// again.
	mail.fails = true
	w := inviter.open(b.home+"/members", form("email", "late@example.com", "role", "viewer"))
	if w.Code != http.StatusUnprocessableEntity || linkPath.MatchString(w.Body.String()) || !strings.Contains(w.Body.String(), "mail server") {
		t.Errorf("the mail server is down: %d %s", w.Code, w.Body)
	}
	mail.fails = false
	if inviter.invite(b.owner.ID, "late@example.com"); mail.link("late@example.com") == "" {
		t.Error("the invitation is not sent again")
	}
}

func TestAPersonVerifiesTheAddressByMail(t *testing.T) {
	t.Parallel()
	a := newTakeover(t)
	if page := a.thief.open(a.home+"/you", nil).Body.String(); !strings.Contains(page, "not verified") || !strings.Contains(page, "waybill member reset") {
		t.Error("the profile does not say that the address is not verified")
	}
	mail := a.withMail()
	if w := a.thief.open(a.home+"/you", form("do", "verify")); w.Code != http.StatusSeeOther {
		t.Fatalf("send a link: %d %s", w.Code, w.Body)
	}

	// The link went to the victim, not to whoever asked for it.
	own := a.browser()
	own.reset(mail.link(victim), ownPassword)
	if !own.signIn(victim, ownPassword) || !own.reaches(a.owner.ID) {
		t.Error("the victim does not sign in")
	}
	if strings.Contains(own.open(a.home+"/you", nil).Body.String(), "not verified") {
		t.Error("the address is still not verified")
	}
	if a.thief.reaches(a.owner.ID) {
		t.Error("the session from before goes on")
	}
	if w := own.open(a.home+"/you", form("do", "verify")); w.Code != http.StatusConflict {
		t.Errorf("verified twice: %d", w.Code)
	}
}

func TestAnInvitationOfAPersonIsAcceptedByThatPersonAlone(t *testing.T) {
	t.Parallel()
	a := newTakeover(t)
	link := a.boss.invite(a.other, "dana@example.com") // the first owner, whose address is proved

	if code := a.browser().accept(link, thiefsPassword); code != http.StatusUnprocessableEntity {
		t.Errorf("accepted by nobody: %d", code)
	}
	if w := a.boss.open(link, form("as", "me")); w.Code != http.StatusForbidden {
		t.Errorf("accepted by somebody else: %d", w.Code)
	}
	dana := a.browser()
	if page := dana.open(link, nil).Body.String(); !strings.Contains(page, "Sign in to join") {
		t.Errorf("the page is %s", page)
	}
	if !dana.signIn("dana@example.com", testPassword) || dana.reaches(a.other) {
		t.Fatal("dana is a member before accepting")
	}
	if w := dana.open(link, form("as", "me")); w.Code != http.StatusSeeOther || !dana.reaches(a.other) {
		t.Errorf("accepted by dana: %d", w.Code)
	}
}
