package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/app"
	"github.com/waybillhq/waybill/internal/archive"
	"github.com/waybillhq/waybill/internal/carrier/all"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A finding is the result of one check.
type finding struct {
	level   string // "ok", "warn" or "FAIL"
	subject string
	says    string
	advice  string // what to do about it
}

// MarshalJSON writes a finding for programs: its level is ok, warn or fail.
func (f finding) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Level   string `json:"level"`
		Subject string `json:"subject"`
		Message string `json:"message"`
		Advice  string `json:"advice,omitempty"`
	}{
		Level:   strings.ToLower(f.level),
		Subject: f.subject,
		Message: f.says,
		Advice:  f.advice,
	})
}

func ok(subject, says string) finding { return finding{level: "ok", subject: subject, says: says} }

func warn(subject, says, advice string) finding { return finding{"warn", subject, says, advice} }

func fail(subject, says, advice string) finding { return finding{"FAIL", subject, says, advice} }

func (c *cli) doctorCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check an installation and explain how to fix problems",
		Long: "Check the settings, the database and this host. It changes nothing. The exit code is 1 if a check\n" +
			"fails; a warning does not change it.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list := c.checkInstallation(cmd.Context())
			if asJSON {
				return c.printFindingsJSON(list)
			}
			return c.printFindings(list)
		},
	}

	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one check per line: level (ok, warn or fail), subject, message, advice")
	return cmd
}

func (c *cli) printFindingsJSON(list []finding) error {
	values := make([]any, len(list))
	for i, f := range list {
		values[i] = f
	}
	if err := c.printJSON(values); err != nil {
		return err
	}

	if slices.ContainsFunc(list, func(f finding) bool { return f.level == "FAIL" }) {
		return ErrUnhealthy
	}
	return nil
}

func (c *cli) printFindings(list []finding) error {
	failed := false
	table := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
	for _, f := range list {
		failed = failed || f.level == "FAIL"
		fmt.Fprintf(table, "%s\t%s\t%s\n", f.level, f.subject, f.says)
		if f.advice != "" {
			fmt.Fprintf(table, "\t\t-> %s\n", f.advice)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}

	if failed {
		return ErrUnhealthy
	}
	return nil
}

// checkInstallation checks everything that it can reach.
func (c *cli) checkInstallation(ctx context.Context) []finding {
	cfg, err := config.Load(c.lookup)
	if err != nil {
		var list []finding
		for line := range strings.SplitSeq(err.Error(), "\n") {
			list = append(list, fail("settings", line, `"waybill settings" lists them all`))
		}
		return list
	}
	list := []finding{ok("settings", "are complete"), baseURLFinding(cfg), transportFinding(cfg)}

	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	inspection, err := store.Inspect(ctx, cfg.DatabaseURL, time.Now())
	if err != nil {
		list = append(list, fail("database", err.Error(), "check that Postgres is running and that DATABASE_URL is correct: "+cfg.RedactedDatabaseURL()))
	} else {
		list = append(list, databaseFindings(inspection)...)
		// The keys are read as a role of the schema, so both must be there.
		if inspection.Migrated() && len(inspection.MissingRoles) == 0 {
			list = append(list, retentionFinding(ctx, cfg), spoolFinding(ctx, cfg), secretKeyFinding(ctx, cfg), oldKeysFinding(ctx, cfg))
		}
	}
	return append(list, archiveFinding(cfg.ArchiveDir), fontFinding(cfg.FontDir))
}

// archiveFinding judges whether the archive can be written: what is not in it is not
// dropped, and fills the disk of the database.
func archiveFinding(dir string) finding {
	const subject = "archive"
	const advice = "make ARCHIVE_DIR a directory that the user of the service can write to, the same for all copies with the worker role"
	if dir == "" {
		return ok(subject, "none: what is past its retention is dropped")
	}
	probe, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return fail(subject, "cannot be written, so nothing is dropped from the database: "+err.Error(), advice)
	}
	_ = probe.Close()
	_ = os.Remove(probe.Name())

	files, err := archive.Archive{Dir: dir}.List()
	if err != nil {
		return fail(subject, err.Error(), "restore the file from a backup of the archive")
	}
	return ok(subject, fmt.Sprintf("%d files in %s", len(files), dir))
}

