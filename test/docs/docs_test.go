// Package docs_test holds the documents to the tree: tests that they name
// exist, links lead somewhere, and every setting is listed.
package docs_test

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/store"
)

var update = flag.Bool("update", false, "write the tables of docs/configuration.md, docs/sign-in.md and docs/proofs.md")

const root = "../.."

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// tests lists the tests and fuzz targets of the folder, whatever their build
// tags.
func tests(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(\w+ \*testing\.[TF]\)`).FindAllStringSubmatch(string(data), -1) {
			names = append(names, m[1])
		}
	}
	return names
}

// folderOf is where the package of a row lives: under internal, or in the
// root.
func folderOf(name string) string {
	if name == "internal" || name == "client" || name == "kms" || strings.HasPrefix(name, "test/") {
		return name
	}
	return "internal/" + name
}

// rows are the lines of the tables of a document, without their heads.
func rows(doc string) [][]string {
	var all [][]string
	head := true
	for line := range strings.SplitSeq(doc, "\n") {
		if !strings.HasPrefix(line, "|") {
			head = true
			continue
		}
		if head || strings.HasPrefix(line, "|---") {
			head = false
			continue
		}
		var cells []string
		for cell := range strings.SplitSeq(strings.Trim(line, "|"), " | ") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		all = append(all, cells)
	}
	return all
}

// named finds "package: TestOne, TestTwo" in a cell.
var named = regexp.MustCompile(`([a-z0-9/]+): ((?:(?:Test|Fuzz)\w+(?:, )?)+)`)

func TestEveryRowOfConformanceIsHeldByATestOrMissing(t *testing.T) {
	t.Parallel()
	known := map[string][]string{}
	list := rows(read(t, "docs/conformance.md"))
	for _, cells := range list {
		if len(cells) != 2 || cells[0] == "" {
			t.Errorf("a row has %d cells: %q", len(cells), cells)
			continue
		}
		groups := named.FindAllStringSubmatch(cells[1], -1)
		rest := strings.Trim(named.ReplaceAllString(cells[1], ""), "; ")
		if rest != "" && !strings.HasPrefix(rest, "missing") || rest == "" && len(groups) == 0 {
			t.Errorf("%q is held by %q", cells[0], cells[1])
		}
		for _, g := range groups {
			folder := folderOf(g[1])
			if known[folder] == nil {
				known[folder] = tests(t, folder)
			}
			for name := range strings.SplitSeq(g[2], ", ") {
				if !slices.Contains(known[folder], name) {
					t.Errorf("%q: there is no %s in %s", cells[0], name, folder)
				}
			}
		}
	}
	if len(list) < 100 {
		t.Errorf("only %d rows were found", len(list))
	}
}

// TestWhatIsSkippedIsNotCountedAsHeld looks for tests that are skipped without
// a condition: a row may name such a one only as missing.
func TestWhatIsSkippedIsNotCountedAsHeld(t *testing.T) {
	t.Parallel()
	doc := read(t, "docs/conformance.md")
	skip := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\) \{\n(?:\tt\.Parallel\(\)\n)?\tt\.Skip\(`)
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		for _, m := range skip.FindAllStringSubmatch(string(data), -1) {
			for line := range strings.SplitSeq(doc, "\n") {
				if strings.Contains(line, m[1]) && !strings.Contains(line, "| missing") {
					t.Errorf("%s is skipped, and holds %q", m[1], line)
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// documents lists every Markdown file that is ours.
func documents(t *testing.T) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".md") {
			list = append(list, path)
		}
		return nil
	})
	if err != nil || len(list) < 8 {
		t.Fatalf("%d documents, %v", len(list), err)
	}
	return list
}

