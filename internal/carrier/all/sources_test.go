package all_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/all"
)

// withoutSources are the carriers whose facts are not listed yet. It only
// shrinks: a new carrier comes with its sources.tsv.
var withoutSources = []string{}

// A fact is something that a driver takes for true about its carrier, with the
// public sources that say so.
type fact struct {
	id        string
	kind      string
	value     string
	used      []place
	sources   []string // up to two, of different origin
	abilities []string // that depend on it
}

// A place is where a driver uses a fact.
type place struct{ file, identifier string }

var (
	factColumns = []string{"id", "kind", "value", "used", "source1", "source2", "ability"}
	factKinds   = []string{"path", "header", "field", "code", "limit", "delay", "refusal", "status", "window", "format"}

	// factAbilities are in the order in which sources.md groups facts.
	factAbilities = []string{
		"buy", "find", "void", "track", "rate", "check", "pickup", "manifest", "return", "points", "proof", "duties", "documents", "push", "address",
	}

	factID    = regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*$`)
	factNoted = regexp.MustCompile(`//.*\bfact: ([a-z0-9-]+(?:, ?[a-z0-9-]+)*)`)
	isWord    = regexp.MustCompile(`^\w+$`)
)

// standing says how well a fact is known.
func (f fact) standing() string { return []string{"none", "single", "two sources"}[len(f.sources)] }

// folderOf returns the folder of a driver.
func folderOf(spec carrier.Spec) string {
	return filepath.Join("..", strings.ReplaceAll(spec.Name, "_", ""))
}

// factsOf reads the facts of a carrier. It returns none for a carrier whose
// facts are not listed yet.
func factsOf(t *testing.T, spec carrier.Spec) []fact {
	t.Helper()
	file := filepath.Join(folderOf(spec), "sources.tsv")
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) && slices.Contains(withoutSources, spec.Name) {
		return nil
	}
	if err != nil {
		t.Errorf("%s has no list of its facts: %v", spec.Title, err)
		return nil
	}

	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if want := strings.Join(factColumns, "\t"); lines[0] != want {
		t.Errorf("%s: the first line is %q, want %q", file, lines[0], want)
		return nil
	}
	var facts []fact
	for i, line := range lines[1:] {
		cells := strings.Split(line, "\t")
		if len(cells) != len(factColumns) {
			t.Errorf("%s:%d: %d columns, want %d separated by tabs", file, i+2, len(cells), len(factColumns))
			continue
		}
		listed := fact{
			id:        cells[0],
			kind:      cells[1],
			value:     cells[2],
			abilities: splitList(cells[6]),
		}
		for _, used := range splitList(cells[3]) {
			name, identifier, _ := strings.Cut(used, ":")
			listed.used = append(listed.used, place{name, identifier})
		}
		for _, source := range cells[4:6] {
			if source != "" {
				listed.sources = append(listed.sources, source)
			}
		}
		facts = append(facts, listed)
	}
	return facts
}

// splitList splits the cell of a table at its commas.
func splitList(cell string) []string {
	var list []string
	for item := range strings.SplitSeq(cell, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list
}

// TestFactsAreWellFormed checks each list of facts, and that what it says about
// the driver is true.
func TestFactsAreWellFormed(t *testing.T) {
	t.Parallel()
	for _, spec := range all.Specs {
		folder := folderOf(spec)
		listed := map[string]bool{}
		last := ""
		for _, f := range factsOf(t, spec) {
			name := folder + "/sources.tsv: " + f.id
			listed[f.id] = true
			if f.id <= last {
				t.Errorf("%s follows %s: ids are unique and sorted", name, last)
			}
			last = f.id

			for _, complaint := range f.complaints(folder) {
				t.Errorf("%s: %s", name, complaint)
			}
		}

		noted := notedFacts(t, folder)
		for id, file := range noted {
			if len(listed) > 0 && !listed[id] {
				t.Errorf("%s names the fact %s, which is not in sources.tsv", file, id)
			}
		}
		for _, f := range factsOf(t, spec) {
			inCode := slices.ContainsFunc(f.used, func(at place) bool { return strings.HasSuffix(at.file, ".go") })
			if (f.kind == "code" || f.kind == "limit") && inCode && noted[f.id] == "" {
				t.Errorf("%s: the driver has no comment \"// fact: %s\" where this %s stands", folder, f.id, f.kind)
			}
		}
	}
}

// complaints lists what is wrong with a fact by itself.
func (f fact) complaints(folder string) []string {
	var list []string
	complain := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }

	if !factID.MatchString(f.id) {
		complain("an id is of lower-case words joined by hyphens")
	}
	if !slices.Contains(factKinds, f.kind) {
		complain("the kind is %q, want one of %s", f.kind, strings.Join(factKinds, ", "))
	}
	if f.value == "" {
		complain("it has no value")
	}
	if len(f.abilities) == 0 {
		complain("it has no ability")
	}
	for _, ability := range f.abilities {
		if !slices.Contains(factAbilities, ability) {
			complain("the ability is %q, want one of %s", ability, strings.Join(factAbilities, ", "))
		}
	}

	for i, source := range f.sources {
		if source != strings.TrimSpace(source) || strings.Contains(strings.ToLower(source), "waybill") {
			complain("source %d is %q, want a public document or program that is not ours", i+1, source)
		}
	}
	if len(f.sources) == 2 && strings.EqualFold(f.sources[0], f.sources[1]) {
		complain("both sources are %q; a second source is an independent one, or empty", f.sources[0])
	}

	if len(f.used) == 0 {
		complain("nothing uses it")
	}
	for _, at := range f.used {
		text, err := os.ReadFile(filepath.Join(folder, at.file))
		switch {
		case err != nil || at.identifier == "":
			complain("%s:%s is not a file and an identifier of the driver", at.file, at.identifier)
		case !names(string(text), at.identifier):
			complain("%s does not contain %s", at.file, at.identifier)
		}
	}
	return list
}

