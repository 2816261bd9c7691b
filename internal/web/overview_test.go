package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/site"
)

// rolled updates the counts of all shipments, as the worker does.
func (b *bench) rolled() {
	b.Helper()
	for {
		n, err := b.store.RollUp(b.Context())
		b.must(err)
		if n == 0 {
			return
		}
	}
}

func TestOverviewShowsWhatWasShipped(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.fill(b.owner, 12)
	page := b.send(member.Owner, b.home, nil).Body.String()
	for _, want := range []string{"<b>12</b>", "none previously", "?from=", "status=delivered"} {
		if !strings.Contains(page, want) {
			t.Errorf("the overview lacks %q", want)
		}
	}
	b.rolled()
	if again := b.send(member.Owner, b.home, nil).Body.String(); strings.Count(again, "<b>12</b>") != strings.Count(page, "<b>12</b>") {
		t.Error("the number changes when it is counted")
	}
	for query, want := range map[string]string{
		"?from=2020-01-02&until=2020-01-01": "The end date must not be before the start date.", "?from=2020-01-01": "Enter both dates.", "?from=2000-01-01&until=2020-01-01": "The range must not exceed two years.",
		"?from=2020-01-01&until=2020-02-01": "No shipments in this period",
	} {
		if page := b.send(member.Owner, b.home+query, nil).Body.String(); !strings.Contains(page, want) {
			t.Errorf("%s does not say %q", query, want)
		}
	}
}

func TestWhatNeedsAPersonIsListedWithWhatToDo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sh := b.buy(b.owner, "lost one", people[0], 1)
	if _, err := b.web.Tracking.Advance(t.Context(), sh.Tenant, sh.ID, ship.Exception, "address_not_found"); err != nil {
		t.Fatal(err)
	}
	b.must(b.store.Move(t.Context(), b.buy(b.owner, "other", people[1], 1), ship.StateVoiding))
	for range 300 { // the log shows an event only once no open transaction can precede it
		b.rolled()
		if a, err := b.web.Shipping.Attention(t.Context(), sh.Tenant); err != nil || a.Exceptions > 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	page := b.send(member.Owner, b.home+"/attention", nil).Body.String()
	for _, want := range []string{"lost one", "Ask the recipient for the correct address", `<span class="count">1</span>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the list lacks %q", want)
		}
	}
	if strings.Contains(page, ">other<") {
		t.Error("what needs nobody is listed")
	}
	if csv := b.send(member.Owner, b.home+"/attention.csv?kind=parcels", nil).Body.String(); !strings.Contains(csv, `"parcels","lost one"`) {
		t.Errorf("the download is %s", csv)
	}
	if other := b.send(member.Owner, b.home+"/attention?kind=webhooks", nil).Body.String(); strings.Contains(other, "lost one") {
		t.Error("the kind does not narrow the list")
	}
}

func TestShortListsFilterAndPage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range site.PageSize + 5 {
		_, _, err := b.web.Account.NewKey(t.Context(), account.NewKeyInput{Account: b.owner.ID, Name: "shop " + string(rune('a'+i%26))})
		b.must(err)
	}
	lines := func(path string) int {
		return strings.Count(b.send(member.Owner, path, nil).Body.String(), "Programs that use it stop")
	}
	if n := lines(b.home + "/keys"); n != site.PageSize {
		t.Errorf("the first page has %d lines", n)
	}
	page := b.send(member.Owner, b.home+"/keys", nil).Body.String()
	_, next, _ := strings.Cut(page, b.home+"/keys?cursor=")
	next, _, _ = strings.Cut(next, `"`)
	if n := lines(b.home + "/keys?cursor=" + next); n != 5 {
		t.Errorf("the second page has %d lines", n)
	}
	if n := lines(b.home + "/keys?q=shop+b"); n != 3 {
		t.Errorf("%d keys are named so", n)
	}
	if n := lines(b.home + "/keys?state=ended"); n != 0 {
		t.Errorf("%d keys are ended", n)
	}
	w := b.send(member.Owner, b.home+"/keys.csv?q=shop+b", nil)
	if n := strings.Count(w.Body.String(), "\r\n"); w.Code != http.StatusOK || n != 4 {
		t.Errorf("the download has %d lines", n)
	}
}

func TestDownloadsHoldTheWholeList(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.fill(b.owner, 9)
	lines := func(path string) int { return strings.Count(b.send(member.Owner, path, nil).Body.String(), "\r\n") - 1 }
	for range 300 { // the log shows an event only once no open transaction can precede it
		if lines(b.home+"/events.csv?type=shipment.created") == 9 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	for path, want := range map[string]int{
		b.home + "/events.csv?type=shipment.created": 9, b.home + "/shipments.csv": 9, b.home + "/shipments.csv?sort=due": 9, b.home + "/shipments.csv?to=nobody": 0, b.home + "/members.csv": 4,
	} {
		if n := lines(path); n != want {
			t.Errorf("%s has %d lines, want %d", path, n, want)
		}
	}
}
