package label

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// pdfOf writes a file with one page that draws content; the objects begin at
// number 5.
func pdfOf(box, resources, content string, objects ...string) []byte {
	var w pdfWriter
	w.out.WriteString("%PDF-1.4\n")
	w.writeObject("<</Type/Catalog/Pages 2 0 R>>")
	w.writeObject("<</Type/Pages/Count 1/Kids[3 0 R]>>")
	w.writeObject("<</Type/Page/Parent 2 0 R/MediaBox[" + box + "]/Resources<<" + resources + ">>/Contents 4 0 R>>")
	w.writeObject(streamOf("", []byte(content)))
	for _, o := range objects {
		w.writeObject(o)
	}
	return w.finish()
}

func streamOf(entries string, data []byte) string {
	return fmt.Sprintf("<<%s/Length %d>>stream\n%s\nendstream", entries, len(data), data)
}

func packed(data []byte) []byte {
	var buf bytes.Buffer
	z := zlib.NewWriter(&buf)
	_, _ = z.Write(data)
	_ = z.Close()
	return buf.Bytes()
}

func carrierPDF(data []byte) ship.Label { return ship.Label{Format: "pdf", Data: data} }

func TestACarriersPDFIsServedAsItCame(t *testing.T) {
	for _, size := range []Size{Size4x6, SizeA6, SizeA4, SizeLetter} {
		data := render(t, oneOf(latin["dhl"]), Options{Size: size}).Data
		for _, o := range []Options{{}, {Format: PDF, Size: size}} {
			if got := convertTo(t, carrierPDF(data), o); !bytes.Equal(got, data) {
				t.Errorf("%s for %+v: other bytes", size, o)
			}
		}
	}
	long := pdfOf("0 0 280 567", "", "0 0 9 9 re f") // no 4x6 can be made of it
	if got := convertTo(t, carrierPDF(long), Options{Size: Size4x6}); !bytes.Equal(got, long) {
		t.Error("a long label is not as it came")
	}
	_, err := newRenderer(t).RenderLabel(carrierPDF(long), Options{Size: SizeA6})
	if ship.CodeOf(err) != "format_unavailable" {
		t.Errorf("a long label on A6: %v, want format_unavailable", err)
	}
}

// TestADrawnPDFScans converts files that draw their bars and words: of every
// size, turned and with several pages, to every format, medium and resolution.
func TestADrawnPDFScans(t *testing.T) {
	tool(t, "zbarimg")
	pdftoppm, check := tool(t, "pdftoppm"), zplcheck(t)
	upright := render(t, oneOf(latin["dhl"]), Options{}).Data
	sold := map[string][]byte{
		"4x6":      upright,
		"a6":       render(t, oneOf(latin["dhl"]), Options{Size: SizeA6}).Data,
		"turned":   turnedPDF(t, upright, "90"),
		"two":      Join([][]byte{upright, upright}),
		"built-in": pdfOf("0 0 288 432", "/Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>", "BT /F1 20 Tf 20 380 Td (DHL) Tj ET\n"+drawnBars(t, latin["dhl"].Tracking)),
	}
	for name, data := range sold {
		for _, o := range everyOption {
			if o.Format == PDF || o.Size != Size4x6 && name != "4x6" {
				continue // one file will do to see other media
			}
			t.Run(fmt.Sprint(name, o), func(t *testing.T) {
				t.Parallel()
				picture := shown(t, convertTo(t, carrierPDF(data), o), o, check, pdftoppm)
				show(t, fmt.Sprintf("drawn-%s-%s-%s-%d.png", name, o.Format, o.Size, o.DPI), picture)
				if got, _, _ := strings.Cut(scan(t, picture), "\n"); got != latin["dhl"].Tracking {
					t.Errorf("scanned %q, want %q", got, latin["dhl"].Tracking)
				}
			})
		}
	}
}

// drawnBars is a bar code as the operators of a PDF, with modules of a point.
func drawnBars(t *testing.T, content string) string {
	t.Helper()
	sym, err := encode128(content)
	if err != nil {
		t.Fatal(err)
	}
	var ops strings.Builder
	sym.bars(func(at, width int) { fmt.Fprintf(&ops, "%d 100 %d 80 re f\n", 30+at, width) })
	return ops.String()
}