// spoolFinding judges the directory that holds what was bought until the database
// has it.
func spoolFinding(ctx context.Context, cfg config.Config) finding {
	const subject = "spool"
	state, err := app.InspectSpool(ctx, cfg)
	switch {
	case err != nil:
		return warn(subject, "cannot be looked at: "+err.Error(), "run the command as root or as the user of the service, with its settings (--env-file)")

	case !cfg.SpoolRequired:
		return warn(subject, "is not required: a crash or a restore of the database can lose what was bought", "unset SPOOL_REQUIRED if this host has a disk")

	case state.Failure != nil:
		return fail(subject, "has no room, and live purchases are refused: "+state.Failure.Error(), "free the disk of SPOOL_DIR, or set it to a directory on another one")

	case state.Volatile != "":
		return warn(subject, fmt.Sprintf("%s is on %s: what is there is lost with the container or the machine", state.Dir, state.Volatile),
			"set SPOOL_DIR to a volume or a directory that survives restarts")

	case !state.IsUsed:
		return ok(subject, state.Dir+" is not used on this machine yet")
	}
	return ok(subject, state.Dir+" has room")
}

// retentionFinding judges whether shipments are kept for longer than the settings
// say, because something about them is not finished.
func retentionFinding(ctx context.Context, cfg config.Config) finding {
	const subject = "retention"
	year, work, err := store.InspectRetention(ctx, cfg.DatabaseURL, cfg.ShipmentsFor, time.Now())
	switch {
	case ship.KindOf(err) == ship.NotFound:
		return ok(subject, "no year of shipments is past SHIPMENTS_FOR")
	case err != nil:
		return fail(subject, err.Error(), "see the other database checks")
	case !work.Any():
		return ok(subject, "the shipments of "+year.Year+" are past SHIPMENTS_FOR, and are dropped by a copy with the worker role")
	}

	says := fmt.Sprintf("the shipments of %s are past SHIPMENTS_FOR, and kept because of open work: %d purchases and voids, %d orphaned labels, %d parcels with news of the last 45 days (for example %s)",
		year.Year, work.Purchases, work.Orphans, work.Moving, work.Example)
	return warn(subject, says, `settle the purchases; parcels that move end by themselves: docs/operations.md, "The end of shipments"`)
}

// secretKeyFinding judges where the key of live carrier credentials is.
func secretKeyFinding(ctx context.Context, cfg config.Config) finding {
	const subject = "secret key"
	found, err := app.InspectLiveSecrets(ctx, cfg)
	switch {
	case err != nil:
		return fail(subject, err.Error(), "see the other database checks")

	case found.Unreadable > 0 && !cfg.HasOutsideKey():
		return fail(subject, fmt.Sprintf("is not set, and %d live carrier connections were encrypted with one: \"waybill serve\" does not start", found.Unreadable),
			config.HowToSetOutsideKey)

	case found.Unreadable > 0:
		return fail(subject, fmt.Sprintf("is not the one that %d live carrier connections were encrypted with", found.Unreadable),
			`add that key after the present one, separated by a comma; or enter the credentials again: waybill connection update`)

	case found.InDatabase > 0 && !cfg.HasOutsideKey():
		return fail(subject, fmt.Sprintf("is not set: a copy of the database is enough to read the credentials of %d live carrier connections, and new ones are refused", found.InDatabase),
			config.HowToSetOutsideKey+`; then restart the service and run "waybill secret-key rotate"`)

	case found.InDatabase > 0:
		return fail(subject, fmt.Sprintf("is set, but %d live carrier connections are still encrypted with the key in the database", found.InDatabase),
			`run "waybill secret-key rotate"`)

	case !cfg.HasOutsideKey():
		return warn(subject, "is not set: live carrier connections are refused, and webhook secrets are encrypted with a key in the database", config.HowToSetOutsideKey)
	}

	isReadable, err := app.InspectSigningKey(ctx, cfg)
	switch {
	case err != nil:
		return fail(subject, err.Error(), "see the other database checks")
	case isReadable:
		return warn(subject, "is not in the database, but the signing key is: a copy of the database is enough to make label links and pushes of carriers",
			`run "waybill secret-key rotate", when all copies of the service are of this version`)
	}
	return ok(subject, "is not in the database")
}

