// Package restore notices that the database was put back to an earlier moment, and finds
// what it lost.
//
// A copy of the service keeps a recovery log on its disk: what carriers were asked for,
// and what they sold. It also keeps there which database it last spoke to, and how far
// that was. If the database is another one, or behind, the log is compared with it. What
// is missing is recorded for a person to decide: nothing here buys or voids.
package restore

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
)

// An EntryKind says what an entry of the recovery log tells of an attempt.
type EntryKind string

// The kinds of entries.
const (
	Requested EntryKind = ""         // a carrier is about to be asked to sell
	Sold      EntryKind = "sold"     // it has sold
	NotSold   EntryKind = "not_sold" // it has refused, or was not reached
	Voided    EntryKind = "voided"   // what it sold was voided
)

// An Entry is what the recovery log tells of an attempt to buy. The names in JSON are those
// of entries that are already written.
type Entry struct {
	Kind         EntryKind       `json:"kind,omitempty"`
	Installation string          `json:"installation,omitempty"` // empty in entries of older releases
	At           time.Time       `json:"at"`
	Tenant       ship.Tenant     `json:"tenant"`
	Shipment     ship.ShipmentID `json:"shipment"`
	Attempt      int             `json:"attempt"`
	Reference    string          `json:"reference,omitempty"`
	Order        ship.Order      `json:"order,omitzero"`
	Purchase     ship.Purchase   `json:"deal,omitzero"`
	Sale         *ship.Sale      `json:"sale,omitempty"`

	// What the repeat of the request is recognized by, and answered with.
	Fingerprint      []byte          `json:"fingerprint,omitempty"`
	OfferFingerprint []byte          `json:"offerFingerprint,omitempty"` // as ship.KeyName.Offer
	Version          int             `json:"version,omitempty"`
	DuplicateOf      ship.ShipmentID `json:"duplicateOf,omitempty"`

	// Erased says that an erasure took the people out.
	Erased bool `json:"erased,omitempty"`
}

// Name is what the client named the purchase by, with the fingerprints of its request.
// Entries of older releases may lack one or both.
func (e Entry) Name() ship.KeyName {
	name := ship.KeyName{Key: e.Purchase.Key}
	copy(name.Fingerprint[:], e.Fingerprint)
	copy(name.Offer[:], e.OfferFingerprint)
	return name
}

// SetName keeps the fingerprints of the request.
func (e *Entry) SetName(name ship.KeyName) {
	if name.Fingerprint != [32]byte{} {
		e.Fingerprint = name.Fingerprint[:]
	}
	if name.Offer != [32]byte{} {
		e.OfferFingerprint = name.Offer[:]
	}
}

// WithoutPersonalData is the entry as an erasure leaves it. Nothing can be recorded from
// it any more.
func (e Entry) WithoutPersonalData() Entry {
	e.Order = e.Order.WithoutPersonalData()
	e.Purchase = e.Purchase.WithoutPersonalData()
	e.Sale = nil
	e.Erased = true
	return e
}

// withRequest is the sale with what the entry of its request knows beyond it.
func (e Entry) withRequest(request Entry) Entry {
	if request.Erased {
		e = e.WithoutPersonalData()
	}
	e.Order = request.Order
	e.Reference = cmp.Or(e.Reference, request.Reference)
	e.Fingerprint = request.Fingerprint
	e.OfferFingerprint = request.OfferFingerprint
	e.Version = request.Version
	e.DuplicateOf = request.DuplicateOf
	e.Purchase.Key = cmp.Or(e.Purchase.Key, request.Purchase.Key)
	return e
}

// A Log is the recovery log of this machine.
type Log struct {
	*seal.RecoveryLog
	Installation string // that its entries name
}

// Append adds an entry, which names the installation.
func (l *Log) Append(entry Entry) error {
	entry.Installation = l.Installation
	data, err := json.Marshal(entry)
	if err != nil {
		return fmt.Errorf("encode an entry of the recovery log: %w", err)
	}
	return l.RecoveryLog.Append(time.Now(), data)
}

func decodeEntry(data []byte) (Entry, error) {
	var entry Entry
	if err := json.Unmarshal(data, &entry); err != nil {
		return entry, fmt.Errorf("recovery log: %w", err)
	}
	return entry, nil
}
