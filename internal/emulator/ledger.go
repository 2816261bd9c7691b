package emulator

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

// An Entry is one line of a carrier's ledger: something that the carrier did.
// Lines are never changed.
type Entry struct {
	Line      int       `json:"line"`
	At        time.Time `json:"at"`
	Kind      string    `json:"kind"` // "sold", "voided", PieceVoided, or one of those in day.go
	Number    string    `json:"number"`
	Pieces    []string  `json:"pieces,omitempty"`    // tracking numbers, when there are several
	ID        string    `json:"id,omitempty"`        // the carrier's own, if it is not the number
	Reference string    `json:"reference,omitempty"` // the client's
	Second    string    `json:"second,omitempty"`    // the client's further reference
	Account   string    `json:"account,omitempty"`
	Service   string    `json:"service,omitempty"`
	Amount    string    `json:"amount,omitempty"`
	Currency  string    `json:"currency,omitempty"`
	Given     int       `json:"given,omitempty"` // how many numbers for sales were issued so far
	// Kept is what the carrier needs to answer again: the label, the request.
	Kept json.RawMessage `json:"kept,omitempty"`
}

// A Ledger is what a carrier has done, first to last. With a file it outlives
// its process: a line is in the file before the carrier answers.
type Ledger struct {
	mu      sync.Mutex
	entries []Entry
	given   int // numbers for sales
	file    *os.File
	closed  bool
	done    chan struct{}
}

// OpenLedger reads the ledger from a file and appends to it. With an empty name
// the ledger is kept in memory only.
func OpenLedger(name string) (*Ledger, error) {
	l := &Ledger{done: make(chan struct{})}
	if name == "" {
		return l, nil
	}
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the ledger: %w", err)
	}

	lines := bufio.NewReader(file)
	for {
		text, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			// The carrier never responded about a half-written last line, so
			// the line is cut off.
			return l, l.adopt(file, int64(len(text)))
		}
		if err != nil {
			return nil, fmt.Errorf("read the ledger: %w", err)
		}

		var entry Entry
		if err := json.Unmarshal(text, &entry); err != nil {
			return nil, fmt.Errorf("line %d of the ledger: %w", len(l.entries)+1, err)
		}
		l.entries = append(l.entries, entry)
		l.given = max(l.given, entry.Given)
	}
}

// adopt continues with the file, without the bytes of an incomplete last line.
func (l *Ledger) adopt(file *os.File, torn int64) error {
	l.file = file
	if torn == 0 {
		return nil
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return file.Truncate(info.Size() - torn)
}

// Done is closed when the ledger is: background work such as pushes then ends.
func (l *Ledger) Done() <-chan struct{} { return l.done }

// Close closes the file.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		close(l.done)
	}
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// Append writes a line and returns it with its number and time.
func (l *Ledger) Append(e Entry) (Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.append(e)
}

func (l *Ledger) append(e Entry) (Entry, error) {
	e.Line = len(l.entries) + 1
	e.At = time.Now().UTC()
	e.Given = l.given

	// The line is written to the file first, so the carrier never confirms a
	// sale that a restart would forget.
	if l.file != nil {
		text, err := json.Marshal(e)
		if err != nil {
			return e, err
		}
		if _, err := l.file.Write(append(text, '\n')); err != nil {
			return e, fmt.Errorf("write the ledger: %w", err)
		}
	}
	l.entries = append(l.entries, e)
	return e, nil
}

// Entries returns the whole ledger.
func (l *Ledger) Entries() []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries)
}

// Sold returns the line of a sale by its number, by one of its pieces or by
// the carrier's own id, and whether it was voided since.
func (l *Ledger) Sold(number string) (e Entry, voided, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sold(number)
}

func (l *Ledger) sold(number string) (sale Entry, voided, ok bool) {
	for _, entry := range l.entries {
		if entry.Number != number && entry.ID != number && !slices.Contains(entry.Pieces, number) {
			continue
		}
		switch entry.Kind {
		case "sold":
			sale = entry
			ok = true
		case "voided":
			voided = true
		}
	}
	return sale, voided, ok
}

// Void records once that a sale is voided. It reports false for a number that
// was never sold.
func (l *Ledger) Void(number string) (again, ok bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	sale, voided, ok := l.sold(number)
	if !ok || voided {
		return voided, ok, nil
	}
	_, err = l.append(Entry{
		Kind:      "voided",
		Number:    sale.Number,
		ID:        sale.ID,
		Pieces:    sale.Pieces,
		Reference: sale.Reference,
		Amount:    sale.Amount,
		Currency:  sale.Currency,
	})
	return false, true, err
}

// PieceVoided is the kind of a line about one piece of a sale, which is its id.
const PieceVoided = "piece_voided"

// VoidPiece records once that a piece of a sale is voided, and with the last of
// the pieces that the sale is. It reports false for a piece that was never sold.
func (l *Ledger) VoidPiece(piece string, pieces []string) (again, ok bool, err error) {
	l.mu.Lock()
	sale, _, ok := l.sold(piece)
	voided := l.voidedPieces()
	if ok && !voided[piece] {
		_, err = l.append(Entry{
			Kind:      PieceVoided,
			Number:    sale.Number,
			ID:        piece,
			Reference: sale.Reference,
		})
	}
	l.mu.Unlock()
	if !ok || voided[piece] || err != nil {
		return voided[piece], ok, err
	}

	voided[piece] = true
	if !slices.ContainsFunc(pieces, func(one string) bool { return !voided[one] }) {
		_, _, err = l.Void(sale.Number)
	}
	return false, true, err
}

// VoidedPieces returns the pieces that were voided by themselves.
func (l *Ledger) VoidedPieces() map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.voidedPieces()
}

func (l *Ledger) voidedPieces() map[string]bool {
	voided := map[string]bool{}
	for _, entry := range l.entries {
		if entry.Kind == PieceVoided {
			voided[entry.ID] = true
		}
	}
	return voided
}

// byReference returns the sales with a client's reference that are not voided.
func (l *Ledger) byReference(reference string) (list []Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()

	for _, entry := range l.entries {
		switch {
		case entry.Kind == "sold" && (entry.Reference == reference || entry.Second == reference):
			list = append(list, entry)
		case entry.Kind == "voided":
			list = slices.DeleteFunc(list, func(sale Entry) bool { return sale.Number == entry.Number })
		}
	}
	return list
}

// Next returns a number that no other sale has, even across restarts.
func (l *Ledger) Next() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.given++
	return l.given
}