// TestALongPDFKeepsItsSize asks for every format of a label that is longer
// than the default paper.
func TestALongPDFKeepsItsSize(t *testing.T) {
	tool(t, "zbarimg")
	l := carrierPDF(pdfOf("0 0 288 576", "", drawnBars(t, "JD014600006281234567")))
	picture := convertTo(t, l, Options{Format: PNG})
	size, err := png.DecodeConfig(bytes.NewReader(picture))
	if err != nil || size.Width != 812 || size.Height != 1624 {
		t.Errorf("the picture is %d by %d, %v; want 812 by 1624", size.Width, size.Height, err)
	}
	if got := scan(t, picture); got != "JD014600006281234567" {
		t.Errorf("scanned %q", got)
	}
	if zpl := convertTo(t, l, Options{Format: ZPL}); !bytes.Contains(zpl, []byte("^PW812^LL1624")) {
		t.Errorf("ZPL begins with %.60s", zpl)
	}
}

// TestAPDFThatTakesForeverIsHeldBack has forms that draw forms: nine to the
// ninth rectangles.
func TestAPDFThatTakesForeverIsHeldBack(t *testing.T) {
	t.Parallel()
	forms := []string{streamOf("/Subtype/Form/BBox[0 0 300 500]", []byte("0 0 9 9 re f"))}
	for n := range 8 {
		again := strings.Repeat("/F Do ", 9)
		forms = append(forms, streamOf(fmt.Sprintf("/Subtype/Form/BBox[0 0 300 500]/Resources<</XObject<</F %d 0 R>>>>", 5+n), []byte(again)))
	}
	l := carrierPDF(pdfOf("0 0 288 432", "/XObject<</F 13 0 R>>", strings.Repeat("/F Do ", 9), forms...))
	r, err := NewRenderer("")
	if err != nil {
		t.Fatal(err)
	}
	r.pdf.Timeout = time.Second
	_, err = r.RenderLabel(l, Options{Format: PNG})
	if ship.CodeOf(err) != "label_quarantined" {
		t.Errorf("err = %v, want label_quarantined", err)
	}
}

// TestPDFsOnOtherPaperScan lays labels of one size on every other, turned and
// rotated ones too.
func TestPDFsOnOtherPaperScan(t *testing.T) {
	tool(t, "zbarimg")
	pdftoppm, pdfinfo := tool(t, "pdftoppm"), tool(t, "pdfinfo")
	p := latin["usps"]
	bought := map[string][]byte{
		"4x6": render(t, oneOf(p), Options{}).Data,
		"a6":  render(t, oneOf(p), Options{Size: SizeA6}).Data,
	}
	for _, turn := range []string{"90", "180", "270"} {
		// The same file, shown turned, with the table of objects put right.
		bought["turned "+turn] = turnedPDF(t, bought["4x6"], turn)
	}
	want := map[Size]string{Size4x6: "288 x 432 pts", SizeA6: "297.648 x 419.544 pts", SizeA4: "595.296 x 841.896 pts", SizeLetter: "612 x 792 pts"}
	for name, data := range bought {
		for size, points := range want {
			t.Run(name+" on "+string(size), func(t *testing.T) {
				t.Parallel()
				out := convertTo(t, carrierPDF(data), Options{Size: size})
				if info := string(filter(t, out, pdfinfo, "-")); !strings.Contains(info, points) && !bytes.Equal(out, data) {
					t.Errorf("want %s:\n%s", points, info)
				}
				picture := filter(t, out, pdftoppm, "-r", "203", "-png", "-singlefile", "-")
				show(t, "pdf-"+name+"-"+string(size)+".png", picture)
				if got := scan(t, picture); got != p.Tracking {
					t.Errorf("scanned %q, want %q", got, p.Tracking)
				}
			})
		}
	}
}

// turnedPDF copies a file with its page turned.
func turnedPDF(t *testing.T, data []byte, degrees string) []byte {
	t.Helper()
	f, err := readPDF(data)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(degrees, &f.pages[0].rotate); err != nil {
		t.Fatal(err)
	}
	return copyPDF([]*pdfFile{f}, nil)
}

func TestSeveralPDFsBecomeOne(t *testing.T) {
	tool(t, "zbarimg")
	pdftoppm := tool(t, "pdftoppm")
	packedObjects := corpus(t, "benign")["packed-objects.pdf"]
	parts := [][]byte{render(t, oneOf(latin["ups"]), Options{}).Data, packedObjects, render(t, oneOf(latin["dhl"]), Options{}).Data}
	for _, o := range []Options{{}, {Size: SizeA4}} {
		out := convertTo(t, carrierPDF(Join(parts)), o)
		f, err := readPDF(out)
		if err != nil || len(f.pages) != 3 {
			t.Fatalf("%v, want 3 pages", err)
		}
		for page, want := range map[string]string{"1": latin["ups"].Tracking, "3": latin["dhl"].Tracking} {
			if got := scan(t, filter(t, out, pdftoppm, "-r", "203", "-png", "-f", page, "-l", page, "-singlefile", "-")); got != want {
				t.Errorf("page %s: scanned %q, want %q", page, got, want)
			}
		}
		show(t, "merged.pdf", out)
	}
}

