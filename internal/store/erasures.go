package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// Erasures of personal data: what is asked for, and how far each has got. What
// they change is in erasure_shipments.go and erasure_texts.go.

// An Erasure removes the personal data of somebody.
type Erasure struct {
	ID          ship.ErasureID
	Tenant      ship.Tenant
	Kind        string          // "email", "phone" or "shipment"
	SubjectHash []byte          // of an e-mail address or a phone number
	Shipment    ship.ShipmentID // of an erasure of one shipment
	State       string          // one of the states below
	Encrypted   []byte          // ErasureSubject; nil once it is done
	Counts      map[string]int  // rows that were erased, by table
	FinishedAt  time.Time       // zero until then

	step   string
	cursor []string
	since  time.Time // when the step began
}

// The states of an erasure.
const (
	ErasurePending = "pending"
	ErasureRunning = "running"
	ErasureWaiting = "waiting" // for purchases that are not settled
	ErasureDone    = "done"
)

// CountOpen is the name under which an erasure counts what it must wait for:
// purchases that are not settled, which need the address to be completed.
const CountOpen = "open"

// An ErasureSubject is whose data is erased, and the texts by which it is
// found. It is stored encrypted.
type ErasureSubject struct {
	Person  ship.Person    `json:"person"`
	Parties []ship.Address `json:"parties,omitempty"` // that were found to be the person's
	Terms   []string       `json:"terms,omitempty"`   // of the orders that were erased
}

// The most that is remembered of what was found. A person has few addresses,
// and what they do not lead to expires within days.
const (
	maxErasedParties = 100
	maxErasedTerms   = 1000
)

// SubjectHash returns the keyed hash by which a person is recognized in a later
// erasure or export, without being readable.
func (s *Store) SubjectHash(ctx context.Context, account ship.AccountID, person ship.Person) ([]byte, error) {
	hash, err := s.wordHash(ctx)
	if err != nil {
		return nil, err
	}

	switch person.Kind() {
	case "email":
		return hash(account, "email:"+person.Email), nil
	case "phone":
		return hash(account, "phone:"+ship.PhoneDigits(person.Phone)), nil
	}
	return nil, nil
}

const sqlAddErasure = `
INSERT INTO erasures (account_id, livemode, id, subject_kind, subject_hash, shipment_id, encrypted_subject)
VALUES (@account, @livemode, @id, @kind, @hash, @shipment, @encrypted)`

// AddErasure stores an erasure that has not begun, with its job and its entry of
// the audit log. The entry has ids alone.
func (s *Store) AddErasure(ctx context.Context, e Erasure, j Job) error {
	err := s.InTx(ctx, e.Tenant, func(tx *Store) error {
		_, err := tx.exec(ctx, e.Tenant, sqlAddErasure, tenantArgs(e.Tenant, e.ID, pgx.NamedArgs{
			"kind":      e.Kind,
			"hash":      e.SubjectHash,
			"shipment":  null(e.Shipment),
			"encrypted": e.Encrypted,
		}))
		if err != nil {
			return err
		}
		if err := tx.Enqueue(ctx, j, 0); err != nil {
			return err
		}

		entry := EntryOf(e.Tenant, "erasure.requested", string(e.ID))
		entry.Details = map[string]string{"by": e.Kind}
		if e.Shipment != "" {
			entry.Details["shipment"] = string(e.Shipment)
		}
		return tx.AuditChange(ctx, entry)
	})
	if err != nil {
		return fmt.Errorf("store an erasure: %w", err)
	}
	return nil
}

const erasureColumns = `id, subject_kind, subject_hash, shipment_id, state, encrypted_subject,
  step, coalesce(step_cursor, 'null'::jsonb), step_since, counts, finished_at`

const sqlErasure = `
SELECT ` + erasureColumns + ` FROM erasures
WHERE account_id = $1 AND livemode = $2 AND id = $3`

// Erasure returns an erasure; ship.NotFound if there is none.
func (s *Store) Erasure(ctx context.Context, t ship.Tenant, id ship.ErasureID) (Erasure, error) {
	return queryOne(ctx, s, t, erasureScanner(t), sqlErasure, t.Account, t.Livemode, id)
}

const sqlErasures = `
SELECT ` + erasureColumns + ` FROM erasures
WHERE account_id = $1 AND livemode = $2 AND id < $3
ORDER BY id DESC LIMIT $4`

// Erasures lists the tenant's erasures, newest first.
func (s *Store) Erasures(ctx context.Context, t ship.Tenant, p ship.Page) ([]Erasure, error) {
	_, before := idBounds(time.Time{}, time.Time{}, p.Before)
	return queryList(ctx, s, t, erasureScanner(t), sqlErasures, t.Account, t.Livemode, before, p.Limit)
}