// oldKeysFinding judges whether stored secrets are still encrypted with old keys.
func oldKeysFinding(ctx context.Context, cfg config.Config) finding {
	const subject = "old keys"
	uses, err := app.InspectSecretKeys(ctx, cfg)
	if err != nil {
		return warn(subject, "stored secrets cannot be counted: "+err.Error(), "do not remove an old key before they can be counted")
	}

	var total, old, unreadable int
	var kinds []string
	for _, use := range uses {
		total += use.Secrets
		switch {
		case use.Key == nil:
			unreadable += use.Secrets
		case !use.Present:
			old += use.Secrets
		}
		if !use.Present {
			kinds = append(kinds, use.Kinds...)
		}
	}

	switch {
	case unreadable > 0:
		return warn(subject, fmt.Sprintf("%d of %d stored secrets are encrypted with a key that is not in the settings (%s)", unreadable, total, strings.Join(kinds, ", ")),
			"add that key after the current one, separated by a comma")
	case old > 0:
		return warn(subject, fmt.Sprintf("%d of %d stored secrets are encrypted with an old key (%s)", old, total, strings.Join(kinds, ", ")),
			`keep the old key and run "waybill secret-key rotate"`)
	case len(cfg.SecretKeys) > 1:
		return warn(subject, fmt.Sprintf("all %d stored secrets in the database and in the spool of this machine are encrypted with the current key", total),
			`remove the old key (waybill secret-key prune) once every copy of the service runs with the current key first and every other machine with a SPOOL_DIR says the same`)
	}
	return ok(subject, fmt.Sprintf("all %d stored secrets are encrypted with the current key", total))
}

// transportFinding judges whether others on the network can read what goes to the
// database.
func transportFinding(cfg config.Config) finding {
	const subject = "database tls"
	hosts, err := app.UnverifiedServers(cfg)
	switch {
	case err != nil:
		return fail(subject, err.Error(), "correct DATABASE_URL: "+cfg.RedactedDatabaseURL())
	case len(hosts) > 0:
		return warn(subject, "connections to "+strings.Join(hosts, ", ")+" are not verified: others on the network could read passwords and addresses",
			"add sslmode=verify-full&sslrootcert=FILE to DATABASE_URL")
	}
	return ok(subject, "is verified, or not needed on this machine")
}

func baseURLFinding(cfg config.Config) finding {
	// Without BASE_URL links lead to the listening address, which is of no use
	// to clients on other machines.
	host, _, _ := net.SplitHostPort(cfg.Listen)
	switch ip := net.ParseIP(host); {
	case cfg.BaseURL != "":
		return ok("base url", cfg.BaseURL)
	case host == "localhost" || ip != nil && ip.IsLoopback():
		return ok("base url", "is this host: the service listens only on "+cfg.Listen)
	}
	return warn("base url", "is not set, and the service listens on "+cfg.Listen, "set BASE_URL to the public URL: label links start with it")
}

