// Package privacy erases and exports the personal data that an account holds
// about somebody. It decides who is meant and when the work goes on; what is
// changed where is in package store, next to the tables.
package privacy

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/failpoint"
	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/restore"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Config is what a Service needs.
type Config struct {
	Store *store.Store
	Box   *seal.Box // encrypts who is meant while the work goes on
	Log   *slog.Logger

	// RedactCells returns the cells of a line of a batch without personal data.
	RedactCells func(mapping json.RawMessage, cells []string) []string

	BaseURL string // of the service, in exports

	// Exchanges returns what was said to carriers about a shipment, for exports;
	// nil if it is not kept.
	Exchanges func(context.Context, ship.Tenant, ship.ShipmentID) ([]ExportedExchange, error)

	Keep time.Duration // of shipments by the installation; 0 keeps them for good

	// IsKept reports whether a partition is in the archive, so that it may be
	// dropped; nil if there is no archive.
	IsKept func(store.Partition) bool

	Settle time.Duration // until requests that began before an erasure have ended
}

// How an erasure goes on.
const (
	portionTime  = 10 * time.Second // that one run of the job takes
	waitForOpen  = time.Minute      // until open purchases are looked at again
	betweenTurns = time.Second
)

// Service erases and exports personal data.
type Service struct {
	Config
	now func() time.Time
}

// New returns a service.
func New(c Config) *Service { return &Service{Config: c, now: time.Now} }

// RequestErasure has the personal data of somebody erased: the erasure is
// stored with its job, and the job does the work.
func (s *Service) RequestErasure(ctx context.Context, t ship.Tenant, person ship.Person) (store.Erasure, error) {
	person, invalid := ship.NormalizePerson(person)
	if len(invalid) > 0 {
		return store.Erasure{}, ship.InvalidFields(invalid)
	}
	if person.Shipment != "" {
		if err := s.requireShipment(ctx, t, person.Shipment); err != nil {
			return store.Erasure{}, err
		}
	}

	hash, err := s.Store.SubjectHash(ctx, t.Account, person)
	if err != nil {
		return store.Erasure{}, err
	}
	erasure := store.Erasure{
		ID:          ship.NewErasureID(t.Shard(), s.now()),
		Tenant:      t,
		Kind:        person.Kind(),
		SubjectHash: hash,
		Shipment:    person.Shipment,
		State:       store.ErasurePending,
	}
	if erasure.Encrypted, err = s.seal(erasure, store.ErasureSubject{Person: person}); err != nil {
		return store.Erasure{}, err
	}
	return erasure, s.Store.AddErasure(ctx, erasure, job.Erase{Account: t.Account, Livemode: t.Livemode, Erasure: erasure.ID})
}

// requireShipment returns an error unless clients know the shipment.
func (s *Service) requireShipment(ctx context.Context, t ship.Tenant, id ship.ShipmentID) error {
	shipment, err := s.Store.Shipment(ctx, t, id)
	if ship.KindOf(err) == ship.NotFound || err == nil && shipment.Sequence == 0 {
		return ship.Coded(ship.NotFound, "shipment_not_found", "no such shipment")
	}
	return err
}

// Erasure returns an erasure.
func (s *Service) Erasure(ctx context.Context, t ship.Tenant, id ship.ErasureID) (store.Erasure, error) {
	erasure, err := s.Store.Erasure(ctx, t, id)
	if ship.KindOf(err) == ship.NotFound {
		return erasure, ship.Coded(ship.NotFound, "erasure_not_found", "no such erasure")
	}
	return erasure, err
}

// Erasures lists erasures, newest first.
func (s *Service) Erasures(ctx context.Context, t ship.Tenant, p ship.Page) ([]store.Erasure, error) {
	return s.Store.Erasures(ctx, t, p)
}

// WorkErasure goes on with an erasure for some time. It returns after how long
// it has to be called again; zero means that the erasure is done.
func (s *Service) WorkErasure(ctx context.Context, t ship.Tenant, id ship.ErasureID) (again time.Duration, err error) {
	for start := s.now(); s.now().Sub(start) < portionTime; {
		erasure, err := s.Continue(ctx, t, id)
		if err != nil {
			return betweenTurns, err
		}

		wait := erasure.Wait(s.tools(), s.now())
		switch {
		case erasure.State == store.ErasureDone:
			s.Log.InfoContext(ctx, "personal data erased", "erasure", id, "shipments", erasure.Counts["shipments"])
			return 0, nil
		case erasure.State == store.ErasureWaiting:
			return waitForOpen, nil
		case wait > 0:
			return wait, nil
		}
	}
	return betweenTurns, nil
}

// Continue erases the next portion and returns how far the erasure has got.
func (s *Service) Continue(ctx context.Context, t ship.Tenant, id ship.ErasureID) (store.Erasure, error) {
	tools := s.tools()
	last := ""
	tools.Wrote = func(step string) {
		last = step
		failpoint.Hit("wrote erasure " + step)
	}
	erasure, err := s.Store.ContinueErasure(ctx, t, id, tools, s.now())
	if err == nil {
		failpoint.Hit("committed erasure " + last)
	}
	return erasure, err
}

func (s *Service) tools() store.ErasureTools {
	return store.ErasureTools{
		Open:        s.open,
		Seal:        s.seal,
		RedactCells: s.RedactCells,
		Settle:      s.Settle,

		RedactMissing: func(missing store.MissingPurchase) (ship.Order, []byte, error) { return restore.Redact(s.Box, missing) },
	}
}

// binding ties what is encrypted to its own row: moved to another it does not
// decrypt.
func binding(t ship.Tenant, id string) []string {
	return []string{string(t.Account), strconv.FormatBool(t.Livemode), "privacy", id}
}

func (s *Service) seal(e store.Erasure, subject store.ErasureSubject) ([]byte, error) {
	data, err := json.Marshal(subject)
	if err != nil {
		return nil, fmt.Errorf("encode the subject of %s: %w", e.ID, err)
	}
	return s.Box.Seal(data, binding(e.Tenant, string(e.ID))...), nil
}

func (s *Service) open(e store.Erasure) (subject store.ErasureSubject, err error) {
	data, err := s.Box.Open(e.Encrypted, binding(e.Tenant, string(e.ID))...)
	if err != nil {
		return subject, fmt.Errorf("decrypt the subject of %s: %w", e.ID, err)
	}
	if err := json.Unmarshal(data, &subject); err != nil {
		return subject, fmt.Errorf("decode the subject of %s: %w", e.ID, err)
	}
	return subject, nil
}
