package storetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// A Trial is what was found about a statement with a condition on the tenant.
type Trial struct {
	Statement string  `json:"statement"`
	Role      string  `json:"role"`
	Outcome   Outcome `json:"outcome"`
	Detail    string  `json:"detail,omitempty"` // of a leak
}

// An Outcome says how far a trial got.
type Outcome string

// The outcomes. A statement is fenced once a trial shows both that it reaches
// another tenant's rows where nothing holds it back, and that row-level security
// holds it back.
const (
	Seen         Outcome = "seen"           // it was sent to Postgres
	Fenced       Outcome = "fenced"         // from the rows of another account
	FencedByMode Outcome = "fenced_by_mode" // from the rows of the account in the other mode
	Locked       Outcome = "locked"         // by the transaction of the call itself, which nobody else can pass
	Leaked       Outcome = "leaked"
)

// A prober tries statements without their conditions on the tenant, one at a time.
//
// Before a call of a tenant reaches Postgres, another tenant makes the same call
// with the same arguments, the ids among them, and its own name as the tenant. Its
// transaction is rolled back. It makes the call three times:
//
//   - as it is written, which says what the other tenant may get;
//   - without the conditions, as the role of tenants: it must get the same, and
//     change no row but its own;
//   - without the conditions, past row-level security. If it still gets the same,
//     the trial shows nothing, and the next call is tried.
type prober struct {
	server url.URL

	mu      sync.Mutex
	busy    map[string]bool      // databases in which a call is being tried
	settled map[string]*progress // by statement
}

// progress is what the trials of a statement have shown so far.
type progress struct {
	tries                int
	fenced, fencedByMode bool
}

// maxTries is how many calls of a statement are tried that show nothing.
const maxTries = 60

func newProber(server url.URL) *prober {
	return &prober{server: server, busy: map[string]bool{}, settled: map[string]*progress{}}
}

// begin returns the progress of a statement, and what ends the trial; nil if it is
// not to be tried now. A database has one trial at a time. The caller may hold locks
// that others of its database wait for, so it waits for a moment only.
func (p *prober) begin(database, statement string, hasMode bool) (known *progress, done func()) {
	for range 60 {
		p.mu.Lock()
		known = p.settled[statement]
		if known == nil {
			known = &progress{}
			p.settled[statement] = known
		}
		if known.tries >= maxTries || known.fenced && (known.fencedByMode || !hasMode) {
			p.mu.Unlock()
			return nil, nil
		}

		if !p.busy[database] {
			known.tries++
			p.busy[database] = true
			p.mu.Unlock()
			return known, func() {
				p.mu.Lock()
				defer p.mu.Unlock()
				delete(p.busy, database)
			}
		}
		p.mu.Unlock()
		time.Sleep(5 * time.Millisecond)
	}
	return nil, nil
}

// A connection is what the proxy knows of a client's connection.
type connection struct {
	database, role string
	statements     map[string]string // by name
}

// readStart reads the message that opens a connection.
func readStart(message []byte) *connection {
	c := &connection{statements: map[string]string{}}
	if len(message) < 8 {
		return c
	}
	fields := strings.Split(string(message[8:]), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		switch fields[i] {
		case "database":
			c.database = fields[i+1]
		case "role":
			c.role = fields[i+1]
		}
	}
	return c
}

// parse remembers the statement of a Parse message, and returns it.
func (c *connection) parse(message []byte) string {
	name, rest, _ := bytes.Cut(message[5:], []byte{0})
	statement, _, _ := bytes.Cut(rest, []byte{0})
	c.statements[string(name)] = string(statement)
	return string(statement)
}

// A call is a statement with its arguments as they are sent.
type call struct {
	statement string
	formats   []int16
	values    [][]byte
}

