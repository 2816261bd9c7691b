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
	data, err := r.Merge(labels, Options{Format: PDF, Size: Size4x6})
	if err != nil {
		t.Fatal(err)
	}
	info := string(filter(t, data, tool(t, "pdfinfo"), "-"))
	if want := len(labels); !strings.Contains(strings.Join(strings.Fields(info), " "), "Pages: "+strconv.Itoa(want)+" ") {
		t.Errorf("a real reader finds other than %d pages:\n%s", want, info)
	}
	zpl, err := r.Merge(labels[:45], Options{Format: ZPL, Size: Size4x6})
	if err != nil || bytes.Count(zpl, []byte("^XA")) != 45 || bytes.Count(zpl, []byte("^XZ")) != 45 {
		t.Errorf("zpl: %v, %d labels", err, bytes.Count(zpl, []byte("^XA")))
	}
	_, err = r.Merge([]ship.Label{{Format: "zpl", Data: []byte("^XA^FDx^FS^XZ")}}, Options{Format: PDF})
	if ship.CodeOf(err) != "format_unavailable" {
		t.Errorf("zpl as pdf: %v", err)
	}
}
