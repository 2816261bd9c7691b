package cli_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/cli"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// audits is a shell whose audit log can be made to fail.
type audits struct {
	*counter
	owned *pgx.Conn
}

func (a *audits) exec(t *testing.T, sql string) {
	t.Helper()
	if _, err := a.owned.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

func (a *audits) text(t *testing.T, sql string) (text string) {
	t.Helper()
	if err := a.owned.QueryRow(t.Context(), sql).Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}

// settings returns a hash of everything that commands can change.
func (a *audits) settings(t *testing.T) string {
	t.Helper()
	var selects []string
	for _, table := range []string{
		"accounts", "api_keys", "connections", "people", "members", "invitations", "auth_flows", "rule_books", "rule_drafts", "rate_sheets", "routing_revisions", "carrier_plugins", "missing_purchases",
	} {
		selects = append(selects, "SELECT '"+table+"' || t::text AS x FROM "+table+" t")
	}
	return a.text(t, "SELECT coalesce(md5(string_agg(x, '|' ORDER BY x)), '') FROM ("+strings.Join(selects, " UNION ALL ")+") rows")
}

// A change is a command that changes an account, and its name in the audit log.
type change struct {
	command, action, mode string
	args                  func() []string // behind the command
}

// idOf returns the ID of the first item in a list.
func (a *audits) idOf(t *testing.T, what string) string {
	t.Helper()
	var shown struct{ ID string }
	first, _, _ := strings.Cut(a.must(t, what, "list", "--json"), "\n")
	if err := json.Unmarshal([]byte(first), &shown); err != nil {
		t.Fatalf("%v in %s", err, first)
	}
	return shown.ID
}

func (a *audits) steps(t *testing.T) []change {
	t.Helper()
	words := func(args ...string) func() []string { return func() []string { return args } }
	on := func(what string, args ...string) func() []string {
		return func() []string { return append(args, a.idOf(t, what)) }
	}
	lost := func(args ...string) func() []string {
		return func() []string {
			a.exec(t, `INSERT INTO missing_purchases (account_id, livemode, shipment_id, attempt, carrier, service, requested_at)
				SELECT id, true, gen_random_uuid(), 1, 'ups', 'ground', now() FROM accounts`)
			return append(args, "--account", strings.Fields(a.must(t, "account", "list"))[5])
		}
	}
	book, sheet := write(t, "rules.json", goodBook), write(t, "ups.csv", goodSheet)
	return []change{
		{"account create", "account.made", "", words("--name", "Acme")},
		{"account update", "settings.changed", "", words("--currency", "EUR")},
		{"account sign-in", "sign_in_policy.changed", "", words("--two-factor", "owner, developer")},
		{"key create", "key.made", "live", words("--live", "--daily-limit", "500")},
		{"key revoke", "key.revoked", "live", on("key")},
		{"connection add", "connection.made", "live", words("--live", "--carrier", "acme", "--set", "account_number=A1", "--set-file", "client_secret="+secretFile(t, secret))},
		{"connection update", "connection.changed", "live", on("connection", "--name", "Main")},
		{"connection rotate", "connection.key_rotated", "live", words("--all")},
		{"secret-key rotate", "connection.key_rotated", "live", words("--all")},
		{"connection remove", "connection.removed", "live", on("connection")},
		{"member add", "member.joined", "", words("--email", "ada@example.com")},
		{"member limit", "member.limit_changed", "", words("--email", "ada@example.com", "--daily-limit", "500")},
		{"member invite", "member.invited", "", words("--email", "bob@example.com")},
		{"member reset", "password.link_made", "", words("--email", "ada@example.com")},
		{"routing draft", "routing.draft_saved", "test", words(book)},
		{"routing discard", "routing.draft_discarded", "test", words()},
		{"routing draft", "routing.draft_saved", "test", words(book)},
		{"routing publish", "routing.published", "test", words("--note", "first")},
		{"routing rollback", "routing.rolled_back", "test", words("1")},
		{"ratesheet import", "rate_sheet.imported", "test", words(sheet, "--carrier", "ups")},
		{"restored", "missing_purchase.adopted", "live", lost("--adopt", "--all")},
		{"restored", "missing_purchase.voided", "live", lost("--void", "--all")},
		{"restored", "missing_purchase.held", "live", lost("--hold", "--all")},
		{"ratesheet remove", "rate_sheet.removed", "test", words("ups")},
		{"carrier add", "carrier.registered", "", words("owl_mail", "--url", startTracker(t).URL, "--secret", pluginSecret)},
		{"carrier remove", "carrier.removed", "", words("owl_mail")},
	}
}

const newest = "SELECT concat_ws(' ', count(*) OVER (), action, nullif(mode, ''), actor, user_agent, person_id, api_key_id) FROM audit_log ORDER BY id DESC LIMIT 1"

func TestACommandAndItsEntryHappenTogetherOrNotAtAll(t *testing.T) {
	t.Parallel()
	a := newAudits(t)
	for i, s := range a.steps(t) {
		args := append(strings.Fields(s.command), s.args()...)
		before := a.settings(t)
		a.exec(t, "ALTER TABLE audit_log ADD CONSTRAINT shut CHECK (false) NOT VALID")
		_, err := a.run(t, nil, args...)
		a.exec(t, "ALTER TABLE audit_log DROP CONSTRAINT shut")
		if err == nil || a.settings(t) != before {
			t.Fatalf("%v is done without its entry: %v", args, err)
		}
		a.must(t, args...)
		if a.settings(t) == before {
			t.Errorf("%v changes nothing", args)
		}
		want := fmt.Sprintf("%d %s operator waybill %s", i+1, strings.TrimSpace(s.action+" "+s.mode), s.command)
		if got := a.text(t, newest); got != want {
			t.Errorf("%v: the newest entry is %q, want %q", args, got, want)
		}
	}
	if strings.Contains(a.text(t, "SELECT string_agg(l::text, '') FROM audit_log l"), secret) {
		t.Error("a secret is in the audit log")
	}
}

// TestNoCommandChangesAnAccountThatIsElsewhere runs every command that changes an account
// against a cell that the account has left: a key that is revoked there would live on.
func TestNoCommandChangesAnAccountThatIsElsewhere(t *testing.T) {
	t.Parallel()
	a := newAudits(t)
	address := a.shell["DATABASE_URL"]
	if err := store.AddCell(t.Context(), address, store.NewCell{Name: "eu-1", URL: "http://10.0.1.5:8080", Database: address}); err != nil {
		t.Fatal(err)
	}
	a.exec(t, "INSERT INTO cells (name, url) VALUES ('eu-2', 'http://10.0.2.5:8080')")
	move := func(from, to string) {
		t.Helper()
		a.exec(t, "UPDATE shards SET cell = '"+to+"' WHERE cell = '"+from+"' AND shard IN (SELECT shard_of(id) FROM accounts)")
	}
	ofAllAccounts := []string{"account create", "connection rotate", "secret-key rotate", "carrier add", "carrier remove"}

	refused := 0
	for _, step := range a.steps(t) {
		args := append(strings.Fields(step.command), step.args()...)
		if !slices.Contains(ofAllAccounts, step.command) {
			before := a.settings(t)
			move("eu-1", "eu-2")
			_, err := a.run(t, nil, args...)
			if err == nil || !strings.Contains(cli.Explain(err), "is in the cell eu-2 (http://10.0.2.5:8080)") {
				t.Errorf("%v in the cell that the account has left: %v", args, err)
			}
			if a.settings(t) != before {
				t.Fatalf("%v changes what is left of the account", args)
			}
			move("eu-2", "eu-1")
			refused++
		}
		a.must(t, args...)
	}
	if refused < 15 {
		t.Errorf("only %d commands were tried", refused)
	}

	account := strings.Fields(a.must(t, "account", "list"))[5]
	move("eu-1", "eu-2")
	if list := a.must(t, "account", "list"); strings.Contains(list, account) {
		t.Errorf("an account that has left is listed:\n%s", list)
	}
	a.exec(t, "UPDATE shards SET frozen = true, moving_to = 'eu-2' WHERE cell = 'eu-2'")
	if out, _ := a.run(t, nil, "doctor"); !strings.Contains(out, "warn  shards") || !strings.Contains(out, "1 are frozen") {
		t.Errorf("doctor does not report a frozen shard:\n%s", out)
	}
	a.exec(t, "UPDATE shards SET frozen = false, moving_to = NULL WHERE cell = 'eu-2'")
	if said := a.explained(t, "key", "list", "--account", account); !strings.Contains(said, "is in the cell eu-2") {
		t.Errorf("key list says %s", said)
	}
}

// A new command fails here until its audit entry is tested above, or the list
// says why it has none.
func TestEveryCommandThatChangesAnAccountIsInTheAuditLog(t *testing.T) {
	t.Parallel()
	var tried []string
	for _, s := range newAudits(t).steps(t) {
		tried = append(tried, "waybill "+s.command)
	}
	known := map[string]bool{}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			walk(c)
		}
		path := cmd.CommandPath()
		if cmd.HasSubCommands() {
			return
		}
		known[path] = true
		if notified, why := slices.Contains(tried, path), cli.Untold[path]; notified == (why != "") {
			t.Errorf("%s: audited %v, exempt because %q", path, notified, why)
		}
	}
	walk(cli.NewRoot(cli.Streams{}))
	for path := range cli.Untold {
		if !known[path] {
			t.Errorf("there is no command %s", path)
		}
	}
}

func newAudits(t *testing.T) *audits {
	t.Helper()
	c := newCounter(t)
	c.shell["CARRIER_PLUGIN_NETWORKS"] = "127.0.0.0/8"
	return &audits{c, storetest.Conn(t, c.shell["DATABASE_URL"])}
}
