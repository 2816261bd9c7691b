package cli_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/cli"
)

const goodSheet = `[sheet]
name,Contract 2026
currency,USD
valid from,2026-01-01
weight unit,lb

[zones]
zone,country
1,US

[rates]
service,up to,zone 1
ground,5,7.50
ground,70,19.90
`

func TestARateSheetIsImportedShownAndRemoved(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.must(t, "account", "create", "--name", "Acme")
	file := write(t, "UPS Contract.csv", goodSheet)
	if out := s.must(t, "ratesheet", "check", file); !strings.HasSuffix(out, ": 1 service, 1 zone, 2 prices, 0 surcharges, no errors\n") {
		t.Errorf("the check says %s", out)
	}
	out, said, err := s.run(t, "ratesheet", "import", file, "--carrier", "ups")
	if err != nil || out != "ups-contract\n" || !strings.Contains(said, "version 1 of ups-contract prices ups of Acme (test)") {
		t.Fatalf("%v: %s%s", err, out, said)
	}
	s.must(t, "ratesheet", "import", file, "--carrier", "ups")
	list := strings.Join(strings.Fields(s.must(t, "ratesheet", "list")), " ")
	if !strings.Contains(list, "ups-contract 2 ups - USD from 2026-01-01 1 1 2 ") {
		t.Errorf("the list is %s", list)
	}
	if shown := s.must(t, "ratesheet", "show", "ups-contract", "--version", "1", "--csv"); shown != goodSheet {
		t.Errorf("version 1 is\n%s", shown)
	}
	if shown := s.must(t, "ratesheet", "show", "ups-contract"); !strings.Contains(shown, "title     Contract 2026") || !strings.Contains(shown, "ground") {
		t.Errorf("it is shown as\n%s", shown)
	}
	var one struct {
		Name   string
		Counts struct{ Prices int }
	}
	if err := json.Unmarshal([]byte(s.must(t, "ratesheet", "show", "ups-contract", "--json")), &one); err != nil || one.Name != "ups-contract" || one.Counts.Prices != 2 {
		t.Errorf("as JSON %+v, %v", one, err)
	}
	s.must(t, "ratesheet", "remove", "ups-contract")
	if out := s.must(t, "ratesheet", "list"); out != "" {
		t.Errorf("after it was removed:\n%s", out)
	}
}

func TestAWrongRateSheetIsToldWithLineAndColumn(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.must(t, "account", "create", "--name", "Acme")
	file := write(t, "sheet.csv", strings.Replace(strings.Replace(goodSheet, "7.50", "seven", 1), "currency,USD", "curency,USD", 1))
	out, _, err := s.run(t, "ratesheet", "check", file)
	if !errors.Is(err, cli.ErrUnhealthy) || !strings.Contains(out, file+": line 3: ") || !strings.Contains(out, "(write currency)") || !strings.Contains(out, file+": line 13, zone 1: ") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, said, err := s.run(t, "ratesheet", "import", file, "--carrier", "ups"); !errors.Is(err, cli.ErrUnhealthy) || !strings.Contains(said, "line 13, zone 1: ") {
		t.Errorf("%v\n%s", err, said)
	}
	if out := s.must(t, "ratesheet", "list"); out != "" {
		t.Errorf("it was imported:\n%s", out)
	}
}

func TestMistakesAboutRateSheetsAreExplained(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.must(t, "account", "create", "--name", "Acme")
	file := write(t, "sheet.csv", goodSheet)
	s.must(t, "ratesheet", "import", file, "--carrier", "fedex")
	for want, args := range map[string][]string{
		`"carrier" not set`:              {"import", file},
		"did you mean ups?":              {"import", file, "--carrier", "upss"},
		"not the id of a connection":     {"import", file, "--carrier", "ups", "--connection", "main"},
		"name must be 1 to 60":           {"import", file, "--carrier", "ups", "--name", "A b"},
		"prices the same":                {"import", file, "--carrier", "fedex", "--name", "other"},
		"which is not a service of usps": {"import", write(t, "x.csv", strings.ReplaceAll(goodSheet, "ground,", "grond,")), "--carrier", "usps"},
		"there is no such rate sheet":    {"remove", "none"},
		"list\" lists the active sheet":  {"show", "none"},
	} {
		_, _, err := s.run(t, append([]string{"ratesheet"}, args...)...)
		if err == nil || !strings.Contains(cli.Explain(err), want) {
			t.Errorf("%v: %v, want %s", args, err, want)
		}
	}
}