// readBind reads a Bind message.
func (c *connection) readBind(message []byte) (call, bool) {
	_, rest, _ := bytes.Cut(message[5:], []byte{0})
	name, rest, _ := bytes.Cut(rest, []byte{0})
	statement, ok := c.statements[string(name)]
	bound := call{statement: statement}
	if !ok || len(rest) < 2 {
		return bound, false
	}

	count := int(binary.BigEndian.Uint16(rest))
	rest = rest[2:]
	for range count {
		bound.formats = append(bound.formats, int16(binary.BigEndian.Uint16(rest)))
		rest = rest[2:]
	}

	count = int(binary.BigEndian.Uint16(rest))
	rest = rest[2:]
	for range count {
		length := int32(binary.BigEndian.Uint32(rest))
		rest = rest[4:]
		if length < 0 {
			bound.values = append(bound.values, nil)
			continue
		}
		bound.values = append(bound.values, rest[:length:length])
		rest = rest[length:]
	}
	return bound, true
}

// Statements over many rows have the tenants as arrays.
var (
	keyedAccount = regexp.MustCompile(`\b(?:[a-z_]+\.)?account_id = [kv]\.account_id\b`)
	keyedMode    = regexp.MustCompile(`\b(?:[a-z_]+\.)?livemode = [kv]\.livemode\b`)
	keys         = regexp.MustCompile(`unnest\(\$([0-9]+)::uuid\[\], \$([0-9]+)::boolean\[\]`)
)

// stripAll returns a statement without its conditions on the tenant, those with
// arrays too.
func stripAll(statement string) string {
	statement = StripFilters(statement)
	if keys.MatchString(statement) {
		statement = keyedAccount.ReplaceAllString(statement, "true")
		statement = keyedMode.ReplaceAllString(statement, "true")
	}
	return statement
}

// tenant is an account and mode, as Postgres has them.
type tenant struct {
	account [16]byte
	live    bool
}

func (t tenant) mode() string { return strconv.FormatBool(t.live) }

func (t tenant) uuid() string {
	text := hex.EncodeToString(t.account[:])
	return strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-")
}

// caller returns the tenant that the arguments name, and whether they have a mode.
func (c call) caller() (caller tenant, hasMode, ok bool) {
	account, mode := c.positions()
	if account < 0 {
		return caller, false, false
	}

	value := c.values[account]
	switch {
	case len(value) == 16:
		caller.account = [16]byte(value)
	case len(value) == 36:
		raw, err := hex.DecodeString(strings.ReplaceAll(string(value), "-", ""))
		if err != nil {
			return caller, false, false
		}
		caller.account = [16]byte(raw)
	case len(value) >= 40: // the first element of an array
		caller.account = [16]byte(value[24:40])
	default:
		return caller, false, false
	}

	if mode < 0 || len(c.values[mode]) == 0 {
		return caller, false, true
	}
	value = c.values[mode]
	last := value[len(value)-1]
	caller.live = last == 1 || last == 't'
	return caller, true, true
}

// positions are those of the account and the mode among the arguments, or -1.
func (c call) positions() (account, mode int) {
	find := func(filter *regexp.Regexp, group int) int {
		match := filter.FindStringSubmatch(c.statement)
		if match == nil {
			return -1
		}
		number, _ := strconv.Atoi(strings.TrimPrefix(match[group], "$"))
		if number < 1 || number > len(c.values) {
			return -1
		}
		return number - 1
	}

	account, mode = find(accountFilter, 1), find(modeFilter, 1)
	if account < 0 {
		account, mode = find(keys, 1), find(keys, 2)
	}
	return account, mode
}

// as returns the values with another tenant instead of the caller.
func (c call) as(caller, other tenant) [][]byte {
	values := slices.Clone(c.values)
	for i, value := range values {
		value = bytes.ReplaceAll(value, caller.account[:], other.account[:])
		values[i] = bytes.ReplaceAll(value, []byte(caller.uuid()), []byte(other.uuid()))
		if c.values[i] == nil {
			values[i] = nil
		}
	}

	_, mode := c.positions()
	if mode >= 0 && caller.live != other.live && len(values[mode]) == 1 {
		values[mode] = []byte{0}
		if other.live {
			values[mode] = []byte{1}
		}
	}
	return values
}

