package label

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

// drawn is our own label as a picture, to play a carrier's.
func drawn(t testing.TB, p Page, dpi int) image.Image {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(render(t, oneOf(p), Options{Format: PNG, DPI: dpi}).Data))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// upsGIF is a label as UPS sends it: landscape on 1400 by 800 dots, 200 to the
// inch, with a white strip at one end.
func upsGIF(t testing.TB, p Page) []byte {
	t.Helper()
	src := drawn(t, p, 203)
	b := src.Bounds()
	out := image.NewPaletted(image.Rect(0, 0, 1400, 800), color.Palette{color.White, color.Black})
	for y := range b.Dy() {
		for x := range b.Dx() {
			if isDark(src.At(x, y)) {
				// A quarter turn against the clock; the label's own margin falls away.
				out.SetColorIndex(y-10, 800-(x-6), 1)
			}
		}
	}
	var buf bytes.Buffer
	if err := gif.Encode(&buf, out, nil); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// fedexPNG is a label as FedEx sends it: 812 by 1218 dots.
func fedexPNG(t testing.TB, p Page) []byte {
	t.Helper()
	src := drawn(t, p, 203)
	out := image.NewNRGBA(src.Bounds())
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			out.Set(x, y, src.At(x, y))
		}
	}
	var buf bytes.Buffer
	if err := png.Encode(&buf, out); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// photo is a label of 300 dpi with the noise of a JPEG.
func photo(t testing.TB, p Page) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := jpeg.Encode(&buf, drawn(t, p, 300), &jpeg.Options{Quality: 60}); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// shown turns a converted label into what comes out of a printer.
func shown(t *testing.T, data []byte, o Options, check, pdftoppm string) []byte {
	t.Helper()
	dpi := strconv.Itoa(o.DPI)
	switch o.Format {
	case PDF:
		return filter(t, data, pdftoppm, "-r", dpi, "-mono", "-singlefile", "-")
	case ZPL:
		paper, _ := o.Size.dimensions()
		return filter(t, data, check, "-dpi", dpi,
			"-width", fmt.Sprint(float64(paper.width)*0.0254), "-height", fmt.Sprint(float64(paper.height)*0.0254))
	}
	return data
}

func convertTo(t testing.TB, l ship.Label, o Options) []byte {
	t.Helper()
	out, err := newRenderer(t).RenderLabel(l, o)
	if err != nil {
		t.Fatalf("%s to %+v: %v", l.Format, o, err)
	}
	if o.Format == "" {
		o.Format = PDF
	}
	if err := Lint(string(o.Format), out.Data); err != nil {
		t.Errorf("%s to %+v: our own output: %v", l.Format, o, err)
	}
	return out.Data
}

// TestConvertedLabelsScan is the point of converting: from each kind of
// picture to each format, medium and resolution.
func TestConvertedLabelsScan(t *testing.T) {
	tool(t, "zbarimg")
	pdftoppm, check := tool(t, "pdftoppm"), zplcheck(t)
	for _, tc := range []struct {
		carrier, format string
		make            func(testing.TB, Page) []byte
	}{
		{"ups", "gif", upsGIF},
		{"usps", "gif", upsGIF}, // the narrowest bars
		{"fedex", "png", fedexPNG},
		{"usps", "jpg", photo},
	} {
		p := latin[tc.carrier]
		l := ship.Label{Format: tc.format, Data: tc.make(t, p)}
		for _, o := range everyOption {
			if o.Size != Size4x6 && tc.carrier != "usps" {
				continue // one number will do to see other media
			}
			t.Run(fmt.Sprint(tc.format, tc.carrier, o), func(t *testing.T) {
				t.Parallel()
				picture := shown(t, convertTo(t, l, o), o, check, pdftoppm)
				show(t, fmt.Sprintf("%s-%s-%s-%s-%d.png", tc.format, tc.carrier, o.Format, o.Size, o.DPI), picture)
				if got := scan(t, picture); got != p.Tracking {
					t.Errorf("scanned %q, want %q", got, p.Tracking)
				}
			})
		}
	}
}

// everyOption is what a client can ask for, less what a second medium does
// not show.
var everyOption = []Options{
	{Format: PDF, Size: Size4x6, DPI: 203},
	{Format: PDF, Size: Size4x6, DPI: 300},
	{Format: PNG, Size: Size4x6, DPI: 203},
	{Format: PNG, Size: Size4x6, DPI: 300},
	{Format: ZPL, Size: Size4x6, DPI: 203},
	{Format: ZPL, Size: Size4x6, DPI: 300},
	{Format: PDF, Size: SizeA6, DPI: 203},
	{Format: PNG, Size: SizeA6, DPI: 300},
	{Format: ZPL, Size: SizeA6, DPI: 203},
	{Format: PDF, Size: SizeA4, DPI: 300},
	{Format: PNG, Size: SizeA4, DPI: 203},
	{Format: PDF, Size: SizeLetter, DPI: 203},
	{Format: PNG, Size: SizeLetter, DPI: 300},
}

