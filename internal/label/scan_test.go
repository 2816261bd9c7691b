package label

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// tool finds a program that the tests ask for a second opinion. Without it
// they are skipped, but not in the gate.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
	case os.Getenv("CI") != "":
		t.Fatalf("%s is missing: %v", name, err)
	default:
		t.Skipf("%s is not installed", name)
	}
	return path
}

// zplcheck is the program that renders ZPL as a printer would.
func zplcheck(t *testing.T) string {
	t.Helper()
	path, err := buildZPLCheck()
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("zplcheck: %v", err)
		}
		t.Skipf("zplcheck cannot be built here: %v", err)
	}
	return path
}

// buildZPLCheck builds it once, with the flags of everything else: with others
// the standard library would be compiled again for it.
var buildZPLCheck = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "zplcheck")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Dir = "zplcheck"
	build.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly "+os.Getenv("GOFLAGS"))
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

// scratch is what lasts as long as all tests.
var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "label"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(scratch)
	os.Exit(code)
}

// scan reads the bar codes of a picture.
func scan(t *testing.T, picture []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "label.png")
	if err := os.WriteFile(path, picture, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool(t, "zbarimg"), "--nodbus", "-q", "--raw", path).Output()
	if err != nil {
		t.Errorf("zbarimg reads nothing: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// filter runs a program from standard input to standard output.
func filter(t *testing.T, in []byte, program string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Stdin = bytes.NewReader(in)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, &stderr)
	}
	return out
}

// printed shows a label as it comes out of a printer.
func printed(t *testing.T, p Page, o Options, zplcheck, pdftoppm string) []byte {
	t.Helper()
	name := fmt.Sprintf("%s-%s-%d-%s.", strings.ToLower(strings.Fields(p.Carrier)[0]), o.Size, o.DPI, o.Format)
	data := render(t, oneOf(p), o).Data
	show(t, name+string(o.Format), data)
	dpi := strconv.Itoa(o.DPI)
	switch o.Format {
	case PDF:
		data = filter(t, data, pdftoppm, "-r", dpi, "-png", "-singlefile", "-")
	case ZPL:
		paper, _ := o.Size.dimensions()
		width, height := float64(paper.width)*0.0254, float64(paper.height)*0.0254
		data = filter(t, data, zplcheck, "-dpi", dpi, "-width", fmt.Sprint(width), "-height", fmt.Sprint(height))
	}
	show(t, name+"png", data)
	return data
}

// TestScannersReadTheTrackingNumber is the point of a label: from each format,
// at each resolution, for each carrier's kind of number.
func TestScannersReadTheTrackingNumber(t *testing.T) {
	tool(t, "zbarimg")
	pdftoppm, check := tool(t, "pdftoppm"), zplcheck(t)
	pages := []Page{latin["ups"], latin["usps"], latin["fedex"], latin["dhl"], awkward().Pages[0]}
	for _, dpi := range []int{203, 300} {
		for _, size := range []Size{Size4x6, SizeA6, SizeA4} {
			pages := pages
			if size != Size4x6 {
				pages = pages[:1] // one carrier will do to see other media
			}
			for _, format := range []Format{PNG, PDF, ZPL} {
				if format == ZPL && size.isSheet() {
					continue
				}
				for _, p := range pages {
					t.Run(fmt.Sprint(format, size, dpi, p.Carrier), func(t *testing.T) {
						t.Parallel()
						o := Options{Format: format, Size: size, DPI: dpi}
						if got := scan(t, printed(t, p, o, check, pdftoppm)); got != p.Tracking {
							t.Errorf("scanned %q, want %q", got, p.Tracking)
						}
					})
				}
			}
		}
	}
}

// TestAPDFScansOnPrintersOfEitherResolution renders the default file, whose
// grid is that of 203 dpi, at both.
func TestAPDFScansOnPrintersOfEitherResolution(t *testing.T) {
	tool(t, "zbarimg")
	pdftoppm := tool(t, "pdftoppm")
	for name, p := range latin {
		data := render(t, oneOf(p), Options{}).Data
		for _, dpi := range []string{"203", "300"} {
			for _, mode := range []string{"-gray", "-mono"} {
				picture := filter(t, data, pdftoppm, "-r", dpi, mode, "-singlefile", "-")
				if got := scan(t, picture); got != p.Tracking {
					t.Errorf("%s at %s dpi, %s: scanned %q, want %q", name, dpi, mode, got, p.Tracking)
				}
			}
		}
	}
}

// TestUnusualContentScansToo covers what tracking numbers rarely have: GS1
// function characters, the characters that ZPL escapes, and sets that change
// midway.
func TestUnusualContentScansToo(t *testing.T) {
	tool(t, "zbarimg")
	check := zplcheck(t)
	for content, want := range map[string]string{
		"ñ420627049400111899223197428210": "420627049400111899223197428210",
		"A>B^C~D_E\\F":                    "A>B^C~D_E\\F",
		"12345678AB-cd":                   "12345678AB-cd",
		"AB12345678":                      "AB12345678",
	} {
		d := oneOf(Page{Tracking: "1", Barcode: content})
		if got := scan(t, render(t, d, Options{Format: PNG}).Data); got != want {
			t.Errorf("PNG: scanned %q, want %q", got, want)
		}
		zpl := render(t, d, Options{Format: ZPL}).Data
		if got := scan(t, filter(t, zpl, check)); got != want {
			t.Errorf("ZPL: scanned %q, want %q\n%s", got, want, zpl)
		}
	}
}
