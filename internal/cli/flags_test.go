package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/cli"
)

// withoutAccount are the commands of these groups that have no --account, and
// why.
var withoutAccount = map[string]string{
	"waybill connection fields": "it describes carriers, and reads no account",
	"waybill connection rotate": "the key is the installation's",
	"waybill member setup":      "it makes the first owner of the installation",
	"waybill ratesheet check":   "it reads a file, and no account",
	"waybill routing variables": "it describes the language of rules",
	"waybill tracking replay":   "the status table is the installation's",
}

func TestEveryCommandThatIsAboutAccountsHasTheSameFlag(t *testing.T) {
	t.Parallel()
	meanings := map[string]bool{
		"id of the account; optional if there is only one":  true,
		"id of the account (default: all)":                  true,
		"id of the account that must own it (default: any)": true,
	}
	known := map[string]bool{}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			walk(c)
		}
		if cmd.HasSubCommands() {
			return
		}

		path := cmd.CommandPath()
		known[path] = true
		flag := cmd.Flags().Lookup("account")
		switch why := withoutAccount[path]; {
		case flag == nil && why == "":
			t.Errorf("%s has no --account, and no reason is given", path)
		case flag != nil && why != "":
			t.Errorf("%s has --account, though %s", path, why)
		case flag != nil && !meanings[flag.Usage]:
			t.Errorf("%s explains --account as %q", path, flag.Usage)
		}
		if cmd.Name() == "list" && cmd.Flags().Lookup("json") == nil {
			t.Errorf("%s has no --json", path)
		}
	}
	for _, group := range cli.NewRoot(cli.Streams{}).Commands() {
		switch group.Name() {
		case "key", "member", "connection", "routing", "ratesheet", "tracking":
			walk(group)
		}
	}
	for path := range withoutAccount {
		if !known[path] {
			t.Errorf("there is no command %s", path)
		}
	}
}

func TestTheThingsOfAnotherAccountAreRefused(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	mine := c.must(t, "account", "create", "--name", "Mine")
	other := c.must(t, "account", "create", "--name", "Other")
	c.must(t, "key", "create", "--account", mine, "--name", "web")
	var key struct{ ID string }
	if err := json.Unmarshal([]byte(c.must(t, "key", "list", "--account", mine, "--json")), &key); err != nil {
		t.Fatal(err)
	}
	connection := c.must(t, "connection", "add", "--account", mine, "--carrier", "acme", "--set", "account_number=A1", "--set", "client_secret="+secret)
	c.must(t, "member", "add", "--account", mine, "--email", "ada@example.com")

	for _, args := range [][]string{
		{"key", "revoke", key.ID},
		{"connection", "check", connection},
		{"connection", "update", connection, "--name", "Main"},
		{"connection", "remove", connection},
		{"member", "reset", "--email", "ada@example.com"},
	} {
		if said := c.explained(t, append(args, "--account", other)...); !strings.Contains(said, "does not belong to account "+other) {
			t.Errorf("%v of another account: %s", args, said)
		}
		c.must(t, append(args, "--account", mine)...)
	}
	var person struct{ Email, Role string }
	if err := json.Unmarshal([]byte(c.must(t, "member", "list", "--account", mine, "--json")), &person); err != nil || person.Email != "ada@example.com" || person.Role != "owner" {
		t.Errorf("member list --json: %+v, %v", person, err)
	}
}

func TestVersionAndCompletionAreWhereOneLooks(t *testing.T) {
	t.Parallel()
	run := func(args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if err := cli.Run(t.Context(), args, cli.Streams{Env: shell{}.lookup, Out: &out, Err: &out}); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return out.String()
	}
	if short, long := run("--version"), run("version"); short != long || !strings.HasPrefix(short, "waybill ") || !strings.Contains(short, "linux/") && !strings.Contains(short, "darwin/") {
		t.Errorf("--version prints %q, version %q", short, long)
	}
	if out := run("--help"); !strings.Contains(out, "\n  completion ") || !strings.Contains(out, "--version") {
		t.Errorf("--help prints\n%s", out)
	}
	if out := run("completion", "bash"); !strings.Contains(out, "__start_waybill") {
		t.Error("there is no completion for bash")
	}
}

func TestDoctorPrintsJSON(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s["FONT_DIR"] = t.TempDir()
	levels := func() map[string]string {
		found := map[string]string{}
		out, _, err := s.run(t, "doctor", "--json")
		for line := range strings.Lines(out) {
			var check struct{ Level, Subject, Message, Advice string }
			if err := json.Unmarshal([]byte(line), &check); err != nil || check.Message == "" {
				t.Fatalf("%s: %v", line, err)
			}
			if (check.Level == "ok") != (check.Advice == "") {
				t.Errorf("advice of %s", line)
			}
			found[check.Subject] = check.Level
		}
		if failed := errors.Is(err, cli.ErrUnhealthy); failed != (found["database"] == "fail") {
			t.Errorf("the exit says %v, the checks %v", err, found)
		}
		return found
	}
	if got := levels(); got["database"] != "ok" || got["fonts"] != "warn" || got["secret key"] != "warn" {
		t.Errorf("the checks are %v", got)
	}
	s["DATABASE_URL"] = "postgres://u:p@127.0.0.1:1/none"
	if got := levels(); got["database"] != "fail" {
		t.Errorf("without a database they are %v", got)
	}
}
