package handover

import (
	"context"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/effect"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A ManifestInput asks for a manifest.
type ManifestInput struct {
	Tenant    ship.Tenant
	Account   ship.Account
	Seller    Seller
	ShipDate  ship.Date         // empty means today
	Shipments []ship.ShipmentID // empty means all that are not on a manifest
	Address   ship.Address      // that the parcels leave from; zero means where most of them do
	Location  ship.LocationID   // used instead of an address; empty for none
	Name      ship.KeyName      // the idempotency key, and what it stands for; empty for none
}

// A ClosedManifest is a manifest and whether this request made it.
type ClosedManifest struct {
	store.Manifest
	IsNew bool
}

// keyMemory is for how long an idempotency key of a client is remembered.
const keyMemory = 24 * time.Hour

// CloseManifest hands labels over to their carrier. A label is on one manifest at
// most: each is claimed in the transaction that writes the manifest down.
func (s *Service) CloseManifest(ctx context.Context, in ManifestInput) (ClosedManifest, error) {
	// A request that was cut off by a crash is repeated under its key. Its labels
	// are on the manifest that it made, so it would find none.
	if in.Name.Key != "" {
		id, fingerprint, err := s.Store.ManifestOfKey(ctx, in.Tenant, in.Name.Key, s.now().Add(-keyMemory))
		if err == nil {
			existing, err := s.Manifest(ctx, in.Tenant, id)
			if err == nil && !isSameManifest(in, existing, fingerprint) {
				err = ship.Coded(ship.Invalid, "idempotency_key_reused", "the idempotency key was already used for a different request; use a new key")
			}
			return ClosedManifest{Manifest: existing}, err
		}
		if ship.KindOf(err) != ship.NotFound {
			return ClosedManifest{}, err
		}
	}

	from, err := s.location(ctx, in.Tenant, in.Location)
	if err != nil {
		return ClosedManifest{}, err
	}
	c, err := s.seller(ctx, in.Tenant, in.Seller, from)
	if err != nil {
		return ClosedManifest{}, err
	}
	picked, err := s.pickLabels(ctx, in, from, c)
	if err != nil {
		return ClosedManifest{}, err
	}

	manifest := store.Manifest{
		ID:         ship.NewManifestID(in.Tenant.Shard(), s.now()),
		Tenant:     in.Tenant,
		Carrier:    c.Spec().Name,
		Connection: c.Connection,
		Scope:      picked.scope,
		Order:      picked.order,
		Excluded:   picked.excluded,
		Name:       in.Name,
	}
	manifest.State = effect.Pending
	ctx = context.WithoutCancel(ctx)
	if manifest.Scope == store.ManifestSheet {
		return s.addSheet(ctx, manifest)
	}

	r, err := s.manifestRun(ctx, &manifest, c)
	if err != nil {
		return ClosedManifest{}, err
	}
	verdict, _ := s.answerInTime(r.machine().Run)
	return s.closed(ctx, manifest, r, verdict)
}

// isSameManifest reports whether a manifest is the one of the request. Those of the
// release before this one have no fingerprint: they must not have labels that the
// request does not name.
func isSameManifest(in ManifestInput, existing store.Manifest, fingerprint [32]byte) bool {
	if fingerprint != ([32]byte{}) {
		return fingerprint == in.Name.Fingerprint
	}
	if len(in.Shipments) == 0 {
		return true
	}
	for _, label := range existing.Order.Labels {
		if !slices.Contains(in.Shipments, label.Shipment) {
			return false
		}
	}
	return true
}

// scopeOf returns which labels a manifest of the carrier covers.
func scopeOf(c *carrier.Carrier) string {
	switch c.ManifestScope() {
	case carrier.ListedLabels:
		return store.ManifestLabels
	case carrier.AllOfTheDay:
		return store.ManifestDay
	}
	return store.ManifestSheet
}

// addSheet writes down labels that are handed over to a carrier that needs no
// manifest. Nobody is asked, so it is done at once.
func (s *Service) addSheet(ctx context.Context, manifest store.Manifest) (ClosedManifest, error) {
	manifest.State = effect.Succeeded
	err := around("add_sheet", func() (err error) {
		_, err = s.Store.AddManifest(ctx, manifest)
		return err
	})
	if err != nil {
		return ClosedManifest{}, notAdded(err, manifest)
	}
	stored, err := s.Manifest(ctx, manifest.Tenant, manifest.ID)
	return ClosedManifest{Manifest: stored, IsNew: true}, err
}

// notAdded says why a manifest was not written down.
func notAdded(err error, manifest store.Manifest) error {
	switch ship.KindOf(err) {
	case ship.NotFound:
		return nothingToManifest(manifest.Excluded)
	case ship.Conflict:
		failure := ship.Coded(ship.Conflict, "manifest_in_progress", "another manifest of this carrier account and day is being closed; wait until it is")
		failure.RetryAfter = 5 * time.Second
		return failure
	}
	return err
}

// nothingToManifest is the error of a manifest without labels.
func nothingToManifest(excluded []ship.ManifestExclusion) error {
	failure := ship.Coded(ship.Invalid, "nothing_to_manifest", "no label is left to hand over: all are on a manifest, voided, or already with the carrier")
	if len(excluded) > 0 {
		list := make([]map[string]any, len(excluded))
		for i, e := range excluded {
			list[i] = map[string]any{"shipmentId": string(e.Shipment), "reason": e.Reason}
		}
		failure.Details = map[string]any{"excluded": list}
	}
	return failure
}

// closed answers a request for a manifest.
func (s *Service) closed(ctx context.Context, manifest store.Manifest, r *run, verdict effect.Verdict) (ClosedManifest, error) {
	switch verdict.Kind {
	case effect.Taken:
		return ClosedManifest{}, notAdded(ship.Errorf(ship.Conflict, "another one is being closed"), manifest)

	case effect.Rejected:
		if r.refused == nil {
			return ClosedManifest{}, ship.Coded(ship.Conflict, "labels_already_manifested",
				"%s has these labels on a manifest that was not made here; leave them out", r.carrier.Spec().Title)
		}
		return ClosedManifest{}, r.refused

	case effect.Broke:
		if ship.KindOf(verdict.Err) == ship.NotFound {
			return ClosedManifest{}, notAdded(verdict.Err, manifest)
		}
	}

	stored, err := s.Manifest(ctx, manifest.Tenant, manifest.ID)
	if err != nil && verdict.Kind == effect.Broke {
		return ClosedManifest{}, verdict.Err // it was not written down
	}
	return ClosedManifest{Manifest: stored, IsNew: true}, err
}

// manifestRun returns a run about a manifest, which is stored or is going to be.
func (s *Service) manifestRun(ctx context.Context, manifest *store.Manifest, c *carrier.Carrier) (*run, error) {
	certainty, err := s.manifestCertainty(ctx, *manifest, c)
	if err != nil {
		return nil, err
	}
	asking := s.withExchanges(ctx, manifest.Tenant, manifest.ID.Raw(), c)
	var closing ship.ManifestClosing

	return &run{
		Service:   s,
		what:      "manifest",
		id:        string(manifest.ID),
		carrier:   c,
		settle:    s.settleAfter(c, c.Deadlines.Manifest),
		certainty: certainty,

		// What is stored is what is sent: labels that another manifest has taken
		// meanwhile are left out.
		intend: func() error {
			stored, err := s.Store.AddManifest(ctx, *manifest)
			if err == nil {
				*manifest = stored
			}
			return err
		},
		again:  func(n int) error { return s.Store.TryManifestAgain(ctx, manifest.Tenant, manifest.ID, n) },
		turn:   func(turn store.Turn) error { return s.Store.TurnManifest(ctx, manifest.Tenant, manifest.ID, turn) },
		record: func() error { return s.Store.RecordManifest(ctx, *manifest, onlyListed(closing, *manifest)) },
		send: func() (existed bool, err error) {
			ctx, done := context.WithTimeout(asking, s.Waits.Ask)
			defer done()
			closing, err = c.CloseManifest(ctx, manifest.Order)
			return closing.Existed, err
		},
		find: func() (err error) {
			closing, err = c.FindManifest(asking, manifest.Order)
			return err
		},
	}, nil
}

// onlyListed drops exclusions of what is not on the manifest.
func onlyListed(closing ship.ManifestClosing, manifest store.Manifest) ship.ManifestClosing {
	isListed := make(map[ship.ShipmentID]bool, len(manifest.Order.Labels))
	for _, label := range manifest.Order.Labels {
		isListed[label.Shipment] = true
	}

	var excluded []ship.ManifestExclusion
	for _, e := range closing.Excluded {
		if isListed[e.Shipment] {
			excluded = append(excluded, e)
			delete(isListed, e.Shipment) // once
		}
	}
	closing.Excluded = excluded
	return closing
}

// manifestCertainty returns how a lost answer can be made up for. Where a manifest
// covers a day, a look-up shows the day's forms: with an earlier manifest of the
// same day it cannot show whether this one was closed.
func (s *Service) manifestCertainty(ctx context.Context, manifest store.Manifest, c *carrier.Carrier) (effect.Certainty, error) {
	if manifest.Scope == store.ManifestDay {
		hasOther, err := s.Store.HasOtherOfDay(ctx, manifest)
		if err != nil || hasOther {
			return effect.Certainty{}, err
		}
	}
	if c.CanFindManifest() {
		return effect.Certainty{CanLook: true, CanRepeatAbsent: true}, nil
	}
	return effect.Certainty{CanRepeat: true}, nil
}

// SettleManifest finds out what became of a manifest that was left open. It
// reports after how long to look again; zero means that it is settled.
func (s *Service) SettleManifest(ctx context.Context, t ship.Tenant, id ship.ManifestID) (again time.Duration, err error) {
	manifest, err := s.Store.Manifest(ctx, t, id)
	if ship.KindOf(err) == ship.NotFound || err == nil && !manifest.State.IsOpen() {
		return 0, nil
	}
	if err != nil {
		return s.Waits.Look, err
	}

	// The job's time is shorter than a carrier may take, and what it answers must
	// be written down.
	ctx = context.WithoutCancel(ctx)
	c, err := s.sellerOf(ctx, t, manifest.Connection, manifest.Carrier)
	if err != nil {
		return s.unopened(err, manifest.EffectState, manifest.ID.Raw().Time(), func(turn store.Turn) error {
			return s.Store.TurnManifest(ctx, t, id, turn)
		})
	}
	r, err := s.manifestRun(ctx, &manifest, c)
	if err != nil {
		return s.Waits.Look, err
	}
	return s.outcome(r.machine().Settle(openOf(manifest.EffectState, manifest.ID.Raw().Time())))
}

// Manifest returns a manifest, with its documents but without their bytes.
func (s *Service) Manifest(ctx context.Context, t ship.Tenant, id ship.ManifestID) (store.Manifest, error) {
	manifest, err := s.Store.Manifest(ctx, t, id)
	if ship.KindOf(err) == ship.NotFound {
		return manifest, ship.Coded(ship.NotFound, "manifest_not_found", "no such manifest")
	}
	return manifest, err
}

// Manifests lists manifests, newest first, without their labels and documents.
func (s *Service) Manifests(ctx context.Context, t ship.Tenant, p ship.Page) ([]store.Manifest, error) {
	return s.Store.Manifests(ctx, t, p)
}

// Shipments returns the shipments that are on a manifest.
func Shipments(manifest store.Manifest) []ship.ShipmentID {
	if manifest.State == effect.Failed {
		return nil
	}
	isExcluded := make(map[ship.ShipmentID]bool, len(manifest.Excluded))
	for _, e := range manifest.Excluded {
		isExcluded[e.Shipment] = true
	}

	var list []ship.ShipmentID
	for _, label := range manifest.Order.Labels {
		if !isExcluded[label.Shipment] {
			list = append(list, label.Shipment)
		}
	}
	return list
}
