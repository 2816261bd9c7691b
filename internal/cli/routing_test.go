package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/cli"
	"github.com/waybillhq/waybill/internal/routing"
)

// write makes a file and returns its name.
func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const goodBook = `{
  "rules": [
    {"name": "Alaska by USPS", "when": "destination.state == \"AK\"", "then": {"prefer": [{"carrier": "usps"}], "tolerancePercent": 15}},
    {"name": "Heavy", "when": "parcel.weightKg > 20", "then": {"use": [{"carrier": "ups", "service": "ground"}, {"carrier": "fedex"}]}, "guard": {"extraPercent": 25, "extraDays": 1}, "otherwise": "refuse"},
    {"name": "No DHL", "when": "!order.international", "then": {"forbid": [{"carrier": "dhl_express"}]}, "disabled": true}
  ],
  "default": {"choose": "fastest", "withinPercentOfCheapest": 10}
}
`

const wrongBook = `{
  "rules": [
    {"name": "Alaska by USPS", "when": "destination.stat == \"AK\"", "then": {"use": [{"carrier": "usps"}]}},
    {"name": "Two lines", "when": "parcel.weightKg > 20 &&\n  parcel.longestCm > \"120\"", "then": {"use": [{"carrier": "ups"}]}},
    {"when": "order.international", "then": {"use": [{"carrier": "ups"}]}}
  ]
}
`

func TestWrongRulesAreShownWithTheirPlaceAndASuggestion(t *testing.T) {
	t.Parallel()
	file := write(t, "rules.json", wrongBook)
	out, _, err := shell{}.run(t, "routing", "check", "--offline", file)
	if !errors.Is(err, cli.ErrUnhealthy) {
		t.Errorf("the error is %v", err)
	}
	for _, want := range []string{
		file + ":3:40: /rules/0/when (Alaska by USPS): column 1: there is no destination.stat\n" +
			"    destination.stat == \"AK\"\n" +
			"    ^ did you mean destination.state?\n",
		file + ":4:35: /rules/1/when (Two lines): line 2, column 20: ",
		"      parcel.longestCm > \"120\"\n                       ^ did you mean parcel.longestCm > 120?\n",
		file + ":5:5: /rules/2/name: a rule needs a name\n",
		"3 errors\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it says\n%s\nwant\n%s", out, want)
		}
	}
}

