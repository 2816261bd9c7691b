package label

import (
	"bytes"
	"errors"
	"image/png"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestADocumentIsSmallAndSurvivesStorage(t *testing.T) {
	for name, page := range latin {
		d := oneOf(page)
		data := d.Marshal()
		if len(data) > 500 {
			t.Errorf("%s: %d bytes, want at most 500", name, len(data))
		}
		back, err := Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(back, d) {
			t.Errorf("%s: got %+v, want %+v", name, back, d)
		}
	}
	for _, bad := range []string{"", "{", `{"pages":[]}`, `[]`} {
		if _, err := Parse([]byte(bad)); ship.KindOf(err) != ship.Internal {
			t.Errorf("Parse(%q) = %v, want an internal error", bad, err)
		}
	}
}

func TestEqualDocumentsGiveEqualBytesOnAllGoroutines(t *testing.T) {
	shared := newRenderer(t)
	for _, format := range []Format{PDF, ZPL, PNG} {
		want := render(t, worldly(), Options{Format: format})
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				got, err := shared.Render(worldly(), Options{Format: format})
				if err != nil || !bytes.Equal(got.Data, want.Data) {
					t.Errorf("%s: another rendering, or %v", format, err)
				}
			})
		}
		wg.Wait()
	}
}

func TestOptionsThatCannotBeRenderedAreRefused(t *testing.T) {
	r := newRenderer(t)
	for _, tc := range []struct {
		options Options
		pointer string
	}{
		{Options{Format: "gif"}, "/format"},
		{Options{Size: "a5"}, "/size"},
		{Options{DPI: 600}, "/dpi"},
	} {
		_, err := r.Render(oneOf(latin["ups"]), tc.options)
		var e *ship.Error
		if !errors.As(err, &e) || e.Kind != ship.Invalid || e.Fields[0].Pointer != tc.pointer {
			t.Errorf("%+v: %v, want invalid at %s", tc.options, err, tc.pointer)
		}
	}
	for _, size := range []Size{SizeA4, SizeLetter} {
		_, err := r.Render(oneOf(latin["ups"]), Options{Format: ZPL, Size: size})
		if ship.KindOf(err) != ship.Unsupported || ship.CodeOf(err) != "format_unavailable" {
			t.Errorf("ZPL on %s: %v, want format_unavailable", size, err)
		}
	}
	for _, pages := range [][]Page{nil, make([]Page, maxPages+1)} {
		if _, err := r.Render(Document{Pages: pages}, Options{}); ship.KindOf(err) != ship.Invalid {
			t.Errorf("%d pages: %v, want invalid", len(pages), err)
		}
	}
}

func TestABarCodeThatCannotBePrintedIsRefused(t *testing.T) {
	for _, content := range []string{"naïve", "line\nbreak", strings.Repeat("A1", 40)} {
		_, err := newRenderer(t).Render(oneOf(Page{Tracking: "1", Barcode: content}), Options{})
		if ship.KindOf(err) != ship.Invalid {
			t.Errorf("%q: %v, want invalid", content, err)
		}
	}
}

func TestPicturesHaveTheSizeOfThePaper(t *testing.T) {
	three := Document{Pages: []Page{latin["ups"], latin["usps"], latin["dhl"]}}
	for _, tc := range []struct {
		size          Size
		dpi           int
		width, height int
	}{
		{Size4x6, 203, 812, 1218},
		{Size4x6, 300, 1200, 1800},
		{SizeA6, 203, 839, 1183},
		{SizeA6, 300, 1240, 1748},
		{SizeA4, 203, 1678, 2374},
		{SizeA4, 300, 2480, 3508},
		{SizeLetter, 203, 1726, 2233},
		{SizeLetter, 300, 2550, 3300},
	} {
		out := render(t, three, Options{Format: PNG, Size: tc.size, DPI: tc.dpi})
		img, err := png.Decode(bytes.NewReader(out.Data))
		if err != nil {
			t.Fatal(err)
		}
		if b := img.Bounds(); b.Dx() != tc.width || b.Dy() != 3*tc.height {
			t.Errorf("%s at %d dpi: %v, want %dx%d", tc.size, tc.dpi, b, tc.width, 3*tc.height)
		}
	}
}

// inked calls yield for every black dot.
func inked(t *testing.T, data []byte, yield func(x, y int)) (width, height int) {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	b := img.Bounds()
	for y := range b.Dy() {
		for x := range b.Dx() {
			if r, _, _, _ := img.At(x, y).RGBA(); r == 0 {
				yield(x, y)
			}
		}
	}
	return b.Dx(), b.Dy()
}

