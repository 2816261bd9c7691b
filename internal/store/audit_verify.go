package store

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A ChainBreak is the first entry of an account's audit log that is not as it
// was written.
type ChainBreak struct {
	Account ship.AccountID
	Number  int64        // in the chain; 0 for an entry that is not in it
	Entry   ship.AuditID // empty if it is not known
	Reason  string
}

// AuditVerification is what VerifyAudit found.
type AuditVerification struct {
	Entries  int // in the chains
	Accounts int
	Pending  int // committed a moment ago, and not chained yet
	Breaks   []ChainBreak
}

// pendingTooLong is how old an entry is that should have been chained.
const pendingTooLong = time.Hour

const (
	sqlVerifyChain = `
SELECT c.account_id, c.number, c.entry_id, c.hash, l.id IS NOT NULL,
  l.person_id, l.api_key_id, coalesce(l.actor, ''), coalesce(l.action, ''), coalesce(l.target, ''), coalesce(l.mode, ''),
  coalesce(l.details, '{}'), l.remote_address, coalesce(l.user_agent, '')
FROM audit_chain c LEFT JOIN audit_log l ON l.account_id = c.account_id AND l.id = c.entry_id
ORDER BY c.account_id, c.number`

	sqlAnchors = `SELECT account_id, number, hash FROM audit_anchors`

	sqlUnchained = `
SELECT l.account_id, l.id FROM audit_log l
WHERE NOT EXISTS (SELECT FROM audit_chain c WHERE c.account_id = l.account_id AND c.entry_id = l.id)
  AND NOT EXISTS (SELECT FROM audit_pending p WHERE p.account_id = l.account_id AND p.entry_id = l.id)
ORDER BY l.account_id, l.id LIMIT 100`

	sqlPending = `
SELECT p.account_id, p.entry_id, l.id IS NOT NULL
FROM audit_pending p LEFT JOIN audit_log l ON l.account_id = p.account_id AND l.id = p.entry_id`

	sqlStreamsAhead = `
SELECT name FROM audit_streams
WHERE position > (SELECT coalesce(max(position), 0) FROM audit_chain)
  AND EXISTS (SELECT FROM audit_chain)`
)

// VerifyAudit computes the chains of all accounts again, and reports the first
// entry of each account that does not fit.
func (s *Store) VerifyAudit(ctx context.Context, now time.Time) (AuditVerification, error) {
	var found AuditVerification
	err := s.InSystemTx(ctx, func(tx *Store) error {
		// All statements see the same moment, and a long log may take its time.
		for _, sql := range []string{"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY", "SET LOCAL statement_timeout = '1h'"} {
			if _, err := tx.tx.Exec(ctx, sql); err != nil {
				return err
			}
		}

		check := &chainCheck{found: &found, heads: map[ship.AccountID]chainHead{}, isBroken: map[ship.AccountID]bool{}}
		for _, step := range []func(context.Context, pgx.Tx) error{check.readAnchors, check.readChains, check.readUnchained, check.readStreams} {
			if err := step(ctx, tx.tx); err != nil {
				return err
			}
		}
		return check.readPending(ctx, tx.tx, now)
	})
	if err != nil {
		return found, fmt.Errorf("verify the audit log: %w", err)
	}
	return found, nil
}

// A chainCheck is a verification that is under way.
type chainCheck struct {
	found    *AuditVerification
	heads    map[ship.AccountID]chainHead
	isBroken map[ship.AccountID]bool
}

// report adds a break, unless the account has one already: what follows a break
// does not fit either.
func (c *chainCheck) report(account ship.AccountID, number int64, entry ship.AuditID, reason string) {
	if c.isBroken[account] {
		return
	}
	c.isBroken[account] = true
	c.found.Breaks = append(c.found.Breaks, ChainBreak{
		Account: account,
		Number:  number,
		Entry:   entry,
		Reason:  reason,
	})
}

func (c *chainCheck) readAnchors(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, sqlAnchors)
	if err != nil {
		return err
	}
	var account ship.AccountID
	var head chainHead
	_, err = pgx.ForEachRow(rows, []any{&account, &head.number, &head.hash}, func() error {
		c.heads[account] = head
		return nil
	})
	return err
}

func (c *chainCheck) readChains(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, sqlVerifyChain)
	if err != nil {
		return err
	}
	defer rows.Close()

	var last ship.AccountID
	for rows.Next() {
		var entry ChainedEntry
		var exists bool
		var address *netip.Addr
		err := rows.Scan(
			&entry.Account, &entry.Number, &entry.ID, &entry.Hash, &exists, &entry.Person, &entry.Key, &entry.Who,
			&entry.Action, &entry.Target, &entry.Mode, &entry.Details, &address, &entry.Agent,
		)
		if err != nil {
			return err
		}
		entry.Addr = value(address)

		c.found.Entries++
		if entry.Account != last {
			c.found.Accounts++
			last = entry.Account
		}
		if err := c.follow(entry, exists); err != nil {
			return err
		}
	}
	return rows.Err()
}

