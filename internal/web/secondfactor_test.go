package web

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/site"
)

// hidden finds the hidden fields of a form.
var hidden = regexp.MustCompile(`<input type="hidden" name="([a-z]+)" value="([^"]*)"`)

// codeAt is what an authenticator with the secret shows at a time (RFC 6238).
func codeAt(secret string, at time.Time) string {
	seed, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	if err != nil {
		return ""
	}
	mac := hmac.New(sha1.New, seed)
	_ = binary.Write(mac, binary.BigEndian, at.Unix()/30)
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0xf
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[offset:])&0x7fffffff%1_000_000)
}

// setUpFactor sets up an authenticator on the page for it, and returns where that
// leads.
func (b *bench) setUpFactor(role member.Role, to string) string {
	b.Helper()
	page := b.send(role, "/app/second-factor", form("do", "totp", "to", to))
	fields := form("do", "totp-confirm")
	for _, found := range hidden.FindAllStringSubmatch(page.Body.String(), -1) {
		fields.Set(found[1], strings.ReplaceAll(found[2], "&amp;", "&"))
	}
	fields.Set("code", "000000")
	if w := b.send(role, "/app/second-factor", fields); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), `class="qr"`) {
		b.Fatalf("a wrong code: %d %s", w.Code, w.Body)
	}
	fields.Set("code", codeAt(fields.Get("secret"), time.Now()))
	done := b.send(role, "/app/second-factor", fields)
	if done.Code != http.StatusOK || !strings.Contains(done.Body.String(), "Recovery codes") {
		b.Fatalf("the right code: %d %s", done.Code, done.Body)
	}
	return regexp.MustCompile(`href="([^"]+)">Continue`).FindStringSubmatch(done.Body.String())[1]
}

func TestASecondFactorCanBeRequiredOfARole(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	require := func(roles ...string) string {
		t.Helper()
		w := b.send(member.Owner, b.home+"/members/sign-in", url.Values{"twoFactor": roles}, "Referer", testBase+b.home+"/members")
		if w.Code != http.StatusSeeOther {
			t.Fatalf("require: %d %s", w.Code, w.Body)
		}
		return w.Header().Get("Location")
	}

	// The owner would lock themselves out, and is led to set one up first.
	if to := require("owner", "shipper"); to != "/app/second-factor?to="+url.QueryEscape(b.home+"/members") {
		t.Fatalf("an owner without a second factor is led to %s", to)
	}
	if w := b.send(member.Shipper, b.home, nil); w.Code != http.StatusOK {
		t.Fatalf("nothing was required, and a shipper gets %d", w.Code)
	}
	if to := b.setUpFactor(member.Owner, b.home+"/members"); to != b.home+"/members" {
		t.Errorf("afterwards the owner is led to %s", to)
	}
	if to := require("owner", "shipper"); to != b.home+"/members?done=saved" {
		t.Fatalf("an owner with a second factor is led to %s", to)
	}
	for role, want := range map[member.Role]int{member.Owner: 200, member.Developer: 200, member.Shipper: 303, member.Viewer: 200} {
		if w := b.send(role, b.home, nil); w.Code != want {
			t.Errorf("a %s gets %d", role, w.Code)
		}
	}

	// The open session of the shipper reaches nothing of the account.
	tried := 0
	for _, rt := range table(b.web.Config) {
		if rt.Open || !strings.HasPrefix(rt.Path, "/app/{account}/{mode}") {
			continue
		}
		tried++
		path := row{route: rt.Method + " " + rt.Path}.path(b.owner.ID, nil)
		var filled url.Values
		if rt.Method == http.MethodPost {
			filled = form("do", "nothing")
		}
		w := b.send(member.Shipper, path, filled)
		if to := w.Header().Get("Location"); w.Code != http.StatusSeeOther || !strings.HasPrefix(to, "/app/second-factor") {
			t.Errorf("%s %s answers %d, to %s", rt.Method, rt.Path, w.Code, to)
		}
	}
	t.Logf("%d routes of the account lead to the second factor", tried)
	if w := b.send(member.Shipper, b.home+"/live", nil); w.Code != http.StatusNoContent {
		t.Errorf("the stream answers %d", w.Code)
	}

	// Another account of the same person is as open as before.
	other := b.account("Elsewhere")
	sam, err := b.web.Member.AuthenticateIn(t.Context(), b.tokens[member.Shipper], b.owner.ID, member.Origin{})
	b.must(err)
	b.must(b.store.VerifyEmail(t.Context(), sam.Person.ID, time.Now()))
	b.must(b.store.AddMember(t.Context(), other.ID, sam.Person.ID, string(member.Shipper), time.Now()))
	if w := b.send(member.Shipper, site.ModePath(other.ID, false), nil); w.Code != http.StatusOK {
		t.Errorf("the other account answers %d", w.Code)
	}
	b.send(member.Shipper, b.home, nil)
	if page := b.send(member.Shipper, "/app/second-factor", nil); !strings.Contains(page.Body.String(), "Go to Elsewhere") || strings.Contains(page.Body.String(), "/shipments") {
		t.Errorf("the page is %d %s", page.Code, page.Body)
	}

	if to := b.setUpFactor(member.Shipper, b.home+"/shipments"); to != b.home+"/shipments" {
		t.Errorf("afterwards the shipper is led to %s", to)
	}
	if w := b.send(member.Shipper, b.home+"/shipments", nil); w.Code != http.StatusOK {
		t.Errorf("with a second factor: %d", w.Code)
	}

	// A new role takes its requirement along.
	owner, err := b.web.Member.AuthenticateIn(t.Context(), b.tokens[member.Owner], b.owner.ID, member.Origin{})
	b.must(err)
	vera, err := b.web.Member.AuthenticateIn(t.Context(), b.tokens[member.Viewer], b.owner.ID, member.Origin{})
	b.must(err)
	b.must(b.web.Member.SetRole(t.Context(), owner, vera.Person.ID, member.Shipper))
	if w := b.send(member.Viewer, b.home, nil); w.Code != http.StatusSeeOther {
		t.Errorf("a viewer who became a shipper gets %d", w.Code)
	}
	if err := vera.Allow(member.ViewShipments); ship.CodeOf(err) != "" {
		t.Errorf("before: %v", err)
	}
}