func TestNothingRunsOffTheLabel(t *testing.T) {
	huge := Page{
		Carrier: strings.Repeat("W", 5000), Service: strings.Repeat("W ", 5000), Tracking: "1234567890",
		From: slices.Repeat([]string{strings.Repeat("M", 1000)}, 100), To: slices.Repeat([]string{"漢字 " + strings.Repeat("漢", 1000)}, 100),
		Routing: strings.Repeat("8", 1000), Reference: slices.Repeat([]string{strings.Repeat("Ref", 300)}, 20),
		Weight: strings.Repeat("8", 1000), ShipDate: strings.Repeat("8", 1000), Piece: 1 << 60, Pieces: 1 << 60,
	}
	for _, d := range []Document{awkward(), worldly(), oneOf(huge)} {
		for _, size := range []Size{Size4x6, SizeA6} {
			for _, dpi := range []int{203, 300} {
				edge := margin * dpi / 203
				out := render(t, d, Options{Format: PNG, Size: size, DPI: dpi})
				show(t, "longest-"+string(size)+".png", out.Data)
				paper, _ := size.dimensions()
				width, height := (paper.width*dpi+500)/1000, (paper.height*dpi+500)/1000
				inked(t, out.Data, func(x, y int) {
					if y %= height; x < edge || y < edge || x > width-edge || y > height-edge {
						t.Fatalf("%s at %d dpi: ink at %d,%d", size, dpi, x, y)
					}
				})
			}
		}
	}
}

func TestSheetsCarryTheLabelInTheUpperLeftCorner(t *testing.T) {
	for _, size := range []Size{SizeA4, SizeLetter} {
		right, bottom := 0, 0
		out := render(t, oneOf(latin["ups"]), Options{Format: PNG, Size: size})
		show(t, "sheet-"+string(size)+".png", out.Data)
		inked(t, out.Data, func(x, y int) { right, bottom = max(right, x), max(bottom, y) })
		if right > 4*203+sheetMargin || bottom > 6*203+sheetMargin {
			t.Errorf("%s: ink as far as %d,%d", size, right, bottom)
		}
	}
}

func TestOnlySamplesSaySo(t *testing.T) {
	d := oneOf(latin["ups"])
	if out := render(t, d, Options{Format: ZPL}); !bytes.Contains(out.Data, []byte(sampleMark)) {
		t.Error("a sample without its mark")
	}
	d.Sample = false
	if out := render(t, d, Options{Format: ZPL}); bytes.Contains(out.Data, []byte("SAMPLE")) {
		t.Error("a live label with the mark of a sample")
	}
}

func TestCharactersThatNoFontHasAreReported(t *testing.T) {
	p := latin["ups"]
	p.To = []string{"b😀 😀\U0001F4E6a", "Straße"}
	for _, format := range []Format{PDF, PNG, ZPL} {
		out := render(t, oneOf(p), Options{Format: format})
		if want := []rune("📦😀"); !slices.Equal(out.Missing, want) {
			t.Errorf("%s: missing %q, want %q", format, string(out.Missing), string(want))
		}
	}
}

func TestWithoutTheBigFontIdeographsAreReported(t *testing.T) {
	r, err := NewRenderer(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := latin["ups"]
	p.To = append(slices.Clone(scripts["chinese"][:1]), scripts["arabic"]...)
	out, err := r.Render(oneOf(p), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []rune("小明王"); !slices.Equal(out.Missing, want) {
		t.Errorf("missing %q, want %q", string(out.Missing), string(want))
	}
}

func TestAnIdleRendererHoldsNoFonts(t *testing.T) {
	start := time.Now()
	r, err := NewRenderer("")
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 5*time.Millisecond {
		t.Errorf("NewRenderer took %v", took)
	}
	if _, err := r.Render(oneOf(latin["ups"]), Options{Format: ZPL}); err != nil || r.cache != nil {
		t.Errorf("a Latin label as ZPL opened fonts, or failed: %v", err)
	}
	if _, err := r.Render(worldly(), Options{}); err != nil || r.cache == nil {
		t.Fatalf("no fonts after a PDF, or %v", err)
	}
	busy := r.acquire()
	r.dropFonts()
	if r.cache == nil {
		t.Error("fonts forgotten while somebody renders")
	}
	r.release(busy)
	r.dropFonts()
	if r.cache != nil {
		t.Error("fonts kept while idle")
	}
}