// TestDotsOfAPrinterStayDots: a picture made for the printer is not touched.
func TestDotsOfAPrinterStayDots(t *testing.T) {
	want := render(t, oneOf(latin["fedex"]), Options{Format: PNG})
	got := convertTo(t, ship.Label{Format: "png", Data: fedexPNG(t, latin["fedex"])}, Options{Format: PNG})
	a, errA := png.Decode(bytes.NewReader(want.Data))
	b, errB := png.Decode(bytes.NewReader(got))
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if a.Bounds() != b.Bounds() || !bytes.Equal(blacken(a).bits, blacken(b).bits) {
		t.Error("the picture has changed on its way")
	}
}

// TestNothingIsCutOff: the strip that falls away is white.
func TestNothingIsCutOff(t *testing.T) {
	data := upsGIF(t, latin["ups"])
	before, err := readRaster("gif", data)
	if err != nil {
		t.Fatal(err)
	}
	after, err := readRaster("png", convertTo(t, ship.Label{Format: "gif", Data: data}, Options{Format: PNG}))
	if err != nil {
		t.Fatal(err)
	}
	a, b := before.inkBounds(), after.inkBounds()
	if a.w != b.w || a.h != b.h || !bytes.Equal(before.crop(a).bits, after.crop(b).bits) {
		t.Errorf("of %v is left %v", a, b)
	}
	if left, right := b.x, after.width-b.x-b.w; distance(left, right) > 1 {
		t.Errorf("%d dots free at the left, %d at the right", left, right)
	}
}

func TestSeveralPagesStayTogether(t *testing.T) {
	pages := [][]byte{upsGIF(t, latin["ups"]), upsGIF(t, latin["usps"]), upsGIF(t, latin["dhl"])}
	l := ship.Label{Format: "gif", Data: Join(pages)}
	if f, err := readPDF(convertTo(t, l, Options{})); err != nil || len(f.pages) != 3 {
		t.Errorf("PDF: %v, want 3 pages", err)
	}
	if got := bytes.Count(convertTo(t, l, Options{Format: ZPL}), []byte("^XA")); got != 3 {
		t.Errorf("ZPL has %d labels, want 3", got)
	}
	c, err := png.DecodeConfig(bytes.NewReader(convertTo(t, l, Options{Format: PNG})))
	if err != nil || c.Width != 812 || c.Height != 3*1218 {
		t.Errorf("PNG is %d by %d, %v; want the pages below each other", c.Width, c.Height, err)
	}
}

func TestConvertedLabelsAreSmall(t *testing.T) {
	for _, tc := range []struct {
		format Format
		most   int
	}{{PDF, 20_000}, {PNG, 20_000}, {ZPL, 60_000}} {
		data := convertTo(t, ship.Label{Format: "gif", Data: upsGIF(t, latin["ups"])}, Options{Format: tc.format})
		if t.Logf("%s: %d bytes", tc.format, len(data)); len(data) > tc.most {
			t.Errorf("%s has %d bytes, want at most %d", tc.format, len(data), tc.most)
		}
	}
}

func TestBarsKeepTheirProportions(t *testing.T) {
	// Bars of two dots at odd places, which come out as three dots each.
	b := newBitmap(400, 20)
	for x := 1; x < 400; x += 4 {
		b.fill(rect{x, 0, 2, 20})
	}
	out := b.scaled(ratio{3, 2})
	for x := 3; x < out.width-6; x++ {
		if out.isBlack(x, 5) != out.isBlack(x+6, 5) {
			t.Fatalf("the pattern breaks at %d", x)
		}
	}
	black := 0
	for x := 0; x < 600; x++ {
		if out.isBlack(x, 5) {
			black++
		}
	}
	if black != 300 {
		t.Errorf("%d of 600 dots are black, want half", black)
	}
	// Reduced to half, a bar of two becomes one.
	half := b.scaled(ratio{1, 2})
	if got := half.bounds(); half.width != 200 || got.h != 10 {
		t.Errorf("half is %d wide, bounds %v", half.width, got)
	}
}