// TestAPictureInAPDFIsFound wraps one label in each of the ways that carriers
// embed pictures.
func TestAPictureInAPDFIsFound(t *testing.T) {
	tool(t, "zbarimg")
	p := latin["fedex"]
	b := blacken(drawn(t, p, 203))
	white := newBitmap(b.width, b.height)
	copy(white.bits, b.bits)
	white.invert()
	grey := image.NewGray(image.Rect(0, 0, b.width, b.height))
	rgb := make([]byte, 0, 3*len(grey.Pix))
	for i := range grey.Pix {
		if !b.isBlack(i%b.width, i/b.width) {
			grey.Pix[i] = 0xff
		}
		rgb = append(rgb, grey.Pix[i], grey.Pix[i], grey.Pix[i])
	}
	var jpg bytes.Buffer
	if err := jpeg.Encode(&jpg, grey, nil); err != nil {
		t.Fatal(err)
	}
	head := "/Type/XObject/Subtype/Image/Width 812/Height 1218/BitsPerComponent "
	const place = "q 288 0 0 432 0 0 cm /I Do Q"
	one := func(entries string, data []byte) []byte {
		return pdfOf("0 0 288 432", "/XObject<</I 5 0 R>>", place, streamOf(head+entries, data))
	}
	for name, data := range map[string][]byte{
		"our own":  rasterPDF([]raster{newRaster(b, 0)}, Size4x6),
		"one bit":  one("1/ColorSpace/DeviceGray/Filter/FlateDecode", packed(white.bits)),
		"inverted": one("1/ColorSpace/DeviceGray/Decode[1 0]/Filter/FlateDecode", packed(b.bits)),
		"mask":     one("1/ImageMask true/Filter/FlateDecode", packed(white.bits)),
		"grey":     one("8/ColorSpace[/CalGray<<>>]/Filter/FlateDecode", packed(grey.Pix)),
		"colour":   one("8/ColorSpace/DeviceRGB/Filter[/FlateDecode]", packed(rgb)),
		"indexed":  one("1/ColorSpace[/Indexed/DeviceRGB 1(\\377\\377\\377\\000\\0\\0)]/Filter/FlateDecode", packed(b.bits)),
		"hex":      one("1/ColorSpace[/Indexed/DeviceGray 1<FF00>]/Filter/FlateDecode", packed(b.bits)),
		"jpeg":     one("8/ColorSpace/DeviceGray/Filter/DCTDecode", jpg.Bytes()),
		"predictor": one("1/ColorSpace/DeviceGray/DecodeParms<</Predictor 15/Columns 812/BitsPerComponent 1>>/Filter/FlateDecode",
			packed(predicted(white))),
		"in a form": pdfOf("0 0 288 432", "/XObject<</F 6 0 R>>", "q /F Do Q", streamOf(head+"8/ColorSpace/DeviceGray/Filter/DCTDecode", jpg.Bytes()),
			streamOf("/Subtype/Form/BBox[0 0 1 1]/Matrix[288 0 0 432 0 0]/Resources<</XObject<</I 5 0 R>>>>", []byte("/I Do"))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := scan(t, convertTo(t, carrierPDF(data), Options{Format: PNG})); got != p.Tracking {
				t.Errorf("scanned %q, want %q", got, p.Tracking)
			}
			convertTo(t, carrierPDF(data), Options{Format: ZPL, DPI: 300})
		})
	}

	// Pages that are more than one plain picture are drawn.
	for name, data := range map[string][]byte{
		"two pictures": pdfOf("0 0 288 432", "/XObject<</I 5 0 R>>", place+" "+place, streamOf(head+"8/ColorSpace/DeviceGray/Filter/DCTDecode", jpg.Bytes())),
		"with a line":  pdfOf("0 0 288 432", "/XObject<</I 5 0 R>>", place+" 0 0 9 9 re f", streamOf(head+"8/ColorSpace/DeviceGray/Filter/DCTDecode", jpg.Bytes())),
		"mirrored":     pdfOf("0 0 288 432", "/XObject<</I 5 0 R>>", "-288 0 0 432 288 0 cm /I Do", streamOf(head+"8/ColorSpace/DeviceGray/Filter/DCTDecode", jpg.Bytes())),
		"stretched":    pdfOf("0 0 288 432", "/XObject<</I 5 0 R>>", "288 0 0 300 0 0 cm /I Do", streamOf(head+"8/ColorSpace/DeviceGray/Filter/DCTDecode", jpg.Bytes())),
	} {
		if got := scan(t, convertTo(t, carrierPDF(data), Options{Format: PNG})); got != p.Tracking {
			t.Errorf("%s: scanned %q, want %q", name, got, p.Tracking)
		}
	}
}

