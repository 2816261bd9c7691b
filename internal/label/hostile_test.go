package label

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

// corpus reads a directory of labels: name to bytes.
func corpus(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*.*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus in %s: %v", dir, err)
	}
	all := map[string][]byte{}
	for _, path := range files {
		if filepath.Ext(path) == ".txt" {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(path)] = data
	}
	return all
}

func formatOf(name string) string { return strings.TrimPrefix(filepath.Ext(name), ".") }

// TestHostileLabelsAreRefused holds each file of the corpus, named for its
// trick, against the reason it is refused for: a file that is refused for
// another one would not show that its trick is seen.
func TestHostileLabelsAreRefused(t *testing.T) {
	list, err := os.ReadFile(filepath.Join("testdata", "hostile", "expected.txt"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(list)) {
		name, code, _ := strings.Cut(strings.TrimSpace(line), " ")
		want[name] = code
	}
	files := corpus(t, "hostile")
	if len(files) != len(want) || len(files) < 100 {
		t.Errorf("%d files, %d expectations", len(files), len(want))
	}
	for name, data := range files {
		err := Lint(formatOf(name), data)
		f, ok := errors.AsType[*Finding](err)
		if !ok || f.Code != want[name] {
			t.Errorf("%s: %v, want %s", name, err, want[name])
		}
	}
}

// TestAHostileLabelIsNeverServed asks for it in every format.
func TestAHostileLabelIsNeverServed(t *testing.T) {
	r := newRenderer(t)
	good := map[string][]byte{}
	for _, format := range []string{"zpl", "pdf", "png", "gif", "jpg"} {
		good[format] = benign(t, format)
	}
	for name, data := range corpus(t, "hostile") {
		for _, format := range []Format{PDF, PNG, ZPL} {
			out, err := r.RenderLabel(ship.Label{Format: formatOf(name), Data: data}, Options{Format: format})
			if ship.CodeOf(err) != "label_quarantined" || ship.KindOf(err) != ship.Conflict || out.Data != nil {
				t.Errorf("%s as %s: %d bytes, %v; want label_quarantined", name, format, len(out.Data), err)
			}
			if _, ok := errors.AsType[*Finding](err); !ok {
				t.Errorf("%s as %s: the error does not tell the finding", name, format)
			}
		}
		// Good pages before a bad one do not help it.
		both := Join([][]byte{good[formatOf(name)], data})
		if err := Lint(formatOf(name), both); err == nil {
			t.Errorf("%s as the second page passes", name)
		}
	}
}

// benign is a good label of the format.
func benign(t testing.TB, format string) []byte {
	t.Helper()
	switch format {
	case "zpl", "pdf", "png":
		return render(t, oneOf(latin["ups"]), Options{Format: Format(format)}).Data
	case "gif":
		return upsGIF(t, latin["ups"])
	}
	return photo(t, latin["ups"])
}

func TestGoodLabelsPass(t *testing.T) {
	for name, data := range corpus(t, "benign") {
		if err := Lint(formatOf(name), data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := newRenderer(t)
	for _, o := range everyOption {
		for name, p := range latin {
			out, err := r.Render(oneOf(p), o)
			if err != nil {
				t.Fatal(err)
			}
			if err := Lint(string(o.Format), out.Data); err != nil {
				t.Errorf("our own %s as %v: %v", name, o, err)
			}
		}
	}
	for _, format := range []Format{PDF, PNG, ZPL} {
		for name, d := range map[string]Document{"worldly": worldly(), "awkward": awkward()} {
			if err := Lint(string(format), render(t, d, Options{Format: format}).Data); err != nil {
				t.Errorf("our own %s as %s: %v", name, format, err)
			}
		}
	}
	for _, format := range []string{"zpl", "pdf", "png", "gif", "jpg"} {
		page := benign(t, format)
		if err := Lint(format, Join([][]byte{page, page, page})); err != nil {
			t.Errorf("three pages of %s: %v", format, err)
		}
	}
}

func TestWhatIsNoLabelIsRefused(t *testing.T) {
	for _, format := range []string{"zpl", "pdf", "png", "gif", "jpg", "epl", ""} {
		for _, data := range [][]byte{nil, {}, []byte(pagesMagic), Join(nil), make([]byte, maxFileBytes+1)} {
			if err := Lint(format, data); err == nil {
				t.Errorf("%q of %d bytes passes", format, len(data))
			}
		}
	}
}
