package plugin

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestStarterPluginsPassTheirVerification runs each of them as its first lines
// say, in a folder of its own.
func TestStarterPluginsPassTheirVerification(t *testing.T) {
	t.Parallel()
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		file    string
		command func(t *testing.T, file string) []string // nothing if the language is not here
	}{
		"go":         {"carrier-plugin-go/main.go", goCommand},
		"python":     {"carrier-plugin-python/plugin.py", pythonCommand},
		"typescript": {"carrier-plugin-typescript/plugin.ts", nodeCommand},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(examples, filepath.FromSlash(tc.file))
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(text, []byte("\n")); n >= 300 {
				t.Errorf("%s has %d lines; a starter plug-in has fewer than 300", tc.file, n)
			}

			command := tc.command(t, file)
			if len(command) == 0 {
				t.Skip("its language is not installed here")
			}
			target, err := Open(loopback(), start(t, command), secretText)
			if err != nil {
				t.Fatal(err)
			}
			report, err := target.Verify(t.Context(), VerifyOptions{AtOnce: 8})
			if err != nil {
				t.Fatal(err)
			}
			for _, failed := range report.Failures() {
				t.Errorf("%s: %s", failed.Name, failed.Error)
			}
			if report.Grade != GradeA {
				t.Errorf("grade %s, want A", report.Grade)
			}
		})
	}
}

func goCommand(t *testing.T, file string) []string {
	program := filepath.Join(t.TempDir(), "plugin")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = filepath.Dir(file)
	build.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return []string{program}
}

func pythonCommand(_ *testing.T, file string) []string {
	if _, err := exec.LookPath("python3"); err != nil {
		return nil
	}
	return []string{"python3", file}
}

// nodeCommand runs TypeScript as it is with a Node.js that can. Others run what
// esbuild makes of it, which test/verify brings.
func nodeCommand(t *testing.T, file string) []string {
	out, err := exec.CommandContext(t.Context(), "node", "--version").Output()
	if err != nil {
		return nil
	}
	major, rest, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(out)), "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	version, _ := strconv.Atoi(major)
	part, _ := strconv.Atoi(minor)

	switch {
	case version > 22 || version == 22 && part >= 6:
		return []string{"node", "--experimental-strip-types", file}
	case version < 20:
		t.Skipf("Node.js %d.%d is too old; the plug-in needs 20", version, part)
	}

	esbuild := filepath.Join("..", "..", "test", "verify", "node_modules", ".bin", "esbuild")
	if _, err := os.Stat(esbuild); err != nil {
		missing := fmt.Sprintf("Node.js %d.%d does not run TypeScript, and esbuild is not installed: npm ci --prefix test/verify", version, part)
		if os.Getenv("CI") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	program := filepath.Join(t.TempDir(), "plugin.mjs")
	strip := exec.CommandContext(t.Context(), esbuild, file, "--platform=node", "--format=esm", "--target=node20", "--outfile="+program, "--log-level=warning")
	if out, err := strip.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return []string{"node", program}
}

// start runs a plug-in on a free port and returns its address.
func start(t *testing.T, command []string) string {
	t.Helper()
	process := exec.CommandContext(t.Context(), command[0], append(command[1:], "0", filepath.Join(t.TempDir(), "ledger"))...)
	process.Env = append(os.Environ(), "PLUGIN_SECRET="+secretText)
	process.Stderr = t.Output()
	process.WaitDelay = 5 * time.Second
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Wait() }) // the test's context ends it

	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("it does not say where it listens")
	}
	_, address, _ := strings.Cut(lines.Text(), "listening on ")
	return address
}
