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
// written and never changed.
type AuditEntry struct {
	ID      ship.AuditID // carries the time
	Account ship.AccountID
	Person  ship.PersonID // empty for the operator
	Who     string
	Action  string
	Target  string
	Mode    string // "test", "live" or empty
	Details map[string]string
	Addr    netip.Addr
	Agent   string
}

const sqlAddAudit = `
INSERT INTO audit_log (account_id, id, person_id, who, action, target, mode, details, address, agent)
VALUES (@account, @id, @person, @who, @action, @target, @mode, @details, @address, @agent)`

// AddAudit writes an entry in the transaction of the change that it tells of.
func (s *Store) AddAudit(ctx context.Context, e AuditEntry) error {
	if s.tx == nil {
		panic("store: an audit entry outside a transaction")
	}
	details := e.Details
	if details == nil {
		details = map[string]string{}
	}
	_, err := s.run(ctx, sqlAddAudit, pgx.NamedArgs{
		"account": [16]byte(e.Account.Raw()), "id": [16]byte(e.ID.Raw()), "person": nullID(e.Person.Raw()), "who": e.Who, "action": e.Action,
		"target": e.Target, "mode": e.Mode, "details": details, "address": nullAddr(e.Addr), "agent": e.Agent,
	})
	if err != nil {
		return fmt.Errorf("audit %s: %w", e.Action, err)
	}
	return nil
}

// AuditQuery chooses entries of an account, newest first.
type AuditQuery struct {
	Account       ship.AccountID
	Person        ship.PersonID // empty for everybody
	Action        string        // empty for all; with a dot at its end, those that begin with it
	Target        string        // empty for all
	After, Before time.Time
	Behind        ship.AuditID // the last entry of the page before; empty for none
	Limit         int
}

// Each of the four reads an index of its own from its newest end; what else is
// chosen is looked at row by row.
const (
	auditColumns = `SELECT l.id, l.person_id, l.who, l.action, l.target, l.mode, l.details, l.address, l.agent FROM audit_log l WHERE l.account_id = @account AND l.id < @below AND l.id >= @from`
	auditMore    = ` AND (@person::uuid IS NULL OR l.person_id = @person::uuid) AND (@target = '' OR l.target = @target) AND (@action = '' OR l.action = @action) AND (@begins = '' OR starts_with(l.action, @begins)) ORDER BY l.id DESC LIMIT @limit`

	sqlAudit         = auditColumns + auditMore
	sqlAuditByPerson = auditColumns + ` AND l.person_id = @person::uuid` + auditMore
	sqlAuditByTarget = auditColumns + ` AND l.target = @target` + auditMore
	sqlAuditByAction = auditColumns + ` AND l.action = @action` + auditMore
)

// Audit returns a page of the account's entries.
func (s *Store) Audit(ctx context.Context, q AuditQuery) ([]AuditEntry, error) {
	args, sql := q.args(), sqlAudit
	switch {
	case q.Target != "":
		sql = sqlAuditByTarget
	case q.Person != "":
		sql = sqlAuditByPerson
	case args["action"] != "":
		sql = sqlAuditByAction
	}
	var list []AuditEntry
	err := s.queryRows(ctx, ship.Tenant{Account: q.Account}, func(r pgx.Rows) error {
		e, err := scanAudit(r)
		e.Account = q.Account
		list = append(list, e)
		return err
	}, sql, args)
	if err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	return list, nil
}

func (q AuditQuery) args() pgx.NamedArgs {
	below := ship.RawID{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	if !q.Before.IsZero() {
		below = ship.RawIDAt(q.Before)
	}
	if behind := q.Behind.Raw(); !behind.IsZero() && string(behind[:]) < string(below[:]) {
		below = behind
	}
	from := ship.RawID{}
	if !q.After.IsZero() {
		from = ship.RawIDAt(q.After)
	}
	args := pgx.NamedArgs{
		"account": [16]byte(q.Account.Raw()), "below": [16]byte(below), "from": [16]byte(from), "person": nullID(q.Person.Raw()),
		"target": q.Target, "action": q.Action, "begins": "", "limit": q.Limit,
	}
	if strings.HasSuffix(q.Action, ".") {
		args["action"], args["begins"] = "", q.Action
	}
	return args
}

func scanAudit(r pgx.Rows) (e AuditEntry, err error) {
	var id [16]byte
	var person *[16]byte
	var addr *netip.Addr
	err = r.Scan(&id, &person, &e.Who, &e.Action, &e.Target, &e.Mode, &e.Details, &addr, &e.Agent)
	e.ID, e.Addr = ship.AuditIDOf(id), value(addr)
	if person != nil {
		e.Person = ship.PersonIDOf(*person)
	}
	return e, err
}
