package label_test

import (
	"fmt"
	"testing"

	"github.com/waybillhq/waybill/internal/label"
)

func TestHandoverSheetHasAllLinesOnAsManyPagesAsNeeded(t *testing.T) {
	t.Parallel()
	renderer, err := label.NewRenderer("")
	if err != nil {
		t.Fatal(err)
	}

	sheet := label.HandoverSheet{Carrier: "UPS", Number: "man_1", Date: "2026-11-17", From: []string{"Acme", "1 Market Street"}, Weight: "12.0 lb"}
	for i := range 100 {
		sheet.Lines = append(sheet.Lines, label.HandoverLine{Numbers: []string{fmt.Sprintf("1Z%016d", i)}, Service: "Ground", Weight: "4.2 lb"})
	}
	for _, size := range []label.Size{"", label.SizeA4} {
		sheet.Size = size
		rendering, err := renderer.RenderHandoverSheet(sheet)
		if err != nil || len(rendering.Missing) > 0 {
			t.Fatalf("%v, missing %q", err, rendering.Missing)
		}
		if pages, err := label.Sheets(rendering.Data); err != nil || pages < 3 || pages > 4 {
			t.Errorf("%d pages, %v; want three or four for 100 lines", pages, err)
		}
	}

	sheet.Size = label.Size4x6
	if _, err := renderer.RenderHandoverSheet(sheet); err == nil {
		t.Error("a sheet of label size was printed")
	}
}
