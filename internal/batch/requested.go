package batch

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// MaxLines is how many lines a batch can have, however it came. A file has
// fewer: a person looks at them.
const MaxLines = 10_000

// The limits of what is stored of a line that came by the API and is invalid:
// its texts can be as long as the request.
const (
	maxProblems   = 10
	maxStoredText = 300 // characters of a value, or of a pointer
	maxDetail     = 500
)

// insertBytes is how much text of lines is written in one statement. All lines
// of a request together would be in memory several times over.
const insertBytes = 512 << 10

// A LineRequest is what a line that came by the API asks for: the body of
// POST /v1/shipments, translated. It is stored with the line.
type LineRequest struct {
	Order             ship.Order        `json:"order"`
	OneParcel         bool              `json:"oneParcel,omitempty"`
	Carrier           string            `json:"carrier,omitempty"`
	Service           string            `json:"service,omitempty"`
	Connection        ship.ConnectionID `json:"connection,omitempty"`
	RateID            string            `json:"rateId,omitempty"`
	MaxAmount         ship.Money        `json:"maxAmount,omitzero"`
	OnDuplicate       string            `json:"onDuplicate,omitempty"`
	AddressValidation string            `json:"addressValidation,omitempty"`
}

// A NewLine is a line of a request: what it asks for, as far as it can be read,
// and what is invalid in it. A line with anything invalid is never bought.
type NewLine struct {
	LineRequest
	Invalid []ship.FieldError
}

// CreateInput is a batch that came by the API.
type CreateInput struct {
	Tenant ship.Tenant
	APIKey ship.KeyID // that buys it; its limit applies
	By     string     // name of the key, for people
	Lines  iter.Seq[NewLine]

	// IdempotencyKey is remembered together with the batch, and the answer with
	// it, as long as the key of a purchase or, if it is brief, for a day; ""
	// remembers nothing.
	IdempotencyKey string
	IsBrief        bool
	Fingerprint    [32]byte
	// Answer returns what a request with the same key is answered with.
	Answer func(Batch) (ship.Answer, error)
}

// ErrKeyUsed says that the idempotency key was used before. Nothing was created.
var ErrKeyUsed = ship.Errorf(ship.Conflict, "the idempotency key was used before")

// requestColumns are what the cells of a line that came by the API mean: what
// people look for, and what an erasure finds people by. What is bought is in the
// line's request alone. Without a weight no line can be bought from its cells.
var requestColumns = []string{
	"order", "reference", "name", "company", "address1", "address2", "address3", "city", "state", "zip", "country", "phone", "email",
	"", "", "", "", "", "", // of the sender
}

// senderTitles name the last of the columns.
var senderTitles = []string{"Sender", "Sender: company", "Sender: street", "Sender: suite", "Sender: phone", "Sender: e-mail"}

// ByAPI reports whether the batch came by the API. People can look at it, print
// and discard it, and change nothing.
func (b Batch) ByAPI() bool { return b.APIKey != "" }

// errByAPI is what changes of a batch that came by the API are answered with.
var errByAPI = ship.Errorf(ship.Conflict, "the batch came by the API and cannot be changed here: send the lines to ship again as a new batch")

// Create stores a batch that came by the API and begins to buy it. The batch,
// its lines, its idempotency key and the job that buys it are stored together or
// not at all.
func (s *Service) Create(ctx context.Context, in CreateInput) (Batch, error) {
	created := Batch{
		ColumnMapping: ColumnMapping{Columns: requestColumns},
		Tally:         Tally{Rows: map[string]int{}},
		Batch: store.Batch{
			ID:     ship.NewBatchID(in.Tenant.Shard(), time.Now()),
			Tenant: in.Tenant,
			Name:   "API request",
			MadeBy: in.By,
			State:  Buying,
			APIKey: in.APIKey,
		},
	}
	for _, name := range requestColumns {
		if name != "" {
			created.Header = append(created.Header, Title(name))
		}
	}
	created.Header = append(created.Header, senderTitles...)

	var err error
	if created.Mapping, err = json.Marshal(created.ColumnMapping); err != nil {
		return Batch{}, fmt.Errorf("write the mapping of a batch: %w", err)
	}

	err = s.Store.InTx(ctx, in.Tenant, func(tx *store.Store) error { return create(ctx, tx, in, &created) })
	return created, err
}

