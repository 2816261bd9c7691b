package cell

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A Mover moves shards between cells. Every state of a move is a row of the
// directory, so a mover that dies is resumed by any other:
//
//	planned -> copying -> catching up -> frozen -> switched -> purging -> done
//
// Any state up to frozen can go back to planned. While the shard is held, the mover has
// a lease on it: if it dies, copies of the service serve the shard again within 20
// seconds, and the mover can do nothing more with it.
type Mover struct {
	Store     *store.Mover
	Databases map[string]string // addresses of cells, with a superuser's login
	Keep      time.Duration     // for how long a source keeps the rows of a shard that has left
	Progress  func(*store.Move) // is called when a move has got further
}

// How a move is paced.
const (
	// behindAtMost is how far behind the target may be when the shard is frozen.
	behindAtMost = 500 * time.Millisecond

	// catchUpPatience is how long a target may take to follow, before and while the
	// shard is frozen.
	catchUpPatience = 10 * time.Minute
	frozenPatience  = 15 * time.Second

	// noticeHold is for how long routers and copies of the service get to notice
	// that a shard moves, before it is frozen.
	noticeHold = 100 * time.Millisecond

	attempts = 3
)

// Move moves a shard to a cell, or goes on with that.
func (m *Mover) Move(ctx context.Context, shard ship.Shard, target string) (*store.Move, error) {
	move, err := m.Store.Plan(ctx, shard, target)
	if err != nil {
		return nil, err
	}
	if err := m.Store.Open(ctx, &move, m.Databases); err != nil {
		return nil, err
	}
	defer func() { _ = m.Store.Release(context.WithoutCancel(ctx), &move) }() // it ends with the connection too

	for attempt := 1; ; attempt++ {
		err := m.run(ctx, &move)
		if err == nil {
			return &move, nil
		}

		// The shard is served at its source again, even if the mover was stopped.
		if !isSwitched(&move) {
			err = errors.Join(err, m.Store.GoBack(context.WithoutCancel(ctx), &move, err))
		}

		switch {
		case isSwitched(&move):
			return nil, fmt.Errorf("shard %d is at %s, but the move is not finished: run the command again: %w", shard, target, err)
		case move.State != store.MovePlanned:
			return nil, fmt.Errorf("the move of shard %d is neither finished nor taken back: run the command again: %w", shard, err)
		case attempt == attempts || ctx.Err() != nil:
			return nil, fmt.Errorf("shard %d stays at %s: %w", shard, move.Source, err)
		}
	}
}

// Resume finishes the moves that were interrupted. Their shards may be frozen.
func (m *Mover) Resume(ctx context.Context) error {
	open, err := m.Store.Moves(ctx, false)
	if err != nil {
		return err
	}
	for _, move := range open {
		if move.State == store.MovePurging {
			continue
		}
		_, err := m.Move(ctx, ship.Shard(move.Shard), move.Target)
		if err != nil && !errors.Is(err, store.ErrBusy) { // who is at work finishes it
			return err
		}
	}
	return nil
}

// isSwitched reports whether the move can only go forward.
func isSwitched(move *store.Move) bool {
	return slices.Contains([]store.MoveState{store.MoveSwitched, store.MovePurging, store.MoveDone}, move.State)
}

// run takes the move from the state that it is in to the purge.
func (m *Mover) run(ctx context.Context, move *store.Move) error {
	if move.State == store.MovePurging || move.State == store.MoveDone {
		return nil // another mover has finished it meanwhile
	}
	if err := m.Store.Reconnect(ctx, move); err != nil {
		return err
	}

	if move.State != store.MoveSwitched {
		if err := m.prepare(ctx, move); err != nil {
			return err
		}
		if err := m.freeze(ctx, move); err != nil {
			return err
		}
		if err := m.Store.Commit(ctx, move); err != nil {
			return err
		}
		if err := m.Store.Switch(ctx, move); err != nil {
			return err
		}
		m.Progress(move)
	}

	// From here on the move only goes forward, and every step can be repeated.
	if err := m.Store.Arrive(ctx, move); err != nil {
		return err
	}
	if err := m.Store.Leave(ctx, move); err != nil {
		return err
	}
	if err := m.Store.StopReplication(ctx, move); err != nil {
		return err
	}
	if err := m.Store.SetState(ctx, move, store.MovePurging, m.Keep); err != nil {
		return err
	}
	m.Progress(move)
	return nil
}

