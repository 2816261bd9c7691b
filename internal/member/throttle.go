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

// forgetAfter is how long after the last attempt failures are forgotten.
const forgetAfter = 24 * time.Hour

// throttleKey identifies what failures are counted for: a person or an address.
func throttleKey(kind, name string) [32]byte { return sha256.Sum256([]byte(kind + "\x00" + name)) }

// addressKey is the key of an address; of IPv6, of the network that one
// subscriber has.
func addressKey(addr netip.Addr) [32]byte {
	return throttleKey("address", networkOf(addr))
}

// countAttempt counts an attempt to prove somebody as failed, until clearAttempt
// takes it back. It is ship.Limited if they or the address must wait. It returns
// how often they have failed before.
func (s *Service) countAttempt(ctx context.Context, key [32]byte, from netip.Addr) (failedBefore int, err error) {
	now := s.clock()

	// The address comes first: what it may not try does not count against the
	// person.
	attempts := 0
	_, wait, err := s.store.TryThrottle(ctx, addressKey(from), addressPace, now)
	if err != nil {
		return 0, err
	}
	if wait == 0 {
		attempts, wait, err = s.store.TryThrottle(ctx, key, personPace, now)
		if err != nil {
			return 0, err
		}
	}

	if wait > 0 {
		e := ship.Coded(ship.Limited, "too_many_attempts", "too many attempts: wait a moment and try again")
		e.RetryAfter = wait
		return 0, e
	}
	return attempts - 1, nil
}

// clearAttempt takes an attempt back that has succeeded. The person starts anew;
// of the address, which others may share, only this attempt is forgotten.
func (s *Service) clearAttempt(ctx context.Context, key [32]byte, from netip.Addr) error {
	if err := s.store.ClearThrottle(ctx, key); err != nil {
		return err
	}
	return s.store.EaseThrottle(ctx, addressKey(from))
}

// TryDeviceCode looks for the terminal that shows a code. Codes that no terminal
// shows count as failures of the person and their address: a code lives for minutes,
// so somebody who may try many finds one of another person.
func (s *Service) TryDeviceCode(ctx context.Context, a Actor, look func() error) error {
	key := throttleKey("device code", string(a.Person.ID))
	if _, err := s.countAttempt(ctx, key, a.From.Addr); err != nil {
		return err
	}
	err := look()
	if ship.KindOf(err) == ship.NotFound {
		return err
	}

	// Only this attempt is taken back: with a code of their own, somebody could
	// otherwise start anew whenever they want.
	if eased := s.store.EaseThrottle(ctx, key); eased != nil {
		return eased
	}
	if eased := s.store.EaseThrottle(ctx, addressKey(a.From.Addr)); eased != nil {
		return eased
	}
	return err
}
