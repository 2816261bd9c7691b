package rulebook_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/ship"
)

const contract = `[sheet]
name,Contract
currency,USD
weight unit,lb
[services]
service,name
ground,Contract Ground
[zones]
zone,country
1,US
[rates]
service,up to,zone 1
ground,5,3.21
`

func TestARateSheetCountsUntilItIsRemoved(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := t.Context()
	for version := 1; version <= 2; version++ {
		s, err := b.ImportSheet(ctx, b.tenant, rulebook.SheetInput{Name: "ups-2026", Carrier: "ups", CSV: contract})
		if err != nil || s.Version != version || s.Parsed.Counts().Prices != 1 {
			t.Fatalf("imported %+v, %v", s, err)
		}
	}
	p, err := b.Policy(ctx, b.tenant)
	if err != nil {
		t.Fatal(err)
	}
	if s, name := p.Sheet("ups", "con_x"); s == nil || name != "ups-2026 2" {
		t.Errorf("any account of UPS is priced by %q", name)
	}
	if s, _ := p.Sheet("usps", ""); s != nil {
		t.Error("USPS is priced by it too")
	}
	if err := b.RemoveSheet(ctx, b.tenant, "ups-2026"); err != nil {
		t.Fatal(err)
	}
	if p, err := b.Policy(ctx, b.tenant); err != nil || p.Sheet != nil {
		t.Errorf("a removed sheet counts, %v", err)
	}
	if err := b.RemoveSheet(ctx, b.tenant, "ups-2026"); ship.CodeOf(err) != "rate_sheet_not_found" {
		t.Errorf("removed twice: %v", err)
	}
	if s, err := b.Sheet(ctx, b.tenant, "ups-2026", 1); err != nil || s.CSV != contract {
		t.Errorf("its first version is gone: %v", err)
	}
}

func TestARateSheetThatCannotBeBoughtByIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := b.ImportSheet(t.Context(), b.tenant, rulebook.SheetInput{Name: "first", Carrier: "ups", CSV: contract}); err != nil {
		t.Fatal(err)
	}
	for what, tc := range map[string]struct {
		in       rulebook.SheetInput
		notified string
	}{
		"two for one account": {rulebook.SheetInput{Name: "second", Carrier: "ups", CSV: contract}, "rate_sheet_overlap"},
		"no such service":     {rulebook.SheetInput{Name: "first", Carrier: "ups", CSV: strings.ReplaceAll(contract, "ground", "grund")}, "unknown_service ground"},
		"no such carrier":     {rulebook.SheetInput{Name: "first", Carrier: "usp", CSV: contract}, "unknown_carrier"},
		"a name for no path":  {rulebook.SheetInput{Name: "Our sheet", Carrier: "ups", CSV: contract}, "invalid"},
		"no sheet":            {rulebook.SheetInput{Name: "first", Carrier: "ups", CSV: "hello"}, "invalid_rate_sheet"},
	} {
		_, err := b.ImportSheet(t.Context(), b.tenant, tc.in)
		notified := ship.CodeOf(err)
		for _, f := range asError(t, err).Fields {
			notified += " " + f.Code + " " + f.Suggestion
		}
		if !strings.Contains(notified, tc.notified) {
			t.Errorf("%s: %s, want %s", what, notified, tc.notified)
		}
	}
	if list, err := b.Sheets(t.Context(), b.tenant); err != nil || len(list) != 1 || list[0].Version != 1 {
		t.Errorf("sheets are %+v, %v", list, err)
	}
}

// TestSheetsOfATenantAreBoundedTogether imports large sheets for one carrier
// after the other: a purchase would read all of them at once.
func TestSheetsOfATenantAreBoundedTogether(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	comments := strings.Repeat("# x\n", 970_000)
	for i, spec := range sandbox.Specs()[:4] {
		input := rulebook.SheetInput{
			Name:    "large-" + strconv.Itoa(i),
			Carrier: spec.Name,
			CSV:     strings.ReplaceAll(contract, "ground", spec.Services[0].Code) + comments,
		}
		_, err := b.ImportSheet(t.Context(), b.tenant, input)
		if i < 3 && err != nil {
			t.Fatalf("sheet %d: %v", i, err)
		}
		if i == 3 && (ship.KindOf(err) != ship.Invalid || !strings.Contains(asError(t, err).Fields[0].Detail, "12 MB")) {
			t.Errorf("the fourth: %v", err)
		}
	}

	// One takes the place of another of its name.
	again := rulebook.SheetInput{Name: "large-0", Carrier: sandbox.Specs()[0].Name, CSV: strings.ReplaceAll(contract, "ground", sandbox.Specs()[0].Services[0].Code) + comments}
	if _, err := b.ImportSheet(t.Context(), b.tenant, again); err != nil {
		t.Errorf("again: %v", err)
	}
}