// databaseFindings judges the state of the database.
func databaseFindings(inspection store.Inspection) []finding {
	version := fmt.Sprintf("PostgreSQL %d.%d", inspection.Server/10000, inspection.Server%10000)
	list := []finding{ok("database", version+" is reachable")}
	if inspection.Server < 150000 {
		list[0] = fail("database", version+" is too old", "use PostgreSQL 15 or later")
	}
	list = append(list, clockFinding(inspection.ClockAhead), standbyFinding(inspection))

	// Nothing else can be judged in a schema of another version. One of the
	// first releases cannot be migrated.
	if err := inspection.NeedsMigration(); err != nil && inspection.Old {
		return append(list, fail("migrations", err.Error(), "create a new database and set DATABASE_URL to it"))
	} else if err != nil {
		return append(list, fail("migrations", err.Error(), `run "waybill migrate" as the user that owns the tables`))
	}

	return append(list,
		ok("migrations", fmt.Sprintf("schema %d, queue %d", inspection.Schema, inspection.Queue)),
		listFinding("roles", "exist", "are missing or not granted to this user", inspection.MissingRoles, `run "waybill migrate" as a user that can create roles, or have an administrator grant these roles to the user of DATABASE_URL`),
		loginFinding(inspection.Login),
		listFinding("row security", "is forced on every tenant table", "is not forced", inspection.Unfenced, `one account could see another's rows: ALTER TABLE ... ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY`),
		listFinding("partitions", "exist for the coming days", "are missing", inspection.MissingPartitions, `run "waybill migrate" now, and keep a copy with the worker role running: it creates them every hour`),
		horizonFinding(inspection.Vitals),
		purchaseFinding(inspection.Vitals),
		restoreFinding(inspection.Vitals),
		jobsFinding(inspection.Vitals),
		endpointFinding(inspection.Vitals),
		shardsFinding(inspection.Vitals),
		violationFinding(inspection.Violations),
		lookupFinding(inspection.FailingLookups),
		abilityFinding(inspection.LiveConnections),
	)
}

// standbyFinding judges whether an acknowledged shipment survives the primary.
func standbyFinding(inspection store.Inspection) finding {
	const subject = "standby"
	const advice = `docs/failover.md explains how a cell survives its primary`
	switch {
	case inspection.Synchronous && inspection.Standbys > 0 && inspection.Servers > 1:
		return ok(subject, fmt.Sprintf("%d standbys follow the primary, commits wait for one, and DATABASE_URL lists %d servers", inspection.Standbys, inspection.Servers))
	case inspection.Standbys > 0 && !inspection.Synchronous:
		return warn(subject, "commits do not wait for a standby: the last shipments are lost if the primary dies", advice)
	case inspection.Standbys > 0:
		return warn(subject, "DATABASE_URL lists one server: nothing connects to the standby once it is the primary", advice)
	case inspection.Synchronous:
		return warn(subject, "commits wait for a standby, and none is connected", advice)
	case inspection.Servers > 1:
		return warn(subject, "no standby follows the primary: the service stops with its machine", advice)
	}
	return ok(subject, "none: the service stops with the machine of Postgres, and backups are all there is")
}

// shardsFinding judges whether moves of shards have ended.
func shardsFinding(vitals store.Vitals) finding {
	const subject = "shards"
	if vitals.FrozenShards > 0 {
		return warn(subject, fmt.Sprintf("%d are frozen by a move to another cell: their accounts are refused", vitals.FrozenShards),
			`if that lasts for more than a minute, see "waybill shard moves" and repeat the command that moved them`)
	}
	return ok(subject, "none is frozen by a move")
}

func endpointFinding(vitals store.Vitals) finding {
	switch {
	case len(vitals.GivenUp) > 0:
		return warn("webhooks", "disabled after repeated failures: "+strings.Join(vitals.GivenUp, ", "),
			"notify their owners; once they respond again, enable them and recover missed events with POST /v1/webhooks/{id}/recover")
	case vitals.Parked > 0:
		return warn("webhooks", fmt.Sprintf("%d failing, retried less often", vitals.Parked), "see their deliveries on the dashboard for the reason")
	}
	return ok("webhooks", "none failing")
}

func violationFinding(list []store.Violation) finding {
	if len(list) == 0 {
		return ok("purchases", "of the last day are all accounted for")
	}

	var says []string
	for _, violation := range list {
		says = append(says, fmt.Sprintf("%d violations of \"%s\" (for example %s)", violation.Count, violation.Rule, violation.Example))
	}
	return fail("purchases", strings.Join(says, "; "), "docs/operations.md, \"Money\", explains what to do")
}

// shownLookups bounds the connections that a finding names.
const shownLookups = 5

