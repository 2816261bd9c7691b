package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestReadmeWalksANewUserToALabel runs the README's own lines: rates, shipment,
// label, tracking, events, against a service that was started from nothing.
func TestReadmeWalksANewUserToALabel(t *testing.T) {
	start := time.Now()
	ready := dev(t, "--data-dir", openDir(t))
	readme, err := os.ReadFile(filepath.Join(root(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)<!-- walk -->\n```sh\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	if len(blocks) != 5 {
		t.Fatalf("the README has %d steps, want 5", len(blocks))
	}
	dir := t.TempDir()
	run := func(script string) string {
		t.Helper()
		cmd := exec.Command("bash", "-euc", script)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "WAYBILL_URL="+ready.URL, "WAYBILL_KEY="+ready.APIKey)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}

	var script strings.Builder
	for _, b := range blocks[:4] {
		script.WriteString(b[1] + "\necho; echo ---\n")
	}
	steps := strings.Split(run(script.String()), "---\n")
	if took := time.Since(start); took > 60*time.Second {
		t.Errorf("the walk took %s, want the first label within a minute", took)
	}
	for i, want := range []string{`"rates":[{"id":"rate_`, `"status":"created"`, ``, `"status":"picked_up"`} {
		if !strings.Contains(steps[i], want) {
			t.Errorf("step %d shows\n%s\nwant %s in it", i+1, steps[i], want)
		}
	}

	// The log shows an event once the transactions that began before it have ended.
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		events := run(blocks[4][1])
		if strings.Contains(events, `"type":"label.generated"`) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("step 5 still shows\n%s", events)
		}
	}

	number := regexp.MustCompile(`"trackingNumber":"([0-9A-Z]+)"`).FindStringSubmatch(steps[1])
	if number == nil {
		t.Fatalf("no tracking number in %s", steps[1])
	}
	if got := scanPDF(t, filepath.Join(dir, "label.pdf")); !strings.Contains(got, number[1]) {
		t.Errorf("the label scans as %q, want %s", got, number[1])
	}
}

// openDir is a new directory that the user of Postgres may enter, whoever runs
// the test.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "waybill-dev")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// scanPDF reads the barcodes of a PDF's first page.
func scanPDF(t *testing.T, file string) string {
	t.Helper()
	for _, tool := range []string{"pdftoppm", "zbarimg"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal(err)
			}
			t.Skipf("%s is not installed", tool)
		}
	}
	image := strings.TrimSuffix(file, ".pdf")
	if out, err := exec.Command("pdftoppm", "-r", "203", "-singlefile", "-png", file, image).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command("zbarimg", "--nodbus", "-q", "--raw", image+".png").Output()
	if err != nil {
		t.Fatalf("zbarimg: %v", err)
	}
	return string(out)
}
