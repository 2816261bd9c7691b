// Package batch buys many orders together. From a file it reads CSV, recognizes
// its columns, validates its lines, asks for rates, and buys each line once when
// a person says so. A batch that came by the API has its requests already and is
// bought at once. It is a service beside shipping, whose operations it is given
// as functions: it calls no carrier itself, and knows nothing about pages.
package batch

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// The states of a batch.
const (
	Mapping = "mapping" // its columns wait to be named
	Rating  = "rating"  // carriers are being asked
	Ready   = "ready"   // it can be bought
	Buying  = "purchasing"
	Done    = "done"
)

// The states of a line.
const (
	RowUnread  = "uploaded"
	RowBad     = "invalid" // something in it must be corrected
	RowGood    = "valid"   // its rate is being asked for
	RowRated   = "rated"
	RowSkipped = "skipped"
	RowBuying  = "purchasing"
	RowPending = "pending" // a carrier was asked, and the outcome is not known yet
	RowBought  = "purchased"
	RowFailed  = "failed" // no carrier sold it
)

// editableStates are those in which it is known that nothing was bought under
// the line's present idempotency key.
var editableStates = []string{RowBad, RowGood, RowRated, RowSkipped, RowFailed}

// A Request is a line as the service that ships sees it.
type Request struct {
	Tenant      ship.Tenant
	Account     ship.Account
	Order       ship.Order
	Carrier     string        // that the line names; the account's rules choose if both are empty
	Service     string        // likewise
	Limit       ship.Money    // the most that it may cost
	LimitShown  bool          // Limit is the price that a person was shown
	Key         string        // idempotency key of the purchase
	FormerName  ship.KeyName  // of the same purchase in the release before this one; empty for none
	Buyer       ship.PersonID // who buys; their daily limit applies
	APIKey      ship.KeyID    // that buys instead of a person
	Fingerprint [32]byte
	OneParcel   bool

	// OnDuplicate is what becomes of an order that has a shipment: "allow",
	// "return" or "reject".
	OnDuplicate string

	// What only lines that came by the API can ask for.
	Connection        ship.ConnectionID
	RateID            string
	AddressValidation string

	// AcceptDuplicate is the live shipment of the order that a person saw and
	// wants to ship beside; "" for none.
	AcceptDuplicate ship.ShipmentID
}

// A Quoted is the offer for a line, and the carriers that gave none.
type Quoted struct {
	Rate      ship.Rate
	NotQuoted []ship.NotQuoted
	Warnings  []ship.FieldError // what customs would object to
}

// Config is what a Service needs.
type Config struct {
	Store *store.Store
	// Account returns the account that the orders belong to.
	Account func(context.Context, ship.Tenant) (ship.Account, error)
	// Carriers returns the carriers that a line can name.
	Carriers func(context.Context, ship.Tenant) ([]Carrier, error)
	// Quote returns the offer of the carrier that the line names, else the one
	// that the account's rules choose. Who gave none is there with an error too.
	Quote func(context.Context, Request) (Quoted, error)
	// Wait returns how long it takes until a carrier account can have been asked
	// for so many rates, within its quota; nil for no time at all.
	Wait func(connection ship.ConnectionID, rates int) time.Duration
	// CheckAddress returns what is known about an address that a line is sent to;
	// nil checks none.
	CheckAddress func(context.Context, ship.Tenant, ship.Address) (ship.AddressCheck, error)
	// Purchase buys the order in the same way, once under its key. An order that
	// has a shipment already, other than the accepted one, is treated as
	// OnDuplicate says. A shipment that is not settled is not bought yet.
	Purchase func(context.Context, Request) (ship.Shipment, error)

	Retention time.Duration // after this long files are deleted
	Log       *slog.Logger
}

// Service keeps batches and works on them.
type Service struct{ Config }

// New returns a service.
func New(c Config) *Service { return &Service{c} }

// A Batch is a file of orders, or a request of the API.
type Batch struct {
	store.Batch
	ColumnMapping ColumnMapping
	Tally         Tally
}