// predicted packs rows as PNG does: each but the first as the difference to
// the one above.
func predicted(b *bitmap) []byte {
	var out []byte
	b.eachRow(func(row []byte, y int) {
		kind := byte(y % 5)
		out = append(out, kind)
		for i, v := range row {
			var left, up, corner byte
			if i > 0 {
				left = row[i-1]
			}
			if y > 0 {
				if up = b.bits[(y-1)*b.stride+i]; i > 0 {
					corner = b.bits[(y-1)*b.stride+i-1]
				}
			}
			out = append(out, v-[]byte{0, left, up, byte((int(left) + int(up)) / 2), paeth(left, up, corner)}[kind])
		}
	})
	return out
}

// TestAFaxInAPDFIsFound packs a bar code as CCITT group 4: the first row by
// its runs, the others as being like the one before.
func TestAFaxInAPDFIsFound(t *testing.T) {
	tool(t, "zbarimg")
	s, err := encode128("JD014600006281234567")
	if err != nil {
		t.Fatal(err)
	}
	whites := map[int]string{3: "1000", 6: "1110", 9: "10100", 12: "001000", 48: "00001011"}
	blacks := map[int]string{3: "10", 6: "0010", 9: "000100", 12: "0000111"}
	var first, later strings.Builder
	at := 0
	s.bars(func(x, width int) {
		x = 48 + 3*x
		first.WriteString("001" + whites[x-at] + blacks[3*width])
		later.WriteString("11")
		at = x + 3*width
	})
	const height = 200
	bits := first.String() + "1" + strings.Repeat(later.String()+"1", height-1) + strings.Repeat("000000000001", 2)
	data := make([]byte, (len(bits)+7)/8)
	for i, c := range bits {
		if c == '1' {
			data[i/8] |= 0x80 >> (i % 8)
		}
	}
	width := at + 48
	for _, black := range []string{"", "/BlackIs1 true"} {
		entries := fmt.Sprintf("/Type/XObject/Subtype/Image/Width %d/Height %d/BitsPerComponent 1/ColorSpace/DeviceGray/Filter/CCITTFaxDecode/DecodeParms<</K -1/Columns %d%s>>", width, height, width, black)
		if black != "" {
			entries += "/Decode[1 0]"
		}
		place := fmt.Sprintf("%f 0 0 %f 20 100 cm /I Do", float64(width)*72/203, height*72/203.0)
		l := carrierPDF(pdfOf("0 0 288 432", "/XObject<</I 5 0 R>>", place, streamOf(entries, data)))
		if got := scan(t, convertTo(t, l, Options{Format: PNG})); got != "JD014600006281234567" {
			t.Errorf("scanned %q", got)
		}
	}
}

func TestACarriersZPLIsServedAsItCame(t *testing.T) {
	data := corpus(t, "benign")["ups-like.zpl"]
	for _, o := range []Options{{Format: ZPL}, {Format: ZPL, Size: Size4x6, DPI: 300}} {
		if got := convertTo(t, ship.Label{Format: "zpl", Data: data}, o); !bytes.Equal(got, data) {
			t.Errorf("%+v: other bytes", o)
		}
	}
	both := convertTo(t, ship.Label{Format: "zpl", Data: Join([][]byte{data, data})}, Options{Format: ZPL})
	if n := bytes.Count(both, []byte("^XA")); n != 2 {
		t.Errorf("two pages have %d formats", n)
	}
	for _, o := range []Options{{}, {Format: PNG}, {Format: ZPL, Size: SizeA6}} {
		_, err := newRenderer(t).RenderLabel(ship.Label{Format: "zpl", Data: data}, o)
		if ship.CodeOf(err) != "format_unavailable" {
			t.Errorf("%+v: %v, want format_unavailable", o, err)
		}
	}
}

func TestOurOwnLabelsGoTheSameWay(t *testing.T) {
	d := oneOf(latin["ups"])
	want := render(t, d, Options{Format: ZPL})
	got, err := newRenderer(t).RenderLabel(ship.Label{Format: "scene", Data: d.Marshal()}, Options{Format: ZPL})
	if err != nil || !bytes.Equal(got.Data, want.Data) {
		t.Errorf("another rendering, or %v", err)
	}
	if err := Lint("scene", d.Marshal()); err != nil {
		t.Error(err)
	}
}
