//go:build chaos

package upgrade

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/test/proving"
)

// root is the folder of the repository.
const root = "../.."

// A release is a version of the changelog.
type release struct {
	version string
	commit  string
	binary  string
}

// buildPrevious builds the release before the present one, or the commit that FROM
// names, from its source. The test is skipped where that is not known: in a copy of the
// files without their history, and for the first release.
func buildPrevious(t *testing.T) release {
	t.Helper()
	version, commit := chosen(t)

	folder := t.TempDir()
	archive := filepath.Join(folder, "source.tar")
	source := filepath.Join(folder, "source")
	if err := os.Mkdir(source, 0o700); err != nil {
		t.Fatal(err)
	}
	proving.Output(t, exec.Command("git", "-C", root, "archive", "-o", archive, commit))
	proving.Output(t, exec.Command("tar", "-xf", archive, "-C", source))

	binary := filepath.Join(folder, "waybill-old")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "./cmd/waybill")
	build.Dir = source
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	proving.Output(t, build)
	return release{version: version, commit: commit, binary: binary}
}

// chosen returns what is upgraded from: the commit that FROM names, or the release
// before the present one.
func chosen(t *testing.T) (version, commit string) {
	t.Helper()
	if from := os.Getenv("FROM"); from != "" {
		commit := strings.TrimSpace(proving.Output(t, exec.Command("git", "-C", root, "rev-parse", "--verify", from+"^{commit}")))
		return from, commit
	}

	changelog, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	version = previousVersion(string(changelog))
	if version == "" {
		t.Skip("CHANGELOG.md names no release before this one: there is nothing to upgrade from")
	}
	commit = commitOf(t, version)
	if commit == "" {
		t.Skipf("the history of this checkout does not have the commit of %s: a full clone is needed (git fetch --unshallow)", version)
	}
	return version, commit
}

var heading = regexp.MustCompile(`(?m)^## (\S+)(?s:(.*?))(?:\n## |\z)`)

// previousVersion returns the newest version before the present one; empty if there
// is none. The present one is the changelog's first section that says anything.
func previousVersion(changelog string) string {
	isPresent := true
	for {
		at := heading.FindStringSubmatchIndex(changelog)
		if at == nil {
			return ""
		}

		name := changelog[at[2]:at[3]]
		_, content, _ := strings.Cut(changelog[at[4]:at[5]], "\n")
		changelog = changelog[at[5]:]
		if isPresent {
			isPresent = strings.TrimSpace(content) == ""
			continue
		}
		if strings.HasPrefix(name, "v") {
			return name
		}
	}
}

// commitOf returns the commit that added the version to the changelog; empty if the
// history does not go back to it.
func commitOf(t *testing.T, version string) string {
	t.Helper()
	shallow, err := exec.Command("git", "-C", root, "rev-parse", "--is-shallow-repository").Output()
	if err != nil || strings.TrimSpace(string(shallow)) != "false" {
		return ""
	}

	commits := proving.Output(t, exec.Command("git", "-C", root, "log", "--reverse", "--format=%H", "-S## "+version+" ", "--", "CHANGELOG.md"))
	first, _, _ := strings.Cut(commits, "\n")
	return first
}

func TestThePreviousVersionIsTheOneBeforeTheFirstSection(t *testing.T) {
	for changelog, want := range map[string]string{
		"# C\n\n## Unreleased\n\n- A\n\n## v0.2.0 - D\n\n- B\n\n## v0.1.0 - D\n\n- C\n": "v0.2.0",
		"# C\n\n## Unreleased\n\n## v0.2.0 - D\n\n- B\n\n## v0.1.0 - D\n\n- C\n":        "v0.1.0",
		"# C\n\n## v0.2.0 - D\n\n- B\n\n## v0.1.0 - D\n\n- C\n":                         "v0.1.0",
		"# C\n\n## v0.1.0 - D\n\n- C\n":                                                 "",
		"# C\n\n## Unreleased\n\n- A\n":                                                 "",
	} {
		if got := previousVersion(changelog); got != want {
			t.Errorf("the version before the present one of %q is %q, want %q", changelog, got, want)
		}
	}
}
