package web

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
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

func TestAPersonBuysLiveUpToTheirLimit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ups, err := carrier.Open(sandbox.Specs()[0], carrier.Opening{
		Credentials: carrier.Credentials{"api_key": "any"},
		Live:        true,
		Via:         sandbox.Service{},
	})
	b.must(err)
	ups.Connection = ship.NewConnectionID(0, time.Now())
	b.connected = []*carrier.Carrier{ups}

	shipper, err := b.web.Member.AuthenticateIn(t.Context(), b.tokens[member.Shipper], b.owner.ID, member.Origin{})
	b.must(err)
	limit := form("do", "limit", "dailyLimit", "40.00")
	if w := b.send(member.Owner, b.home+"/members/"+string(shipper.Person.ID), limit); w.Code != http.StatusSeeOther {
		t.Fatalf("set the limit: %d", w.Code)
	}

	var spent int64
	order := 0
	buy := func(role member.Role) *httptest.ResponseRecorder {
		order++
		filled := addressForm()
		filled.Set("order", "live-"+strconv.Itoa(order))
		return b.send(role, b.liveHome+"/shipments", filled)
	}
	var refused *httptest.ResponseRecorder
	for refused == nil && order < 50 {
		w := buy(member.Shipper)
		if w.Code != http.StatusSeeOther {
			refused = w
			break
		}
		list, _, err := b.web.Shipping.Shipments(t.Context(), ship.Tenant{Account: b.owner.ID, Livemode: true},
			shipping.Filter{OrderID: "live-" + strconv.Itoa(order), Page: ship.Page{Limit: 1}})
		b.must(err)
		spent += list[0].Purchase.Price.Minor
	}

	if order < 3 || spent > 4000 || refused == nil {
		t.Fatalf("%d purchases for %d cents", order, spent)
	}
	if refused.Code < 400 || !strings.Contains(refused.Body.String(), "daily limit") {
		t.Errorf("above the limit: %d %s", refused.Code, refused.Body)
	}
	if w := buy(member.Owner); w.Code != http.StatusSeeOther {
		t.Errorf("somebody without a limit: %d %s", w.Code, w.Body)
	}
}
