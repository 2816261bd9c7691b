package member

import (
	"context"
	"crypto/sha256"
	"net/netip"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// How failures are slowed down. A person is slowed, never locked out: whoever
// fails on purpose in their name delays them by minutes, and passkeys and the
// identity provider stay open. An address serves many people, so it has more.
var (
	personPace  = store.Pace{Free: 5, Most: 5 * time.Minute, Fade: 15 * time.Minute}
	addressPace = store.Pace{Free: 30, Most: 15 * time.Minute, Fade: 2 * time.Minute}
)

// quietFor is after how long failures are forgotten altogether.
const quietFor = 24 * time.Hour

// A subject is what failures are counted for.
func subject(kind, name string) [32]byte { return sha256.Sum256([]byte(kind + "\x00" + name)) }

// bySource is the subject of an address; of IPv6, of the network that one
// subscriber has.
func bySource(a netip.Addr) [32]byte {
	a = a.Unmap().WithZone("")
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return subject("address", p.String())
		}
	}
	return subject("address", a.String())
}

// attempt counts an attempt to prove somebody as failed, until it is taken
// back. It is ship.Limited if they or the address must wait. It returns how
// often they have failed before.
func (s *Service) attempt(ctx context.Context, who [32]byte, from netip.Addr) (before int, err error) {
	now := s.clock()
	_, wait, err := s.store.TryThrottle(ctx, bySource(from), addressPace, now)
	if err != nil {
		return 0, err
	}
	if wait == 0 {
		before, wait, err = s.store.TryThrottle(ctx, who, personPace, now)
		if err != nil {
			return 0, err
		}
	}
	if wait > 0 {
		e := ship.Coded(ship.Limited, "too_many_attempts", "too many attempts: wait a moment and try again")
		e.RetryAfter = wait.Round(time.Second)
		return 0, e
	}
	return before - 1, nil
}

// succeeded takes an attempt back.
func (s *Service) succeeded(ctx context.Context, who [32]byte, from netip.Addr) error {
	if err := s.store.ClearThrottle(ctx, who); err != nil {
		return err
	}
	return s.store.EaseThrottle(ctx, bySource(from))
}
