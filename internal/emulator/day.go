package emulator

import (
	"math/rand/v2"
	"net/http"
)

// The kinds of ledger lines besides "sold" and "voided". The number of a line is
// the carrier's of the pickup or manifest; the pieces of a manifest are the
// tracking numbers on it.
const (
	PickupBooked    = "pickup"
	PickupCancelled = "pickup_cancelled"
	ManifestClosed  = "manifest"
	FormUploaded    = "form"     // to UPS, and not attached to a shipment yet
	DocumentFiled   = "document" // its number is the carrier's, its id the tracking number
)

// An Answer is a carrier's response.
type Answer struct {
	Status      int
	ContentType string
	Body        []byte
}

// RefusesDay reports whether this pickup, manifest or document should be refused.
func (s *Server) RefusesDay() bool {
	return rand.Float64() < s.Faults().Day["refuse"]
}

// AnswerDay sends the response to something that is in the ledger already, or the
// fault chosen for it: a booking, a cancellation, a manifest, a document.
func (s *Server) AnswerDay(w http.ResponseWriter, r *http.Request, answer Answer) {
	shares := make(map[string]float64)
	for name, share := range s.Faults().Day {
		if name != "refuse" {
			shares[name] = share
		}
	}
	s.reply(w, r, choose(shares, rand.Float64()), answer.Status, answer.ContentType, answer.Body)
}

// AppendOnce writes a line, unless there is one already for which isSame is
// true. It returns the line, and whether it was there before.
func (l *Ledger) AppendOnce(e Entry, isSame func(Entry) bool) (_ Entry, existed bool, _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, entry := range l.entries {
		if isSame(entry) {
			return entry, true, nil
		}
	}
	e, err := l.append(e)
	return e, false, err
}

// Documents returns the documents that were received for a tracking number, first
// to last.
func (l *Ledger) Documents(number string) []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()

	var list []Entry
	for _, entry := range l.entries {
		if entry.Kind == DocumentFiled && entry.ID == number {
			list = append(list, entry)
		}
	}
	return list
}

// Pickups returns the pickups that are booked and not cancelled, first to last.
func (l *Ledger) Pickups() []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()

	var list []Entry
	cancelled := map[string]bool{}
	for _, entry := range l.entries {
		if entry.Kind == PickupCancelled {
			cancelled[entry.Number] = true
		}
	}
	for _, entry := range l.entries {
		if entry.Kind == PickupBooked && !cancelled[entry.Number] {
			list = append(list, entry)
		}
	}
	return list
}
