// Package batch buys many orders from one file: it reads CSV, says what its
// columns mean and what is wrong with its lines, asks for rates, and buys each
// line once. It is a service beside shipping, which it is handed as functions:
// it asks no carrier itself, and knows nothing of pages.
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
	RowPending = "pending" // a carrier was asked, and its answer is not known yet
	RowBought  = "purchased"
	RowFailed  = "failed" // nobody sold it
)

// mendable are the states in which it is known that nothing was bought under
// the line's present name.
var mendable = []string{RowBad, RowGood, RowRated, RowSkipped, RowFailed}

// A Request is a line as the service that ships sees it.
type Request struct {
	Tenant      ship.Tenant
	Account     ship.Account
	Order       ship.Order
	Carrier     string     // that the line names; the account's rules choose if both are empty
	Service     string     // likewise
	Limit       ship.Money // the most that it may cost
	Key         string     // names the purchase
	Fingerprint [32]byte
	// AcceptDuplicate is the live shipment of the order that a person saw and
	// wants to ship beside; "" for none.
	AcceptDuplicate ship.ShipmentID
}

// Config is what a Service needs.
type Config struct {
	Store *store.Store
	// Account returns whose orders they are.
	Account func(context.Context, ship.AccountID) (ship.Account, error)
	// Carriers returns who can be named in a line.
	Carriers func(context.Context, ship.Tenant) ([]Carrier, error)
	// Quote returns the offer of whom the line names, else the one that the
	// account's rules choose.
	Quote func(context.Context, Request) (ship.Rate, error)
	// Purchase buys the order likewise, once under its key, and not if the
	// order has a shipment already, other than the one that is accepted. One
	// that is not settled is not bought yet.
	Purchase func(context.Context, Request) (ship.Shipment, error)
	Keep     time.Duration // after this long files are deleted
	Log      *slog.Logger
}

// Service keeps batches and works on them.
type Service struct{ Config }

// New returns a service.
func New(c Config) *Service { return &Service{c} }

// A Batch is a file of orders.
type Batch struct {
	store.Batch
	Meaning Meaning
	Tally   Tally
}

// A Tally is where the lines of a batch stand.
type Tally struct {
	Rows  map[string]int // by state
	Costs []ship.Money   // of the lines that are rated, one amount a currency
	Open  []ship.Money   // for those that are pending: it may be spent
	Paid  []ship.Money   // for those that are bought
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
		return Batch{}, missing(err)
	}
	list, err := s.counted(ctx, t, []store.Batch{stored})
	if err != nil {
		return Batch{}, err
	}
	return list[0], nil
}

func missing(err error) error {
	if ship.KindOf(err) == ship.NotFound {
		return ship.Coded(ship.NotFound, "batch_not_found", "no such batch")
	}
	return err
}

// Batches lists batches, newest first, of a state unless it is empty, and
// reports whether there are more.
func (s *Service) Batches(ctx context.Context, t ship.Tenant, state string, p ship.Page) ([]Batch, bool, error) {
	stored, err := s.Store.Batches(ctx, t, state, ship.Page{Limit: p.Limit + 1, Before: p.Before})
	if err != nil {
		return nil, false, err
	}
	more := len(stored) > p.Limit
	if more {
		stored = stored[:p.Limit]
	}
	list, err := s.counted(ctx, t, stored)
	return list, more, err
}

// counted adds to batches where they stand.
func (s *Service) counted(ctx context.Context, t ship.Tenant, stored []store.Batch) ([]Batch, error) {
	ids := make([]ship.BatchID, len(stored))
	at := map[ship.BatchID]int{}
	list := make([]Batch, len(stored))
	for i, b := range stored {
		ids[i] = b.ID
		at[b.ID] = i
		list[i] = Batch{Batch: b, Tally: Tally{Rows: map[string]int{}}}
		if err := json.Unmarshal(b.Mapping, &list[i].Meaning); err != nil {
			return nil, fmt.Errorf("read the mapping of %s: %w", b.ID, err)
		}
	}

	tallies, err := s.Store.BatchTallies(ctx, t, ids)
	if err != nil {
		return nil, err
	}
	for _, x := range tallies {
		tally := &list[at[x.Batch]].Tally
		tally.Rows[x.State] += x.Rows

		cost := ship.Money{Minor: x.Minor, Currency: x.Currency}
		switch {
		case x.Currency == "":
		case x.State == RowRated || x.State == RowBuying:
			tally.Costs = add(tally.Costs, cost)
		case x.State == RowPending:
			tally.Open = add(tally.Open, cost)
		case x.State == RowBought:
			tally.Paid = add(tally.Paid, cost)
		}
	}
	return list, nil
}