// A Tally is where the lines of a batch stand.
type Tally struct {
	Rows  map[string]int // by state
	Costs []ship.Money   // of the lines that are rated, one amount a currency
	Open  []ship.Money   // for those that are pending: it may have been spent
	Paid  []ship.Money   // for those that are bought

	Reviews int // lines that are pending and whose purchase needs review
}

// Total is how many lines there are.
func (t Tally) Total() (n int) {
	for _, rows := range t.Rows {
		n += rows
	}
	return n
}

// Waiting is how many lines wait to be rated or bought while the batch is
// worked on in the state.
func (t Tally) Waiting(state string) int {
	if state == Rating {
		return t.Rows[RowGood]
	}
	return t.Rows[RowRated] + t.Rows[RowBuying]
}

// Batch returns a batch and where it stands.
func (s *Service) Batch(ctx context.Context, t ship.Tenant, id ship.BatchID) (Batch, error) {
	stored, err := s.Store.Batch(ctx, t, id)
	if err != nil {
		return Batch{}, notFound(err)
	}
	list, err := s.withTallies(ctx, t, []store.Batch{stored})
	if err != nil {
		return Batch{}, err
	}
	return list[0], nil
}

func notFound(err error) error {
	if ship.KindOf(err) == ship.NotFound {
		return ship.Coded(ship.NotFound, "batch_not_found", "no such batch")
	}
	return err
}

// Batches lists batches, newest first, of a state unless it is empty, and
// reports whether there are more.
func (s *Service) Batches(ctx context.Context, t ship.Tenant, state string, page ship.Page) ([]Batch, bool, error) {
	// One row more than a page says whether there are more.
	stored, err := s.Store.Batches(ctx, t, state, ship.Page{Limit: page.Limit + 1, Before: page.Before})
	if err != nil {
		return nil, false, err
	}
	more := len(stored) > page.Limit
	if more {
		stored = stored[:page.Limit]
	}

	list, err := s.withTallies(ctx, t, stored)
	return list, more, err
}

// withTallies adds to batches where their lines stand.
func (s *Service) withTallies(ctx context.Context, t ship.Tenant, stored []store.Batch) ([]Batch, error) {
	ids := make([]ship.BatchID, len(stored))
	index := map[ship.BatchID]int{}
	list := make([]Batch, len(stored))
	for i, batch := range stored {
		ids[i] = batch.ID
		index[batch.ID] = i
		list[i] = Batch{Batch: batch, Tally: Tally{Rows: map[string]int{}}}
		if err := json.Unmarshal(batch.Mapping, &list[i].ColumnMapping); err != nil {
			return nil, fmt.Errorf("read the mapping of %s: %w", batch.ID, err)
		}
	}

	tallies, err := s.Store.BatchTallies(ctx, t, ids)
	if err != nil {
		return nil, err
	}
	hasPending := false
	for _, group := range tallies {
		tally := &list[index[group.Batch]].Tally
		tally.Rows[group.State] += group.Rows
		hasPending = hasPending || group.State == RowPending

		cost := ship.Money{Minor: group.Minor, Currency: group.Currency}
		switch {
		case group.Currency == "":
		case group.State == RowRated || group.State == RowBuying:
			tally.Costs = addMoney(tally.Costs, cost)
		case group.State == RowPending:
			tally.Open = addMoney(tally.Open, cost)
		case group.State == RowBought:
			tally.Paid = addMoney(tally.Paid, cost)
		}
	}

	if !hasPending {
		return list, nil
	}
	reviews, err := s.Store.BatchReviews(ctx, t, ids)
	for id, lines := range reviews {
		list[index[id]].Tally.Reviews = lines
	}
	return list, err
}

// addMoney adds an amount to the sum of its currency.
func addMoney(sums []ship.Money, amount ship.Money) []ship.Money {
	for i := range sums {
		if sums[i].Currency == amount.Currency {
			sums[i].Minor += amount.Minor
			return sums
		}
	}
	return append(sums, amount)
}

