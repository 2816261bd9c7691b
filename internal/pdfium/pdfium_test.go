package pdfium

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"image"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// moduleSum is the checksum of the module as it was published.
const moduleSum = "d65b633ce0fbed46653ed7130153cd8a4b77bf1abec20dcc8a364a49e3055119"

func TestTheModuleIsAsPublished(t *testing.T) {
	zipped, err := gzip.NewReader(strings.NewReader(string(packedModule)))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, zipped); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%x", sum.Sum(nil)); got != moduleSum {
		t.Errorf("the module has the checksum %s, want %s", got, moduleSum)
	}
}

// file is a PDF of two equal pages of 100 by 200 points; further objects begin
// at number 5.
func file(content, resources string, further ...string) []byte {
	objects := append([]string{
		"<</Type/Catalog/Pages 2 0 R>>",
		"<</Type/Pages/Count 2/Kids[3 0 R 3 0 R]>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 100 200]/Resources<<" + resources + ">>/Contents 4 0 R>>",
		stream("", content),
	}, further...)
	out := "%PDF-1.4\n"
	table := "0000000000 65535 f \n"
	for i, o := range objects {
		table += fmt.Sprintf("%010d 00000 n \n", len(out))
		out += fmt.Sprintf("%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	return fmt.Appendf(nil, "%sxref\n0 %d\n%strailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", out, len(objects)+1, table, len(objects)+1, len(out))
}

func stream(entries, content string) string {
	return fmt.Sprintf("<<%s/Length %d>>stream\n%s\nendstream", entries, len(content), content)
}

// engine is one for all tests: loading the module takes a second.
var engine Engine

func TestPagesAreDrawn(t *testing.T) {
	var sizes []image.Rectangle
	err := engine.Render(t.Context(), file("10 150 20 40 re f", ""), []Page{{100, 200}, {50, 100}}, func(p *image.Gray) {
		sizes = append(sizes, p.Rect)
		// The box is 10 points below the upper edge, and 10 from the left.
		middle, corner := p.GrayAt(p.Rect.Dx()/5, 30*p.Rect.Dy()/200).Y, p.GrayAt(p.Rect.Dx()-1, p.Rect.Dy()-1).Y
		if middle != 0 || corner != 255 {
			t.Errorf("%v: the box is %d, the paper %d", p.Rect, middle, corner)
		}
	})
	if err != nil || len(sizes) != 2 || sizes[0].Dx() != 100 || sizes[1].Dy() != 100 {
		t.Errorf("drawn %v, %v", sizes, err)
	}
}

func TestWhatCannotBeDrawnIsAnError(t *testing.T) {
	never := func(*image.Gray) { t.Error("something was drawn") }
	good := file("", "")
	for name, tc := range map[string]struct {
		file  []byte
		pages []Page
	}{
		"nothing":    {nil, []Page{{10, 10}}},
		"no PDF":     {[]byte("<html>"), []Page{{10, 10}}},
		"no page":    {good, nil},
		"too large":  {good, []Page{{5000, 5000}}},
		"negative":   {good, []Page{{-1, 10}}},
		"many pages": {good, make([]Page, maxPages+1)},
	} {
		if err := engine.Render(t.Context(), tc.file, tc.pages, never); !errors.Is(err, ErrUnreadable) {
			t.Errorf("%s: %v, want ErrUnreadable", name, err)
		}
	}
	if err := engine.Render(t.Context(), good, []Page{{10, 10}, {10, 10}, {10, 10}}, func(*image.Gray) {}); !errors.Is(err, ErrUnreadable) {
		t.Errorf("a third page of two: %v, want ErrUnreadable", err)
	}

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := engine.Render(ended, good, []Page{{10, 10}}, never); err == nil {
		t.Error("a caller who left is answered")
	}
}

// TestHostileFilesEnd draws files that ask for far more than a label does. Each
// ends by the time limit, and the engine works afterwards.
func TestHostileFilesEnd(t *testing.T) {
	e := Engine{Timeout: time.Second}
	forms := []string{stream("/Subtype/Form/BBox[0 0 100 100]", "0 0 9 9 re f")}
	for n := range 9 {
		forms = append(forms, stream(fmt.Sprintf("/Subtype/Form/BBox[0 0 100 100]/Resources<</XObject<</F %d 0 R>>>>", 5+n), strings.Repeat("/F Do ", 9)))
	}
	for name, data := range map[string][]byte{
		"forms in forms": file(strings.Repeat("/F Do ", 9), "/XObject<</F 14 0 R>>", forms...),
		"tiny tiles": file("/Pattern cs /P scn 0 0 100 200 re f", "/Pattern<</P 5 0 R>>",
			stream("/PatternType 1/PaintType 1/TilingType 1/BBox[0 0 1 1]/XStep .00001/YStep .00001/Resources<<>>", "0 0 1 1 re f")),
		"huge picture": file("100 0 0 200 0 0 cm /I Do", "/XObject<</I 5 0 R>>",
			stream("/Subtype/Image/Width 32000/Height 32000/BitsPerComponent 8/ColorSpace/DeviceRGB", "x")),
	} {
		start := time.Now()
		err := e.Render(t.Context(), data, []Page{{812, 1218}}, func(*image.Gray) {})
		t.Logf("%s: %v in %s", name, err, time.Since(start).Round(time.Millisecond))
		if err != nil && !errors.Is(err, ErrUnreadable) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "forms in forms" && err == nil {
			t.Errorf("%s are drawn", name)
		}
	}
	e.Timeout = 0
	if err := e.Render(t.Context(), file("", ""), []Page{{10, 10}}, func(*image.Gray) {}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestTwoFilesAreDrawnAtOnce draws two files that wait for each other.
func TestTwoFilesAreDrawnAtOnce(t *testing.T) {
	met := make(chan struct{})
	meet := func(*image.Gray) {
		select {
		case met <- struct{}{}:
		case <-met:
		case <-time.After(30 * time.Second):
			t.Error("no other file is drawn meanwhile")
		}
	}

	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			if err := engine.Render(t.Context(), file("", ""), []Page{{10, 10}}, meet); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// TestAFileThatNeedsMoreThanItsShareIsDrawnAlone lets an instance have hardly more
// memory than it begins with, so that there is no room for a large file.
func TestAFileThatNeedsMoreThanItsShareIsDrawnAlone(t *testing.T) {
	e := Engine{share: 19 << 20}
	large := file("10 150 20 40 re f", "", stream("", strings.Repeat(" ", 18<<20)))
	pages := []Page{{100, 200}, {50, 100}}

	if err := e.renderBeside(t.Context(), large, pages, func(*image.Gray) {}); !errors.Is(err, errNoRoom) {
		t.Fatalf("beside others: %v, want errNoRoom", err)
	}

	var widths []int
	use := func(picture *image.Gray) { widths = append(widths, picture.Rect.Dx()) }
	if err := e.Render(t.Context(), large, pages, use); err != nil || !slices.Equal(widths, []int{100, 50}) {
		t.Errorf("pages of %d, %v; want each once", widths, err)
	}

	// Pages that were used before the memory ran out are not used again.
	widths = nil
	if err := e.renderWithin(t.Context(), maxMemory, large, pages, 1, use); err != nil || !slices.Equal(widths, []int{50}) {
		t.Errorf("from the second on: pages of %d, %v", widths, err)
	}
}

func TestAnIdleEngineHoldsNothing(t *testing.T) {
	var e Engine
	if err := e.Render(t.Context(), file("", ""), []Page{{10, 10}}, func(*image.Gray) {}); err != nil || e.loaded == nil {
		t.Fatalf("not loaded, or %v", err)
	}
	e.users++
	if e.unload(); e.loaded == nil {
		t.Error("the module is gone while it is in use")
	}
	e.users--
	if e.unload(); e.loaded != nil {
		t.Error("the module is kept while idle")
	}
}

// The module runs what a file may have taken over: a stride whose product with the
// height does not fit into 32 bits must not pass as a small bitmap.
func TestAStrideThatTheModuleInventsIsRefused(t *testing.T) {
	for _, tc := range []struct {
		stride, width, height uint64
		want                  uint32
	}{
		{stride: 100, width: 100, height: 200, want: 20_000},
		{stride: 12, width: 10, height: 1600, want: 19_200},
		{stride: 4, width: 1, height: maxPixels, want: 4 * maxPixels},
		{stride: 9, width: 10, height: 1600},
		{stride: 14, width: 10, height: 1600},
		{stride: 1 << 22, width: 10, height: 1 << 10},
		{stride: 1<<32 - 1, width: 10, height: 1600},
	} {
		length, plausible := bitmapLength(tc.stride, tc.width, tc.height)
		if length != tc.want || plausible != (tc.want > 0) {
			t.Errorf("a stride of %d for %d x %d: %d bytes, %t", tc.stride, tc.width, tc.height, length, plausible)
		}
	}
}
