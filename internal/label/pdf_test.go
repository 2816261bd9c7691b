package label

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestThePDFTableOfObjectsIsRight(t *testing.T) {
	data := render(t, awkward(), Options{}).Data
	tail := regexp.MustCompile(`startxref\n(\d+)\n%%EOF\n$`).FindSubmatch(data)
	if tail == nil {
		t.Fatal("no startxref at the end")
	}
	at, _ := strconv.Atoi(string(tail[1]))
	lines := strings.Split(string(data[at:]), "\n")
	if lines[0] != "xref" || lines[1] != "0 7" { // free, catalog, tree, two pages with content
		t.Fatalf("table begins %q", lines[:2])
	}
	for i, entry := range lines[3 : 3+6] {
		offset, _ := strconv.Atoi(entry[:10])
		if want := fmt.Sprintf("%d 0 obj\n", i+1); !bytes.HasPrefix(data[offset:], []byte(want)) {
			t.Errorf("object %d is not at %d", i+1, offset)
		}
	}
	for _, risky := range []string{"/JS", "/JavaScript", "/OpenAction", "/AA", "/Launch", "/EmbeddedFile", "/URI"} {
		if bytes.Contains(data, []byte(risky)) {
			t.Errorf("the file has %s", risky)
		}
	}
}

func TestPagesHaveTheSizeOfThePaper(t *testing.T) {
	pdfinfo := tool(t, "pdfinfo")
	for size, want := range map[Size]string{
		Size4x6: "288 x 432 pts", SizeA6: "297.648 x 419.544 pts", SizeA4: "595.296 x 841.896 pts (A4)", SizeLetter: "612 x 792 pts (letter)",
	} {
		path := filepath.Join(t.TempDir(), "label.pdf")
		if err := os.WriteFile(path, render(t, awkward(), Options{Size: size}).Data, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(pdfinfo, path).CombinedOutput()
		if err != nil {
			t.Fatalf("pdfinfo: %v: %s", err, out)
		}
		if !strings.Contains(string(out), want) || !regexp.MustCompile(`Pages: +2\n`).Match(out) {
			t.Errorf("%s: want %s and 2 pages:\n%s", size, want, out)
		}
	}
}