// prepare brings the target so far that it follows the source, unless a mover
// before this one did that.
func (m *Mover) prepare(ctx context.Context, move *store.Move) error {
	if err := m.Store.CheckPeople(ctx, move); err != nil {
		return err
	}
	isEmpty, err := m.Store.IsEmpty(ctx, move)
	if err != nil {
		return err
	}
	follows := false
	if move.State == store.MoveCatchingUp || move.State == store.MoveFrozen {
		if follows, err = m.Store.HasReplication(ctx, move); err != nil {
			return err
		}
	}

	switch {
	case follows:
	case isEmpty:
		if err := m.Store.DropCopies(ctx, move); err != nil {
			return err
		}
	default:
		if err := m.Store.DropCopies(ctx, move); err != nil {
			return err
		}
		if err := m.set(ctx, move, store.MoveCopying); err != nil {
			return err
		}
		if err := m.Store.Copy(ctx, move, m.Progress); err != nil {
			return err
		}
	}

	if err := m.set(ctx, move, store.MoveCatchingUp); err != nil {
		return err
	}
	if err := m.Store.RaiseLogEpoch(ctx); err != nil {
		return err
	}
	if isEmpty && !follows {
		return nil
	}
	for {
		behind, err := m.Store.CatchUp(ctx, move, catchUpPatience)
		if err != nil || behind < behindAtMost {
			return err
		}
	}
}

// freeze stops writing to the shard, and proves that the target has all of it.
func (m *Mover) freeze(ctx context.Context, move *store.Move) error {
	follows, err := m.Store.HasReplication(ctx, move)
	if err != nil {
		return err
	}
	if err := m.Store.Hold(ctx, move); err != nil {
		return err
	}
	defer m.Store.Renew(ctx, move)()
	if err := m.set(ctx, move, store.MoveFrozen); err != nil {
		return err
	}
	time.Sleep(noticeHold)
	if err := m.Store.Freeze(ctx, move); err != nil {
		return err
	}

	if !follows {
		// An account may have been created since the shard was found empty.
		isEmpty, err := m.Store.IsEmpty(ctx, move)
		if err == nil && !isEmpty {
			err = ship.Errorf(ship.Conflict, "shard %d got its first account during the move", move.Shard)
		}
		return err
	}
	if _, err := m.Store.CatchUp(ctx, move, frozenPatience); err != nil {
		return err
	}
	isAbove, err := m.Store.IsLogAbove(ctx)
	if err == nil && !isAbove {
		err = ship.Errorf(ship.Conflict, "another shard has moved to %s meanwhile", move.Source)
	}
	if err != nil {
		return err
	}
	return m.Store.Compare(ctx, move)
}

func (m *Mover) set(ctx context.Context, move *store.Move, state store.MoveState) error {
	if err := m.Store.SetState(ctx, move, state, 0); err != nil {
		return err
	}
	m.Progress(move)
	return nil
}

// Purge deletes the rows that sources have kept for long enough, or of which
// personal data was erased since; with now, those of all moves that have ended. It
// returns how many moves it completed. One that fails does not keep it from the others.
func (m *Mover) Purge(ctx context.Context, now bool) (int, error) {
	moves, err := m.Store.Moves(ctx, false)
	if err != nil {
		return 0, err
	}
	done := 0
	var failures []error
	for _, move := range moves {
		if move.State != store.MovePurging {
			continue
		}
		isDone, err := m.purge(ctx, &move, now || time.Now().After(*move.PurgeAfter))
		if err != nil {
			failures = append(failures, fmt.Errorf("delete shard %d from %s: %w", move.Shard, move.Source, err))
		}
		if isDone {
			done++
		}
	}
	return done, errors.Join(failures...)
}