// names reports whether a text contains every part of a dotted identifier.
func names(text, identifier string) bool {
	for part := range strings.SplitSeq(identifier, ".") {
		pattern := regexp.QuoteMeta(part)
		if isWord.MatchString(part) {
			pattern = `\b` + pattern + `\b`
		}
		if !regexp.MustCompile(pattern).MatchString(text) {
			return false
		}
	}
	return true
}

// notedFacts returns the ids that comments of a driver name, with a file of each.
func notedFacts(t *testing.T, folder string) map[string]string {
	t.Helper()
	noted := map[string]string{}
	for _, name := range filesIn(t, folder) {
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, comment := range factNoted.FindAllStringSubmatch(string(text), -1) {
			for _, id := range splitList(comment[1]) {
				noted[id] = filepath.Join(folder, name)
			}
		}
	}
	return noted
}

// TestAbilitiesWithoutASourceAreOff checks that each driver declares the abilities
// that rest on a fact without a source, and no other.
func TestAbilitiesWithoutASourceAreOff(t *testing.T) {
	t.Parallel()
	for _, spec := range all.Specs {
		unsourced := map[carrier.Ability]string{}
		for _, f := range factsOf(t, spec) {
			if len(f.sources) > 0 {
				continue
			}
			for _, name := range f.abilities {
				ability := carrier.Ability(name)
				if !slices.Contains(carrier.GatedAbilities, ability) {
					t.Errorf("%s: %s has no source, and %q cannot be turned off: find a source, or do without it", spec.Title, f.id, name)
				}
				unsourced[ability] = f.id
			}
		}

		for ability, id := range unsourced {
			if !slices.Contains(spec.Unconfirmed, ability) {
				t.Errorf("%s: %q rests on %s, which has no source, and is not in Spec.Unconfirmed", spec.Title, ability, id)
			}
		}
		for _, ability := range spec.Unconfirmed {
			if unsourced[ability] == "" {
				t.Errorf("%s: %q is in Spec.Unconfirmed, and all its facts have sources", spec.Title, ability)
			}
		}
	}
}

// TestTheDocumentOfSourcesIsUpToDate checks that sources.md of each driver says
// what its sources.tsv says.
func TestTheDocumentOfSourcesIsUpToDate(t *testing.T) {
	t.Parallel()
	for _, spec := range all.Specs {
		facts := factsOf(t, spec)
		if facts == nil {
			continue
		}
		file := filepath.Join(folderOf(spec), "sources.md")
		want := sourcesDocument(spec, facts)
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if have, _ := os.ReadFile(file); string(have) != want {
			t.Errorf("%s is not up to date: go test ./internal/carrier/all -run Document -update", file)
		}
	}
}

// sourcesDocument writes the facts of a carrier, grouped by what depends on
// them.
func sourcesDocument(spec carrier.Spec, facts []fact) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# What the driver knows about %s\n\n", spec.Title)
	fmt.Fprintf(&b, "Generated from `sources.tsv`. Each fact is used by the driver in this folder. A fact with two sources was found in two\n")
	fmt.Fprintf(&b, "public places of different origin; one with a single source or none may be wrong, and the driver then does what is safer.\n\n")
	fmt.Fprintf(&b, "%d facts: %d with two sources, %d with a single one, %d with none.\n",
		len(facts), withSources(facts, 2), withSources(facts, 1), withSources(facts, 0))

	for _, ability := range factAbilities {
		group := slices.DeleteFunc(slices.Clone(facts), func(f fact) bool {
			return len(f.abilities) == 0 || f.abilities[0] != ability
		})
		if len(group) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n| fact | kind | value | standing | sources |\n|---|---|---|---|---|\n", ability)
		for _, f := range group {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n",
				f.id, f.kind, tableCell(f.value), f.standing(), tableCell(strings.Join(f.sources, "; ")))
		}
	}
	return b.String()
}

// tableCell writes a text so that it stays in its cell.
func tableCell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;").Replace(text)
}

// withSources counts the facts with a number of sources.
func withSources(facts []fact, number int) int {
	count := 0
	for _, f := range facts {
		if len(f.sources) == number {
			count++
		}
	}
	return count
}

// describeFacts writes the document's section on what the drivers rely on.
func describeFacts(t *testing.T, b *strings.Builder, list []described) {
	t.Helper()
	count := func(number int) func(described) string {
		return func(c described) string {
			facts := factsOf(t, c.Spec)
			if facts == nil {
				return "-"
			}
			return strconv.Itoa(withSources(facts, number))
		}
	}
	b.WriteString("\n## Facts and their sources\n\nA driver relies on facts about its carrier: paths, fields, codes, limits, delays. `sources.md` in the folder of each driver " +
		"(such as `internal/carrier/" + filepath.Base(folderOf(list[0].Spec)) + "`) lists them with the public sources that confirm them. " +
		"Where sources are missing, the driver does what is safer. A dash means that the list is not written yet.\n\n")
	table(b, list, []row{
		{"facts with two independent sources", count(2)},
		{"with one source", count(1)},
		{"with none", count(0)},
		{"off on a new live connection until confirmed", func(c described) string {
			var off []string
			for _, ability := range c.Unconfirmed {
				off = append(off, ability.Words())
			}
			return cmp.Or(strings.Join(off, ", "), "-")
		}},
	})
	b.WriteString("\nAn ability that rests on a fact without a source is off on a new live connection until `waybill connection certify`, or a real answer of the carrier there, has confirmed it; see [Abilities that are off](connections.md#abilities-that-are-off). Test connections are not limited.\n")
}
