package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// The chain of hashes over each account's audit log, and its streams.

// A ChainedEntry is an entry of the audit log with its place in the chain of its
// account.
type ChainedEntry struct {
	AuditEntry
	Number   int64  // in the account, from 1
	Hash     []byte // of the hash before and the entry
	Position int64  // among the entries of all accounts
}

// An auditRecord is what the hash of an entry covers, and what streams send.
// Hashes depend on the names and the order of the fields.
type auditRecord struct {
	Account   string            `json:"account"`
	Number    int64             `json:"number"`
	ID        string            `json:"id"`
	Time      string            `json:"time"`
	Person    string            `json:"person,omitempty"`
	Key       string            `json:"key,omitempty"`
	Actor     string            `json:"actor"`
	Action    string            `json:"action"`
	Target    string            `json:"target,omitempty"`
	Mode      string            `json:"mode,omitempty"`
	Details   map[string]string `json:"details,omitempty"`
	Address   string            `json:"address,omitempty"`
	UserAgent string            `json:"userAgent,omitempty"`
}

func (e ChainedEntry) record() auditRecord {
	record := auditRecord{
		Account:   string(e.Account),
		Number:    e.Number,
		ID:        string(e.ID),
		Time:      e.ID.Raw().Time().Format(time.RFC3339Nano),
		Person:    string(e.Person),
		Key:       string(e.Key),
		Actor:     e.Who,
		Action:    e.Action,
		Target:    e.Target,
		Mode:      e.Mode,
		Details:   e.Details,
		UserAgent: e.Agent,
	}
	if e.Addr.IsValid() {
		record.Address = e.Addr.String()
	}
	return record
}

// chainVersion begins what is hashed, so that a later form cannot be taken for
// this one.
const chainVersion = "waybill audit 1\n"

// hashAfter returns the hash of the entry in a chain whose last hash is
// previous: SHA-256 of the version, the previous hash, and the record as JSON
// with sorted details.
func (e ChainedEntry) hashAfter(previous []byte) ([]byte, error) {
	text, err := json.Marshal(e.record())
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", e.ID, err)
	}

	hash := sha256.New()
	hash.Write([]byte(chainVersion))
	hash.Write(previous)
	hash.Write(text)
	return hash.Sum(nil), nil
}

// MarshalJSON writes the entry as a stream sends it: what is hashed, the hash,
// and the position.
func (e ChainedEntry) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		auditRecord
		Hash     string `json:"hash"`
		Position int64  `json:"position"`
	}{
		auditRecord: e.record(),
		Hash:        hex.EncodeToString(e.Hash),
		Position:    e.Position,
	})
}

// genesis is the hash before the first entry of an account.
var genesis = make([]byte, sha256.Size)

const (
	lockChain    = 0x7761796263 // "wayb" and c
	chainsAtOnce = 500

	chainedColumns = `l.account_id, l.id, l.person_id, l.api_key_id, l.actor, l.action, l.target, l.mode, l.details, l.remote_address, l.user_agent`

	sqlPendingEntries = `
SELECT ` + chainedColumns + `
FROM audit_pending p JOIN audit_log l ON l.account_id = p.account_id AND l.id = p.entry_id
ORDER BY p.account_id, p.entry_id LIMIT $1`

	// The chain of an account goes on after its last entry, or after the last
	// one that was dropped.
	sqlChainHeads = `
SELECT a.id, coalesce(c.number, d.number, 0), coalesce(c.hash, d.hash, $2)
FROM unnest($1::uuid[]) a(id)
LEFT JOIN LATERAL (SELECT number, hash FROM audit_chain WHERE account_id = a.id ORDER BY number DESC LIMIT 1) c ON true
LEFT JOIN audit_anchors d ON d.account_id = a.id`

	sqlAddChained = `
INSERT INTO audit_chain (account_id, number, entry_id, hash)
SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::bytea[])`

	sqlRemovePending = `
DELETE FROM audit_pending p USING unnest($1::uuid[], $2::uuid[]) done(account_id, entry_id)
WHERE p.account_id = done.account_id AND p.entry_id = done.entry_id`
)

type chainHead struct {
	number int64
	hash   []byte
}

// ChainAudit adds committed entries to the chains of their accounts, and returns
// how many. Of several copies one works, and the others return at once.
func (s *Store) ChainAudit(ctx context.Context) (int, error) {
	var entries []ChainedEntry
	err := s.InSystemTx(ctx, func(tx *Store) error {
		// Whoever has the lock sees what the one before has committed: the
		// statements below take their snapshots after it.
		var isLocked bool
		if err := tx.tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1)", int64(lockChain)).Scan(&isLocked); err != nil || !isLocked {
			return err
		}

		rows, err := tx.tx.Query(ctx, sqlPendingEntries, chainsAtOnce)
		if err != nil {
			return err
		}
		if entries, err = pgx.CollectRows(rows, scanChained); err != nil || len(entries) == 0 {
			return err
		}
		return tx.addChained(ctx, entries)
	})
	if err != nil {
		return 0, fmt.Errorf("chain the audit log: %w", err)
	}
	return len(entries), nil
}

func scanChained(r pgx.CollectableRow) (ChainedEntry, error) {
	var entry ChainedEntry
	var address *netip.Addr
	err := r.Scan(
		&entry.Account, &entry.ID, &entry.Person, &entry.Key, &entry.Who, &entry.Action, &entry.Target,
		&entry.Mode, &entry.Details, &address, &entry.Agent,
	)
	entry.Addr = value(address)
	return entry, err
}

// addChained numbers and hashes the entries, which are ordered by account, and
// adds them to the chains.
func (s *Store) addChained(ctx context.Context, entries []ChainedEntry) error {
	heads, err := s.chainHeads(ctx, entries)
	if err != nil {
		return err
	}

	accounts := make(idArray, len(entries))
	numbers := make([]int64, len(entries))
	ids := make(idArray, len(entries))
	hashes := make([][]byte, len(entries))
	for i, entry := range entries {
		head := heads[entry.Account]
		entry.Number = head.number + 1
		hash, err := entry.hashAfter(head.hash)
		if err != nil {
			return err
		}
		heads[entry.Account] = chainHead{number: entry.Number, hash: hash}

		accounts[i] = entry.Account.Raw()
		numbers[i] = entry.Number
		ids[i] = entry.ID.Raw()
		hashes[i] = hash
	}

	if _, err := s.tx.Exec(ctx, sqlAddChained, accounts, numbers, ids, hashes); err != nil {
		return err
	}
	_, err = s.tx.Exec(ctx, sqlRemovePending, accounts, ids)
	return err
}

func (s *Store) chainHeads(ctx context.Context, entries []ChainedEntry) (map[ship.AccountID]chainHead, error) {
	var accounts idArray
	for i, entry := range entries {
		if i == 0 || entries[i-1].Account != entry.Account {
			accounts = append(accounts, entry.Account.Raw())
		}
	}

	rows, err := s.tx.Query(ctx, sqlChainHeads, accounts, genesis)
	if err != nil {
		return nil, err
	}
	heads := map[ship.AccountID]chainHead{}
	var account ship.AccountID
	var head chainHead
	_, err = pgx.ForEachRow(rows, []any{&account, &head.number, &head.hash}, func() error {
		heads[account] = head
		return nil
	})
	return heads, err
}