// lookupFinding judges whether purchases whose response was lost can be looked up.
func lookupFinding(failing []store.ConnectionLookup) finding {
	const subject = "look-ups"
	if len(failing) == 0 {
		return ok(subject, "none failed its last control")
	}

	var names []string
	for _, lookup := range failing {
		names = append(names, fmt.Sprintf("%s since %s", lookup.Connection, lookup.FailingSince.UTC().Format(time.RFC3339)))
	}
	if len(names) > shownLookups {
		names = append(names[:shownLookups], fmt.Sprintf("and %d more", len(failing)-shownLookups))
	}
	return warn(subject, "do not find a purchase that exists: "+strings.Join(names, ", "),
		`a purchase whose response is lost stays uncertain there, and goes to review: check the account and the permissions of the connection with the carrier, then run "waybill connection check"; docs/connections.md, "Look-ups", explains it`)
}

// abilityFinding lists what is off for live connections until it is confirmed.
func abilityFinding(connections []store.LiveConnections) finding {
	const subject = "abilities"
	var says []string
	for _, group := range connections {
		for _, spec := range all.Specs {
			if spec.Name != group.Carrier {
				continue
			}
			var off []string
			for _, ability := range spec.Unconfirmed {
				if !slices.Contains(group.Confirmed, string(ability)) {
					off = append(off, ability.Words())
				}
			}
			if len(off) > 0 {
				says = append(says, fmt.Sprintf("%s for %d live connections to %s (for example %s)", strings.Join(off, " and "), group.Count, spec.Title, group.Example))
			}
		}
	}

	if len(says) == 0 {
		return ok(subject, "none of a live connection waits to be confirmed")
	}
	return warn(subject, "off until confirmed: "+strings.Join(says, "; "),
		`run "waybill connection certify ID --live --out DIR"; docs/connections.md, "Abilities that are off", explains it`)
}

func listFinding(subject, good, bad string, missing []string, advice string) finding {
	if len(missing) == 0 {
		return ok(subject, good)
	}
	return fail(subject, bad+": "+strings.Join(missing, ", "), advice)
}

// loginFinding judges what somebody who takes over the service could do to the
// database.
func loginFinding(login store.Login) finding {
	const advice = `create a login that only serves: "waybill migrate --create-logins"; docs/operations.md, "Separate logins", explains how to use it`
	switch {
	case login.OwnsTables:
		return warn("logins", "the database user "+login.User+" serves and owns the tables: whoever takes over the service can change and delete everything, including the audit log", advice)
	case len(login.Powers) > 0:
		return warn("logins", "the database user "+login.User+" does not own the tables, but has "+strings.Join(login.Powers, ", "), advice)
	}
	return ok("logins", "the database user "+login.User+" serves and owns nothing; the tables belong to "+login.Owner)
}

func clockFinding(ahead time.Duration) finding {
	says := fmt.Sprintf("the database clock differs from this host's by %s", ahead.Abs().Round(time.Millisecond))
	switch {
	case ahead.Abs() > 30*time.Second:
		return fail("clock", says, "synchronize both hosts with NTP: ids and due times come from this host's clock")
	case ahead.Abs() > time.Second:
		return warn("clock", says, "synchronize both hosts with NTP")
	}
	return ok("clock", says)
}

// horizonFinding judges whether a transaction keeps readers of the log from new
// events, and names it.
func horizonFinding(vitals store.Vitals) finding {
	const subject = "event log"
	age := vitals.HorizonAge
	if age <= 10*time.Second {
		return ok(subject, fmt.Sprintf("its horizon has stood still for %s", age.Round(time.Millisecond)))
	}

	says := fmt.Sprintf("its horizon has stood still for %s: webhooks and readers of /v1/events do not get newer events", age.Round(time.Second))
	advice := "a transaction stays open in some database of the server, and has ended just now or cannot be named"
	if len(vitals.HorizonHolders) > 0 {
		advice = describeHolder(vitals.HorizonHolders[0])
	}
	if age > 5*time.Minute {
		return fail(subject, says, advice)
	}
	return warn(subject, says, advice)
}

