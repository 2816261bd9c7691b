package handover

import (
	"context"
	"strings"

	"github.com/waybillhq/waybill/internal/effect"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A Finding is what a person learned from the carrier about a pickup, manifest
// or document that needs review.
type Finding struct {
	Done   bool   // the carrier has it
	Number string // the carrier's; empty if it gave none
}

// MaxNumber is how long the number of a carrier may be.
const MaxNumber = 64

// resolution checks a finding. The pointer is that of the number in the request.
func (f Finding) resolution(pointer, notDone string) (store.Resolution, error) {
	number := strings.TrimSpace(f.Number)
	switch {
	case !f.Done && number != "":
		return store.Resolution{}, invalid(pointer, "invalid", "must be left out if the carrier does not have it")
	case len(number) > MaxNumber:
		return store.Resolution{}, invalid(pointer, "too_long", "must be at most 64 characters")
	case !f.Done:
		return store.Resolution{To: effect.Failed, Code: "not_done", Message: notDone}, nil
	}
	return store.Resolution{To: effect.Succeeded, Number: number}, nil
}

// notInReview is the error of a resolution that nobody waits for. What a person
// found out must not overwrite what a carrier answered.
func notInReview(what string, state effect.State) error {
	if state.IsOpen() {
		return ship.Coded(ship.Conflict, "not_in_review", "the carrier is still asked about the %s; it cannot be resolved before it needs review", what)
	}
	return ship.Coded(ship.Conflict, "not_in_review", "the %s does not need review, or was resolved already", what)
}

// ResolveManifest ends the review of a manifest with what a person learned from the
// carrier. The labels of one that was not closed can go on the next.
func (s *Service) ResolveManifest(ctx context.Context, t ship.Tenant, id ship.ManifestID, found Finding) (store.Manifest, error) {
	manifest, err := s.Manifest(ctx, t, id)
	if err != nil {
		return manifest, err
	}
	resolution, err := found.resolution("/number", "the carrier did not close it, as a person found out; its labels can go on another manifest")
	if err != nil {
		return manifest, err
	}

	if manifest.State == effect.NeedsReview {
		err = s.Store.ResolveManifest(ctx, t, id, resolution)
	}
	if manifest.State != effect.NeedsReview || ship.KindOf(err) == ship.Conflict {
		return manifest, notInReview("manifest", manifest.State)
	}
	if err != nil {
		return manifest, err
	}
	return s.Manifest(ctx, t, id)
}

// ResolvePickup ends the review of a pickup with what a person learned from the
// carrier. If it was not booked, another one can be.
func (s *Service) ResolvePickup(ctx context.Context, t ship.Tenant, id ship.PickupID, found Finding) (store.Pickup, error) {
	pickup, err := s.Pickup(ctx, t, id)
	if err != nil {
		return pickup, err
	}
	resolution, err := found.resolution("/confirmation", "the carrier did not book it, as a person found out; another one can be booked")
	if err != nil {
		return pickup, err
	}

	if pickup.State == effect.NeedsReview {
		err = s.Store.ResolvePickup(ctx, t, id, resolution)
	}
	if pickup.State != effect.NeedsReview || ship.KindOf(err) == ship.Conflict {
		return pickup, notInReview("pickup", pickup.State)
	}
	if err != nil {
		return pickup, err
	}
	return s.Pickup(ctx, t, id)
}
