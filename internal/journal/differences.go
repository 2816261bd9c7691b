package journal

import (
	"context"
	"errors"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

const (
	// maxDifferences bounds what is buffered of all connections.
	maxDifferences = 1000
	// differencesEvery is how often the same one is written: a carrier that
	// changed answers every call in the same way.
	differencesEvery = time.Minute
)

// pendingDifference is a difference that was found since it was last written.
type pendingDifference struct {
	store.Difference
	writeAt time.Time
}

// differenceKey is a difference of a connection.
type differenceKey struct {
	connection ship.ConnectionID
	key        string
}

// differenceOf returns what the driver of a live connection did not know. Test
// environments of carriers answer with much that production never does.
func differenceOf(t ship.Tenant, operation carrier.Operation, err error) (carrier.Difference, bool) {
	if err == nil || !t.Livemode {
		return carrier.Difference{}, false
	}
	return carrier.DifferenceOf(operation, err)
}

// noteDifference buffers a difference. s.mu is held.
func (s *Service) noteDifference(t ship.Tenant, id ship.ConnectionID, found carrier.Difference) {
	now := time.Now()
	difference := store.Difference{
		Tenant:     t,
		Connection: id,
		Kind:       found.Kind,
		Operation:  string(found.Operation),
		Code:       found.Code,
		Detail:     found.Detail,
		FirstAt:    now,
		LastAt:     now,
	}

	key := differenceKey{id, difference.Key()}
	known := s.differences[key]
	if known == nil {
		if len(s.differences) >= maxDifferences {
			return
		}
		known = &pendingDifference{Difference: difference}
		s.differences[key] = known
	}
	known.Count++
	known.LastAt = now
}

// takeDifferences returns the differences that are due to be written: at once
// when they are found first, then now and then. s.mu is held.
func (s *Service) takeDifferences(now time.Time) []store.Difference {
	var due []store.Difference
	for key, pending := range s.differences {
		switch {
		case now.Before(pending.writeAt):
		case pending.Count == 0:
			delete(s.differences, key)
		default:
			due = append(due, pending.Difference)
			pending.Count = 0
			pending.writeAt = now.Add(differencesEvery)
		}
	}
	return due
}

func (s *Service) writeDifferences(ctx context.Context, list []store.Difference) error {
	var failed error
	for _, difference := range list {
		failed = errors.Join(failed, s.Store.AddDifference(ctx, difference))
	}
	return failed
}