func (m *Mover) purge(ctx context.Context, move *store.Move, isDue bool) (isDone bool, err error) {
	if err := m.Store.Open(ctx, move, m.Databases); err != nil {
		return false, err
	}
	defer func() { _ = m.Store.Release(context.WithoutCancel(ctx), move) }() // it ends with the connection too

	if move.State != store.MovePurging {
		return false, nil // somebody else has purged it meanwhile
	}
	if !isDue {
		if isDue, err = m.Store.IsErased(ctx, move); err != nil || !isDue {
			return false, err
		}
	}
	if err := m.Store.Purge(ctx, move); err != nil {
		return false, err
	}
	return true, m.set(ctx, move, store.MoveDone)
}

// How often shards that could not move yet are tried again.
const tryAgainEvery = 2 * time.Second

// MoveAll moves shards one after the other. Those that cannot move yet, because a cell
// keeps their old rows or because another mover is at work on them, come last: waiting is
// called with how many they are and what the first waits for, and their old rows are
// deleted as soon as they may be. moved is called after each shard.
func (m *Mover) MoveAll(ctx context.Context, transfers []Transfer, moved func(done int), waiting func(count int, reason error)) error {
	done := 0
	for said := ""; len(transfers) > 0; {
		var later []Transfer
		var reason error
		for _, transfer := range transfers {
			_, err := m.Move(ctx, transfer.Shard, transfer.To)
			switch {
			case errors.Is(err, store.ErrOldRows), errors.Is(err, store.ErrBusy):
				later = append(later, transfer)
				if reason == nil {
					reason = err
				}
			case err != nil:
				return err
			default:
				done++
				moved(done)
			}
		}

		transfers = later
		if len(later) == 0 {
			return nil
		}
		if text := fmt.Sprint(len(later), reason); text != said {
			said = text
			waiting(len(later), reason)
		}
		if err := m.purgeOld(ctx, later); err != nil {
			return err
		}
		select {
		case <-time.After(tryAgainEvery):
		case <-ctx.Done():
			return fmt.Errorf("%d shards have not moved: %w", len(later), ctx.Err())
		}
	}
	return nil
}

// purgeOld deletes the old rows of shards that are to move again, if they were kept for
// as long as the move before said.
func (m *Mover) purgeOld(ctx context.Context, transfers []Transfer) error {
	moves, err := m.Store.Moves(ctx, false)
	if err != nil {
		return err
	}
	for _, move := range moves {
		isOne := slices.ContainsFunc(transfers, func(t Transfer) bool { return int(t.Shard) == move.Shard })
		if !isOne || move.State != store.MovePurging || time.Now().Before(*move.PurgeAfter) {
			continue
		}
		if _, err := m.purge(ctx, &move, true); err != nil && !errors.Is(err, store.ErrBusy) {
			return fmt.Errorf("delete shard %d from %s: %w", move.Shard, move.Source, err)
		}
	}
	return nil
}

// A Transfer is a shard that is to move.
type Transfer struct {
	Shard ship.Shard
	To    string
}

// Balance returns the moves after which all cells but the leaving one hold equally
// many shards, and that one none. Shards that move already are left alone.
func Balance(places *store.CellMap, leaving string) []Transfer {
	held := map[string]int{}
	staying := 0
	for _, cell := range places.Cells {
		if cell.Name != leaving {
			held[cell.Name] = 0
			staying++
		}
	}
	if staying == 0 {
		return nil
	}
	for _, place := range places.Shards {
		if _, ok := held[place.Cell]; ok {
			held[place.Cell]++
		}
	}

	most := (ship.Shards + staying - 1) / staying
	var transfers []Transfer
	for shard, place := range places.Shards {
		count, stays := held[place.Cell]
		if place.MovingTo != "" || stays && (leaving != "" || count <= most) {
			continue
		}

		var to string
		for _, cell := range places.Cells {
			if n, ok := held[cell.Name]; ok && (to == "" || n < held[to]) {
				to = cell.Name
			}
		}
		if stays && held[to]+1 >= count {
			continue
		}
		if stays {
			held[place.Cell]--
		}
		held[to]++
		transfers = append(transfers, Transfer{Shard: ship.Shard(shard), To: to})
	}
	return transfers
}