var (
	link  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fence = regexp.MustCompile("(?s)```.*?```")
	code  = regexp.MustCompile("`[^`\n]*`")
)

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, file := range documents(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := code.ReplaceAllString(fence.ReplaceAllString(string(data), ""), "")
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			seen++
			to := file
			if target != "" {
				to = filepath.Join(filepath.Dir(file), target)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %s leads nowhere", file, m[1])
				continue
			}
			if anchor != "" && !slices.Contains(anchors(t, to), anchor) {
				t.Errorf("%s: %s has no heading %s", file, to, anchor)
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d links were found", seen)
	}
}

// anchors are the headings of a document as links name them.
func anchors(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(fence.ReplaceAllString(string(data), ""), -1) {
		word := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		list = append(list, strings.ReplaceAll(word, " ", "-"))
	}
	return list
}

const (
	tableBegin = "<!-- settings -->\n"
	tableEnd   = "<!-- /settings -->"
)

// settingsTable is every setting as docs/configuration.md lists it.
func settingsTable() string {
	var b strings.Builder
	b.WriteString("| setting | default | meaning |\n|---|---|---|\n")
	for _, s := range config.Settings() {
		value := "`" + s.Default + "`"
		switch {
		case s.Name == "DATABASE_URL":
			value = "required"
		case s.Default == "":
			value = "empty"
		}
		b.WriteString("| `" + s.Name + "` | " + value + " | " + s.Help + " |\n")
	}
	return b.String()
}

