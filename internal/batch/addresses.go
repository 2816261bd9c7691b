package batch

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// addressTime is how long a line may wait for what carriers say about its address.
// They are asked beside its rate, so most lines do not wait at all.
const addressTime = time.Second

// startAddressCheck begins to check a line's address. What it returns waits for the
// result and says what is doubtful; nothing if nobody answers in time.
func (s *Service) startAddressCheck(ctx context.Context, reader reader, request Request) (doubts func() []Problem) {
	if s.CheckAddress == nil {
		return func() []Problem { return nil }
	}

	deadline := time.Now().Add(addressTime)
	checked := make(chan ship.AddressCheck, 1)
	go func() {
		ctx, cancel := context.WithDeadline(ctx, deadline)
		defer cancel()
		check, err := s.CheckAddress(ctx, request.Tenant, request.Order.Destination)
		if err != nil {
			check = ship.AddressCheck{}
		}
		checked <- check
	}()

	return func() []Problem {
		select {
		case check := <-checked:
			return reader.meaning.doubts(request.Order.Destination, check)
		case <-time.After(time.Until(deadline)):
			return nil
		}
	}
}

// doubts are what a check found doubtful about a line's address. They do not keep
// the line from being bought.
func (m ColumnMapping) doubts(given ship.Address, check ship.AddressCheck) []Problem {
	doubt := Problem{Field: "address1", IsDoubt: true, Reason: "address_" + string(check.Verdict)}
	suggested := check.Candidates
	if check.Verdict == ship.AddressCorrected {
		suggested = []ship.Address{check.Address}
	}

	var places []string
	for _, address := range suggested {
		places = append(places, address.PlaceLine(given))
	}
	switch {
	case check.Verdict == ship.AddressCorrected:
		doubt.Detail = "the carrier suggests " + places[0]
	case check.Verdict == ship.AddressAmbiguous:
		doubt.Detail = "the carrier knows several addresses like this: " + strings.Join(places, "; ")
	case check.Verdict == ship.AddressInvalid && len(check.Messages) == 0:
		doubt.Detail = "the carrier does not know this address"
	case check.Verdict == ship.AddressInvalid, check.Verdict == ship.AddressUnknown && len(check.Messages) > 0:
		doubt.Detail = strings.Join(check.Messages, " ")
	default:
		return nil
	}
	if len(suggested) == 1 {
		doubt.Suggested = m.correction(given, suggested[0])
	}
	return []Problem{doubt}
}

// correction returns the values that make an address another one; nil if a value
// has no column to stand in.
func (m ColumnMapping) correction(given, suggested ship.Address) map[string]string {
	values := map[string]string{}
	for _, change := range given.ChangesTo(suggested) {
		name := strings.TrimPrefix(change.Pointer, "/")
		if !slices.Contains(m.Columns, name) {
			return nil
		}
		values[name] = change.To
	}
	return values
}

// Suggested are the values that the carrier suggests for the line's address; nil
// for none.
func (r Row) Suggested() map[string]string {
	for _, doubt := range r.Doubts {
		if doubt.Suggested != nil {
			return doubt.Suggested
		}
	}
	return nil
}

// Doubtful lists the lines that can be bought and whose addresses are doubtful.
func (s *Service) Doubtful(ctx context.Context, t ship.Tenant, id ship.BatchID) ([]Row, error) {
	rows, _, err := s.Rows(ctx, t, id, 0, MaxRows, RowRated)
	return slices.DeleteFunc(rows, func(r Row) bool { return len(r.Doubts) == 0 }), err
}

// UseSuggestion puts the suggested address into a line and asks for its rate.
func (s *Service) UseSuggestion(ctx context.Context, t ship.Tenant, id ship.BatchID, number int) (Row, error) {
	row, err := s.Row(ctx, t, id, number)
	if err != nil {
		return row, err
	}
	values := row.Suggested()
	if values == nil {
		return row, ship.Errorf(ship.Conflict, "the line no longer has a suggested address")
	}
	return s.Fix(ctx, t, id, number, values)
}

// UseSuggestions puts the suggested addresses into all lines that have one, and has
// these lines rated again.
func (s *Service) UseSuggestions(ctx context.Context, t ship.Tenant, id ship.BatchID) error {
	batch, err := s.Batch(ctx, t, id)
	if err != nil {
		return err
	}
	if batch.ByAPI() {
		return errByAPI
	}
	reader, err := s.newReader(ctx, t, batch.ColumnMapping)
	if err != nil {
		return err
	}
	rows, err := s.Doubtful(ctx, t, id)
	if err != nil {
		return err
	}

	var changed []store.ChangedRow
	for _, row := range rows {
		if values := row.Suggested(); values != nil {
			row.Cells = batch.ColumnMapping.with(row.Cells, values)
			changed = append(changed, reader.reread(row.BatchRow))
		}
	}
	if len(changed) == 0 {
		return ship.Errorf(ship.Conflict, "no line has a suggested address any more")
	}

	// The batch is moved first: if it is being bought by now, its lines must not
	// change any more.
	return s.Store.InTx(ctx, t, func(tx *store.Store) error {
		if err := startWork(ctx, tx, t, id, Rating, Ready, Done); err != nil {
			return err
		}
		if _, err := tx.SaveBatchRows(ctx, t, id, changed, RowRated); err != nil {
			return err
		}
		return tx.AuditChange(ctx, store.EntryOf(t, "batch.checked", string(id)))
	})
}

// with returns the cells with other values; those of fields without a column are
// left out.
func (m ColumnMapping) with(cells []string, values map[string]string) []string {
	changed := slices.Clone(cells)
	for i, name := range m.Columns {
		if value, given := values[name]; given && name != "" {
			changed[i] = value
		}
	}
	return changed
}