// Upload reads a file and stores it, with its columns mapped as those of the last
// file with the same titles, or guessed as well as possible. Nothing is rated or bought yet.
func (s *Service) Upload(ctx context.Context, t ship.Tenant, name, by string, data []byte) (Batch, error) {
	file, err := Read(data)
	if err != nil {
		return Batch{}, err
	}

	columns, err := s.columnsOf(ctx, t.Account, file.Header)
	if err != nil {
		return Batch{}, err
	}

	batch := Batch{
		ColumnMapping: columns,
		Batch: store.Batch{
			ID:     ship.NewBatchID(t.Shard(), time.Now()),
			Tenant: t,
			Name:   fileName(name),
			MadeBy: by,
			State:  Mapping,
			Header: file.Header,
		},
	}
	if batch.Mapping, err = json.Marshal(batch.ColumnMapping); err != nil {
		return Batch{}, fmt.Errorf("write the mapping of a batch: %w", err)
	}
	return batch, s.Store.AddBatch(ctx, batch.Batch, file.Lines)
}

// Discard deletes a batch of which nothing was bought.
func (s *Service) Discard(ctx context.Context, t ship.Tenant, id ship.BatchID) error {
	if _, err := s.Store.Batch(ctx, t, id); err != nil {
		return notFound(err)
	}
	return s.Store.DeleteBatch(ctx, t, id)
}

// DeleteOld deletes expired files of all tenants.
func (s *Service) DeleteOld(ctx context.Context, now time.Time) error {
	for {
		if n, err := s.Store.DeleteOldBatches(ctx, now.Add(-s.Retention)); err != nil || n == 0 {
			return err
		}
	}
}

// Check sets what the columns mean, validates every line again that is not
// bought, and has the valid ones rated.
func (s *Service) Check(ctx context.Context, t ship.Tenant, id ship.BatchID, meaning ColumnMapping) error {
	batch, err := s.Batch(ctx, t, id)
	if err != nil {
		return err
	}
	if batch.ByAPI() {
		return errByAPI
	}
	if err := meaning.check(len(batch.Header)); err != nil {
		return err
	}

	reader, err := s.newReader(ctx, t, meaning)
	if err != nil {
		return err
	}
	rows, err := s.Store.BatchRows(ctx, t, id, 0, MaxRows)
	if err != nil {
		return err
	}

	changed := make([]store.ChangedRow, 0, len(rows))
	for _, row := range rows {
		if slices.Contains(rereadStates, row.State) || wasSkippedAsDuplicate(row) {
			changed = append(changed, reader.reread(row))
		}
	}
	skipRepeated(meaning, rows, changed)
	if err := s.skipShipped(ctx, t, meaning, changed); err != nil {
		return err
	}

	meaning.IsRemembered = false
	mapping, err := json.Marshal(meaning)
	if err != nil {
		return fmt.Errorf("write the mapping of a batch: %w", err)
	}

	// The batch is moved first: if it is being bought by now, its lines must
	// not change any more.
	return s.Store.InTx(ctx, t, func(tx *store.Store) error {
		if err := tx.MoveBatch(ctx, t, id, Rating, mapping, Mapping, Ready, Done); err != nil {
			return err
		}
		if _, err := tx.SaveBatchRows(ctx, t, id, changed, append([]string{RowSkipped}, rereadStates...)...); err != nil {
			return err
		}
		if err := tx.Enqueue(ctx, job.WorkBatch{Account: t.Account, Livemode: t.Livemode, Batch: id}, 0); err != nil {
			return err
		}
		if err := remember(ctx, tx, t.Account, batch.Header, mapping); err != nil {
			return err
		}
		return tx.AuditChange(ctx, store.EntryOf(t, "batch.checked", string(id)))
	})
}

// rereadStates are those in which a line is read again when its columns mean
// something else.
var rereadStates = []string{RowUnread, RowBad, RowGood, RowRated, RowFailed}

// reread validates a line under the meaning and forgets its rate. It is a new
// revision, and so a purchase under another key.
func (r reader) reread(row store.BatchRow) store.ChangedRow {
	was := row.Revision
	row.Revision++
	row.Tries = 0
	row.Rate = nil
	row.Price = ship.Money{}
	row.NotQuoted = nil
	row.Requote = false

	row.State = RowGood
	_, problems := r.request(row.Cells)
	if len(problems) > 0 {
		row.State = RowBad
	}
	row.Problems = replaceProblems(row.Problems, problems)
	return store.ChangedRow{BatchRow: row, Was: was}
}
