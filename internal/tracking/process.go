package tracking

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

const (
	pushBatch       = 250              // pushes that are claimed at once
	pushBatchBytes  = 8 << 20          // bytes of bodies that are processed at once
	pushClaim       = 10 * time.Second // how long a process that dies blocks its pushes
	pushClaimMargin = 3 * time.Second  // part of that time for processing them
	pushRetry       = time.Minute      // wait before a push that could not be processed is tried again

	claimEvery = 200 * time.Millisecond // how often pushes of other copies are looked for, while this copy has its own
)

// ProcessPushes processes pushes of carriers, many in one transaction. It returns how
// many there were if there may be more. The content of a push is accepted only
// if its signature is valid; any other push is a reason to poll the carrier.
func (s *Service) ProcessPushes(ctx context.Context) (int, error) {
	pushes, more, err := s.nextPushes(ctx)
	if err != nil {
		return 0, err
	}

	for rest := pushes; len(rest) > 0; {
		n := fitBatch(rest)
		if err := s.processPushes(ctx, rest[:n]); err != nil {
			// This may fail too: then they are due again when the claim ends.
			_ = s.store.PostponePushes(ctx, subjectsOf(rest), time.Now().UTC().Add(time.Second))
			return 0, err
		}
		rest = rest[n:]
	}

	if !more {
		return 0, nil
	}
	return len(pushes), nil
}

// A pendingPush is a push that this copy is to process.
type pendingPush struct {
	store.PendingPush
	content *decodedPush // if it arrived at this copy; else it is read from the store
}

// nextPushes returns a batch to process, and whether there may be more. It
// consists of the pushes that this copy received and, now and then, of those
// that other copies left.
func (s *Service) nextPushes(ctx context.Context) (list []pendingPush, more bool, err error) {
	now := time.Now().UTC()

	// Half of a batch is reserved for what others left, however busy this copy
	// is.
	own := pushBatch
	claims := s.lastClaim.Load() < now.Add(-claimEvery).UnixMilli()
	if claims {
		own = pushBatch / 2
	}

	// Claiming is not free, because the index of due pushes holds those that
	// were processed for a while. So it is done now and then only.
	list = s.intake.take(own)
	more = len(list) == own
	if !claims && len(list) > 0 {
		return list, more, nil
	}

	s.lastClaim.Store(now.UnixMilli())
	missing := pushBatch - len(list)
	due, err := s.store.DuePushes(ctx, now, now.Add(pushClaim), missing)
	if err != nil && len(list) == 0 {
		return nil, false, err
	}
	for _, pending := range due {
		list = append(list, pendingPush{PendingPush: pending})
	}
	return list, more || len(due) == missing, nil
}

// fitBatch returns how many of the pushes are processed at once.
func fitBatch(list []pendingPush) int {
	bytes := 0
	for n, push := range list {
		bytes += push.Bytes
		if n > 0 && bytes > pushBatchBytes {
			return n
		}
	}
	return len(list)
}

func subjectsOf(list []pendingPush) []ship.Subject {
	subjects := make([]ship.Subject, len(list))
	for i, push := range list {
		subjects[i] = push.Subject
	}
	return subjects
}

