package member

import (
	"context"
	"maps"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// An Entry is what is written of something that somebody did, besides who and
// where from. It holds no secret.
type Entry struct {
	Action  string // what was done: "member.role_changed"
	Target  string // id or name of what it was done to
	Mode    string // "test", "live", or empty for what is of the whole account
	Details map[string]string
}

// operatorName is who the operator is in the record.
const operatorName = "operator"

// tell writes an entry of the actor's account, in the transaction of the
// change.
func (s *Service) tell(ctx context.Context, tx *store.Store, a Actor, e Entry) error {
	return tx.AddAudit(ctx, s.entryOf(a, a.Account, e))
}

// tellAll writes an entry in every account of the actor: what a person does
// with their ways to sign in concerns all of them.
func (s *Service) tellAll(ctx context.Context, tx *store.Store, a Actor, e Entry) error {
	in, err := tx.Memberships(ctx, a.Person.ID)
	if err != nil {
		return err
	}
	for _, m := range in {
		if err := tx.AddAudit(ctx, s.entryOf(a, m.Account, e)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) entryOf(a Actor, account ship.AccountID, e Entry) store.AuditEntry {
	made := store.AuditEntry{
		ID: ship.NewAuditID(account, s.entryTime()), Account: account, Person: a.Person.ID, Who: a.Person.Name + " <" + a.Person.Email + ">",
		Action: e.Action, Target: plain(e.Target), Mode: e.Mode, Details: e.Details, Addr: a.From.Addr, Agent: cut(a.From.Agent, maxAgent),
	}
	if a.operator {
		made.Person, made.Who = "", operatorName
	}
	return made
}

// entryTime is now, or a little later: entries sort by the milliseconds in
// their ids, and those of this copy are to sort as they were written.
func (s *Service) entryTime() time.Time {
	for {
		last := s.lastEntry.Load()
		next := max(s.now().UnixMilli(), last+1)
		if s.lastEntry.CompareAndSwap(last, next) {
			return time.UnixMilli(next)
		}
	}
}

// Audited returns a context for one change that the actor makes through
// another service: the change's transaction writes the entry, so that both
// happen or neither. A target that is not known yet, as that of something new,
// is left empty: the change says it.
func (s *Service) Audited(ctx context.Context, a Actor, e Entry) context.Context {
	return store.WithAudit(ctx, func(target string, details map[string]string) store.AuditEntry {
		told := e
		if told.Target == "" {
			told.Target = target
		}
		if len(details) > 0 {
			told.Details = maps.Clone(details)
			maps.Copy(told.Details, e.Details)
		}
		return s.entryOf(a, a.Account, told)
	})
}

// Record writes an entry of something that the actor did through another
// service, after it was done: of a purchase or a void, during which no
// transaction is open. The shipment tells of it in any case.
func (s *Service) Record(ctx context.Context, a Actor, e Entry) error {
	return s.store.InSystemTx(ctx, func(tx *store.Store) error { return s.tell(ctx, tx, a, e) })
}

// An AuditEntry is one thing that somebody did.
type AuditEntry struct {
	Entry
	ID     AuditID
	At     time.Time
	Person PersonID // empty for the operator
	Who    string   // name and e-mail as they were
	From   Origin
}

// AuditFilter chooses entries. What is empty does not choose.
type AuditFilter struct {
	Person        PersonID
	Action        string // the whole action, or its first part with a dot at its end: "member."
	Target        string
	After, Before time.Time
	Cursor        string // of the page before
	Limit         int    // 50 if 0, 200 at most
}

// Audit returns a page of the account's entries, newest first, and the cursor
// of the next; it is empty at the end.
func (s *Service) Audit(ctx context.Context, a Actor, f AuditFilter) ([]AuditEntry, string, error) {
	if err := a.Allow(ViewAudit); err != nil {
		return nil, "", err
	}
	q := store.AuditQuery{Account: a.Account, Person: f.Person, Action: plain(f.Action), Target: plain(f.Target), After: f.After, Before: f.Before}
	if q.Limit = min(f.Limit, 200); q.Limit <= 0 {
		q.Limit = 50
	}
	size := q.Limit
	q.Limit++ // one more tells whether there is another page
	if f.Cursor != "" {
		behind, ok := ship.ParseAuditID(f.Cursor)
		if !ok {
			return nil, "", ship.InvalidFields([]ship.FieldError{{Pointer: "/cursor", Code: "invalid", Detail: "is not a cursor of this list"}})
		}
		q.Behind = behind
	}
	rows, err := s.store.Audit(ctx, q)
	if err != nil {
		return nil, "", err
	}
	next := ""
	if len(rows) > size {
		rows = rows[:size]
		next = string(rows[size-1].ID)
	}
	list := make([]AuditEntry, len(rows))
	for i, r := range rows {
		list[i] = AuditEntry{
			ID: r.ID, At: r.ID.Raw().Time(), Person: r.Person, Who: r.Who, From: Origin{Addr: r.Addr, Agent: r.Agent},
			Entry: Entry{Action: r.Action, Target: r.Target, Mode: r.Mode, Details: r.Details},
		}
	}
	return list, next, nil
}