func TestConfigurationListsEverySetting(t *testing.T) {
	t.Parallel()
	const name = "docs/configuration.md"
	doc := read(t, name)
	before, rest, ok := strings.Cut(doc, tableBegin)
	table, after, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no table between %q and %q", name, tableBegin, tableEnd)
	}
	if *update && table != settingsTable() {
		if err := os.WriteFile(filepath.Join(root, name), []byte(before+tableBegin+settingsTable()+tableEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != settingsTable() {
		t.Errorf("the table of %s is not that of internal/config; run go test ./test/docs -update and read the difference", name)
	}
}

// columnsTable is the inventory of personal data as docs/personal-data.md lists it.
func columnsTable() string {
	var b strings.Builder
	b.WriteString("| table | columns | class | note |\n|---|---|---|---|\n")
	for _, group := range store.PersonalData {
		b.WriteString("| `" + group.Table + "` | `" + strings.Join(group.Columns, "`, `") + "` | " + string(group.Class) + " | " + group.Note + " |\n")
	}
	return b.String()
}

func TestPersonalDataListsEveryColumn(t *testing.T) {
	t.Parallel()
	const name, begin, end = "docs/personal-data.md", "<!-- columns -->\n", "<!-- /columns -->"
	before, rest, ok := strings.Cut(read(t, name), begin)
	table, after, ok2 := strings.Cut(rest, end)
	switch {
	case !ok || !ok2:
		t.Fatalf("%s has no table between %q and %q", name, begin, end)
	case *update && table != columnsTable():
		if err := os.WriteFile(filepath.Join(root, name), []byte(before+begin+columnsTable()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	case table != columnsTable():
		t.Errorf("the table of %s is not store.PersonalData; run go test ./test/docs -update and read the difference", name)
	}
}

// rolesTable is the permission table as docs/sign-in.md lists it.
func rolesTable() string {
	var b strings.Builder
	b.WriteString("| permission | for |")
	for _, role := range member.Roles {
		b.WriteString(" " + string(role) + " |")
	}
	b.WriteString(" recent sign-in |\n|---|---|" + strings.Repeat("---|", len(member.Roles)+1) + "\n")

	cell := func(holds bool) string {
		if holds {
			return " yes |"
		}
		return " |"
	}
	for _, permission := range member.Permissions() {
		b.WriteString("| `" + string(permission.Action) + "` | " + permission.About + " |")
		for _, role := range member.Roles {
			b.WriteString(cell(role.Can(permission.Action)))
		}
		b.WriteString(cell(permission.Action.NeedsStepUp()) + "\n")
	}
	return b.String()
}

func TestSignInListsEveryPermission(t *testing.T) {
	t.Parallel()
	const name, begin, end = "docs/sign-in.md", "<!-- roles -->\n", "<!-- /roles -->"
	before, rest, ok := strings.Cut(read(t, name), begin)
	table, after, ok2 := strings.Cut(rest, end)
	switch {
	case !ok || !ok2:
		t.Fatalf("%s has no table between %q and %q", name, begin, end)
	case *update && table != rolesTable():
		if err := os.WriteFile(filepath.Join(root, name), []byte(before+begin+rolesTable()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	case table != rolesTable():
		t.Errorf("the table of %s is not that of internal/member; run go test ./test/docs -update and read the difference", name)
	}
}

// TestOperationsListsEveryMetric reads the names of metrics from the source.
func TestOperationsListsEveryMetric(t *testing.T) {
	t.Parallel()
	doc := read(t, "docs/operations.md")
	metric := regexp.MustCompile(`"(waybill_[a-z_]+)"`)
	inCode := map[string]bool{}
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/store/") {
			return err
		}
		data, err := os.ReadFile(path)
		for _, m := range metric.FindAllStringSubmatch(string(data), -1) {
			inCode[m[1]] = true
			if !strings.Contains(doc, "`"+m[1]) {
				t.Errorf("%s is not in docs/operations.md", m[1])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`waybill_[a-z_]+`).FindAllString(doc, -1) {
		name := strings.TrimSuffix(m, "_bucket")
		if !inCode[name] && name != "waybill_app" && name != "waybill_group" && name != "waybill_sys" && name != "waybill_serve" {
			t.Errorf("docs/operations.md speaks of %s, which is no metric", m)
		}
	}
	if len(inCode) < 10 {
		t.Errorf("only %d metrics were found", len(inCode))
	}
}

// runMarks are the comments in front of blocks that a test runs as they stand.
var runMarks = regexp.MustCompile(`^<!-- (walk|unpack|operate|run( \d+)?|follow|terminal|example|call|verify \w+|recipe \w+ \S+|first-label) -->$`)

// notRun are the blocks of README.md and docs that no test runs as they stand, by
// their file and how they begin, with the reason. The commands of the program in them
// exist, with their flags: internal/cli's TestEveryCommandOfTheGuidesExists.
var notRun = map[string]string{
	"README.md export WAYBILL_URL=":               "the key is a placeholder",
	"README.md ./waybill listen":                  "run with the examples of the terminal guide",
	"README.md export PATH":                       "names the folder of the program",
	"README.md waybill account update":            "needs credentials of a carrier",
	`README.md {"rules"`:                          "an excerpt; docs/routing.md has it as a walk",
	"README.md waybill routing check":             "needs the file of the excerpt",
	"README.md export SECRET_KEY":                 "starts an image",
	"adding-a-carrier.md $ make carrier":          "writes into the tree; tools/carrier tests it",
	"agents.md waybill key create":                "needs an account with live connections; test/e2e: TestKeysOfAgentsSpendWhatTheyMay",
	"agents.md {":                                 "an answer, shortened",
	"batch-api.md {":                              "an answer, shortened",
	"cells.md waybill":                            "needs several databases; test/cells",
	"cells.md MIGRATE_DATABASE_URL":               "needs several databases; test/cells",
	"cells.md export CELL_DATABASES":              "needs several databases; test/cells",
	"cli.md waybill login":                        "a person approves it; internal/cli: TestATerminalSignsInThroughTheDashboard",
	"cli.md pass show":                            "needs a program that stores passwords",
	"cli.md waybill pickup resolve":               "run with the examples of the commands",
	"cli.md source":                               "changes the shell of a person",
	"connections.md waybill connection":           "needs credentials of a carrier",
	"connections.md go build":                     "builds the program",
	"emulators.md waybill emulate":                "runs until it is stopped",
	"emulators.md CARRIER_URLS":                   "runs until it is stopped",
	"emulators.md . ~/.local":                     "reads a file of the person",
	"emulators.md curl -sS http://127.0.0.1:9001": "needs the emulator at its own address",
	"connections.md waybill carrier drift":        "needs responses of carriers; internal/cli: TestDriftListsWhatCarriersRespondedAndDriversDoNotKnow",
	"emulators.md export UPS_CLIENT_ID":           "settings alone",
	"end-of-day.md export WAYBILL_KEY":            "the key is a placeholder",
	"failover.md apt install":                     "installs programs",
	"failover.md DATABASE_URL":                    "a setting alone",
	"failover.md deploy/patroni/certificates":     "run by TestFailoverRunbook of test/purchases",
	"failover.md sudo -u postgres":                "run by TestFailoverRunbook of test/purchases",
	"keys.md waybill secret-key":                  "restarts the service in between; test/e2e: rotation_test.go",
	"kubernetes.md kubectl":                       "needs a cluster; test/deploy",
	"kubernetes.md helm":                          "needs a cluster; test/deploy",
	"locations.md export WAYBILL_KEY":             "the key is a placeholder",
	"mcp.md waybill key create":                   "test/agents makes keys with the same flags",
	"mcp.md {":                                    "settings of other programs",
	"moving-from-easypost.md waybill import":      "run with the examples of the commands",
	"operations.md":                               "installs, or changes the machine or its database; test/deploy",
	"options.md":                                  "an excerpt",
	"plugins.md":                                  "needs a plug-in; test of internal/plugin",
	"quickstart-developer.md waybill dev":         "runs until it is stopped",
	"quickstart-developer.md export WAYBILL_URL":  "the key is a placeholder",
	"quickstart-operator.md export DATABASE_URL":  "the address is a placeholder",
	"quickstart-operator.md waybill serve":        "runs until it is stopped",
	"quickstart-warehouse.md export WAYBILL_URL":  "the key is a placeholder",
	"routing.md make build":                       "builds the program",
	"routing.md {":                                "internal/cli checks every rule book of the guide",
	"routing.md waybill ratesheet check":          "needs a contract of a carrier",
	"sdks.md":                                     "builds the packages; make release-check",
	"sign-in.md waybill audit stream":             "runs until it is stopped",
	"testing.md $ make test":                      "the tests themselves",
	"tracking.md {":                               "an answer",
	"tracking.md waybill connection push":         "needs a connection",
	"tracking.md waybill tracking":                "needs a database with the events of carriers",
	"webhooks.md waybill listen":                  "run with the examples of the terminal guide",
	"webhooks.md body, err":                       "an excerpt of a handler; client: ExampleVerifyWebhook is run",
}

// TestEveryBlockIsRunOrListed finds code in README.md and docs that nothing runs.
func TestEveryBlockIsRunOrListed(t *testing.T) {
	t.Parallel()
	guides, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?ms)^(<!-- [^\n]* -->\n)? *```(sh|console|go|js|ts|python|ruby|json)\n *(.*?)^ *```")
	used := map[string]bool{}
	for _, guide := range append(guides, filepath.Join(root, "README.md")) {
		name := filepath.Base(guide)
		text := read(t, strings.TrimPrefix(guide, root))

		// The examples of the commands are run where they are written.
		before, rest, _ := strings.Cut(text, "<!-- reference -->")
		_, after, _ := strings.Cut(rest, "<!-- /reference -->")
		for _, found := range block.FindAllStringSubmatch(before+after, -1) {
			if runMarks.MatchString(strings.TrimSpace(found[1])) {
				continue
			}
			listed := false
			for begin := range notRun {
				if strings.HasPrefix(name+" "+found[3], begin) {
					used[begin] = true
					listed = true
				}
			}
			if !listed {
				line, _, _ := strings.Cut(found[3], "\n")
				t.Errorf("%s: no test runs the block that begins with %q, and it is not listed", name, line)
			}
		}
	}
	for begin := range notRun {
		if !used[begin] {
			t.Errorf("%q is listed and there is no such block", begin)
		}
	}
}
