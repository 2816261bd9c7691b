package label

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

// partsOf are the parts of a file of labels of which none was rendered before.
func partsOf(labels ...ship.Label) (parts []Part) {
	for _, label := range labels {
		parts = append(parts, Part{Label: label})
	}
	return parts
}

// TestConvertedLabelsAreTheSameInAFile converts labels of all kinds at once: what was
// made before is put into the file, and what is refused is left out.
func TestConvertedLabelsAreTheSameInAFile(t *testing.T) {
	t.Parallel()
	r := newRenderer(t)
	labels := []ship.Label{
		{Format: "gif", Data: benign(t, "gif")},
		carrierPDF(render(t, oneOf(latin["dhl"]), Options{}).Data),
		carrierPDF([]byte("%PDF-1.4\nno more than this")),
		{Format: "png", Data: benign(t, "png")},
	}
	options := Options{Format: ZPL, Size: Size4x6, DPI: 203}

	converted, err := r.Convert(labels, options)
	if err != nil {
		t.Fatal(err)
	}
	wanted, wantedOut, err := r.Merge(partsOf(labels...), options)
	if err != nil || len(wantedOut) != 1 {
		t.Fatal(wantedOut, err)
	}
	for i := range converted {
		converted[i].Label = ship.Label{} // they are not needed any more
	}
	data, leftOut, err := r.Merge(converted, options)
	if err != nil || !bytes.Equal(data, wanted) || ship.CodeOf(leftOut[2]) != "label_quarantined" {
		t.Errorf("%d bytes, left out %v, %v; want %d bytes", len(data), leftOut, err, len(wanted))
	}
}

func TestLabelsOfAllKindsBecomeOneFile(t *testing.T) {
	t.Parallel()
	r, err := NewRenderer("")
	if err != nil {
		t.Fatal(err)
	}
	var labels []ship.Label
	for range 45 {
		labels = append(labels, ship.Label{Format: "scene", Data: oneOf(latin["ups"]).Marshal()})
	}
	carriers, err := filepath.Glob("testdata/benign/*.pdf")
	if err != nil {
		t.Fatal(err)
	}
	if len(carriers) == 0 {
		t.Fatal("there is no carrier's label")
	}
	for _, file := range carriers[:1] {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		labels = append(labels, ship.Label{Format: "pdf", Data: data})
	}
	labels = append(labels, ship.Label{Format: "scene", Data: worldly().Marshal()})
	data, out, err := r.Merge(partsOf(labels...), Options{Format: PDF, Size: Size4x6})
	if err != nil || len(out) > 0 {
		t.Fatal(out, err)
	}
	info := string(filter(t, data, tool(t, "pdfinfo"), "-"))
	if want := len(labels); !strings.Contains(strings.Join(strings.Fields(info), " "), "Pages: "+strconv.Itoa(want)+" ") {
		t.Errorf("a real reader finds other than %d pages:\n%s", want, info)
	}
	zpl, _, err := r.Merge(partsOf(labels[:45]...), Options{Format: ZPL, Size: Size4x6})
	if err != nil || bytes.Count(zpl, []byte("^XA")) != 45 || bytes.Count(zpl, []byte("^XZ")) != 45 {
		t.Errorf("zpl: %v, %d labels", err, bytes.Count(zpl, []byte("^XA")))
	}
}

func TestALabelThatCannotBeInAFileIsLeftOutAndNamed(t *testing.T) {
	t.Parallel()
	r := newRenderer(t)
	ours := ship.Label{Format: "scene", Data: oneOf(latin["ups"]).Marshal()}
	zpl := ship.Label{Format: "zpl", Data: []byte("^XA^FDx^FS^XZ")}
	words := carrierPDF(render(t, oneOf(latin["dhl"]), Options{}).Data)
	broken := carrierPDF([]byte("%PDF-1.4\nno more than this"))
	for _, tc := range []struct {
		format Format
		codes  map[int]string
	}{
		{PDF, map[int]string{1: "format_unavailable", 3: "label_quarantined"}},
		{ZPL, map[int]string{3: "label_quarantined"}},
	} {
		data, out, err := r.Merge(partsOf(ours, zpl, words, broken, ours), Options{Format: tc.format, Size: Size4x6})
		if err != nil || len(out) != len(tc.codes) {
			t.Fatalf("%s: left out %v, %v", tc.format, out, err)
		}
		for i, want := range tc.codes {
			if got := ship.CodeOf(out[i]); got != want {
				t.Errorf("%s: label %d is left out because of %q, want %q", tc.format, i, got, want)
			}
		}
		if tc.format == ZPL && bytes.Count(data, []byte("^XA")) != 4 {
			t.Errorf("%d labels as zpl, want 4", bytes.Count(data, []byte("^XA")))
		}
		if tc.format == PDF {
			if f, err := readPDF(data); err != nil || len(f.pages) != 3 {
				t.Errorf("as pdf: %v", err)
			}
		}
	}
	// Labels of our own are drawn together, and are left out together.
	if data, out, err := r.Merge(partsOf(ours, ours), Options{Format: ZPL, Size: SizeA4}); err != nil || data != nil || len(out) != 2 {
		t.Errorf("two labels that do not exist in a4: %d bytes, left out %v, %v", len(data), out, err)
	}
	if data, out, err := r.Merge(partsOf(zpl), Options{Format: PDF}); err != nil || data != nil || len(out) != 1 {
		t.Errorf("nothing to print: %d bytes, %v, %v", len(data), out, err)
	}
}
