package store

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// An AuditEntry is one thing that somebody did in an account. Entries are
// written and never changed. Who did it is a person, a key, or, without both,
// the operator or whoever opened a link.
type AuditEntry struct {
	ID      ship.AuditID // carries the time
	Account ship.AccountID
	Person  ship.PersonID
	Key     ship.KeyID
	Who     string // as they were called
	Action  string
	Target  string
	Mode    string // "test", "live" or empty
	Details map[string]string
	Addr    netip.Addr
	Agent   string
}

const sqlAddAudit = `
INSERT INTO audit_log (account_id, id, person_id, api_key_id, actor, action, target, mode, details, remote_address, user_agent)
VALUES (@account, @id, @person, @key, @who, @action, @target, @mode, @details, @address, @agent)`

// AddAudit writes an entry in the transaction of the change that it records.
// One without an id gets one of now.
func (s *Store) AddAudit(ctx context.Context, e AuditEntry) error {
	// The entry and the change that it records happen together or not at all.
	if s.tx == nil {
		panic("store: an audit entry outside a transaction")
	}
	if e.ID == "" {
		e.ID = s.NewAuditID(e.Account, time.Now())
	}
	details := e.Details
	if details == nil {
		details = map[string]string{}
	}

	_, err := s.run(ctx, sqlAddAudit, pgx.NamedArgs{
		"account": e.Account,
		"id":      e.ID,
		"person":  null(e.Person),
		"key":     null(e.Key),
		"who":     e.Who,
		"action":  e.Action,
		"target":  e.Target,
		"mode":    e.Mode,
		"details": details,
		"address": nullAddr(e.Addr),
		"agent":   e.Agent,
	})
	if err != nil {
		return fmt.Errorf("audit %s: %w", e.Action, err)
	}
	return nil
}

// NewAuditID makes the id of an entry of now, or of a little later: entries sort
// by the milliseconds in their ids, and those of this copy of the program must
// sort in the order in which they were written.
func (s *Store) NewAuditID(a ship.AccountID, now time.Time) ship.AuditID {
	for {
		last := s.lastEntry.Load()
		next := max(now.UnixMilli(), last+1)
		if s.lastEntry.CompareAndSwap(last, next) {
			return ship.NewAuditID(a, time.UnixMilli(next))
		}
	}
}

// The kinds of actors.
const (
	ByPeople    = "people"
	ByKeys      = "keys"
	ByOperators = "operators"
	ByLinks     = "links"
)

// OperatorName is the actor of entries that an operator made at the command line.
const OperatorName = "operator"

// AuditQuery chooses entries of an account, newest first.
type AuditQuery struct {
	Account       ship.AccountID
	By            string        // ByPeople and so on; empty for all
	Person        ship.PersonID // empty for everybody
	Key           ship.KeyID    // empty for everybody
	Action        string        // empty for all; with a dot at its end, those that begin with it
	Target        string        // empty for all
	After, Before time.Time
	Behind        ship.AuditID // the last entry of the page before; empty for none
	Limit         int
}

// Each of the statements reads an index of its own from its newest end; the
// other conditions are checked row by row.
const (
	auditColumns = `
SELECT l.id, l.person_id, l.api_key_id, l.actor, l.action, l.target, l.mode, l.details, l.remote_address, l.user_agent
FROM audit_log l
WHERE l.account_id = @account AND l.id < @below AND l.id >= @from`
	auditFilters = `
  AND (@person::uuid IS NULL OR l.person_id = @person::uuid)
  AND (@key::uuid IS NULL OR l.api_key_id = @key::uuid)
  AND (@by = '' OR @by = CASE
    WHEN l.person_id IS NOT NULL THEN 'people'
    WHEN l.api_key_id IS NOT NULL THEN 'keys'
    WHEN l.actor = 'operator' THEN 'operators'
    ELSE 'links' END)
  AND (@target = '' OR l.target = @target)
  AND (@action = '' OR l.action = @action)
  AND (@begins = '' OR starts_with(l.action, @begins))
ORDER BY l.id DESC LIMIT @limit`

	sqlAudit         = auditColumns + auditFilters
	sqlAuditByPerson = auditColumns + ` AND l.person_id = @person::uuid` + auditFilters
	sqlAuditByTarget = auditColumns + ` AND l.target = @target` + auditFilters
	sqlAuditByAction = auditColumns + ` AND l.action = @action` + auditFilters
	sqlAuditByKey    = auditColumns + ` AND l.api_key_id = @key::uuid` + auditFilters

	sqlAuditOfPeople = auditColumns + ` AND l.person_id IS NOT NULL` + auditFilters
	sqlAuditOfKeys   = auditColumns + ` AND l.api_key_id IS NOT NULL` + auditFilters
	sqlAuditOfOthers = auditColumns + ` AND l.person_id IS NULL AND l.api_key_id IS NULL` + auditFilters
)

// statement returns the one whose index leaves the fewest rows to check.
func (q AuditQuery) statement() string {
	switch {
	case q.Target != "":
		return sqlAuditByTarget
	case q.Person != "":
		return sqlAuditByPerson
	case q.Key != "":
		return sqlAuditByKey
	case q.Action != "" && !strings.HasSuffix(q.Action, "."):
		return sqlAuditByAction
	case q.By == ByPeople:
		return sqlAuditOfPeople
	case q.By == ByKeys:
		return sqlAuditOfKeys
	case q.By == ByOperators || q.By == ByLinks:
		return sqlAuditOfOthers
	}
	return sqlAudit
}

// Audit returns a page of the account's entries.
func (s *Store) Audit(ctx context.Context, q AuditQuery) ([]AuditEntry, error) {
	scan := func(r pgx.CollectableRow) (AuditEntry, error) {
		entry, err := scanAudit(r)
		entry.Account = q.Account
		return entry, err
	}
	list, err := queryList(ctx, s, ship.Tenant{Account: q.Account}, scan, q.statement(), q.args())
	if err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	return list, nil
}

func (q AuditQuery) args() pgx.NamedArgs {
	from, below := idBounds(q.After, q.Before, q.Behind.Raw())
	args := pgx.NamedArgs{
		"account": q.Account,
		"below":   below,
		"from":    from,
		"person":  null(q.Person),
		"key":     null(q.Key),
		"by":      q.By,
		"target":  q.Target,
		"action":  q.Action,
		"begins":  "",
		"limit":   q.Limit,
	}

	if strings.HasSuffix(q.Action, ".") {
		args["action"] = ""
		args["begins"] = q.Action
	}
	return args
}

func scanAudit(r pgx.CollectableRow) (AuditEntry, error) {
	var entry AuditEntry
	var address *netip.Addr
	err := r.Scan(
		&entry.ID, &entry.Person, &entry.Key, &entry.Who, &entry.Action, &entry.Target,
		&entry.Mode, &entry.Details, &address, &entry.Agent,
	)

	entry.Addr = value(address)
	return entry, err
}
