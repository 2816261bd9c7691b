package label

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// seeds gives a fuzz target the corpora in its formats.
func seeds(f *testing.F, formats ...string) {
	for _, dir := range []string{"hostile", "benign"} {
		for name, data := range corpus(f, dir) {
			for _, format := range formats {
				if formatOf(name) == format && len(data) < 20_000 {
					f.Add(data)
				}
			}
		}
	}
}

// slow fails a run that takes long: a linter that can be kept busy is a hole
// of its own.
func slow(t *testing.T, start time.Time) {
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

// FuzzLintZPL holds the linter against another reader of ZPL, which obeys
// what renames prefixes: what the linter lets through is drawing commands
// inside of formats.
func FuzzLintZPL(f *testing.F) {
	seeds(f, "zpl")
	f.Add(render(f, oneOf(latin["ups"]), Options{Format: ZPL}).Data)
	f.Fuzz(func(t *testing.T, data []byte) {
		defer slow(t, time.Now())
		if Lint("zpl", data) != nil || bytes.HasPrefix(data, []byte(pagesMagic)) {
			return
		}
		open := false
		for _, c := range tokenize(data) {
			switch {
			case c.name == "stray":
				if open || strings.TrimSpace(c.args) != "" {
					t.Fatalf("something stray: %q", c.args)
				}
			case c.name == "^XA" && !open, c.name == "^XZ" && open:
				open = !open
			case !open:
				t.Fatalf("%s outside of a format", c.name)
			case c.name[0] != '^' || drawingCommands[c.name[1:]] == 0 && !isFont(c.name[1:]):
				t.Fatalf("%s passes", c.name)
			case strings.ContainsAny(c.args, "~\x00\x1b"):
				t.Fatalf("%s has a byte that no label needs", c.name)
			}
		}
		if open {
			t.Fatal("a format is open at the end")
		}
	})
}

// FuzzLintPDF copies what passes: the copy holds all that pages draw with,
// and must pass too. The bytes are tried as a file, and as parts of a file
// whose table of objects is right.
func FuzzLintPDF(f *testing.F) {
	seeds(f, "pdf")
	f.Add(rasterPDF([]raster{newRaster(newBitmap(80, 120), 0)}, Size4x6))
	for _, s := range []string{
		"<</S/#4aavaScript>>", "[1 0 R(a\\)b)<</K<00ff>/L 1.5>>]", "<</Subtype/Image/Width 60/Height 60/BitsPerComponent 1/ColorSpace/DeviceGray/Length 2>>stream\nab\nendstream",
		"q 200 0 0 200 0 0 cm /I Do Q", "<</Type/ObjStm/N 1/First 4/Length 10>>stream\n9 0 <</A 1>>\nendstream", "<</Subtype/Form/Resources<</XObject<</I 5 0 R>>>>/Length 5>>stream\n/I Do\nendstream",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		defer slow(t, time.Now())
		part := string(data)
		for _, file := range [][]byte{
			data,
			pdfOf("0 0 288 432", "/XObject<</I 5 0 R>>", "q 288 0 0 432 0 0 cm /I Do Q", part),
			pdfOf("0 0 288 432", "/XObject<</I 5 0 R>>", part, streamOf("/Subtype/Image/Width 80/Height 120/BitsPerComponent 1/ColorSpace/DeviceGray", make([]byte, 1200))),
			pdfOf("0 0 288 432", part, ""),
		} {
			checkPDF(t, file)
		}
	})
}

func checkPDF(t *testing.T, data []byte) {
	t.Helper()
	file, err := readPDF(data)
	if err != nil {
		if _, ok := errors.AsType[*Finding](err); !ok {
			t.Fatalf("%v is not a finding", err)
		}
		return
	}
	imagePages([]*pdfFile{file})
	for _, paper := range []*sheet{nil, newSheet(SizeA4)} {
		copied, err := readPDF(copyPDF([]*pdfFile{file}, paper))
		if err != nil || len(copied.pages) != len(file.pages) {
			t.Fatalf("the copy: %v", err)
		}
	}
	for n, o := range file.objects {
		if d := o.dict(); d.has("JS") || d.has("AA") || d.get("S") == pdfName("JavaScript") {
			t.Fatalf("object %d is active", n)
		}
	}
}

// FuzzLintImage decodes what passes: it is of bounded size, or damaged.
func FuzzLintImage(f *testing.F) {
	seeds(f, "png", "gif", "jpg")
	f.Fuzz(func(t *testing.T, data []byte) {
		defer slow(t, time.Now())
		for _, format := range []string{"png", "gif", "jpg"} {
			if Lint(format, data) != nil || len(data) > 1<<16 || bytes.HasPrefix(data, []byte(pagesMagic)) {
				continue
			}
			r, err := readRaster(format, data)
			if err != nil {
				continue
			}
			if r.width*r.height > maxImageDots {
				t.Fatalf("%d by %d", r.width, r.height)
			}
			_, err = writeRasters([]raster{r}, Options{Format: ZPL, Size: Size4x6, DPI: 203})
			if err != nil && ship.CodeOf(err) != "format_unavailable" {
				t.Fatal(err)
			}
		}
	})
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte("plain"))
	f.Add(Join([][]byte{[]byte("a"), {}, []byte("ccc")}))
	f.Add([]byte(pagesMagic + "\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		pages, err := Split(data)
		if err == nil && len(pages) != 1 && !bytes.Equal(Join(pages), data) {
			t.Fatal("Join does not undo Split")
		}
	})
}

func TestPagesSurviveTheirStorage(t *testing.T) {
	for _, pages := range [][][]byte{{[]byte("GIF89a one")}, {[]byte("one"), []byte("two"), {}}, {[]byte(pagesMagic + "x"), []byte("y")}} {
		got, err := Split(Join(pages))
		if err != nil || len(got) != len(pages) {
			t.Fatalf("%d pages, %v; want %d", len(got), err, len(pages))
		}
		for i := range pages {
			if !bytes.Equal(got[i], pages[i]) {
				t.Errorf("page %d is %q, want %q", i, got[i], pages[i])
			}
		}
	}
	whole := Join([][]byte{[]byte("one"), []byte("two")})
	for _, bad := range [][]byte{whole[:len(whole)-1], append(bytes.Clone(whole), 'x'), []byte(pagesMagic)} {
		if _, err := Split(bad); ship.KindOf(err) != ship.Internal {
			t.Errorf("Split(%q) = %v, want an internal error", bad, err)
		}
	}
}