func add(sums []ship.Money, m ship.Money) []ship.Money {
	for i := range sums {
		if sums[i].Currency == m.Currency {
			sums[i].Minor += m.Minor
			return sums
		}
	}
	return append(sums, m)
}

// Upload reads a file and keeps it, its columns named as well as can be
// guessed. Nothing is asked or bought yet.
func (s *Service) Upload(ctx context.Context, t ship.Tenant, name, by string, data []byte) (Batch, error) {
	f, err := Read(data)
	if err != nil {
		return Batch{}, err
	}
	b := Batch{Meaning: Guess(f.Header)}
	b.Batch = store.Batch{ID: ship.NewBatchID(t.Shard(), time.Now()), Tenant: t, Name: fileName(name), MadeBy: by, State: Mapping, Header: f.Header}
	if b.Mapping, err = json.Marshal(b.Meaning); err != nil {
		return Batch{}, fmt.Errorf("write the mapping of a batch: %w", err)
	}
	return b, s.Store.AddBatch(ctx, b.Batch, f.Lines)
}

// Discard deletes a batch of which nothing was bought.
func (s *Service) Discard(ctx context.Context, t ship.Tenant, id ship.BatchID) error {
	if _, err := s.Store.Batch(ctx, t, id); err != nil {
		return missing(err)
	}
	return s.Store.DeleteBatch(ctx, t, id)
}

// Forget deletes files of all tenants past their time.
func (s *Service) Forget(ctx context.Context, now time.Time) error {
	for {
		if n, err := s.Store.ForgetBatches(ctx, now.Add(-s.Keep)); err != nil || n == 0 {
			return err
		}
	}
}

// Check says what the columns mean, reads every line again that is not bought,
// and has the good ones rated.
func (s *Service) Check(ctx context.Context, t ship.Tenant, id ship.BatchID, m Meaning) error {
	b, err := s.Batch(ctx, t, id)
	if err != nil {
		return err
	}
	if err := m.check(len(b.Header)); err != nil {
		return err
	}

	read, err := s.reader(ctx, t, m)
	if err != nil {
		return err
	}
	rows, err := s.Store.BatchRows(ctx, t, id, 0, MaxRows)
	if err != nil {
		return err
	}

	changed := make([]store.ChangedRow, 0, len(rows))
	for _, row := range rows {
		if slices.Contains(unread, row.State) || wasRecognized(row) {
			changed = append(changed, read.again(row))
		}
	}
	if err := s.recognize(ctx, t, m, changed); err != nil {
		return err
	}

	mapping, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("write the mapping of a batch: %w", err)
	}

	// The batch is moved first: if it is being bought by now, its lines must
	// not change any more.
	return s.Store.InTx(ctx, t, func(tx *store.Store) error {
		if err := tx.MoveBatch(ctx, t, id, Rating, mapping, Mapping, Ready, Done); err != nil {
			return err
		}
		if _, err := tx.SaveBatchRows(ctx, t, id, changed, append([]string{RowSkipped}, unread...)...); err != nil {
			return err
		}
		if err := tx.Enqueue(ctx, job.WorkBatch{Account: t.Account, Livemode: t.Livemode, Batch: id}, 0); err != nil {
			return err
		}
		return tx.AuditChange(ctx, store.EntryOf(t, "batch.checked", string(id)))
	})
}

// unread are the states in which a line is read again when its columns mean
// something else.
var unread = []string{RowUnread, RowBad, RowGood, RowRated, RowFailed}

// again is a line under the meaning: good, or bad and why.
func (r reader) again(row store.BatchRow) store.ChangedRow {
	was := row.Revision
	row.Revision++
	row.Tries, row.Rate, row.Price = 0, nil, ship.Money{}
	row.State = RowGood
	_, wrong := r.request(row.Cells)
	if len(wrong) > 0 {
		row.State = RowBad
	}
	row.Wrong = rewrite(row.Wrong, wrong)
	return store.ChangedRow{BatchRow: row, Was: was}
}
