package cli_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/cli"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

var update = flag.Bool("update", false, "write the table and the outputs of docs/routing.md, and the reference of docs/cli.md")

// asProgram in the environment makes the test binary the program itself.
const asProgram = "WAYBILL_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := cli.UntilSignal(context.Background())
	err := cli.Run(ctx, os.Args[1:], cli.Streams{Env: os.LookupEnv, In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	if err == nil {
		os.Exit(0)
	}
	if !errors.Is(err, cli.ErrUnhealthy) {
		fmt.Fprintln(os.Stderr, cli.Explain(err))
	}
	os.Exit(cli.ExitCode(err))
}

var guide = filepath.Join("..", "..", "docs", "routing.md")

func readGuide(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// variablesTable returns what conditions can read, as docs/routing.md lists it.
func variablesTable() string {
	var b strings.Builder
	b.WriteString("| variable | type | meaning | example |\n|---|---|---|---|\n")
	row := func(name string, v routing.Variable) {
		fmt.Fprintf(&b, "| `%s` | %s | %s | `%s` |\n", name, v.Type, v.Doc, strings.ReplaceAll(v.Example, "|", `\|`))
	}
	for _, v := range routing.Variables() {
		row(v.Name, v)
		if v.Name == "quotes" {
			for _, f := range routing.OfferFields() {
				row("q."+f.Name, f)
			}
		}
	}
	return b.String()
}

func TestTheGuideListsEveryVariable(t *testing.T) {
	const begin, end = "<!-- variables -->\n", "<!-- /variables -->"
	doc := readGuide(t)
	before, rest, ok := strings.Cut(doc, begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("the guide has no place for the variables")
	}
	want := before + begin + variablesTable() + end + after
	if *update {
		if err := os.WriteFile(guide, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if doc != want {
		t.Error("docs/routing.md is not up to date: go test ./internal/cli -run Guide -update")
	}
}

func TestTheRulesOfTheGuideAreRight(t *testing.T) {
	t.Parallel()
	books := regexp.MustCompile("(?s)```json\n(\\{\n  \"rules\".*?)```").FindAllStringSubmatch(readGuide(t), -1)
	if len(books) == 0 {
		t.Fatal("the guide has no book")
	}
	for _, b := range books {
		shell{}.must(t, "routing", "check", "--offline", write(t, "rules.json", b[1]))
	}
	rules := regexp.MustCompile("`(\\{\"(?:use|choose|prefer|split|forbid|require)\".*?\\})`").FindAllStringSubmatch(readGuide(t), -1)
	if len(rules) < 10 {
		t.Fatalf("the guide has %d actions", len(rules))
	}
	for _, r := range rules {
		shell{}.must(t, "routing", "check", "--offline", write(t, "rules.json", `{"rules": [{"name": "a", "then": `+r[1]+`}]}`))
	}
}

// step is a command of the guide, with its expected output if the guide shows
// any.
var step = regexp.MustCompile("(?s)<!-- walk -->\n```sh\n(.*?)```\n(?:<!-- shows -->\n```text\n(.*?)```)?")

// passing matches the parts of the output that differ from run to run.
var passing = regexp.MustCompile(`shp_\w{26}|\d{4}-\d\d-\d\d \d\d:\d\dZ`)

func TestTheGuideCanBeWalked(t *testing.T) {
	doc := readGuide(t)
	steps := step.FindAllStringSubmatchIndex(doc, -1)
	if len(steps) < 10 {
		t.Fatalf("the guide has %d steps", len(steps))
	}
	dir := walk(t, doc, steps)
	var now strings.Builder
	last := 0
	for i, at := range steps {
		shown, err := os.ReadFile(filepath.Join(dir, strconv.Itoa(i)+".out"))
		if err != nil {
			t.Fatal(err)
		}
		if at[4] < 0 {
			continue
		}
		if want := doc[at[4]:at[5]]; passing.ReplaceAllString(string(shown), "") != passing.ReplaceAllString(want, "") {
			now.WriteString(doc[last:at[4]] + string(shown))
			last = at[5]
			if !*update {
				t.Errorf("%s\nshows\n%s\nthe guide says\n%s", doc[at[2]:at[3]], shown, want)
			}
		}
	}
	now.WriteString(doc[last:])
	if *update {
		if err := os.WriteFile(guide, []byte(now.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// walk runs the steps one after the other in one shell, and returns the
// directory with the output of each.
func walk(t *testing.T, doc string, steps [][]int) string {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := fmt.Sprintf("#!/bin/sh\n%s=1 exec %q \"$@\"\n", asProgram, self)
	if err := os.WriteFile(filepath.Join(dir, "waybill"), []byte(program), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	var script strings.Builder
	script.WriteString("trap 'kill $DEV; wait' EXIT\n")
	for i, at := range steps {
		fmt.Fprintf(&script, "exec > %d.out 2>&1\n%s\n", i, doc[at[2]:at[3]])
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script.String())
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(syscall.SIGTERM) }, 30*time.Second // the trap stops what it started
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "DATABASE_URL="+storetest.URL(t), "LISTEN=127.0.0.1:0", "METRICS_LISTEN=off", "SPOOL_DIR="+filepath.Join(dir, "spool"))
	out, err := cmd.CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}
