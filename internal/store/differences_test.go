package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/store"
)

func TestDifferencesAreCountedAndBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one, other := f.connect(t, f.tenant, "One"), f.connect(t, f.tenant, "Other")

	at := time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	add := func(c store.Connection, code, detail string, at time.Time) {
		t.Helper()
		err := f.AddDifference(t.Context(), store.Difference{
			Tenant: f.tenant, Connection: c.ID, Kind: "error_code", Operation: "buy", Code: code, Detail: detail, Count: 2, FirstAt: at, LastAt: at,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	add(one, "X1", "first words", at)
	add(one, "X1", "other words", at.Add(time.Hour))
	add(other, "X1", "elsewhere", at)

	list, err := f.Differences(t.Context(), f.tenant)
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v; want one of each connection", list, err)
	}
	if d := list[0]; d.Connection != one.ID || d.Carrier != "ups" || d.Count != 4 || d.Detail != "other words" || !d.FirstAt.Equal(at) || !d.LastAt.Equal(at.Add(time.Hour)) {
		t.Errorf("%+v", d)
	}

	for i := range 80 {
		add(one, fmt.Sprint("Y", i), "", at)
	}
	add(one, "X1", "still counted", at.Add(2*time.Hour))
	list, err = f.Differences(t.Context(), f.tenant)
	if err != nil || len(list) != 51 || list[0].Count != 6 {
		t.Errorf("%d differences, %v; want 50 of one connection and one of the other, the first with 6", len(list), err)
	}

	// Answers are the same if their shapes are.
	shape := store.Difference{Kind: "answer", Operation: "buy", Detail: strings.Repeat("a string\n", 10)}
	same, changed := shape, shape
	same.Count = 7
	changed.Detail += "b string"
	if shape.Key() != same.Key() || shape.Key() == changed.Key() {
		t.Error("the key of an answer does not follow from its shape alone")
	}

	all, err := f.AllDifferences(t.Context(), 1000)
	if err != nil || len(all) < 51 {
		t.Errorf("%d of all accounts, %v", len(all), err)
	}
}
