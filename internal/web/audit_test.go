package web

import (
	"encoding/csv"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/member"
)

func TestTheAuditLogIsFilteredByWho(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	dana, err := b.web.Member.Authenticate(t.Context(), b.tokens[member.Owner], member.Origin{})
	b.must(err)
	_, key, err := b.web.Account.NewKey(t.Context(), account.NewKeyInput{Account: b.owner.ID, Name: "<i>shop"})
	b.must(err)
	program := member.Program(b.owner.ID, key.ID, key.Name, key.Hint, member.Origin{Addr: netip.MustParseAddr("203.0.113.7"), Agent: "shop/<b>2"})
	operator := member.Operator(b.owner.ID)
	operator.From.Agent = "waybill key create"
	for target, a := range map[string]member.Actor{"one": dana, "two": program, "three": operator} {
		b.must(b.web.Member.Record(t.Context(), a, member.Entry{Action: "box.added", Target: target}))
	}
	for _, tc := range []struct {
		query        string
		one, two, op bool
	}{
		{"", true, true, true},
		{"&by=people", true, false, false},
		{"&by=keys", false, true, false},
		{"&by=operators", false, false, true},
		{"&by=" + string(dana.Person.ID), true, false, false},
		{"&by=" + string(key.ID), false, true, false},
		{"&by=somebody", false, false, false},
		{"&target=two", false, true, false},
	} {
		w := b.send(member.Developer, b.home+"/audit?action=box."+tc.query, nil, "HX-Request", "true")
		page := w.Body.String()
		for shown, want := range map[string]bool{
			"Dana Whitfield &lt;dana@example.com&gt;": tc.one, "&lt;i&gt;shop (" + key.Hint + ")": tc.two, "shop/&lt;b&gt;2": tc.two,
			"API key</small>": tc.two, ">operator<": tc.op, "waybill key create": tc.op, "command line</small>": tc.op,
		} {
			if w.Code != http.StatusOK || strings.Contains(page, shown) != want {
				t.Errorf("%q: %d, %q is shown: %v", tc.query, w.Code, shown, !want)
			}
		}
	}
	if page := b.send(member.Developer, b.home+"/audit", nil).Body.String(); !strings.Contains(page, `<option value="`+string(key.ID)+`">`) || !strings.Contains(page, ">Sam Ortiz</option>") {
		t.Errorf("the page offers neither the key nor the people:\n%s", page)
	}
	w := b.send(member.Developer, b.home+"/audit.csv?by="+string(key.ID), nil)
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(w.Body.String(), "\ufeff"))).ReadAll()
	b.must(err)
	if n := len(rows[0]); len(rows) != 2 || strings.Join(rows[0][n-2:], ",") != "by,key" || strings.Join(rows[1][n-2:], ",") != "API key,"+string(key.ID) {
		t.Errorf("the file is %v", rows)
	}
}
