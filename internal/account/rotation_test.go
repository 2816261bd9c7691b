package account_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

const (
	adders   = 4
	perAdder = 40
	readers  = 3
)

// load is many who add, change and use connections, with either of two keys
// first: copies of the program that are restarted one after the other.
type load struct {
	*bench
	copies [2]*account.Service
	reads  atomic.Int64

	mu  sync.Mutex
	all []ship.ConnectionID
}

func (l *load) pick() (ship.ConnectionID, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) == 0 {
		return "", false
	}
	return l.all[rand.IntN(len(l.all))], true
}

// add adds a connection and changes any.
func (l *load) add(ctx context.Context, number string, i int) error {
	c, err := l.copies[i%2].AddConnection(ctx, account.AddConnectionInput{Tenant: l.tenant(i%3 == 0), Carrier: "acme", Name: number, Credentials: pairOf(number)})
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.all = append(l.all, c.ID)
	l.mu.Unlock()
	id, _ := l.pick()
	found, err := l.copies[0].FindConnection(ctx, id)
	if err != nil {
		return err
	}
	_, err = l.copies[(i+1)%2].UpdateConnection(ctx, account.UpdateConnectionInput{Tenant: found.Tenant, ID: id, Credentials: pairOf(number + "'")})
	if ship.KindOf(err) == ship.Conflict {
		return nil // two changed it at once
	}
	return err
}

// use opens a connection with nothing remembered.
func (l *load) use(ctx context.Context, s *account.Service, id ship.ConnectionID) error {
	found, err := s.FindConnection(ctx, id)
	if err != nil {
		return err
	}
	c, err := s.Carrier(ctx, found.Tenant, id)
	if err != nil {
		return err
	}
	l.reads.Add(1)
	return c.Check(ctx)
}

// TestRotationUnderLoadLosesNothing changes the key there and back while
// others add, change and use connections.
func TestRotationUnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	l := &load{bench: newBench(t)}
	for i := range l.config.Specs { // a driver that knows which key belongs to which number
		l.config.Specs[i].Open = func(o carrier.Opening) (carrier.Driver, error) { return pair{o.Credentials}, nil }
	}
	l.copies = [2]*account.Service{l.again(box(t, key(1), key(2))), l.again(box(t, key(2), key(1)))}
	var adding, reading sync.WaitGroup
	done := make(chan struct{})
	for a := range adders {
		adding.Go(func() {
			for i := range perAdder {
				if err := l.add(t.Context(), fmt.Sprint(a, "-", i), i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	go func() {
		adding.Wait()
		close(done)
	}()
	running := func() bool {
		select {
		case <-done:
			return false
		default:
			return !t.Failed()
		}
	}
	for range readers {
		reading.Go(func() {
			for running() {
				if id, ok := l.pick(); ok {
					if err := l.use(t.Context(), l.again(box(t, key(1), key(2))), id); err != nil {
						t.Errorf("%s: %v", id, err)
					}
				}
			}
		})
	}
	rounds, rewrapped := 0, 0
	for ; running(); rounds++ {
		r, err := l.copies[rounds%2].RotateConnections(t.Context(), false)
		if err != nil || len(r.Failed) > 0 {
			t.Errorf("round %d: %+v, %v", rounds, r, err)
		}
		rewrapped += r.Rewrapped
	}
	adding.Wait()
	reading.Wait()
	l.checkAll(t)
	if rewrapped < 50 || l.reads.Load() < 100 {
		t.Errorf("%d rewrapped, %d read: the test shows nothing", rewrapped, l.reads.Load())
	}
	t.Logf("%d connections, %d rewrapped in %d rounds, %d opened meanwhile, none lost", len(l.all), rewrapped, rounds, l.reads.Load())
}

// checkAll takes the first key away: everything opens with the second.
func (l *load) checkAll(t *testing.T) {
	t.Helper()
	r, err := l.again(box(t, key(2), key(1))).RotateConnections(t.Context(), false)
	if err != nil || r.Rewrapped+r.Current != adders*perAdder || len(r.Failed) > 0 || len(l.all) != adders*perAdder {
		t.Fatalf("the last rotation: %+v of %d, %v", r, len(l.all), err)
	}
	alone := l.again(box(t, key(2)))
	for _, id := range l.all {
		if err := l.use(t.Context(), alone, id); err != nil {
			t.Errorf("%s is lost: %v", id, err)
		}
	}
}

func TestRotationWrapsAgainWhatIsCurrentOnlyIfAsked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.connect(t, false, "One")
	removed := b.connect(t, true, "Two")
	if err := b.RemoveConnection(t.Context(), b.tenant(true), removed.ID); err != nil {
		t.Fatal(err)
	}
	if r, err := b.RotateConnections(t.Context(), false); err != nil || r.Rewrapped != 0 || r.Current != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := b.RotateConnections(t.Context(), true); err != nil || r.Rewrapped != 2 || r.Current != 0 {
		t.Errorf("all: %+v, %v", r, err)
	}
	if r, err := b.again(box(t, key(3))).RotateConnections(t.Context(), false); err != nil || r.Rewrapped != 0 || len(r.Failed) != 2 {
		t.Errorf("without the old key: %+v, %v", r, err)
	}
	if _, err := b.Carrier(t.Context(), b.tenant(true), removed.ID); err != nil {
		t.Errorf("the removed one: %v", err)
	}
}

// pair is a driver whose Check fails if its two credentials do not belong
// together.
type pair struct{ given carrier.Credentials }

func pairOf(number string) carrier.Credentials {
	return carrier.Credentials{"account_number": number, "api_key": "key of " + number}
}

func (p pair) Check(context.Context) error {
	if p.given["api_key"] != "key of "+p.given["account_number"] {
		return ship.Errorf(ship.Forbidden, "mixed credentials")
	}
	return nil
}
