package member

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestEveryChangeIsToldWithWhoAndFromWhere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	bob, _ := f.joined(t, ada, "bob@example.com", Shipper)
	if err := f.SetRole(t.Context(), ada, bob.Person.ID, Developer); err != nil {
		t.Fatal(err)
	}
	if err := f.Record(t.Context(), ada, Entry{Action: "key.made", Target: "key_1", Mode: "live"}); err != nil {
		t.Fatal(err)
	}
	list, next, err := f.Audit(t.Context(), ada, AuditFilter{})
	if err != nil || next != "" {
		t.Fatal(next, err)
	}
	var actions []string
	for _, e := range list {
		actions = append(actions, e.Action)
		if e.From.Addr != here.Addr || e.From.Agent != here.Agent || e.At.IsZero() {
			t.Errorf("%s comes from %+v", e.Action, e.From)
		}
	}
	if got := len(actions); got != 7 || actions[0] != "key.made" || actions[1] != "member.role_changed" {
		t.Errorf("the log has %v", actions)
	}
	e := list[1]
	if e.Who != "Ada <ada@example.com>" || e.Person != ada.Person.ID || e.Target != string(bob.Person.ID) || e.Details["from"] != "shipper" || e.Details["to"] != "developer" {
		t.Errorf("the change of a role is told as %+v", e)
	}
}

func TestAChangeThatFailsIsNotTold(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	before := f.count(t, "SELECT count(*) FROM audit_log")
	_ = f.Remove(t.Context(), ada, ada.Person.ID)
	_, _, _ = f.Invite(t.Context(), ada, InviteInput{Email: "ada@example.com", Role: Owner})
	_, _ = f.signIn(t, "ada@example.com", "wrong")
	if n := f.count(t, "SELECT count(*) FROM audit_log"); n != before {
		t.Errorf("%d entries tell of what did not happen", n-before)
	}
	// And what cannot be told does not happen.
	if _, err := f.owner.Exec(t.Context(), "REVOKE INSERT ON audit_log FROM waybill_sys"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Invite(t.Context(), ada, InviteInput{Email: "bob@example.com", Role: Viewer}); err == nil {
		t.Error("an invitation is made without a record")
	}
	if _, err := f.signIn(t, "ada@example.com", testPassword); err == nil {
		t.Error("a session begins without a record")
	}
	if n := f.count(t, "SELECT count(*) FROM invitations") + f.count(t, "SELECT count(*) FROM sessions") - 1; n != 0 {
		t.Errorf("%d changes are untold", n)
	}
}

func TestTheLogIsFilteredAndPaged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	bob, _ := f.joined(t, ada, "bob@example.com", Developer)
	f.pass(time.Hour)
	middle := f.clock()
	f.pass(time.Second)
	for i := range 5 {
		f.pass(time.Second)
		who := ada
		if i%2 == 1 {
			who = bob
		}
		if err := f.Record(t.Context(), who, Entry{Action: "key.made", Target: "key_" + string(rune('a'+i))}); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		filter AuditFilter
		want   int
	}{
		"after":   {AuditFilter{After: middle}, 5},
		"before":  {AuditFilter{Before: middle, Action: "key."}, 0},
		"person":  {AuditFilter{Person: bob.Person.ID, After: middle}, 2},
		"action":  {AuditFilter{Action: "key.made"}, 5},
		"part":    {AuditFilter{Action: "member."}, 2},
		"target":  {AuditFilter{Target: "key_c"}, 1},
		"all":     {AuditFilter{Target: "key_c", Person: bob.Person.ID}, 0},
		"nothing": {AuditFilter{Action: "ke\x00y.mad"}, 0},
	} {
		if list, _, err := f.Audit(t.Context(), ada, tc.filter); err != nil || len(list) != tc.want {
			t.Errorf("%s: %d entries, want %d: %v", name, len(list), tc.want, err)
		}
	}
	var got string
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		list, next, err := f.Audit(t.Context(), ada, AuditFilter{Action: "key.made", Limit: 2, Cursor: cursor})
		if err != nil || pages > 2 {
			t.Fatal(pages, err)
		}
		for _, e := range list {
			got += e.Target[4:]
		}
		cursor = next
	}
	if got != "edcba" {
		t.Errorf("the pages show %s", got)
	}
	_, _, err := f.Audit(t.Context(), ada, AuditFilter{Cursor: "nonsense"})
	wantCode(t, err, "validation_failed")
	other := ada
	other.Account = f.newAccount(t, "Other")
	if list, _, err := f.Audit(t.Context(), other, AuditFilter{}); err != nil || len(list) != 0 {
		t.Errorf("another account shows %d entries: %v", len(list), err)
	}
	bob.Role = Shipper
	if _, _, err := f.Audit(t.Context(), bob, AuditFilter{}); ship.CodeOf(err) != "not_allowed" {
		t.Errorf("a shipper reads the log: %v", err)
	}
}

