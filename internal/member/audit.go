package member

import (
	"cmp"
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
		ID: s.store.NewAuditID(account, s.now()), Account: account, Action: e.Action, Target: plain(e.Target), Mode: e.Mode, Details: e.Details,
	}
	a.sign(&made)
	return made
}

// sign says whose entry it is.
func (a Actor) sign(e *store.AuditEntry) {
	e.Addr, e.Agent = a.From.Addr, cut(a.From.Agent, maxAgent)
	switch {
	case a.operator:
		e.Who = operatorName
	case a.key != "":
		e.Key, e.Who = a.key, a.keyName
	default:
		e.Person, e.Who = a.Person.ID, a.Person.Name+" <"+a.Person.Email+">"
	}
}

// Audited returns a context for changes that the actor makes through other
// services: the transaction of each writes its entry, so that both happen or
// neither. The change says what it is, and on what; where the actor knows
// better, as a page does that says what its button did, e says it. An operator
// of no account in particular acts in that of the change.
func Audited(ctx context.Context, a Actor, e Entry) context.Context {
	return store.WithAudit(ctx, func(made *store.AuditEntry) {
		if a.Account != "" {
			made.Account = a.Account
		}
		made.Action, made.Mode = cmp.Or(e.Action, made.Action), cmp.Or(e.Mode, made.Mode)
		made.Target = plain(cmp.Or(e.Target, made.Target))
		details := maps.Clone(made.Details)
		if details == nil {
			details = map[string]string{}
		}
		maps.Copy(details, e.Details)
		for name, value := range details {
			details[name] = plain(value)
		}
		made.Details = details
		a.sign(made)
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
	ID     ship.AuditID
	At     time.Time
	Person ship.PersonID // of a person
	Key    ship.KeyID    // of an API key; the operator has neither
	Who    string        // name and e-mail as they were, or name and hint of the key
	From   Origin
}

// By is what kind of actor did it.
func (e AuditEntry) By() string {
	switch {
	case e.Person != "":
		return ByPeople
	case e.Key != "":
		return ByKeys
	}
	return ByOperators
}

// The kinds of actors.
const (
	ByPeople    = store.ByPeople
	ByKeys      = store.ByKeys
	ByOperators = store.ByOperators // at the command line
)

// AuditFilter chooses entries. What is empty does not choose.
type AuditFilter struct {
	By            string // ByPeople, ByKeys or ByOperators
	Person        ship.PersonID
	Key           ship.KeyID
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
	q := store.AuditQuery{Account: a.Account, By: plain(f.By), Person: f.Person, Key: f.Key, Action: plain(f.Action), Target: plain(f.Target), After: f.After, Before: f.Before}
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
			ID: r.ID, At: r.ID.Raw().Time(), Person: r.Person, Key: r.Key, Who: r.Who, From: Origin{Addr: r.Addr, Agent: r.Agent},
			Entry: Entry{Action: r.Action, Target: r.Target, Mode: r.Mode, Details: r.Details},
		}
	}
	return list, next, nil
}
