//go:build clients

package sdk

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The packages of dist/ are installed into empty directories, as users do.

func TestTypeScript(t *testing.T) {
	directory := t.TempDir()
	command(t, directory, "npm", "init", "--yes")
	command(t, directory, "npm", "install", "--no-audit", "--no-fund", packageFile(t, "waybill-sdk-*.tgz"))
	firstLabel(t, directory, "typescript", "first.mjs", "node")
	runAll(t, newDriver(t, directory, "node", copyDriver(t, directory, "driver.mjs")))
}

func TestPython(t *testing.T) {
	directory := t.TempDir()
	command(t, directory, "python3", "-m", "venv", "venv")
	python := filepath.Join(directory, "venv", "bin", "python")
	command(t, directory, python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", packageFile(t, "waybill_sdk-*.whl")+"[ed25519]")
	firstLabel(t, directory, "python", "first.py", python)
	file := copyDriver(t, directory, "driver.py")

	t.Run("blocking", func(t *testing.T) { runAll(t, newDriver(t, directory, python, file)) })
	t.Run("async", func(t *testing.T) { runAll(t, newDriver(t, directory, python, file, "async")) })
}

// firstLabel runs the first program of a README as it stands there.
func firstLabel(t *testing.T, directory, language, name, program string) {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join("..", "..", "sdk", language, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(readme), "<!-- first-label -->\n")
	_, code, _ := strings.Cut(after, "\n")
	code, _, found := strings.Cut(code, "```")
	if !found {
		t.Fatalf("sdk/%s/README.md has no first label", language)
	}
	if err := os.WriteFile(filepath.Join(directory, name), []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}

	running := start(t)
	process := exec.CommandContext(t.Context(), program, name)
	process.Dir = directory
	process.Env = append(os.Environ(), "WAYBILL_URL="+running.URL, "WAYBILL_KEY="+running.APIKey)
	begin := time.Now()
	out, err := process.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("the first label of the README took %s: %s", time.Since(begin).Round(time.Millisecond), out)

	label, err := os.ReadFile(filepath.Join(directory, "label.pdf"))
	if err != nil || !strings.HasPrefix(string(label), "%PDF-") {
		t.Errorf("label.pdf: %d bytes, %v", len(label), err)
	}
}

// A driver is a program that makes calls in another language: it reads an order
// a line and writes an outcome a line.
type driver struct {
	in  *json.Encoder
	out *bufio.Reader
}

func newDriver(t *testing.T, directory, program string, args ...string) *driver {
	t.Helper()
	process := exec.Command(program, args...)
	process.Dir = directory
	process.Stderr = os.Stderr
	in, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		_ = process.Wait()
	})
	return &driver{in: json.NewEncoder(in), out: bufio.NewReader(out)}
}

func (d *driver) run(t *testing.T, order order) outcome {
	t.Helper()
	if err := d.in.Encode(order); err != nil {
		t.Fatal(err)
	}
	line, err := d.out.ReadBytes('\n')
	if err != nil {
		t.Fatalf("the driver ended: %v", err)
	}
	var out outcome
	if err := json.Unmarshal(line, &out); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return out
}

// packageFile finds a package that "make sdks" built.
func packageFile(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "dist", pattern))
	if err != nil || len(files) != 1 {
		t.Fatalf("dist/%s: %v, %v; run make sdks first", pattern, files, err)
	}
	path, err := filepath.Abs(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// copyDriver puts a driver where it finds the installed package.
func copyDriver(t *testing.T, directory, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(directory, name)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func command(t *testing.T, directory, program string, args ...string) string {
	t.Helper()
	process := exec.CommandContext(t.Context(), program, args...)
	process.Dir = directory
	out, err := process.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
	return string(out)
}
