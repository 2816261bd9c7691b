package member

import (
	"cmp"
	"context"
	"maps"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// An Entry is what the audit log says of something that somebody did, besides
// who did it and from where. It holds no secret.
type Entry struct {
	Action  string // what was done: "member.role_changed"
	Target  string // id or name of what it was done to
	Mode    string // "test", "live", or empty for what is of the whole account
	Details map[string]string
}

// What the audit log calls actors who have no name of their own.
const (
	operatorName = store.OperatorName
	linkName     = "link"
)

// audit writes an entry in the log of the actor's account, in the transaction
// of the change.
func (s *Service) audit(ctx context.Context, tx *store.Store, a Actor, entry Entry) error {
	if a.operator {
		if err := tx.EnterShardOf(ctx, a.Account); err != nil {
			return err
		}
	}
	return tx.AddAudit(ctx, s.entryOf(a, a.Account, entry))
}

// auditAll writes an entry in every account of the actor: what a person does
// with their ways to sign in concerns all of them.
func (s *Service) auditAll(ctx context.Context, tx *store.Store, a Actor, entry Entry) error {
	memberships, err := tx.Memberships(ctx, a.Person.ID)
	if err != nil {
		return err
	}
	if a.operator {
		if err := s.requireHere(ctx, memberships); err != nil {
			return err
		}
	}
	for _, membership := range memberships {
		if err := tx.AddAudit(ctx, s.entryOf(a, membership.Account, entry)); err != nil {
			return err
		}
	}
	return nil
}

// requireHere refuses a command about a person all of whose accounts are in other cells:
// they do not sign in here.
func (s *Service) requireHere(ctx context.Context, memberships []store.Membership) error {
	var elsewhere error
	for _, membership := range memberships {
		elsewhere = s.store.Elsewhere(ctx, membership.Account.Raw().Shard())
		if elsewhere == nil {
			return nil
		}
	}
	return elsewhere
}

func (s *Service) entryOf(a Actor, account ship.AccountID, entry Entry) store.AuditEntry {
	row := store.AuditEntry{
		ID:      s.store.NewAuditID(account, s.now()),
		Account: account,
		Action:  entry.Action,
		Target:  storableText(entry.Target),
		Mode:    entry.Mode,
		Details: entry.Details,
	}
	a.sign(&row)
	return row
}

// sign sets who made the entry, and from where.
func (a Actor) sign(row *store.AuditEntry) {
	row.Addr = a.From.Addr
	row.Agent = truncateText(a.From.Agent, maxAgent)

	// The name is kept as it was: a person can be renamed and a key deleted.
	switch {
	case a.operator:
		row.Who = operatorName
	case a.holdsLink:
		row.Who = linkName
	case a.key != "":
		row.Key = a.key
		row.Who = a.keyName
	default:
		row.Person = a.Person.ID
		row.Who = a.Person.Name + " <" + a.Person.Email + ">"
	}
}

// Audited returns a context for changes that the actor makes through other
// services: the transaction of each change writes its entry, so that both happen
// or neither. The change itself provides the action and the target. Where the
// actor knows better, as a page does that knows what its button was for, e
// overrides them. An operator of no account in particular acts in that of the
// change.
func Audited(ctx context.Context, a Actor, e Entry) context.Context {
	return store.WithAudit(ctx, func(row *store.AuditEntry) {
		if a.Account != "" {
			row.Account = a.Account
		}
		row.Action = cmp.Or(e.Action, row.Action)
		row.Mode = cmp.Or(e.Mode, row.Mode)
		row.Target = storableText(cmp.Or(e.Target, row.Target))

		// The map belongs to the service that made the change.
		details := maps.Clone(row.Details)
		if details == nil {
			details = map[string]string{}
		}
		maps.Copy(details, e.Details)
		for name, value := range details {
			details[name] = storableText(value)
		}
		row.Details = details

		a.sign(row)
	})
}

// Record writes an entry about something that the actor did through another
// service, after it was done: a purchase or a void, during which no transaction
// is open. The shipment itself shows it in any case.
func (s *Service) Record(ctx context.Context, a Actor, e Entry) error {
	return s.store.InSystemTx(ctx, func(tx *store.Store) error { return s.audit(ctx, tx, a, e) })
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

// By returns the kind of actor who did it.
func (e AuditEntry) By() string {
	switch {
	case e.Person != "":
		return ByPeople
	case e.Key != "":
		return ByKeys
	case e.Who != operatorName:
		return ByLinks
	}
	return ByOperators
}

// The kinds of actors.
const (
	ByPeople    = store.ByPeople
	ByKeys      = store.ByKeys
	ByOperators = store.ByOperators // at the command line
	ByLinks     = store.ByLinks     // whoever opened a link
)

// AuditFilter selects entries. An empty field selects all.
type AuditFilter struct {
	By            string // ByPeople, ByKeys, ByOperators or ByLinks
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

	size := min(f.Limit, 200)
	if size <= 0 {
		size = 50
	}
	query := store.AuditQuery{
		Account: a.Account,
		By:      storableText(f.By),
		Person:  f.Person,
		Key:     f.Key,
		Action:  storableText(f.Action),
		Target:  storableText(f.Target),
		After:   f.After,
		Before:  f.Before,
		Limit:   size + 1, // one more shows whether there is another page
	}
	if f.Cursor != "" {
		behind, ok := ship.ParseAuditID(f.Cursor)
		if !ok {
			return nil, "", ship.InvalidFields([]ship.FieldError{{Pointer: "/cursor", Code: "invalid", Detail: "must be a cursor returned by this list"}})
		}
		query.Behind = behind
	}

	rows, err := s.store.Audit(ctx, query)
	if err != nil {
		return nil, "", err
	}
	next := ""
	if len(rows) > size {
		rows = rows[:size]
		next = string(rows[size-1].ID)
	}

	list := make([]AuditEntry, len(rows))
	for i, row := range rows {
		list[i] = AuditEntry{
			Entry: Entry{
				Action:  row.Action,
				Target:  row.Target,
				Mode:    row.Mode,
				Details: row.Details,
			},
			ID:     row.ID,
			At:     row.ID.Raw().Time(),
			Person: row.Person,
			Key:    row.Key,
			Who:    row.Who,
			From:   Origin{Addr: row.Addr, Agent: row.Agent},
		}
	}
	return list, next, nil
}