func TestTextThatIsNotARuleBookIsExplained(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{\n  \"rules\": [,]\n}": ":2:13: invalid JSON: ",
		`{"rulez": []}`:          ":1:11: /rulez: unknown field\n    did you mean rules?\n",
		`{"rules": [{"name": "a", "then": {"chose": "cheapest"}}]}`: "/rules/0/then/chose (a): unknown field\n    did you mean choose?\n",
	} {
		file := write(t, "rules.json", text)
		out, _, err := shell{}.run(t, "routing", "check", "--offline", file)
		if !errors.Is(err, cli.ErrUnhealthy) || !strings.Contains(out, file) || !strings.Contains(out, want) {
			t.Errorf("%s: %v\n%s\nwant %s", text, err, out, want)
		}
	}
	if _, _, err := (shell{}).run(t, "routing", "check", "--offline", "none.json"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestRulesMayComeFromStandardInput(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := cli.Run(t.Context(), []string{"routing", "check", "--offline", "-"}, cli.Streams{In: strings.NewReader(goodBook), Out: &out, Err: &out})
	if want := "standard input: 3 rules, no errors\n"; err != nil || out.String() != want {
		t.Errorf("%v: %s", err, out.String())
	}
}

func TestACarrierThatIsNotThereIsFoundWithTheDatabase(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.must(t, "account", "create", "--name", "Acme")
	file := write(t, "rules.json", strings.Replace(goodBook, `"service": "ground"`, `"service": "grond"`, 1))
	out, _, err := s.run(t, "routing", "check", file)
	if want := "/rules/1/then/use/0/service (Heavy): is not a service of ups\n    did you mean ground?\n"; !errors.Is(err, cli.ErrUnhealthy) || !strings.Contains(out, want) {
		t.Errorf("%v\n%s\nwant %s", err, out, want)
	}
	if out := s.must(t, "routing", "check", "--offline", file); !strings.Contains(out, "no errors") {
		t.Errorf("offline: %s", out)
	}
	if _, said, err := s.run(t, "routing", "draft", file); !errors.Is(err, cli.ErrUnhealthy) || !strings.Contains(said, "did you mean ground?") {
		t.Errorf("as a draft: %v\n%s", err, said)
	}
	out = s.must(t, "routing", "check", "--live", write(t, "rules.json", goodBook))
	if !strings.Contains(out, "warning: ups is not connected in live mode") || !strings.Contains(out, "3 rules, no errors") {
		t.Errorf("live: %s", out)
	}
}

const goodBookInWords = `1. Alaska by USPS
   when  destination.state == "AK"
   then  prefer usps up to 15 % over the cheapest
2. Heavy
   when  parcel.weightKg > 20
   then  use ups ground, then fedex; a fallback may add at most 25 % and 1 day
   else  refuse the shipment
3. No DHL (disabled)
   when  !order.international
   then  never dhl_express
If no rule decides: the fastest, at most 10 % over the cheapest
`

func TestADraftIsPublishedShownAndRolledBack(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.must(t, "account", "create", "--name", "Acme")
	if _, said, err := s.run(t, "routing", "show"); err != nil || !strings.Contains(said, "no rules are published") {
		t.Errorf("before all: %v, %s", err, said)
	}
	if _, _, err := s.run(t, "routing", "publish"); err == nil || !strings.Contains(err.Error(), "save one with") {
		t.Errorf("without a draft: %v", err)
	}
	s.must(t, "routing", "draft", write(t, "rules.json", goodBook))
	if out := s.must(t, "routing", "show", "--draft"); out != goodBookInWords {
		t.Errorf("the draft is shown as\n%s", out)
	}
	if out := s.must(t, "routing", "publish", "--note", "first"); out != "1\n" {
		t.Errorf("published %q", out)
	}
	s.must(t, "routing", "draft", write(t, "rules.json", `{"rules": []}`))
	if out := s.must(t, "routing", "publish", "--note", "none"); out != "2\n" {
		t.Errorf("published %q", out)
	}
	if out := s.must(t, "routing", "rollback", "1", "--note", "better"); out != "3\n" {
		t.Errorf("rolled back to %q", out)
	}
	if out := s.must(t, "routing", "show"); out != goodBookInWords {
		t.Errorf("after the roll back it is\n%s", out)
	}
	history := strings.Split(strings.TrimSpace(s.must(t, "routing", "history")), "\n")
	if len(history) != 4 || !strings.HasPrefix(history[1], "3 ") || !strings.HasSuffix(history[1], "  3      rollback to version 1: better") || !strings.HasSuffix(history[3], "first") {
		t.Errorf("the history is\n%s", strings.Join(history, "\n"))
	}
	if out := s.must(t, "routing", "show", "--live"); out != "If no rule decides: the cheapest\n" {
		t.Errorf("live: %s", out)
	}
	s.must(t, "routing", "draft", write(t, "rules.json", `{"rules": []}`))
	s.must(t, "routing", "discard")
	if _, _, err := s.run(t, "routing", "show", "--draft"); err == nil || !strings.Contains(err.Error(), "there is no draft") {
		t.Errorf("after it was discarded: %v", err)
	}
}

func TestShownJSONIsTheFileAgain(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.must(t, "account", "create", "--name", "Acme")
	s.must(t, "routing", "draft", write(t, "rules.json", goodBook))
	again := s.must(t, "routing", "show", "--draft", "--json")
	var before, after routing.Book
	if err := errors.Join(json.Unmarshal([]byte(goodBook), &before), json.Unmarshal([]byte(again), &after)); err != nil {
		t.Fatal(err)
	}
	one, _ := json.Marshal(before)
	two, _ := json.Marshal(after)
	if !bytes.Equal(one, two) {
		t.Errorf("%s\nwas\n%s", two, one)
	}
	s.must(t, "routing", "check", write(t, "again.json", again))
}

func TestMistakesAboutRoutingAreExplained(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.must(t, "account", "create", "--name", "Acme")
	book := write(t, "rules.json", goodBook)
	for want, args := range map[string][]string{
		"the version must be a number":      {"rollback", "last"},
		"there is no such version":          {"rollback", "7"},
		"no such version of the rules":      {"show", "--version", "2"},
		"--version must be 1 or more":       {"show", "--version", "-1"},
		"--last must be from 1":             {"simulate", book, "--last", "0"},
		"use only one of FILE":              {"simulate", book, "--draft"},
		"there is no draft":                 {"simulate"},
		"--since must be a duration":        {"simulate", book, "--since", "soon"},
		"there is no account acct_x":        {"show", "--account", "acct_x"},
		"none of the others can be":         {"show", "--draft", "--version", "1"},
		"there is no such version of the r": {"simulate", "--version", "1"},
	} {
		_, _, err := s.run(t, append([]string{"routing"}, args...)...)
		if err == nil || !strings.Contains(cli.Explain(err), want) {
			t.Errorf("%v: %v, want %s", args, err, want)
		}
	}
}

func TestVariablesAreListed(t *testing.T) {
	t.Parallel()
	out := shell{}.must(t, "routing", "variables")
	if lines := strings.Count(out, "\n"); lines != 1+len(routing.Variables())+len(routing.OfferFields()) {
		t.Errorf("%d lines", lines)
	}
	var v routing.Variable
	first, _, _ := strings.Cut(shell{}.must(t, "routing", "variables", "--json"), "\n")
	if err := json.Unmarshal([]byte(first), &v); err != nil || v.Name != "destination.country" || !strings.Contains(out, v.Example) {
		t.Errorf("%v: %+v", err, v)
	}
}
