package label_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"testing"

	"github.com/waybillhq/waybill/internal/label"
)

func TestPackingSlipsHaveAllItemsOnAsManyPagesAsNeeded(t *testing.T) {
	t.Parallel()
	renderer, err := label.NewRenderer("")
	if err != nil {
		t.Fatal(err)
	}
	var logo bytes.Buffer
	if err := png.Encode(&logo, image.NewRGBA(image.Rect(0, 0, 40, 20))); err != nil {
		t.Fatal(err)
	}

	short := label.PackingSlip{
		From:  []string{"Acme", "1 Market Street"},
		To:    []string{"李雷", "北京市"},
		Facts: [][2]string{{"Order", "1001"}},
		Items: []label.SlipItem{{Description: "Cotton shirt", SKU: "CS-1", Quantity: 2}},
	}
	long := short
	for i := range 60 {
		long.Items = append(long.Items, label.SlipItem{Description: fmt.Sprintf("Thing number %d with a name that needs more than a line on a label", i), SKU: "T", Quantity: 1})
	}
	for size, want := range map[label.Size][2]int{label.Size4x6: {6, 9}, label.SizeA4: {3, 5}, label.SizeLetter: {3, 5}} {
		rendering, err := renderer.RenderPackingSlips([]label.PackingSlip{short, long}, size, logo.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		pages, err := label.Sheets(rendering.Data)
		if err != nil || pages < want[0] || pages > want[1] {
			t.Errorf("%s: %d pages, %v; want %v", size, pages, err, want)
		}
		if n := bytes.Count(rendering.Data, []byte("/Subtype/Image")); n != 1 {
			t.Errorf("%s: the logo is in the file %d times", size, n)
		}
	}

	if _, err := renderer.RenderPackingSlips([]label.PackingSlip{short}, label.SizeA6, nil); err == nil {
		t.Error("a slip was printed on A6")
	}
}