// describeHolder says what holds up the log, and how it is ended.
func describeHolder(holder store.HorizonHolder) string {
	if holder.Prepared != "" {
		return fmt.Sprintf("the prepared transaction %q of %s in the database %s holds it up since %s: end it there with COMMIT PREPARED or ROLLBACK PREPARED",
			holder.Prepared, holder.Login, holder.Database, holder.Since.UTC().Format(time.RFC3339))
	}

	since := "since a time that cannot be seen (GRANT pg_read_all_stats to the owner of the tables, as deploy/init-database.sh does)"
	if !holder.Since.IsZero() {
		since = "since " + holder.Since.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("the session %d of %s in the database %s (%s) holds it up %s: end its transaction, or SELECT pg_terminate_backend(%d)",
		holder.PID, holder.Login, holder.Database, cmp.Or(holder.Application, "unnamed"), since, holder.PID)
}

func purchaseFinding(vitals store.Vitals) finding {
	waiting := vitals.Open[ship.StatePurchasing] + vitals.Open[ship.StateUncertain] + vitals.Open[ship.StateVoiding]
	review := vitals.Open[ship.StateNeedsReview]
	says := fmt.Sprintf("%d waiting for the carrier, %d need review", waiting, review)
	if waiting > 0 {
		says += fmt.Sprintf("; the oldest is %s old", vitals.OldestOpen.Round(time.Second))
	}

	switch {
	case review > 0:
		return warn("purchases", says, "labelStatus needs_review: check with the carrier whether each label was sold, then void it there or keep it")
	case vitals.OldestOpen > time.Hour:
		return warn("purchases", says, "look for \"sweep\" and \"job failed\" in the worker's log")
	}
	return ok("purchases", says)
}

// restoreFinding judges whether a restore of the database still holds accounts.
func restoreFinding(vitals store.Vitals) finding {
	const subject = "restore"
	if len(vitals.Held) > 0 {
		var names []string
		for _, held := range vitals.Held {
			names = append(names, fmt.Sprintf("%s (%s): %d", held.Account, held.Name, held.Missing))
		}
		return fail(subject, "a restore of the database lost purchases, and these accounts buy nothing new: "+strings.Join(names, ", "),
			`"waybill restored" lists them: adopt, hold or void each, or use --continue`)
	}
	if vitals.Restore.AsksCarriers {
		return warn(subject, "the database was restored "+vitals.Restore.NoticedAt.Format(time.RFC3339)+", and not every copy that was alive then has compared its recovery log: purchases under a key are looked up first",
			`start the missing copies with their SPOOL_DIR, or run "waybill restored --continue" if their disks are lost for good`)
	}
	return ok(subject, "nothing waits for a restore of the database")
}

func jobsFinding(vitals store.Vitals) finding {
	says := fmt.Sprintf("%d are due", vitals.JobsWaiting)
	if vitals.OldestJob > 2*time.Minute {
		return fail("jobs", fmt.Sprintf("%s, the oldest for %s", says, vitals.OldestJob.Round(time.Second)), `no copy processes them: run "waybill serve" with the worker role`)
	}
	return ok("jobs", says)
}

// fontFinding renders a label in three scripts and reports which characters are
// missing.
func fontFinding(dir string) finding {
	renderer, err := label.NewRenderer(dir)
	var drawn label.Rendering
	if err == nil {
		page := label.Page{To: []string{"山田太郎", "王小明", "김철수"}}
		drawn, err = renderer.Render(label.Document{Pages: []label.Page{page}}, label.Options{Format: label.PNG})
	}

	switch {
	case err != nil:
		return fail("fonts", err.Error(), "this is a bug: please report it")
	case len(drawn.Missing) > 0:
		return warn("fonts", "labels with Chinese, Japanese or Korean text cannot be printed; the sandbox rejects such orders", "install Noto Sans CJK (Debian: apt install fonts-noto-cjk), or set FONT_DIR")
	}
	return ok("fonts", "Chinese, Japanese and Korean can be printed")
}
