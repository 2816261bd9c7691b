package docs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"text/template"
)

// A claim is a row of docs/proofs.md: a promise, and the run that tried to break
// it. The texts are templates over the run's file, so that no figure is copied by
// hand.
type claim struct{ promise, tried, found, file, command string }

// claims are the promises, what users rely on most first.
var claims = []claim{
	{
		"One live label for one purchase, none paid and unrecorded, no event missing",
		"{{n .n}} purchases through two copies; four carriers, of which 8 % sell and do not answer; {{n .kills}} `kill -9`, {{n .crashes}} of Postgres, {{n .stops}} freezes of up to a minute",
		"{{n .violations}} violations by the carriers' ledgers; bound {{e .bound95}} a purchase",
		"proof/purchase.json", "make prove WHAT=purchases SIZE=full",
	},
	{
		"... whatever step the program dies at",
		"killed at each of {{n .points}} points (the source has {{n .pointsInSource}}) in {{n .scenarios}} scenarios with every outcome of four carriers: {{n .kills}} deaths",
		"{{n .violations}} violations", "proof/crash.json", "make prove WHAT=crash SIZE=full",
	},
	{
		"... in any order of faults", "{{n .n}} purchases in a simulated world", "{{n .violations}} violations; bound {{e .bound95}}", "proof/simulate.json", "make prove WHAT=simulation SIZE=full",
	},
	{
		"... however often the same request is sent",
		"{{n .figures.TestProveStorm.keys}} keys, {{n .figures.TestProveStorm.requests}} requests at once over two copies",
		"{{n .figures.TestProveStorm.sold}} labels sold", "proof/purchase.json", "make prove WHAT=purchases SIZE=full",
	},
	{
		"... and by clients of EasyPost's API, which retry without a key",
		"{{n .figures.TestProveMovedClients.purchases}} shipments, {{n .figures.TestProveMovedClients.requests}} purchases sent, {{n .figures.TestProveMovedClients.lost}} answers lost",
		"{{n .figures.TestProveMovedClients.violations}} second labels", "proof/purchase.json", "make prove WHAT=purchases SIZE=full",
	},
	{
		"... after a restore to an earlier moment, without the machines' disks",
		"{{n .figures.TestProveRestore.lost}} purchases of the lost time asked for again under their keys",
		"{{n .figures.TestProveRestore.violations}} second labels", "proof/purchase.json", "make prove WHAT=purchases SIZE=full",
	},
	{
		"... and what nobody can ask for again is listed, and voided once a person says so, with the disks",
		"{{n .figures.TestProveRestoreUnnamed.lost}} purchases of the lost time that have no key",
		"{{n .figures.TestProveRestoreUnnamed.violations}} labels left live after {{n .figures.TestProveRestoreUnnamed.takenBackSeconds}} s", "proof/purchase.json", "make prove WHAT=purchases SIZE=full",
	},
	{
		"... and where the carrier is a plug-in that dies, hangs and lies",
		"{{n .n}} purchases through a plug-in in Python, of which one in nine is sold and not answered for, or with an error, half an answer, another purchase's or a wrong signature; {{n .kills}} `kill -9` of the plug-in and of two copies",
		"{{n .violations}} second live labels or paid and unrecorded, by the plug-in's ledger; bound {{e .bound95}} a purchase",
		"proof/plugin.json", "make prove WHAT=plugin SIZE=full",
	},
	{
		"... and what a plug-in cannot look up is not bought again",
		"{{n .figures.TestPluginThatCannotFind.n}} purchases through the same plug-in without look-ups, {{n .figures.TestPluginThatCannotFind.kills}} `kill -9`: {{n .figures.TestPluginThatCannotFind.needsReview}} outcomes were lost, {{n .figures.TestPluginThatCannotFind.needsReviewSold}} of them after the sale",
		"{{n .figures.TestPluginThatCannotFind.boughtAgain}} bought again; every lost one is in **Needs attention**; {{n .figures.TestPluginThatCannotFind.total}} violations; bound {{e .figures.TestPluginThatCannotFind.bound95}} a purchase",
		"proof/plugin.json", "make prove WHAT=plugin SIZE=full",
	},
	{
		"An agent does no more than its key and its tokens allow, whatever it reads",
		"{{n .figures.TestProveAgents.jobs}} jobs by scripted agents, {{n .n}} runs with {{n .figures.TestProveAgents.calls}} calls: careful, hasty (everything at once and again), and one that followed {{n .figures.TestProveAgents.obeyed}} instructions in names and addresses; carriers that sell and do not answer",
		"{{n .figures.TestProveAgents.boughtTwice}} bought twice, {{n .figures.TestProveAgents.overspent}} over a limit, {{n .figures.TestProveAgents.widened}} rights widened, by the carriers' ledgers; bound {{e .bound95}} a run",
		"proof/agents.json", "make prove WHAT=agents SIZE=full",
	},
	{
		"A carrier that hangs delays no other",
		"{{n .figures.TestProveOneHanging.purchases}} purchases at the others while one hangs for 30 s",
		"p99 {{ms .figures.TestProveOneHanging.purchaseP99}} beside {{ms .figures.TestProveOneHanging.purchaseBaseP99}} without it", "proof/purchase.json", "make prove WHAT=purchases SIZE=full",
	},
	{
		"Credentials show nowhere",
		"{{n .figures.TestProveCredentials.secrets}} secrets looked for in logs, answers, errors, spools and dumps of the run",
		"{{n .figures.TestProveCredentials.seen}} seen", "proof/purchase.json", "make prove WHAT=purchases SIZE=full",
	},
	{
		"Every event reaches every webhook",
		"{{n .changes}} changes, {{n .n}} deliveries owed; {{n .kills}} `kill -9`, {{n .crashes}} of Postgres; endpoints that hang and lie",
		"{{n .violations}} lost; bound {{e .bound95}} a delivery; {{n .duplicates}} came twice, under the same id", "proof/webhooks.json", "make prove WHAT=webhooks SIZE=full",
	},
	{
		"The event log skips nothing", "{{n .n}} events read behind a cursor beside {{n .writers}} writers, {{n .aborted}} of whose transactions were undone", "{{n .violations}} skipped; bound {{e .bound95}} an event", "proof/log.json", "make prove WHAT=log SIZE=full",
	},
	{
		"Tracking loses and invents nothing",
		"{{n .n}} pushed events, each reported five times, shuffled, from three sources; {{n .kills}} `kill -9`, {{n .crashes}} of Postgres",
		"{{n .violations}} differences from a model; bound {{e .bound95}} an event", "proof/tracking.json", "make prove WHAT=tracking SIZE=full",
	},
	{
		"... and is quick", "a push of a carrier to the webhook of the client, {{n .figures.TestProveFreshness.n}} times",
		"p50 {{ms .figures.TestProveFreshness.p50}}, p99 {{ms .figures.TestProveFreshness.p99}}", "proof/tracking.json", "make prove WHAT=tracking SIZE=full",
	},
	{
		"... beside the bare engine", "{{n .figures.TestProveSpeed.events}} events, one a push, and the same rows inserted by a bare client in one run",
		"{{n .perSecond}} events a second beside {{n .enginePerSecond}}: {{.ratio}} of it, where 0.5 is wanted", "proof/tracking.json", "make prove WHAT=tracking SIZE=full",
	},
	{
		"Failing over buys no second label",
		"{{n .n}} creations while carriers refuse, hang and die in turn",
		"{{n .violations}} violations; {{n .figures.TestRoutingFailsOver.boughtElsewhere}} bought elsewhere; bound {{e .bound95}}", "proof/routing.json", "make prove WHAT=routing SIZE=full",
	},
	{
		"The rest of the day is done once",
		"{{n .figures.TestOperationsUnderKills.pickups}} pickups, {{n .figures.TestOperationsUnderKills.labels}} labels to hand over and {{n .figures.TestOperationsUnderKills.returns}} returns while carriers act without answering; {{n .kills}} `kill -9`, {{n .crashes}} of Postgres; then {{n .figures.TestOperationsAtEveryPoint.kills}} kills at {{n .figures.TestOperationsAtEveryPoint.points}} points of pickups, manifests and documents",
		"{{n .violations}} violations by the carriers' ledgers: nothing was booked, closed, bought or filed twice, or done and not recorded; bound {{e .bound95}} an operation",
		"proof/operations.json", "make prove WHAT=operations SIZE=full",
	},
	{
		"A cell survives its primary",
		"{{n .n}} purchases while {{n .failovers}} primaries are killed, every other one with its machine, and carriers sell without answering",
		"{{n .violations}} violations by the carriers' ledgers: nothing acknowledged was lost, no label was bought twice; writes again after at most {{.figures.TestFailover.slowestWriteAgainSeconds}} s; bound {{e .bound95}} a purchase",
		"proof/failover.json", "make prove WHAT=failover SIZE=full",
	},
	{
		"Accounts move between databases while they are served, and nothing is lost",
		"{{n .moves}} moves of shards under creations, purchases, pushes, webhooks and readers of the log; {{n .kills}} `kill -9` of movers, the router, copies and, {{n .crashes}} times, Postgres of either side",
		"{{n .violations}} violations: {{n .figures.TestProveMoves.shipments}} shipments and {{n .figures.TestProveMoves.purchases}} labels are there once, by both databases and the carrier's ledger, {{n .figures.TestProveMoves.events}} events came once and in order; bound {{e .bound95}} a move; requests wait for {{ms .figures.TestProveMoves.pauseP50Millis}} at p50, {{ms .figures.TestProveMoves.pauseP99Millis}} at p99",
		"proof/cells.json", "make prove WHAT=cells SIZE=full",
	},
	{
		"... a creation costs the same with more of them",
		"{{n .figures.TestProveCells.perSecondInEachCell}} creations a second in each of 1, 2 and 4 cells, in turns",
		"most expensive beside cheapest: {{.figures.TestProveCells.costSpread.cpu}} of the CPU time, {{.figures.TestProveCells.costSpread.wal}} of the WAL; the router takes {{n (index .figures.TestProveCells.router.readMicros \"16\")}} µs for a read on 16 connections, {{n (index .figures.TestProveCells.costOfACreation \"4\").routerMicros}} µs for a creation by itself, and adds {{.figures.TestProveCells.router.creationP50AddedMillis}} ms at p50",
		"proof/cells.json", "make prove WHAT=cells SIZE=full",
	},
	{
		"... and a database that is down concerns its own accounts alone",
		"Postgres of one of 4 cells stopped for a minute, and then that of the directory, under load in all",
		"{{sum (index .figures.TestProveCells.serverStopped \"eu-4\").otherErrors (index .figures.TestProveCells.serverStopped \"eu-1\").otherErrors}} errors in the other cells; their p99 {{(index .figures.TestProveCells.serverStopped \"eu-4\").otherP99Ratio}} and {{(index .figures.TestProveCells.serverStopped \"eu-1\").otherP99Ratio}} of that before",
		"proof/cells.json", "make prove WHAT=cells SIZE=full",
	},
	{
		"A back-test says what would have been paid",
		"{{n .figures.TestABackTestEqualsARealReplay.shipments}} shipments beside a real replay",
		"{{n .figures.TestABackTestEqualsARealReplay.differences}} differences, to the cent", "proof/routing.json", "make prove WHAT=routing SIZE=full",
	},
	{
		"No account reaches another's things",
		"{{sum .figures.TestNobodyReachesAnothersThings.probes .figures.TestAKeyDoesWhatItsScopesSay.probes .figures.TestEveryPageForEveryRoleAndTwoAccounts.probes}} requests: " +
			"{{n .figures.TestNobodyReachesAnothersThings.operations}} operations of the API with keys of {{n .figures.TestAKeyDoesWhatItsScopesSay.scopes}} scopes and {{n .figures.TestEveryPageForEveryRoleAndTwoAccounts.routes}} routes of the dashboard as every role, in other accounts and the other mode",
		"{{sum .figures.TestNobodyReachesAnothersThings.leaks .figures.TestAKeyDoesWhatItsScopesSay.leaks .figures.TestEveryPageForEveryRoleAndTwoAccounts.leaks}} leaks",
		"proof/security.json", "make prove WHAT=security SIZE=full CELLS=2",
	},
	{
		"... even if a statement forgets to ask for the tenant",
		"the conditions on the tenant taken out of {{n .figures.TestProveStatementsInTurn.statements}} statements in turn, each called by another tenant with the same ids; and the tests of the store and these walks, with those of {{n .figures.TestProveRowSecurity.statements}} statements taken out at once",
		"{{n .figures.TestProveStatementsInTurn.rowsOfOthers}} statements returned or changed rows of others: row-level security holds alone", "proof/security.json", "make prove WHAT=security SIZE=full CELLS=2",
	},
	{
		"An erased person is found nowhere",
		"canaries in {{n .figures.TestAnErasedPersonIsFoundNowhere.planted}} places, looked for in {{n .figures.TestAnErasedPersonIsFoundNowhere.columns}} columns, {{n .figures.TestAnErasedPersonIsFoundNowhere.answers}} answers, logs, metrics and on the disk",
		"{{n .figures.TestAnErasedPersonIsFoundNowhere.found}} found", "proof/security.json", "make prove WHAT=security SIZE=full CELLS=2",
	},
	{
		"No request takes much memory",
		"{{n .figures.TestNoRequestTakesMuchMemory.requests}} requests of the largest size, in the shapes that cost most, to every route",
		"at most {{n .figures.TestNoRequestTakesMuchMemory.mostMiB}} MB, of {{n .figures.TestNoRequestTakesMuchMemory.limitMiB}} allowed", "proof/security.json", "make prove WHAT=security SIZE=full CELLS=2",
	},
	{
		"No request breaks the service",
		"{{n .figures.TestProveFuzz.requests}} made-up requests with and without credentials to {{n .figures.TestProveFuzz.routes}} routes, behind a router with {{n .figures.TestProveFuzz.cells}} cells",
		"{{n .figures.TestProveFuzz.serverErrors}} server errors, {{n .figures.TestProveFuzz.panics}} panics; bound {{e .bound95}} a request", "proof/security.json", "make prove WHAT=security SIZE=full CELLS=2",
	},
	{
		"Known attacks fail",
		"{{n .figures.TestProveAttacks.tests}} tests with {{n .figures.TestProveAttacks.cases}} named cases that attack {{n .figures.TestProveAttacks.subjects}} subjects",
		"{{n .figures.TestProveAttacks.succeeded}} succeeded", "proof/security.json", "make prove WHAT=security SIZE=full CELLS=2",
	},
	{
		"Work leaves the service as it was",
		"{{n .figures.TestProveLoad.minutes}} minutes at 70 % of what the machine can do, with tracking, webhooks, polls, dashboard and retention: {{n .n}} shipments, {{n .figures.TestProveLoad.events}} events",
		"{{n .figures.TestProveLoad.errors}} errors, {{n .figures.TestProveLoad.lost}} events lost; last ten minutes beside the first: slowest p99 {{.figures.TestProveLoad.slowestRatio}}, memory {{.figures.TestProveLoad.memoryRatio}}; growth a shipment, last third beside the middle: tables {{.figures.TestProveLoad.growthRatio.tables}}, indexes {{.figures.TestProveLoad.growthRatio.indexes}}",
		"proof/load.json", "make prove WHAT=load SIZE=full",
	},
	{
		"A rolling upgrade loses nothing",
		"{{n .n}} requests to {{.figures.TestProveUpgrade.from}} and this release on one database: while it is migrated, to both in turns, and while copies are replaced; {{n .figures.TestProveUpgrade.shipments}} shipments",
		"{{n .figures.TestProveUpgrade.failed}} failed, {{n .figures.TestProveUpgrade.lostEvents}} events lost; bound {{e .bound95}} a request; slowest during the migration {{ms .figures.TestProveUpgrade.migrationSlowest}}",
		"proof/upgrade.json", "make prove WHAT=upgrade SIZE=full",
	},
	{
		"Every page of the dashboard answers in 100 ms", "{{n .n}} shipments in the account",
		"slowest p95 {{ms .slowestP95Ms}} (`{{.slowestPage}}`); a file of twelve labels, which are drawn for it, {{ms (index .pages \"/app/{account}/{mode}/batches/{id}/labels.pdf\").p95Ms}}", "proof/dashboard.json", "make prove WHAT=dashboard SIZE=full",
	},
}