func TestTurningKeepsEveryDot(t *testing.T) {
	b := newBitmap(13, 7)
	for _, at := range [][2]int{{0, 0}, {12, 0}, {5, 3}, {12, 6}, {7, 1}} {
		b.set(at[0], at[1], true)
	}
	out := b.rotated()
	for y := range 7 {
		for x := range 13 {
			if b.isBlack(x, y) != out.isBlack(6-y, x) {
				t.Fatalf("dot %d,%d is lost", x, y)
			}
		}
	}
	if out.width != 7 || out.height != 13 {
		t.Errorf("%d by %d", out.width, out.height)
	}
}

func TestPicturesInEveryColourModelAreRead(t *testing.T) {
	all := image.Rect(0, 0, 400, 600)
	for name, img := range map[string]interface {
		image.Image
		Set(x, y int, c color.Color)
	}{
		"grey": image.NewGray(all), "grey16": image.NewGray16(all), "rgba": image.NewRGBA(all), "nrgba": image.NewNRGBA(all), "cmyk": image.NewCMYK(all),
		"palette": image.NewPaletted(all, color.Palette{color.Transparent, color.White, color.Black, color.Gray{100}, color.Gray{160}, color.NRGBA{0xff, 0xee, 0x20, 0xff}}),
	} {
		for y := range 600 {
			for x := range 400 {
				img.Set(x, y, color.White)
			}
		}
		img.Set(13, 17, color.Black)
		img.Set(12, 17, color.Gray{100})                     // dark grey is black
		img.Set(14, 17, color.NRGBA{0xff, 0xee, 0x20, 0xff}) // light yellow stays white
		img.Set(15, 17, color.Gray{160})
		b := blacken(img)
		if got := b.bounds(); got != (rect{8, 17, 8, 1}) || !b.isBlack(13, 17) || b.isBlack(14, 17) || b.isBlack(15, 17) || !b.isBlack(12, 17) {
			t.Errorf("%s: black in %v, want two dots", name, got)
		}
	}
	clear := image.NewNRGBA(all) // transparent everywhere
	if got := blacken(clear).bounds(); got.w != 0 {
		t.Errorf("what is transparent is black: %v", got)
	}
}

func TestADamagedPictureIsHeldBack(t *testing.T) {
	data := fedexPNG(t, latin["ups"])
	at := bytes.Index(data, []byte("IDAT")) + 40
	broken := bytes.Clone(data[:at])
	broken = append(broken, bytes.Repeat([]byte{0}, 40)...)
	broken = append(broken, data[at+40:]...)
	// The sum is right, so only decoding shows it.
	broken = appendChunk(broken[:33], "IDAT", broken[at-36:len(broken)-16])
	broken = appendChunk(broken, "IEND", nil)
	if err := Lint("png", broken); err != nil {
		t.Fatalf("the structure is refused already: %v", err)
	}
	_, err := newRenderer(t).RenderLabel(ship.Label{Format: "png", Data: broken}, Options{})
	f, ok := errors.AsType[*Finding](err)
	if ship.CodeOf(err) != "label_quarantined" || !ok || f.Code != "image_damaged" {
		t.Errorf("err = %v, want label_quarantined for image_damaged", err)
	}
}

// TestALabelTooLargeForItsPaperKeepsItsSize: made smaller, its bars would run
// into each other.
func TestALabelTooLargeForItsPaperKeepsItsSize(t *testing.T) {
	img := image.NewGray(image.Rect(0, 0, 812, 1900)) // black all over
	var buf bytes.Buffer
	if err := png.Encode(&buf, img); err != nil {
		t.Fatal(err)
	}
	l := ship.Label{Format: "png", Data: buf.Bytes()}

	f, err := readPDF(convertTo(t, l, Options{}))
	if err != nil {
		t.Fatal(err)
	}
	if w, h := f.pages[0].size(); math.Abs(w-288) > 1 || math.Abs(h-674) > 1 {
		t.Errorf("the PDF page has %.0f by %.0f points, want 288 by 674", w, h)
	}
	size, err := png.DecodeConfig(bytes.NewReader(convertTo(t, l, Options{Format: PNG})))
	if err != nil || size.Width != 812 || size.Height != 1900 {
		t.Errorf("the picture is %d by %d, %v", size.Width, size.Height, err)
	}
	if zpl := convertTo(t, l, Options{Format: ZPL}); !bytes.Contains(zpl, []byte("^PW812^LL1900")) {
		t.Errorf("ZPL begins with %.60s", zpl)
	}

	_, err = newRenderer(t).RenderLabel(l, Options{Format: PNG, Size: SizeA6})
	if ship.CodeOf(err) != "format_unavailable" || !strings.Contains(err.Error(), "4x6") {
		t.Errorf("on A6: %v, want format_unavailable that names 4x6", err)
	}
}