// try makes the call of a Bind message as other tenants, and reports what it
// shows. What cannot be tried is left out.
func (p *prober) try(from *connection, message []byte, report func(Trial)) {
	if from.role != "waybill_app" && from.role != "waybill_group" {
		return
	}
	bound, ok := from.readBind(message)
	if !ok || stripAll(bound.statement) == bound.statement {
		return
	}
	caller, hasMode, ok := bound.caller()
	if !ok {
		return
	}

	known, done := p.begin(from.database, bound.statement, hasMode)
	if known == nil {
		return
	}
	defer done()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	address := p.server
	address.Path = "/" + from.database
	conn, err := pgconn.Connect(ctx, address.String())
	if err != nil {
		return
	}
	defer func() { _ = conn.Close(context.Background()) }()

	attempt := &attempt{ctx: ctx, conn: conn, call: bound, caller: caller, role: from.role}
	found := func(outcome Outcome, detail string) {
		report(Trial{Statement: bound.statement, Role: from.role, Outcome: outcome, Detail: detail})
	}
	if outcome, detail := attempt.run(attempt.anotherAccount()); outcome != "" {
		p.note(&known.fenced, outcome)
		found(outcome, detail)
	}
	if hasMode && from.role == "waybill_app" {
		outcome, detail := attempt.run(tenant{account: caller.account, live: !caller.live})
		p.note(&known.fencedByMode, outcome)
		if outcome == Fenced {
			outcome = FencedByMode
		}
		if outcome != "" {
			found(outcome, detail)
		}
	}
}

// note remembers that a statement is fenced.
func (p *prober) note(isFenced *bool, outcome Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*isFenced = *isFenced || outcome == Fenced
}

// An attempt is one call, made by another tenant.
type attempt struct {
	ctx    context.Context
	conn   *pgconn.PgConn
	call   call
	caller tenant
	role   string
}

// anotherAccount returns one that the database has, or one without any rows.
func (a *attempt) anotherAccount() tenant {
	other := tenant{live: a.caller.live}
	_, _ = rand.Read(other.account[:])
	rows := a.query("SELECT id FROM accounts WHERE id <> '" + a.caller.uuid() + "' LIMIT 1")
	if len(rows) == 1 {
		raw, err := hex.DecodeString(strings.ReplaceAll(rows[0], "-", ""))
		if err == nil && len(raw) == 16 {
			other.account = [16]byte(raw)
		}
	}
	return other
}

// A result is what a call returned and changed.
type result struct {
	rows    []string // sorted; the last is how many were found or changed
	code    string   // of the error
	changed int      // rows of others
}

func (r result) equal(other result) bool {
	return r.code == other.code && slices.Equal(r.rows, other.rows)
}

// busy reports whether the call could not run because of a lock.
func (r result) busy() bool {
	return slices.Contains([]string{"55P03", "40001", "40P01", "57014"}, r.code)
}

// run makes the calls as the other tenant. It returns nothing if they show nothing.
func (a *attempt) run(other tenant) (Outcome, string) {
	values := a.call.as(a.caller, other)
	written := a.call.statement
	stripped := stripAll(written)

	// One snapshot and one time for all three calls. What the transaction writes has
	// its own number or a higher one.
	a.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL lock_timeout = '50ms'; SET LOCAL statement_timeout = '2s'; SET LOCAL jit = off; SET LOCAL timezone = 'UTC'")
	defer a.query("ROLLBACK")
	number := a.query("SELECT pg_current_xact_id()::text")
	if len(number) != 1 {
		return "", ""
	}
	rowsOfOthers := a.rowsOfOthers(other, number[0])
	before := a.query(rowsOfOthers)

	one := func(role, statement string) result {
		a.query("SAVEPOINT before; " + a.settings(role, other))
		got := a.execute(statement, values)
		if got.code == "" && rowsOfOthers != "" {
			a.query("RESET ROLE; SET LOCAL row_security = off")
			if after := a.query(rowsOfOthers); !slices.Equal(after, before) {
				got.changed = 1
			}
		}
		a.query("ROLLBACK TO before")
		return got
	}

	allowed := one(a.role, written)
	again := one(a.role, written)
	got := one(a.role, stripped)
	past := one("", stripped)
	if allowed.busy() || again.busy() || got.busy() || past.busy() {
		return Locked, ""
	}

	// What is different at every call, such as random values, is only counted.
	differs := func(r result) bool { return !r.equal(allowed) }
	if !again.equal(allowed) {
		differs = func(r result) bool { return r.code != allowed.code || len(r.rows) != len(allowed.rows) }
	}
	switch {
	case differs(got) || got.changed > 0:
		return Leaked, fmt.Sprintf("%d rows and error %q instead of %d and %q; rows of others changed: %t",
			len(got.rows), got.code, len(allowed.rows), allowed.code, got.changed > 0)
	case differs(past) || past.changed > 0:
		return Fenced, ""
	}
	return "", ""
}