// create does the work of Create in a transaction.
func create(ctx context.Context, tx *store.Store, in CreateInput, created *Batch) error {
	// The key comes first: a repeat that arrives meanwhile waits here, and then
	// finds it taken.
	if in.IdempotencyKey != "" {
		remembered := created.ID
		if in.IsBrief {
			remembered = ""
		}
		reserved, err := tx.ReserveBatchKey(ctx, in.Tenant, in.IdempotencyKey, in.Fingerprint, remembered)
		if err == nil && !reserved {
			err = ErrKeyUsed
		}
		if err != nil {
			return err
		}
	}

	if err := tx.AddRequestedBatch(ctx, created.Batch); err != nil {
		return err
	}
	size, err := addLines(ctx, tx, in.Lines, created)
	if err != nil {
		return err
	}
	if err := tx.Enqueue(ctx, job.BuyBatch{Account: in.Tenant.Account, Livemode: in.Tenant.Livemode, Batch: created.ID}, 0); err != nil {
		return err
	}

	if in.IdempotencyKey != "" {
		answer, err := in.Answer(*created)
		if err != nil {
			return err
		}
		if err := tx.KeepAnswer(ctx, in.Tenant, in.IdempotencyKey, in.Fingerprint, answer); err != nil {
			return err
		}
	}
	if err := tx.AuditChange(ctx, store.EntryOf(in.Tenant, "batch.requested", string(created.ID))); err != nil {
		return err
	}
	return tx.CountStored(ctx, in.Tenant, size)
}

// addLines stores the lines of a batch, counts them in its tally, and returns how many
// bytes they have.
func addLines(ctx context.Context, tx *store.Store, lines iter.Seq[NewLine], created *Batch) (total int, err error) {
	var rows []store.BatchRow
	size := 0
	number := 0
	flush := func() error {
		if len(rows) == 0 {
			return nil
		}
		err := tx.AddRequestedRows(ctx, created.Tenant, created.ID, rows)
		rows = rows[:0]
		size = 0
		return err
	}

	for line := range lines {
		number++
		row, err := line.row(number)
		if err != nil {
			return total, err
		}
		created.Tally.Rows[row.State]++

		rows = append(rows, row)
		size += len(row.Request) + len(row.Problems)
		total += len(row.Request) + len(row.Problems)
		if size >= insertBytes {
			if err := flush(); err != nil {
				return total, err
			}
		}
	}
	return total, flush()
}

// row is the line as it is stored. One that is valid waits to be bought.
func (l NewLine) row(number int) (store.BatchRow, error) {
	row := store.BatchRow{Number: number, State: RowRated, Cells: l.cells()}
	if len(l.Invalid) > 0 {
		row.State = RowBad
		row.Problems = encodeProblems(fieldProblems(l.Invalid, "validation_failed"))
		return row, nil
	}

	var err error
	if row.Request, err = json.Marshal(l.LineRequest); err != nil {
		return row, fmt.Errorf("write the request of line %d of a batch: %w", number, err)
	}
	return row, nil
}

// cells are the values of requestColumns.
func (l NewLine) cells() []string {
	to := l.Order.Destination
	from := l.Order.Origin
	cells := []string{
		l.Order.OrderID, l.Order.Reference, to.Name, to.Company, to.Address1, to.Address2, to.Address3, to.City, to.State, to.Zip, to.Country, to.Phone, to.Email,
		from.Name, from.Company, from.Address1, from.Address2, from.Phone, from.Email,
	}
	for i := range cells {
		cells[i] = clip(cells[i], maxStoredText)
	}
	return cells
}

// clip returns at most so many characters of a text.
func clip(text string, most int) string {
	if len(text) <= most || utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most])
}

// fieldProblems are invalid fields as problems of a line, the first of them.
func fieldProblems(fields []ship.FieldError, reason string) []Problem {
	var problems []Problem
	for _, field := range fields[:min(len(fields), maxProblems)] {
		problems = append(problems, Problem{
			Field:   fieldOf(field.Pointer),
			Detail:  clip(advice(field), maxDetail),
			Pointer: clip(field.Pointer, maxStoredText),
			Code:    field.Code,
			Reason:  reason,
		})
	}
	return problems
}

// requestByAPI is the purchase of a line that came by the API.
func (r reader) requestByAPI(row store.BatchRow) (Request, []Problem) {
	var asked LineRequest
	if row.Request == nil || json.Unmarshal(row.Request, &asked) != nil {
		return Request{}, []Problem{{Detail: "what the line asked for is no longer stored"}}
	}
	return Request{
		Tenant:            r.tenant,
		Account:           r.account,
		Order:             asked.Order,
		OneParcel:         asked.OneParcel,
		Carrier:           asked.Carrier,
		Service:           asked.Service,
		Connection:        asked.Connection,
		RateID:            asked.RateID,
		Limit:             asked.MaxAmount,
		OnDuplicate:       asked.OnDuplicate,
		AddressValidation: asked.AddressValidation,
	}, nil
}

// Shipments lists what was bought for a batch, in the order of its lines: one
// part of so many. A shipment that several lines were answered with is listed
// once.
func (s *Service) Shipments(ctx context.Context, t ship.Tenant, id ship.BatchID, part, size int) ([]ship.ShipmentID, error) {
	list, err := s.Store.BatchShipments(ctx, t, id, size, (part-1)*size)
	if err != nil {
		return nil, err
	}

	seen := make(map[ship.ShipmentID]bool, len(list))
	ids := list[:0]
	for _, shipment := range list {
		if !seen[shipment] {
			seen[shipment] = true
			ids = append(ids, shipment)
		}
	}
	return ids, nil
}
