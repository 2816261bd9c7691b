package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/member"
)

func TestAnOwnerLimitsWhatAMemberSpends(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	who := func() member.Actor {
		t.Helper()
		actor, err := b.web.Member.AuthenticateIn(t.Context(), b.tokens[member.Shipper], b.owner.ID, member.Origin{})
		b.must(err)
		return actor
	}
	path := b.home + "/members/" + string(who().Person.ID)

	for _, step := range []struct{ amount, want string }{
		{"250.50", "250.50 USD"},
		{"-1", "250.50 USD"},
		{"much", "250.50 USD"},
		{"", ""},
	} {
		w := b.send(member.Owner, path, form("do", "limit", "dailyLimit", step.amount))
		isSaved := w.Code == http.StatusSeeOther
		if wantSaved := step.amount == "" || strings.HasPrefix(step.amount, "2"); isSaved != wantSaved {
			t.Errorf("the limit %q: %d %s", step.amount, w.Code, w.Body)
		}
		if got := who().DailyLimit.String(); got != step.want {
			t.Errorf("after %q the limit is %q, want %q", step.amount, got, step.want)
		}
	}
	if w := b.send(member.Shipper, path, form("do", "limit", "dailyLimit", "9999")); w.Code != http.StatusForbidden {
		t.Errorf("a shipper raises their own limit: %d", w.Code)
	}
	owner, err := b.web.Member.Authenticate(t.Context(), b.tokens[member.Owner], member.Origin{})
	b.must(err)
	entries, _, err := b.web.Member.Audit(t.Context(), owner, member.AuditFilter{Action: "member.limit_changed", Limit: 10})
	if err != nil || len(entries) != 2 || entries[1].Details["daily_limit"] != "250.50 USD" || entries[0].Details["daily_limit"] != "none" {
		t.Errorf("the audit log has %+v: %v", entries, err)
	}
}