// erasureScanner returns a function that reads erasures of the tenant.
func erasureScanner(t ship.Tenant) pgx.RowToFunc[Erasure] {
	return func(r pgx.CollectableRow) (Erasure, error) {
		erasure := Erasure{Tenant: t}
		var cursor, counts []byte
		var since, finished *time.Time
		err := r.Scan(
			&erasure.ID, &erasure.Kind, &erasure.SubjectHash, &erasure.Shipment, &erasure.State, &erasure.Encrypted,
			&erasure.step, &cursor, &since, &counts, &finished,
		)
		if err != nil {
			return erasure, err
		}

		erasure.since = timeOrZero(since)
		erasure.FinishedAt = timeOrZero(finished)
		if err := json.Unmarshal(cursor, &erasure.cursor); err != nil {
			return erasure, fmt.Errorf("read the cursor of %s: %w", erasure.ID, err)
		}
		if err := json.Unmarshal(counts, &erasure.Counts); err != nil {
			return erasure, fmt.Errorf("read the counts of %s: %w", erasure.ID, err)
		}
		return erasure, nil
	}
}

// ErasureTools are what an erasure needs of others.
type ErasureTools struct {
	Open        func(Erasure) (ErasureSubject, error)
	Seal        func(Erasure, ErasureSubject) ([]byte, error)
	RedactCells func(mapping json.RawMessage, cells []string) []string // of a line of a batch

	// RedactMissing returns the order of a missing purchase and its entry without people;
	// no entry, if they were taken out before.
	RedactMissing func(MissingPurchase) (ship.Order, []byte, error)

	// Settle is how long after the shipments were erased their traces are: until
	// then a request that began before may still write one.
	Settle time.Duration

	// Wrote is called when a portion of a step is written and not yet committed.
	Wrote func(step string)
}

// An erasureWork is one portion of an erasure, in its transaction.
type erasureWork struct {
	*Erasure
	tx      *Store
	tools   ErasureTools
	subject ErasureSubject
	now     time.Time
	hash    wordHash
}

// count adds to what was erased.
func (w *erasureWork) count(table string, n int) {
	if n > 0 {
		w.Counts[table] += n
	}
}

// An erasureStep erases from one place, in portions. It reports whether it has
// got to the end, and otherwise sets the cursor.
type erasureStep struct {
	name string
	do   func(context.Context, *erasureWork) (finished bool, err error)
}

// erasureSteps are all steps, in their order. Shipments come first: from then on
// nothing new is written about them that has personal data.
var erasureSteps = []erasureStep{
	{"shipments", eraseShipments},
	{"missing_purchases", eraseMissing},
	{"trackers", eraseTrackers},
	{"settle", awaitWriters},
	{"batch_rows", eraseBatchRows},
	{"return_requests", returnTexts.erase},
	{"compat_objects", compatTexts.erase},
	{"pickups", erasePickups},
	{"events", eraseEvents},
	{"carrier_exchanges", eraseExchanges},
	{"webhook_attempts", webhookAttemptTexts.erase},
	{"pushes", pushTexts.erase},
	{"api_requests", requestTexts.erase},
	{"idempotency_keys", idempotencyTexts.erase},
	{"exports", endExports},
}

const sqlLockErasure = `
SELECT ` + erasureColumns + ` FROM erasures
WHERE account_id = $1 AND livemode = $2 AND id = $3 FOR UPDATE`

const sqlSaveErasure = `
UPDATE erasures SET
  state = @state,
  step = @step,
  step_cursor = @cursor,
  step_since = @since,
  counts = @counts,
  encrypted_subject = @encrypted,
  finished_at = @finished
WHERE account_id = @account AND livemode = @livemode AND id = @id`

// ErasedKept is how long it is remembered which shipments an erasure changed:
// longer than disks keep what was asked of carriers.
const ErasedKept = 7 * 24 * time.Hour

const sqlForgetErasureShipments = `
DELETE FROM erasure_shipments x WHERE x.erased_at < @before AND EXISTS (
  SELECT FROM erasures e
  WHERE e.account_id = x.account_id AND e.livemode = x.livemode AND e.id = x.erasure_id AND e.state = 'done')`