// follow checks that the entry is the next one of its chain.
func (c *chainCheck) follow(entry ChainedEntry, exists bool) error {
	head, ok := c.heads[entry.Account]
	if !ok {
		head.hash = genesis
	}
	want, err := entry.hashAfter(head.hash)
	if err != nil {
		return err
	}
	c.heads[entry.Account] = chainHead{number: entry.Number, hash: entry.Hash}

	switch {
	case entry.Number != head.number+1:
		c.report(entry.Account, head.number+1, "", fmt.Sprintf("the chain goes on with number %d: entries were removed", entry.Number))
	case !exists:
		c.report(entry.Account, entry.Number, entry.ID, "the entry was removed")
	case !bytes.Equal(want, entry.Hash):
		c.report(entry.Account, entry.Number, entry.ID, "the entry does not match its hash: it was changed, or moved")
	}
	return nil
}

func (c *chainCheck) readUnchained(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, sqlUnchained)
	if err != nil {
		return err
	}
	var account ship.AccountID
	var entry ship.AuditID
	_, err = pgx.ForEachRow(rows, []any{&account, &entry}, func() error {
		c.report(account, 0, entry, "the entry is not in the chain: it was added past the service, or its place in the chain was removed")
		return nil
	})
	return err
}

func (c *chainCheck) readPending(ctx context.Context, tx pgx.Tx, now time.Time) error {
	rows, err := tx.Query(ctx, sqlPending)
	if err != nil {
		return err
	}
	var account ship.AccountID
	var entry ship.AuditID
	var exists bool
	_, err = pgx.ForEachRow(rows, []any{&account, &entry, &exists}, func() error {
		c.found.Pending++
		switch {
		case !exists:
			c.report(account, 0, entry, "the entry was removed before it was chained")
		case now.Sub(entry.Raw().Time()) > pendingTooLong:
			c.report(account, 0, entry, "the entry has not been chained for an hour: is a copy with the worker role running?")
		}
		return nil
	})
	return err
}

// readStreams finds streams that have received entries which are gone: removing
// the newest entries together with their hashes leaves no other trace.
func (c *chainCheck) readStreams(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, sqlStreamsAhead)
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, name := range names {
		c.found.Breaks = append(c.found.Breaks, ChainBreak{Reason: "the stream " + name + " has received entries that are gone"})
	}
	return err
}

const (
	sqlStreamed = `
SELECT ` + chainedColumns + `, c.number, c.hash, c.position
FROM audit_chain c JOIN audit_log l ON l.account_id = c.account_id AND l.id = c.entry_id
WHERE c.position > coalesce((SELECT position FROM audit_streams WHERE name = $1), 0)
ORDER BY c.position LIMIT $2`

	sqlSaveStream = `
INSERT INTO audit_streams (name, position) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET position = excluded.position, updated_at = now()
WHERE audit_streams.position < excluded.position`
)

// StreamedAudit returns the entries of all accounts that the stream has not
// received, oldest first.
func (s *Store) StreamedAudit(ctx context.Context, stream string, limit int) ([]ChainedEntry, error) {
	rows, err := s.sys.Query(ctx, sqlStreamed, stream, limit)
	if err != nil {
		return nil, fmt.Errorf("stream the audit log: %w", explain(err))
	}
	list, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (ChainedEntry, error) {
		var entry ChainedEntry
		var address *netip.Addr
		err := r.Scan(
			&entry.Account, &entry.ID, &entry.Person, &entry.Key, &entry.Who, &entry.Action, &entry.Target,
			&entry.Mode, &entry.Details, &address, &entry.Agent, &entry.Number, &entry.Hash, &entry.Position,
		)
		entry.Addr = value(address)
		return entry, err
	})
	if err != nil {
		return nil, fmt.Errorf("stream the audit log: %w", explain(err))
	}
	return list, nil
}

// SaveStream records that the stream has received everything up to the position.
func (s *Store) SaveStream(ctx context.Context, stream string, position int64) error {
	if _, err := s.sys.Exec(ctx, sqlSaveStream, stream, position); err != nil {
		return fmt.Errorf("save the position of the stream: %w", explain(err))
	}
	return nil
}

const sqlPruneAudit = `SELECT prune_audit_log($1)`

// PruneAudit drops the entries of all accounts that are older than the time, and
// returns how many; what is left can still be verified. It connects to url, which
// must be that of the tables' owner: the login that serves cannot delete entries.
func PruneAudit(ctx context.Context, url string, before time.Time) (int64, error) {
	conn, err := connect(ctx, url)
	if err != nil {
		return 0, ship.Errorf(ship.Unavailable, "cannot connect to the database: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()

	var dropped int64
	err = conn.QueryRow(ctx, sqlPruneAudit, before).Scan(&dropped)
	if isDenied(err) {
		return 0, ship.Errorf(ship.Forbidden, "only the login that owns the tables can drop entries: set MIGRATE_DATABASE_URL to it: %w", err)
	}
	if err != nil {
		return 0, fmt.Errorf("drop old entries: %w", explain(err))
	}
	return dropped, nil
}