// figure writes a number as people read it.
func figure(v any) (string, error) {
	f, ok := v.(float64)
	if !ok {
		return "", fmt.Errorf("%v is no number", v)
	}
	s := strconv.FormatInt(int64(math.Round(f)), 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s, nil
}

var figures = template.FuncMap{
	"n": figure,
	"sum": func(values ...any) (string, error) {
		total := 0.0
		for _, value := range values {
			number, ok := value.(float64)
			if !ok {
				return "", fmt.Errorf("%v is no number", value)
			}
			total += number
		}
		return figure(total)
	},
	"ms": func(v any) (string, error) {
		s, err := figure(v)
		return s + " ms", err
	},
	"e": func(v float64) string { return fmt.Sprintf("%.1e", v) },
}

// proofsTable is the table of docs/proofs.md.
func proofsTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| promise | tried | found | figures | again with |\n|---|---|---|---|---|\n")
	for _, c := range claims {
		// A proof that was never run at full size has no figures yet.
		if _, err := os.Stat(filepath.Join(root, c.file)); errors.Is(err, fs.ErrNotExist) {
			continue
		}

		var run map[string]any
		if err := json.Unmarshal([]byte(read(t, c.file)), &run); err != nil {
			t.Fatal(err)
		}
		cell := func(text string) string {
			var out strings.Builder
			made, err := template.New(c.promise).Funcs(figures).Option("missingkey=error").Parse(text)
			if err == nil {
				err = made.Execute(&out, run)
			}
			if err != nil {
				t.Fatalf("%s: %v", c.file, err)
			}
			return out.String()
		}
		fmt.Fprintf(&b, "| %s | %s | %s | [%s](../%s) | `%s` |\n", c.promise, cell(c.tried), cell(c.found), filepath.Base(c.file), c.file, c.command)
	}
	return b.String()
}

func TestProofsAreTheFiguresOfTheRuns(t *testing.T) {
	const name = "docs/proofs.md"
	doc := read(t, name)
	table := regexp.MustCompile(`(?m)(^\|.*\n)+`).FindString(doc)
	want := proofsTable(t)
	if *update && table != want {
		if err := os.WriteFile(filepath.Join(root, name), []byte(strings.Replace(doc, table, want, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != want {
		t.Errorf("the table of %s is not that of proof/; run go test ./test/docs -update and read the difference", name)
	}
}

func TestEveryProofHasARow(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "proof", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	proofs := read(t, "scripts/prove")
	documented := map[string]bool{}
	for _, c := range claims {
		documented[filepath.Base(c.file)] = true

		name, _, _ := strings.Cut(strings.TrimPrefix(c.command, "make prove WHAT="), " SIZE=full")
		if !strings.Contains(proofs, "\n\t\t"+name+" ") {
			t.Errorf("scripts/prove has no proof %q: %s", name, c.command)
		}
	}
	for _, f := range files {
		if !documented[filepath.Base(f)] {
			t.Errorf("docs/proofs.md has no row for %s", filepath.Base(f))
		}
	}
}
