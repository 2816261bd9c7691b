package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

func (f *fixture) publish(t *testing.T, version int, book string) error {
	t.Helper()
	return f.InTx(t.Context(), f.tenant, func(tx *store.Store) error {
		_, err := tx.PublishRules(t.Context(), f.tenant, store.RuleBook{Version: version, Book: json.RawMessage(book), Note: "n"})
		return err
	})
}

func TestTheNextVersionOfTheRulesIsPublishedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	if r, err := f.RoutingRevision(ctx, f.tenant); r != 0 || err != nil {
		t.Errorf("a tenant without rules has revision %d, %v", r, err)
	}
	if _, err := f.RuleBook(ctx, f.tenant, 0); ship.KindOf(err) != ship.NotFound {
		t.Errorf("rules that nobody wrote: %v", err)
	}
	for v := 1; v <= 3; v++ {
		if err := f.publish(t, v, `{"rules":[]}`); err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range []int{1, 3, 5} {
		if err := f.publish(t, v, `{}`); ship.KindOf(err) != ship.Conflict {
			t.Errorf("version %d after 3: %v", v, err)
		}
	}
	if r, err := f.RoutingRevision(ctx, f.tenant); r != 3 || err != nil {
		t.Errorf("three versions make revision %d, %v", r, err)
	}
	newest, err := f.RuleBook(ctx, f.tenant, 0)
	if err != nil || newest.Version != 3 || newest.WrittenAt.IsZero() {
		t.Errorf("newest is %+v, %v", newest, err)
	}
	list, err := f.RuleBooks(ctx, f.tenant, 3, 10)
	if err != nil || len(list) != 2 || list[0].Version != 2 {
		t.Errorf("before 3 are %+v, %v", list, err)
	}
}

func TestADraftReplacesTheOneBefore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	if err := f.publish(t, 1, `{"rules":[]}`); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`{"a":1}`, `{"a":2}`} {
		if d, err := f.SaveRuleDraft(ctx, f.tenant, json.RawMessage(text)); err != nil || d.Version != 1 {
			t.Fatal(d, err)
		}
	}
	if d, err := f.RuleDraft(ctx, f.tenant); err != nil || string(d.Book) != `{"a":2}` {
		t.Errorf("the draft is %+v, %v", d, err)
	}
	if err := f.DropRuleDraft(ctx, f.tenant); err != nil {
		t.Fatal(err)
	}
	if _, err := f.RuleDraft(ctx, f.tenant); ship.KindOf(err) != ship.NotFound {
		t.Errorf("a dropped draft: %v", err)
	}
}

func TestTheNewestVersionOfARateSheetCounts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	add := func(name, csv string) {
		t.Helper()
		err := f.InTx(ctx, f.tenant, func(tx *store.Store) error {
			_, err := tx.AddRateSheet(ctx, f.tenant, store.RateSheet{Name: name, Carrier: "ups", CSV: csv})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	add("a", "one")
	add("a", "two")
	add("b", "three")
	add("b", "")
	list, err := f.RateSheets(ctx, f.tenant, true)
	if err != nil || len(list) != 1 || list[0].CSV != "two" || list[0].Version != 2 {
		t.Errorf("sheets are %+v, %v", list, err)
	}
	if old, err := f.RateSheet(ctx, f.tenant, "a", 1); err != nil || old.CSV != "one" {
		t.Errorf("version 1 is %+v, %v", old, err)
	}
	if _, err := f.RateSheet(ctx, f.tenant, "b", 0); ship.KindOf(err) != ship.NotFound {
		t.Errorf("a removed sheet: %v", err)
	}
}

func TestShipmentsAreReadForABackTestNewestFirst(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	var made []ship.ShipmentID
	for _, order := range []string{"1", "2", "3"} {
		made = append(made, f.create(t, f.tenant, order, "1Z"+order).ID)
		time.Sleep(2 * time.Millisecond) // ids are in the order of milliseconds
	}
	rows, err := f.Routed(ctx, f.tenant, made[2], made[0].Raw().Time(), 10)
	if err != nil || len(rows) != 2 || rows[0].ID != made[1] {
		t.Fatalf("before the last: %+v, %v", rows, err)
	}
	if o, d, err := rows[1].Read(); err != nil || o.OrderID != "1" || d.TrackingNumber != "1Z1" {
		t.Errorf("read %+v %+v, %v", o, d, err)
	}
}
