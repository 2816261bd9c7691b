package member

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// declared are the actions that role.go declares.
func declared(t *testing.T) []Action {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "role.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var list []Action
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == "Action" {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, Action(text))
		}
		return true
	})
	return list
}

func TestEveryActionHasADecisionForEveryRole(t *testing.T) {
	t.Parallel()
	actions := declared(t)
	if len(actions) < 20 || len(actions) != len(rules) || len(actions) != len(permissions) {
		t.Errorf("%d actions are declared, %d have rules, and the table has %d rows", len(actions), len(rules), len(permissions))
	}
	for _, a := range actions {
		r, ok := rules[a]
		if !ok {
			t.Errorf("%s has no rule", a)
		}
		for _, role := range Roles {
			if columns[role](r) == undecided {
				t.Errorf("%s is not decided for a %s", a, role)
			}
		}
	}
}

func TestOwnersMayDoEverythingAndALesserRoleNoMoreThanAGreater(t *testing.T) {
	t.Parallel()
	for a := range rules {
		if !Owner.Can(a) {
			t.Errorf("an owner may not %s", a)
		}
		for i := 1; i < len(Roles); i++ {
			if Roles[i].Can(a) && !Roles[i-1].Can(a) {
				t.Errorf("a %s may %s and a %s may not", Roles[i], a, Roles[i-1])
			}
		}
	}
}

func TestViewersChangeNothingAndSecretsNeedAFreshSignIn(t *testing.T) {
	t.Parallel()
	for _, a := range []Action{BuyShipments, PrintLabels, VoidShipments, CheckConnections, ManageConnections, ManageRouting, ManageWebhooks, ManageKeys, ControlSandbox, ManageMembers, ManageSettings} {
		if Viewer.Can(a) {
			t.Errorf("a viewer may %s", a)
		}
	}
	for _, a := range []Action{ManageConnections, ManageKeys, ManageMembers, ManageOwnSecrets} {
		if !a.NeedsStepUp() {
			t.Errorf("%s needs no fresh sign-in", a)
		}
	}
	if Role("boss").Can(ViewOverview) || Owner.Can("unknown") || Role("").Valid() {
		t.Error("what is unknown is allowed")
	}
}

func TestAllowTellsARoleFromAStepUp(t *testing.T) {
	t.Parallel()
	at := time.Now()
	fresh := Actor{Role: Developer, FreshUntil: at.Add(time.Second), now: at}
	stale := Actor{Role: Developer, FreshUntil: at, now: at}
	for _, tc := range []struct {
		name   string
		actor  Actor
		action Action
		code   string
	}{
		{"fresh", fresh, ManageKeys, ""},
		{"stale", stale, ManageKeys, "step_up_required"},
		{"stale but not secret", stale, ManageWebhooks, ""},
		{"not theirs", fresh, ManageMembers, "not_allowed"},
		{"not theirs and stale", stale, ManageMembers, "not_allowed"},
		{"nobody", Actor{}, ViewOverview, "not_allowed"},
		{"operator", Operator("acct_1"), ManageMembers, ""},
	} {
		if got := ship.CodeOf(tc.actor.Allow(tc.action)); got != tc.code {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.code)
		}
	}
}