// settings are the role and tenant of a call. Without a role, row-level security
// is passed.
func (a *attempt) settings(role string, t tenant) string {
	switch role {
	case "":
		return "RESET ROLE; SET LOCAL row_security = off"
	case "waybill_group":
		return fmt.Sprintf("SET LOCAL ROLE waybill_group; SET LOCAL waybill.live_accounts = '%s'; SET LOCAL waybill.test_accounts = '%s'", t.uuid(), t.uuid())
	}
	return fmt.Sprintf("SET LOCAL ROLE %s; SET LOCAL waybill.account = '%s'; SET LOCAL waybill.livemode = '%s'", role, t.uuid(), t.mode())
}

// writes matches the statements that can change rows.
var writes = regexp.MustCompile(`\b(INSERT|UPDATE|DELETE)\b`)

// rowsOfOthers returns a statement that counts the rows of other tenants in the
// tables that the call names: those from before the transaction and those that it
// wrote. It is empty if the call only reads.
func (a *attempt) rowsOfOthers(other tenant, transaction string) string {
	if !writes.MatchString(a.call.statement) {
		return ""
	}
	tables := a.query(`
		SELECT c.relname || ' ' || EXISTS (SELECT FROM pg_attribute m WHERE m.attrelid = c.oid AND m.attname = 'livemode')
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'account_id'
		WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = 'public'::regnamespace`)

	var counts []string
	for _, line := range tables {
		table, hasMode, _ := strings.Cut(line, " ")
		if !regexp.MustCompile(`\b` + table + `\b`).MatchString(a.call.statement) {
			continue
		}
		own := "account_id = '" + other.uuid() + "'"
		if hasMode == "true" {
			own += " AND livemode = " + other.mode()
		}
		counts = append(counts, fmt.Sprintf(`SELECT '%s ' || count(*) FILTER (WHERE xmin::text::bigint < %s) || ' ' || count(*) FILTER (WHERE xmin::text::bigint >= %s) FROM %s WHERE NOT (%s)`,
			table, transaction, transaction, table, own))
	}
	return strings.Join(counts, " UNION ALL ")
}

// query runs statements without arguments and returns the first column of the last
// one. Errors show as no rows.
func (a *attempt) query(sql string) []string {
	if sql == "" {
		return nil
	}
	results, err := a.conn.Exec(a.ctx, sql).ReadAll()
	if err != nil || len(results) == 0 {
		return nil
	}
	var rows []string
	for _, row := range results[len(results)-1].Rows {
		rows = append(rows, string(row[0]))
	}
	return rows
}

// execute makes the call.
func (a *attempt) execute(statement string, values [][]byte) result {
	read := a.conn.ExecParams(a.ctx, statement, values, nil, a.call.formats, nil).Read()
	var got result
	if read.Err != nil {
		got.code = "?"
		if failed, ok := errors.AsType[*pgconn.PgError](read.Err); ok {
			got.code = failed.Code
		}
		return got
	}
	for _, row := range read.Rows {
		got.rows = append(got.rows, string(bytes.Join(row, []byte{0})))
	}
	slices.Sort(got.rows)
	got.rows = append(got.rows, read.CommandTag.String())
	return got
}