// ContinueErasure erases the next portion, in one transaction with the note of
// how far it has got, and returns the erasure. A process that dies leaves what
// the last portion left.
func (s *Store) ContinueErasure(ctx context.Context, t ship.Tenant, id ship.ErasureID, tools ErasureTools, now time.Time) (erasure Erasure, err error) {
	hash, err := s.wordHash(ctx)
	if err != nil {
		return Erasure{}, err
	}

	err = s.InSystemTx(ctx, func(tx *Store) error {
		erasure, err = selectOne(ctx, tx.tx, erasureScanner(t), sqlLockErasure, t.Account, t.Livemode, id)
		if err != nil || erasure.State == ErasureDone {
			return err
		}

		work := &erasureWork{
			Erasure: &erasure,
			tx:      tx,
			tools:   tools,
			now:     now,
			hash:    hash,
		}
		if work.subject, err = tools.Open(erasure); err != nil {
			return err
		}
		step := cmp.Or(work.step, erasureSteps[0].name)
		if err := work.advance(ctx); err != nil {
			return err
		}
		if err := work.save(ctx); err != nil {
			return err
		}
		tools.Wrote(step)
		return nil
	})
	if err != nil {
		return Erasure{}, fmt.Errorf("continue erasure %s: %w", id, err)
	}
	return erasure, nil
}

// advance does a portion of the present step and decides what follows.
func (w *erasureWork) advance(ctx context.Context) error {
	if w.step == "" {
		w.begin(erasureSteps[0].name)
		delete(w.Counts, CountOpen)
	}
	w.State = ErasureRunning

	for i, step := range erasureSteps {
		if step.name != w.step {
			continue
		}

		finished, err := step.do(ctx, w)
		switch {
		case err != nil:
			return fmt.Errorf("erase from %s: %w", step.name, err)
		case !finished:
			return nil
		case i+1 < len(erasureSteps):
			w.begin(erasureSteps[i+1].name)
			return nil
		}
		return w.finish(ctx)
	}
	return fmt.Errorf("there is no step %q", w.step)
}

func (w *erasureWork) begin(step string) {
	w.step = step
	w.cursor = nil
	w.since = w.now
}

// finish ends the erasure, or has it begin again later if something had to be
// left out.
func (w *erasureWork) finish(ctx context.Context) error {
	w.begin("")
	if w.Counts[CountOpen] > 0 {
		w.State = ErasureWaiting
		return nil
	}

	w.State = ErasureDone
	w.FinishedAt = w.now
	_, err := w.tx.run(ctx, sqlForgetErasureShipments, pgx.NamedArgs{"before": w.now.Add(-ErasedKept)})
	return err
}

// save writes how far the erasure has got.
func (w *erasureWork) save(ctx context.Context) error {
	w.Encrypted = nil
	if w.State != ErasureDone {
		encrypted, err := w.tools.Seal(*w.Erasure, w.subject)
		if err != nil {
			return err
		}
		w.Encrypted = encrypted
	}

	cursor, err := json.Marshal(w.cursor)
	if err != nil {
		return fmt.Errorf("write the cursor: %w", err)
	}
	counts, err := json.Marshal(w.Counts)
	if err != nil {
		return fmt.Errorf("write the counts: %w", err)
	}
	_, err = w.tx.run(ctx, sqlSaveErasure, tenantArgs(w.Tenant, w.ID, pgx.NamedArgs{
		"state":     w.State,
		"step":      w.step,
		"cursor":    cursor,
		"since":     nullTime(w.since),
		"counts":    counts,
		"encrypted": w.Encrypted,
		"finished":  nullTime(w.FinishedAt),
	}))
	return err
}

// awaitWriters waits until requests that began before the shipments were erased
// have written what they write.
func awaitWriters(_ context.Context, w *erasureWork) (bool, error) {
	return !w.now.Before(w.since.Add(w.tools.Settle)), nil
}

// Wait returns how long the erasure need not be continued.
func (e Erasure) Wait(tools ErasureTools, now time.Time) time.Duration {
	if e.step == "settle" {
		return max(e.since.Add(tools.Settle).Sub(now), 0)
	}
	return 0
}

// args returns the arguments that most statements of an erasure take.
func (w *erasureWork) args(more pgx.NamedArgs) pgx.NamedArgs {
	args := tenantArgs(w.Tenant, w.ID, nil)
	maps.Copy(args, more)
	return args
}

const sqlErasedSince = `
SELECT account_id, livemode, shipment_id, erased_at FROM erasure_shipments
WHERE erased_at > $1`

// ErasedSince returns the shipments of all tenants that erasures changed after
// the time, and when the last of them was.
func (s *Store) ErasedSince(ctx context.Context, since time.Time) (erased map[ship.Subject]bool, last time.Time, err error) {
	erased = map[ship.Subject]bool{}
	last = since
	var subject subjectReader
	var at time.Time
	err = selectEach(ctx, s.sys, append(subject.targets(), &at), func() error {
		erased[subject.read()] = true
		if at.After(last) {
			last = at
		}
		return nil
	}, sqlErasedSince, since)
	if err != nil {
		return nil, since, fmt.Errorf("read erased shipments: %w", err)
	}
	return erased, last, nil
}