// processPushes processes pushes together. If that fails each is tried by
// itself, so that a faulty one does not hold up the others; that one is
// postponed.
func (s *Service) processPushes(ctx context.Context, list []pendingPush) error {
	err := s.processTogether(ctx, list)
	if err == nil || ship.KindOf(err) == ship.Unavailable || ctx.Err() != nil {
		return err
	}

	if len(list) > 1 {
		for i := range list {
			if err := s.processPushes(ctx, list[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}

	push := list[0]
	s.log.ErrorContext(ctx, "a push cannot be processed", "push", push.ID, "looks", push.Looks, "error", err)
	return s.store.PostponePushes(ctx, subjectsOf(list), time.Now().UTC().Add(pushRetry*time.Duration(min(push.Looks, 60))))
}

// decodedPush is a push that was verified and decoded.
type decodedPush struct {
	carrier.Push
	carrier string
	looks   int

	reported  []store.TrackingNumberOf // numbers with an update that is accepted, one for each update
	mentioned []store.TrackingNumberOf // numbers for which the carrier should be polled

	isErased bool // it is about a shipment without personal data, so it is not kept
}

func newDecodedPush(push carrier.Push, t ship.Tenant, carrierName string) decodedPush {
	named := func(number string) store.TrackingNumberOf {
		return store.TrackingNumberOf{Tenant: t, Number: ship.NormalizeTrackingNumber(number)}
	}

	// Anybody can send a push without a valid signature: its content is not
	// recorded, but only triggers a poll.
	decoded := decodedPush{Push: push, carrier: carrierName}
	for _, update := range push.Updates {
		if push.Verified {
			decoded.reported = append(decoded.reported, named(update.TrackingNumber))
		} else {
			decoded.mentioned = append(decoded.mentioned, named(update.TrackingNumber))
		}
	}
	for _, number := range push.Numbers {
		decoded.mentioned = append(decoded.mentioned, named(number))
	}
	return decoded
}

// isEarly reports whether a push arrived before the purchase of its parcel is
// recorded here, as carriers may do: one of the numbers has no holder.
func (p decodedPush) isEarly(numbers []store.TrackingNumberOf, holders map[store.TrackingNumberOf][]ship.Subject) bool {
	return p.looks <= 1 && slices.ContainsFunc(numbers, func(n store.TrackingNumberOf) bool { return len(holders[n]) == 0 })
}

// processTogether processes pushes, in one transaction with the note that they
// were processed. Pushes that are too early are postponed.
func (s *Service) processTogether(ctx context.Context, list []pendingPush) error {
	decoded, postponed, err := s.decodePushes(ctx, list)
	if err != nil {
		return err
	}
	if err := s.pollMentioned(ctx, decoded, postponed); err != nil {
		return err
	}

	again, err := s.recordPushes(ctx, list, decoded, postponed)
	if err != nil || len(again) == 0 {
		return err
	}
	return s.store.PostponePushes(ctx, again, time.Now().UTC().Add(pushRetry))
}

// decodePushes returns the content of pushes. One that is rejected is in neither
// map.
func (s *Service) decodePushes(ctx context.Context, list []pendingPush) (decoded map[ship.Subject]decodedPush, postponed map[ship.Subject]bool, err error) {
	decoded = make(map[ship.Subject]decodedPush, len(list))
	postponed = map[ship.Subject]bool{}

	var stored []ship.Subject
	looks := make(map[ship.Subject]int, len(list))
	for _, pending := range list {
		looks[pending.Subject] = pending.Looks
		if pending.content == nil {
			stored = append(stored, pending.Subject)
			continue
		}
		content := *pending.content
		content.looks = pending.Looks
		decoded[pending.Subject] = content
	}
	if len(stored) == 0 {
		return decoded, postponed, nil
	}

	pushes, err := s.store.Pushes(ctx, stored)
	if err != nil {
		return nil, nil, err
	}
	for _, push := range pushes {
		subject := ship.Subject{Tenant: push.Tenant, ID: push.ID}
		content, err := s.decodePush(ctx, push)
		switch {
		case err == nil:
			content.looks = looks[subject]
			decoded[subject] = content
		case isRejected(err):
			s.log.WarnContext(ctx, "a push was rejected", "connection", push.Connection, "error", err)
		default:
			s.log.WarnContext(ctx, "a push cannot be decoded now and is retried", "connection", push.Connection, "error", err)
			postponed[subject] = true
		}
	}
	return decoded, postponed, nil
}

// decodePush verifies and decodes a push. A panic over what a carrier sends
// must not stop the program.
func (s *Service) decodePush(ctx context.Context, push store.Push) (decoded decodedPush, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			s.log.ErrorContext(ctx, "panic while decoding a push", "connection", push.Connection, "push", push.ID, "cause", cause, "stack", string(debug.Stack()))
			err = ship.Errorf(ship.Invalid, "panic while decoding a push: %s", fmt.Sprint(cause))
		}
	}()

	connection, err := s.connection(ctx, push.Tenant, push.Connection)
	if err != nil {
		return decodedPush{}, err
	}
	header := replaceInHeader(push.Header, secretMark, s.pushSecrets(push.Connection)[0])
	content, err := connection.DecodePush(header, push.Body)
	return newDecodedPush(content, push.Tenant, connection.Spec().Name), err
}

// pollMentioned makes the parcels that pushes only mention due for polling now.
// Early pushes are added to the postponed ones.
func (s *Service) pollMentioned(ctx context.Context, decoded map[ship.Subject]decodedPush, postponed map[ship.Subject]bool) error {
	numbers := uniqueNumbers(decoded, func(p decodedPush) []store.TrackingNumberOf { return p.mentioned })
	if len(numbers) == 0 {
		return nil
	}
	holders, err := s.store.Holders(ctx, numbers)
	if err != nil {
		return err
	}

	due := map[ship.Subject]time.Time{}
	now := time.Now().UTC()
	for id, push := range decoded {
		for _, number := range push.mentioned {
			for _, parcel := range holders[number] {
				due[parcel] = now
			}
		}
		if push.isEarly(push.mentioned, holders) {
			postponed[id] = true
		}
	}
	if err := s.store.MoveWatches(ctx, due); err != nil {
		return err
	}

	erased, err := s.store.ErasedAmong(ctx, slices.Collect(maps.Keys(due)))
	if err != nil {
		return err
	}
	markErased(decoded, holders, erased)
	return nil
}

// markErased marks the pushes that are about an erased shipment.
func markErased(decoded map[ship.Subject]decodedPush, holders map[store.TrackingNumberOf][]ship.Subject, erased map[ship.Subject]bool) {
	if len(erased) == 0 {
		return
	}
	for id, push := range decoded {
		for _, number := range slices.Concat(push.reported, push.mentioned) {
			if slices.ContainsFunc(holders[number], func(parcel ship.Subject) bool { return erased[parcel] }) {
				push.isErased = true
				decoded[id] = push
			}
		}
	}
}

// uniqueNumbers returns numbers of all pushes, each once.
func uniqueNumbers(decoded map[ship.Subject]decodedPush, numbersOf func(decodedPush) []store.TrackingNumberOf) []store.TrackingNumberOf {
	unique := make(map[store.TrackingNumberOf]bool, len(decoded))
	for _, push := range decoded {
		for _, number := range numbersOf(push) {
			unique[number] = true
		}
	}
	return slices.Collect(maps.Keys(unique))
}

// recordPushes records what pushes report, and that they were processed. It
// returns those that are postponed instead.
func (s *Service) recordPushes(ctx context.Context, list []pendingPush, decoded map[ship.Subject]decodedPush, postponed map[ship.Subject]bool) (again []ship.Subject, err error) {
	numbers := uniqueNumbers(decoded, func(p decodedPush) []store.TrackingNumberOf { return p.reported })

	// Batches often name the same parcels. Here they take turns instead of
	// waiting for each other's locks, and read the next batch in the meantime.
	s.recording.Lock()
	defer s.recording.Unlock()

	err = s.store.InSystemTx(ctx, func(tx *store.Store) error {
		// The tables of pushes are empty at one moment and full at the next, so
		// a plan for their size would soon be wrong.
		if err := tx.KeysOnly(ctx); err != nil {
			return err
		}
		if len(numbers) > 0 {
			if err := s.applyPushes(ctx, tx, numbers, decoded, postponed); err != nil {
				return err
			}
		}

		var done, forgotten []ship.Subject
		for _, push := range list {
			if postponed[push.Subject] {
				again = append(again, push.Subject)
				continue
			}
			done = append(done, push.Subject)
			if content := decoded[push.Subject]; !content.Verified || content.isErased {
				forgotten = append(forgotten, push.Subject)
			}
		}

		// What anybody can have sent is not kept for the usual time, nor what
		// names somebody whose data was erased.
		if len(forgotten) > 0 {
			if err := tx.ForgetPushes(ctx, forgotten); err != nil {
				return err
			}
		}
		return tx.DeletePushes(ctx, done)
	})

	if err == nil && len(numbers) > 0 {
		s.notify()
	}
	return again, err
}

// applyPushes applies what pushes report about the numbers. Early pushes are
// added to the postponed ones.
func (s *Service) applyPushes(ctx context.Context, tx *store.Store, numbers []store.TrackingNumberOf, decoded map[ship.Subject]decodedPush, postponed map[ship.Subject]bool) error {
	trackingStates, holders, err := tx.LockHolders(ctx, numbers)
	if err != nil {
		return err
	}
	for id, push := range decoded {
		if push.isEarly(push.reported, holders) {
			postponed[id] = true
		}
	}

	erased := map[ship.Subject]bool{}
	for _, trackingState := range trackingStates {
		if trackingState.IsErased {
			erased[trackingState.Subject] = true
		}
	}
	markErased(decoded, holders, erased)

	pieces, err := piecesOf(ctx, tx, trackingStates, holders)
	if err != nil || len(trackingStates) == 0 {
		return err
	}
	return s.applyUpdates(ctx, tx, trackingStates, s.pushedUpdates(decoded, pieces))
}
