package cli_test

import (
	"context"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/cli"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

func TestAnOperatorLetsPeopleIn(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s["BASE_URL"] = "https://ship.example.com"
	if url := s.must(t, "member", "setup"); !strings.HasPrefix(url, "https://ship.example.com/app/setup?token=") {
		t.Errorf("member setup prints %q", url)
	}
	account := strings.TrimSpace(s.must(t, "account", "create", "--name", "Acme"))
	link := s.must(t, "member", "add", "--email", "Ada@example.com", "--name", "Ada")
	if !strings.HasPrefix(link, "https://ship.example.com/app/reset/") {
		t.Errorf("member add prints %q", link)
	}
	if _, _, err := s.run(t, "member", "setup"); err == nil {
		t.Error("an installation with an owner can be claimed")
	}
	if _, _, err := s.run(t, "member", "add", "--email", "ada@example.com"); err == nil {
		t.Error("a member is added twice")
	}
	if _, _, err := s.run(t, "member", "invite", "--email", "nobody", "--role", "boss"); err == nil || strings.Count(cli.Explain(err), "\n") != 2 {
		t.Errorf("two mistakes: %v", err)
	}
	if link := s.must(t, "member", "invite", "--email", "bob@example.com", "--account", account); !strings.HasPrefix(link, "https://ship.example.com/app/invite/") {
		t.Errorf("member invite prints %q", link)
	}
	if list := s.must(t, "member", "list"); strings.Count(list, "\n") != 2 || !strings.Contains(list, "ada@example.com") || !strings.Contains(list, "owner") || !strings.Contains(list, "never") {
		t.Errorf("member list prints\n%s", list)
	}
	reset := s.must(t, "member", "reset", "--email", "ada@example.com", "--drop-second-factors")
	st, err := store.Open(context.Background(), store.Options{URL: s["DATABASE_URL"], Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	people, err := member.New(member.Config{Store: st})
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSpace(reset[strings.LastIndex(reset, "/")+1:])
	if err := people.Reset(t.Context(), member.ResetInput{Token: token, Password: "a password of Ada's own"}); err != nil {
		t.Fatal(err)
	}
	if in, err := people.SignIn(t.Context(), member.SignInInput{Email: "ada@example.com", Password: "a password of Ada's own"}); err != nil || in.Token == "" {
		t.Errorf("after the reset: %+v, %v", in, err)
	}
}

func TestMemberAddGivesNothingToWhoeverHasNotProvedTheAddress(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	const victim = "victim@corp.example"
	first := strings.TrimSpace(s.must(t, "account", "create", "--name", "First"))
	second := strings.TrimSpace(s.must(t, "account", "create", "--name", "Second"))
	third := strings.TrimSpace(s.must(t, "account", "create", "--name", "Third"))

	st, err := store.Open(context.Background(), store.Options{URL: s["DATABASE_URL"], Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	people, err := member.New(member.Config{Store: st, CheapHashes: true})
	if err != nil {
		t.Fatal(err)
	}
	setPassword := func(link, password string) {
		t.Helper()
		token := strings.TrimSpace(link[strings.LastIndex(link, "/")+1:])
		if err := people.Reset(t.Context(), member.ResetInput{Token: token, Password: password}); err != nil {
			t.Fatal(err)
		}
	}
	signIn := func(email, password string) (member.Actor, error) {
		in, err := people.SignIn(t.Context(), member.SignInInput{Email: email, Password: password})
		if err != nil {
			return member.Actor{}, err
		}
		return people.Authenticate(t.Context(), in.Token, member.Origin{})
	}

	// An owner of the first account invites the victim and accepts in their
	// name.
	setPassword(s.must(t, "member", "add", "--email", "thief@example.com", "--account", first), "quiet lanterns of the thief")
	thief, err := signIn("thief@example.com", "quiet lanterns of the thief")
	if err != nil {
		t.Fatal(err)
	}
	_, link, err := people.Invite(t.Context(), thief, member.InviteInput{Email: victim, Role: member.Owner})
	if err != nil {
		t.Fatal(err)
	}
	_, err = people.Accept(t.Context(), member.AcceptInput{Token: link[strings.LastIndex(link, "/")+1:], Name: "V", Password: "not the victim's own"})
	if err != nil {
		t.Fatal(err)
	}
	if list := s.must(t, "member", "list", "--account", first, "--json"); strings.Count(list, `"emailVerified":true`) != 1 || strings.Count(list, `"emailVerified":false`) != 1 {
		t.Errorf("member list prints\n%s", list)
	}

	link = s.must(t, "member", "add", "--email", victim, "--account", second)
	if !strings.Contains(link, "/app/reset/") {
		t.Errorf("member add prints %q", link)
	}
	if _, err := signIn(victim, "not the victim's own"); err == nil {
		t.Error("the thief signs in as the victim")
	}

	setPassword(link, "the victim's own one")
	owner, err := signIn(victim, "the victim's own one")
	if err != nil {
		t.Fatal(err)
	}
	if printed := s.must(t, "member", "add", "--email", victim, "--account", third); printed != "" {
		t.Errorf("member add of a verified person prints %q", printed)
	}
	if list, err := people.Accounts(t.Context(), owner); err != nil || len(list) != 3 {
		t.Errorf("the accounts of the victim are %v: %v", list, err)
	}
}

func TestAccountSignInShowsAndChangesWhatIsRequired(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.must(t, "account", "create", "--name", "Acme")
	for _, step := range []struct{ flag, want string }{
		{"", "two-factor: none\nsingle sign-on: optional\n"},
		{"--two-factor=developer, owner", "two-factor: owner, developer\nsingle sign-on: optional\n"},
		{"", "two-factor: owner, developer\nsingle sign-on: optional\n"},
		{"--two-factor=all", "two-factor: owner, developer, shipper, viewer\nsingle sign-on: optional\n"},
		{"--two-factor=none", "two-factor: none\nsingle sign-on: optional\n"},
	} {
		args := []string{"account", "sign-in"}
		if step.flag != "" {
			args = append(args, step.flag)
		}
		if got := s.must(t, args...); got != step.want {
			t.Errorf("account sign-in %s prints %q", step.flag, got)
		}
	}
	if _, _, err := s.run(t, "account", "sign-in", "--two-factor", "boss"); ship.CodeOf(err) != "validation_failed" {
		t.Errorf("an unknown role: %v", err)
	}

	// Nobody could reach the account.
	s["OIDC_ISSUER"], s["OIDC_CLIENT_ID"] = "https://idp.example.com", "waybill"
	if _, _, err := s.run(t, "account", "sign-in", "--sso", "required"); ship.CodeOf(err) != "validation_failed" {
		t.Errorf("single sign-on without a break-glass owner: %v", err)
	}
	s.must(t, "member", "add", "--email", "ada@example.com")
	if _, _, err := s.run(t, "account", "sign-in", "--sso", "required", "--break-glass", "ada@example.com"); ship.CodeOf(err) != "validation_failed" {
		t.Errorf("a break-glass owner without a password: %v", err)
	}
}
