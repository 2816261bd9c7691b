//go:build clients

package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEasyPostLibraries runs the README of EasyPost's official libraries, and what an
// integration does next, with the libraries as they are published: only the base
// address and the key differ.
func TestEasyPostLibraries(t *testing.T) {
	t.Run("node", func(t *testing.T) {
		s := start(t)
		s.run(t, "npm", "ci", "--silent", "--no-audit", "--no-fund")
		if out := s.run(t, "node", "moving.mjs"); strings.TrimSpace(out) != "ok" {
			t.Errorf("moving.mjs printed %s", out)
		}
	})

	t.Run("python", func(t *testing.T) {
		s := start(t)
		python := filepath.Join(".out", "venv", "bin", "python")
		s.run(t, "python3", "-m", "venv", ".out/venv")
		s.run(t, python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt")
		if out := s.run(t, python, "moving.py"); strings.TrimSpace(out) != "ok" {
			t.Errorf("moving.py printed %s", out)
		}
	})
}

// TestEasyPostsOwnTests runs the tests that are in the source archive of the official
// Python library, unchanged, against the real binary, and holds their results to
// easypost/results.tsv, from which the guide is made. The archive has the tests
// without what they need to start; easypost/conftest.py has that. The package of the
// Node library has no tests.
func TestEasyPostsOwnTests(t *testing.T) {
	s := start(t)
	clean(t, "suite", "archive")
	python, err := filepath.Abs(filepath.Join(".out", "venv", "bin", "python"))
	if err != nil {
		t.Fatal(err)
	}
	s.run(t, "python3", "-m", "venv", ".out/venv")
	s.run(t, python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt")
	s.run(t, python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary", ":all:", "--dest", ".out/archive", "easypost=="+easyPost)
	s.run(t, "mkdir", "-p", ".out/suite")
	s.run(t, "tar", "xzf", ".out/archive/easypost-"+easyPost+".tar.gz", "-C", ".out/suite", "--strip-components=1", "easypost-"+easyPost+"/tests")
	s.run(t, "cp", "easypost/conftest.py", ".out/suite/tests/")

	want := map[string]string{}
	var files []string
	data, err := os.ReadFile("easypost/results.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.TrimSpace(line), "\t")
		file := ".out/suite/tests/test_" + cells[0] + ".py"
		if !slices.Contains(files, file) {
			files = append(files, file)
		}
		want[cells[1]] = cells[2]
	}

	command := exec.CommandContext(t.Context(), python, append([]string{"-m", "pytest", "-q", "-rA", "--tb=line", "-p", "no:cacheprovider"}, files...)...)
	command.Env = append(os.Environ(), "WAYBILL_URL="+s.URL, "WAYBILL_KEY="+s.APIKey)
	out, _ := command.CombinedOutput() // some are known to fail, so the program ends with an error
	got := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^(PASSED|FAILED|ERROR) \S+::(\w+)`).FindAllStringSubmatch(string(out), -1) {
		got[match[2]] = match[1] == "PASSED"
	}
	for name, result := range want {
		passed, ran := got[name]
		switch {
		case !ran:
			t.Errorf("%s was not run", name)
		case passed != (result == "passed"):
			t.Errorf("%s: passed is %t, and the list says %s", name, passed, result)
		}
	}
	for name := range got {
		if want[name] == "" {
			t.Errorf("%s is not in the list", name)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}

// easyPost is the version of the library whose tests are run: the one that is
// installed.
const easyPost = "10.7.0"
