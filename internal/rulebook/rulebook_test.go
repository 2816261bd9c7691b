package rulebook_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// bench is an account's rules, on a real Postgres, as two copies of the binary
// see them.
type bench struct {
	*rulebook.Service
	other  *rulebook.Service
	store  *store.Store
	tenant ship.Tenant
}

func newBench(t *testing.T) bench {
	t.Helper()
	st := storetest.Open(t)
	open := func() *rulebook.Service {
		s, err := rulebook.New(rulebook.Config{
			Store:     st,
			Carriers:  func(bool) []carrier.Spec { return sandbox.Specs() },
			Connected: func(context.Context, ship.Tenant) ([]*carrier.Carrier, error) { return nil, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	return bench{Service: open(), other: open(), store: st, tenant: storetest.Tenant()}
}

func useBook(targets ...string) routing.Book {
	a := routing.Action{}
	for _, name := range targets {
		a.Use = append(a.Use, routing.Target{Carrier: name})
	}
	return routing.Book{Rules: []routing.Rule{{Name: "only", Then: a}}}
}

func (b bench) publish(t *testing.T, book routing.Book, note string) rulebook.Version {
	t.Helper()
	if _, err := b.SaveDraft(t.Context(), b.tenant, book); err != nil {
		t.Fatal(err)
	}
	v, err := b.Publish(t.Context(), rulebook.PublishInput{Tenant: b.tenant, Note: note})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestPublishedRulesCountAtOnceHereAndSoonElsewhere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := t.Context()
	for _, s := range []*rulebook.Service{b.Service, b.other} {
		if p, err := s.Policy(ctx, b.tenant); err != nil || p.Version != 0 || p.Book == nil {
			t.Fatalf("a tenant without rules has %+v, %v", p, err)
		}
	}
	b.publish(t, useBook("usps"), "first")
	if p, err := b.Policy(ctx, b.tenant); err != nil || p.Version != 1 {
		t.Errorf("here version %d counts, %v", p.Version, err)
	}
	until := time.Now().Add(4 * time.Second)
	for {
		p, err := b.other.Policy(ctx, b.tenant)
		if err == nil && p.Version == 1 {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("elsewhere version %d still counts, %v", p.Version, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func TestADraftThatOthersOvertookIsNotPublished(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := t.Context()
	b.publish(t, useBook("ups"), "one")
	if _, err := b.SaveDraft(ctx, b.tenant, useBook("usps")); err != nil {
		t.Fatal(err)
	}
	wrong := 7
	if _, err := b.Publish(ctx, rulebook.PublishInput{Tenant: b.tenant, Replaces: &wrong}); ship.CodeOf(err) != "rules_changed" {
		t.Errorf("publish in place of a version that is not there: %v", err)
	}
	if _, err := b.other.RollBack(ctx, b.tenant, 1, "again"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Publish(ctx, rulebook.PublishInput{Tenant: b.tenant}); ship.CodeOf(err) != "rules_changed" {
		t.Errorf("publish a draft of an older version: %v", err)
	}
	if d, err := b.Draft(ctx, b.tenant); err != nil || d.Rules.Rules[0].Then.Use[0].Carrier != "usps" {
		t.Errorf("the draft is gone: %+v, %v", d, err)
	}
}

func TestOfManyWhoPublishAtOnceOneDoes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := b.SaveDraft(t.Context(), b.tenant, useBook("ups")); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	codes := map[string]int{}
	for range 8 {
		all.Go(func() {
			_, err := b.Publish(t.Context(), rulebook.PublishInput{Tenant: b.tenant})
			mu.Lock()
			defer mu.Unlock()
			codes[ship.CodeOf(err)]++
		})
	}
	all.Wait()
	if codes[""] != 1 || codes[""]+codes["rules_changed"]+codes["draft_not_found"] != 8 {
		t.Errorf("of eight, %v", codes)
	}
}

func TestAnEarlierVersionIsPublishedAgainAsANewOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := t.Context()
	b.publish(t, useBook("ups"), "one")
	b.publish(t, useBook("usps"), "two")
	v, err := b.RollBack(ctx, b.tenant, 1, "two was dear")
	if err != nil || v.Version != 3 || v.Restored != 1 || v.Rules.Rules[0].Then.Use[0].Carrier != "ups" {
		t.Fatalf("rolled back to %+v, %v", v, err)
	}
	list, err := b.Versions(ctx, b.tenant, 0, 10)
	if err != nil || len(list) != 3 || list[0].Note != "two was dear" || list[2].Note != "one" {
		t.Errorf("history is %+v, %v", list, err)
	}
	if _, err := b.RollBack(ctx, b.tenant, 9, ""); ship.CodeOf(err) != "version_not_found" {
		t.Errorf("roll back to nothing: %v", err)
	}
}

func TestRulesThatNameWhatIsNotThereAreRefusedWithASuggestion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	book := routing.Book{Rules: []routing.Rule{
		{Name: "a", Then: routing.Action{Use: []routing.Target{{Carrier: "ups"}, {Carrier: "usp"}}}},
		{Name: "b", Then: routing.Action{Forbid: []routing.Target{{Carrier: "ups", Service: "grund"}}}},
		{Name: "c", Then: routing.Action{Use: []routing.Target{{Carrier: "ups", ConnectionID: "con_01KJMBQDHV00G9W4T7H2K5NXQD"}}}},
	}}
	_, err := b.SaveDraft(t.Context(), b.tenant, book)
	var notified []string
	for _, f := range asError(t, err).Fields {
		notified = append(notified, f.Pointer+" "+f.Code+" "+f.Suggestion)
	}
	want := "/rules/0/then/use/1/carrier unknown_carrier usps; /rules/1/then/forbid/0/service unknown_service ground; /rules/2/then/use/0/connectionId unknown_connection "
	if got := strings.Join(notified, "; "); got != want && got != strings.Replace(want, "usps", "ups", 1) {
		t.Errorf("told\n%s, want\n%s", got, want)
	}
	if _, err := b.Draft(t.Context(), b.tenant); ship.CodeOf(err) != "draft_not_found" {
		t.Errorf("refused rules are kept: %v", err)
	}
}

func asError(t *testing.T, err error) *ship.Error {
	t.Helper()
	e, ok := err.(*ship.Error)
	if !ok {
		t.Fatalf("%v is not one of ours", err)
	}
	return e
}

func TestAnotherTenantHasItsOwnRules(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.publish(t, useBook("ups"), "mine")
	for _, other := range []ship.Tenant{storetest.Tenant(), {Account: b.tenant.Account, Livemode: true}} {
		if p, err := b.Policy(t.Context(), other); err != nil || p.Version != 0 {
			t.Errorf("%v has version %d, %v", other, p.Version, err)
		}
		if _, err := b.Published(t.Context(), other, 1); ship.CodeOf(err) != "version_not_found" {
			t.Errorf("%v sees the version: %v", other, err)
		}
	}
}

func TestTwoWhoEditTheDraftLoseNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := t.Context()
	add := func(name string) func(routing.Book) (routing.Book, error) {
		return func(book routing.Book) (routing.Book, error) {
			book.Rules = append(slices.Clip(book.Rules), routing.Rule{Name: name, Then: routing.Action{Choose: "fastest"}})
			return book, nil
		}
	}
	b.publish(t, useBook("usps"), "first")
	desk, err := b.Workspace(ctx, b.tenant)
	if err != nil || desk.HasDraft || len(desk.Rules.Rules) != 1 {
		t.Fatalf("without a draft the desk has %+v, %v", desk, err)
	}
	var wg sync.WaitGroup
	var saved, refused atomic.Int64
	for i := range 8 {
		wg.Go(func() {
			switch _, err := b.Edit(ctx, rulebook.EditInput{Tenant: b.tenant, Mark: desk.Revision(), Change: add("r" + strconv.Itoa(i))}); {
			case err == nil:
				saved.Add(1)
			case ship.CodeOf(err) == "draft_changed":
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if saved.Load() != 1 || refused.Load() != 7 {
		t.Errorf("%d of 8 at once saved, %d were refused", saved.Load(), refused.Load())
	}
	now, err := b.Workspace(ctx, b.tenant)
	if err != nil || !now.HasDraft || len(now.Rules.Rules) != 2 || now.Revision() == desk.Revision() {
		t.Fatalf("the desk has %+v, %v", now, err)
	}
	later, err := b.Edit(ctx, rulebook.EditInput{Tenant: b.tenant, Mark: now.Revision(), Change: add("later")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Publish(ctx, rulebook.PublishInput{Tenant: b.tenant, Mark: now.Revision()}); ship.CodeOf(err) != "draft_changed" {
		t.Errorf("a draft that the publisher has not read: %v", err)
	}
	if v, err := b.RollBack(ctx, b.tenant, 1, ""); err != nil || v.Version != 2 {
		t.Fatal(v, err)
	}
	later, err = b.Edit(ctx, rulebook.EditInput{Tenant: b.tenant, Mark: later.Revision(), Change: add("last")})
	if err != nil || later.Version.Version != 1 {
		t.Fatalf("an edit must not forget what the draft is based on: %+v, %v", later, err)
	}
	if now, err = b.Workspace(ctx, b.tenant); err != nil || !now.Behind() {
		t.Errorf("the draft is not behind: %+v, %v", now, err)
	}
	if _, err := b.Publish(ctx, rulebook.PublishInput{Tenant: b.tenant}); ship.CodeOf(err) != "rules_changed" {
		t.Errorf("a draft that is behind: %v", err)
	}
}

func TestABookOfNothingButADefaultIsReadAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := b.SaveDraft(t.Context(), b.tenant, routing.Book{Default: routing.Action{Choose: "fastest"}}); err != nil {
		t.Fatal(err)
	}
	d, err := b.Workspace(t.Context(), b.tenant)
	if err != nil || d.DraftError != nil || !d.HasDraft || d.Rules.Default.Choose != "fastest" || d.Rules.Rules == nil {
		t.Errorf("the desk has %+v, %v, %v", d.Rules, d.DraftError, err)
	}
}