func TestTheLogTellsPeopleKeysAndOperatorsApart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	key := ship.NewKeyID(ada.Account.Raw().Shard(), f.clock())
	program := Program(ada.Account, key, "shop", "sk_test_...1234", Origin{Addr: here.Addr, Agent: "shop/1.0"})
	for _, a := range []Actor{ada, program, Operator(ada.Account)} {
		if err := f.Record(t.Context(), a, Entry{Action: "box.added", Target: "box_1"}); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		filter AuditFilter
		who    string
	}{
		"people":            {AuditFilter{By: ByPeople}, "Ada <ada@example.com>"},
		"keys":              {AuditFilter{By: ByKeys}, "shop (sk_test_...1234)"},
		"operators":         {AuditFilter{By: ByOperators}, "operator"},
		"a person":          {AuditFilter{Person: ada.Person.ID}, "Ada <ada@example.com>"},
		"a key":             {AuditFilter{Key: key}, "shop (sk_test_...1234)"},
		"a key of a target": {AuditFilter{By: ByKeys, Target: "box_1"}, "shop (sk_test_...1234)"},
	} {
		tc.filter.Action = "box."
		list, _, err := f.Audit(t.Context(), ada, tc.filter)
		if err != nil || len(list) != 1 || list[0].Who != tc.who {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
	}
	for by, kind := range map[string]AuditFilter{ByPeople: {By: "", Person: ada.Person.ID}, ByKeys: {Key: key}, ByOperators: {By: ByOperators}} {
		if list, _, err := f.Audit(t.Context(), ada, kind); err != nil || list[0].By() != by {
			t.Errorf("an entry of %s is one of %s: %v", by, list[0].By(), err)
		}
	}
	// A key is no person: what people may do, it may not.
	for _, action := range []Action{ViewAudit, ManageMembers, ViewOverview} {
		if program.Can(action) || program.Allow(action) == nil {
			t.Errorf("a program may %s", action)
		}
	}
}

func TestAnEntryOfBeforeThereWereKeysIsReadAsItWas(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	for i, person := range []any{[16]byte(ada.Person.ID.Raw()), nil} {
		id := ship.NewAuditID(ada.Account, f.clock().Add(time.Duration(i)*time.Hour))
		_, err := f.owner.Exec(t.Context(), `INSERT INTO audit_log (account_id, id, person_id, actor, action, target, mode, details, user_agent) VALUES ($1, $2, $3, $4, 'old.row', 't', '', '{}', '')`,
			[16]byte(ada.Account.Raw()), [16]byte(id.Raw()), person, []string{"Ada", "operator"}[i])
		if err != nil {
			t.Fatal(err)
		}
	}
	list, _, err := f.Audit(t.Context(), ada, AuditFilter{Action: "old.row"})
	if err != nil || len(list) != 2 || list[0].Who != "operator" || list[0].By() != ByOperators || list[1].Who != "Ada" || list[1].By() != ByPeople {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestWhatAPersonDoesIsToldInAllTheirAccounts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	other := f.newAccount(t, "Other", ada)
	f.withTOTP(t, ada)
	if n := f.count(t, "SELECT count(DISTINCT account_id) FROM audit_log WHERE action = 'totp.added'"); n != 2 {
		t.Errorf("it is told in %d accounts", n)
	}
	if _, err := f.ResetURL(t.Context(), Operator(other), "ada@example.com", false); err != nil {
		t.Fatal(err)
	}
	if n := f.count(t, "SELECT count(*) FROM audit_log WHERE action = 'password.link_made' AND actor = 'operator' AND person_id IS NULL"); n != 2 {
		t.Errorf("the operator's link is told %d times", n)
	}
}
