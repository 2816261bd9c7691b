package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	oneTest = regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w+`)
	oneFile = regexp.MustCompile("`((?:api|deploy|internal|scripts|tools)/[\\w./-]+)`")
)

// TestTheSecurityDocumentsNameWhatExists looks for the tests and files that
// docs/threat-model.md and docs/asvs.md name as evidence.
func TestTheSecurityDocumentsNameWhatExists(t *testing.T) {
	t.Parallel()
	for _, document := range []string{"docs/threat-model.md", "docs/asvs.md"} {
		for _, cells := range rows(read(t, document)) {
			row := strings.Join(cells, " | ")

			found := 0
			for _, group := range named.FindAllStringSubmatch(row, -1) {
				existing := tests(t, folderOf(group[1]))
				for name := range strings.SplitSeq(strings.TrimSuffix(group[2], ", "), ", ") {
					found++
					if !slices.Contains(existing, name) {
						t.Errorf("%s: there is no %s in %s", document, name, group[1])
					}
				}
			}
			if all := len(oneTest.FindAllString(row, -1)); all != found {
				t.Errorf("%s: %d of %d tests have no package in %q", document, all-found, all, row)
			}

			for _, file := range oneFile.FindAllStringSubmatch(row, -1) {
				if _, err := os.Stat(filepath.Join(root, file[1])); err != nil {
					t.Errorf("%s: %v", document, err)
				}
			}
		}
	}
}

// inSource is where a resource is in the source, and its amount.
var inSource = regexp.MustCompile("^`([\\w/.]+)` `(\\w+)`(?: = (.+))?$")

// TestSharedResourcesAreWhatTheSourceSays compares the table of resources that accounts
// share with the constants and settings that bound them.
func TestSharedResourcesAreWhatTheSourceSays(t *testing.T) {
	t.Parallel()
	_, text, _ := strings.Cut(read(t, "docs/threat-model.md"), "\n## Shared resources\n")
	text, _, _ = strings.Cut(text, "\n## ")

	resources := rows(text)
	if len(resources) < 12 {
		t.Errorf("only %d resources were found", len(resources))
	}
	for _, cells := range resources {
		place := inSource.FindStringSubmatch(cells[len(cells)-1])
		if len(cells) != 4 || place == nil {
			t.Errorf("%q does not say where it is in the source", cells)
			continue
		}
		source := read(t, place[1])
		isThere := strings.Contains(source, place[2])
		if place[3] != "" {
			name, amount := regexp.QuoteMeta(place[2]), regexp.QuoteMeta(place[3])
			isThere = regexp.MustCompile(`(?m)\b` + name + ` *= ` + amount + `\b|"` + name + `", "` + amount + `"`).MatchString(source)
		}
		if !isThere {
			t.Errorf("%s: %s does not have %s %s", cells[0], place[1], place[2], place[3])
		}
	}
}

// TestEveryThreatIsHeldByATest reads the tables of threats.
func TestEveryThreatIsHeldByATest(t *testing.T) {
	t.Parallel()
	_, text, _ := strings.Cut(read(t, "docs/threat-model.md"), "\n## Threats\n")
	text, _, _ = strings.Cut(text, "\n## ")

	threats := rows(text)
	if len(threats) < 40 {
		t.Errorf("only %d threats were found", len(threats))
	}
	for _, cells := range threats {
		if len(cells) != 2 || !oneTest.MatchString(cells[1]) && !strings.Contains(cells[1], "`scripts/") {
			t.Errorf("nothing holds off %q", cells)
		}
	}
}

// The requirements of ASVS 5.0.0 at levels 1 and 2.
const (
	asvsLevel1 = 70
	asvsLevel2 = 183
)

// TestEveryRequirementOfASVSIsAnswered counts the rows of docs/asvs.md, and
// compares them with the sentence that sums them up.
func TestEveryRequirementOfASVSIsAnswered(t *testing.T) {
	t.Parallel()
	text := read(t, "docs/asvs.md")
	results := map[string]int{}
	levels := map[string]int{}
	previous := [3]int{}
	for _, cells := range rows(text) {
		if len(cells) != 5 {
			t.Errorf("a row has %d cells: %q", len(cells), cells)
			continue
		}
		number, level, result, evidence := cells[0], cells[1], cells[3], cells[4]
		levels[level]++
		results[result]++

		var current [3]int
		for i, part := range strings.Split(number, ".") {
			current[i], _ = strconv.Atoi(part)
		}
		if slices.Compare(current[:], previous[:]) <= 0 {
			t.Errorf("%s does not follow %v", number, previous)
		}
		previous = current

		if evidence == "" || result == "fail" && len(evidence) < 60 {
			t.Errorf("%s: %s, and says only %q", number, result, evidence)
		}
	}

	if levels["1"] != asvsLevel1 || levels["2"] != asvsLevel2 || len(levels) != 2 {
		t.Errorf("requirements of each level: %v, want %d and %d", levels, asvsLevel1, asvsLevel2)
	}
	sum := fmt.Sprintf("Of %d requirements, %d pass, %d fail and %d do not apply.",
		asvsLevel1+asvsLevel2, results["pass"], results["fail"], results["n/a"])
	if len(results) != 3 || !strings.Contains(text, sum) {
		t.Errorf("the page does not say %q; results: %v", sum, results)
	}
}
