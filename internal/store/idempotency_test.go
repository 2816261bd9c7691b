package store_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestAKeyIsTakenByOne(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var taken atomic.Int32
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			ok, err := f.TakeKey(t.Context(), f.tenant, "k", [32]byte{1}, time.Minute)
			if err != nil {
				t.Error(err)
			}
			if ok {
				taken.Add(1)
			}
		})
	}
	wg.Wait()
	if taken.Load() != 1 {
		t.Errorf("the key was taken %d times", taken.Load())
	}
	m, err := f.IdempotencyRecord(t.Context(), f.tenant, "k")
	if err != nil || m.Fingerprint != [32]byte{1} || m.Answer.Status != 0 || m.Shipment != "" || m.LockedUntil.Before(now().Add(50*time.Second)) {
		t.Errorf("it remembers %+v, %v", m, err)
	}
	if ok, err := f.TakeKey(t.Context(), ship.Tenant{Account: f.tenant.Account, Livemode: true}, "k", [32]byte{1}, time.Minute); !ok || err != nil {
		t.Errorf("the other mode: %t, %v", ok, err)
	}
}

func TestAKeyPastItsHoldIsTakenAgainForTheSameRequest(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, hold := range []time.Duration{-time.Second, time.Minute} {
		if ok, err := f.TakeKey(t.Context(), f.tenant, "k", [32]byte{1}, hold); !ok || err != nil {
			t.Fatalf("taking it for %s: %t, %v", hold, ok, err)
		}
		if ok, err := f.TakeKey(t.Context(), f.tenant, "k", [32]byte{2}, time.Minute); ok || err != nil {
			t.Errorf("another request took it after %s: %t, %v", hold, ok, err)
		}
	}
	if ok, err := f.TakeKey(t.Context(), f.tenant, "k", [32]byte{1}, time.Minute); ok || err != nil {
		t.Errorf("taken while it is held: %t, %v", ok, err)
	}
}

func TestAKeyRepeatsTheFirstAnswerOrIsFree(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.IdempotencyRecord(t.Context(), f.tenant, "k")
	wantKind(t, "a key that was never used", err, ship.NotFound)
	if ok, err := f.TakeKey(t.Context(), f.tenant, "k", [32]byte{1}, time.Minute); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := f.FreeKey(t.Context(), f.tenant, "k"); err != nil {
		t.Fatal(err)
	}
	_, err = f.IdempotencyRecord(t.Context(), f.tenant, "k")
	wantKind(t, "a key that was freed", err, ship.NotFound)
	for _, body := range []string{"first", "second"} {
		if err := f.KeepAnswer(t.Context(), f.tenant, "k", [32]byte{1}, ship.Answer{Status: 200, Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.FreeKey(t.Context(), f.tenant, "k"); err != nil {
		t.Fatal(err)
	}
	m, err := f.IdempotencyRecord(t.Context(), f.tenant, "k")
	if err != nil || string(m.Answer.Body) != "first" || m.Answer.Status != 200 || !m.LockedUntil.IsZero() {
		t.Errorf("it remembers %+v, %v", m, err)
	}
	if ok, err := f.TakeKey(t.Context(), f.tenant, "k", [32]byte{1}, time.Minute); ok || err != nil {
		t.Errorf("a key that has an answer is taken: %t, %v", ok, err)
	}
}

func TestAnUnlockedKeyIsForTheSameRequestOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for range 2 {
		if ok, err := f.TakeKey(t.Context(), f.tenant, "k", [32]byte{1}, time.Minute); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if err := f.UnlockKey(t.Context(), f.tenant, "k"); err != nil {
			t.Fatal(err)
		}
		if ok, err := f.TakeKey(t.Context(), f.tenant, "k", [32]byte{2}, time.Minute); ok || err != nil {
			t.Errorf("another request took it: %t, %v", ok, err)
		}
	}
}

func TestAPurchasesKeyIsNeverFreed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := bought(shipmentOf(f.tenant, "o"), "1Z1")
	c.IdempotencyKey, c.Fingerprint = "k", [32]byte{1}
	if _, err := f.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if ok, err := f.TakeKey(t.Context(), f.tenant, "k", [32]byte{1}, time.Minute); ok || err != nil {
		t.Errorf("taken: %t, %v", ok, err)
	}
	if err := f.FreeKey(t.Context(), f.tenant, "k"); err != nil {
		t.Fatal(err)
	}
	if m, err := f.IdempotencyRecord(t.Context(), f.tenant, "k"); err != nil || m.Shipment != c.Shipment.ID {
		t.Errorf("it remembers %+v, %v", m, err)
	}
}

func TestKeysAreForgottenInTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.owner.Exec(t.Context(), `
		INSERT INTO idempotency_keys (account_id, livemode, key, fingerprint, shipment_id, created_at) VALUES
		($1, false, 'answer of today', '', NULL, now() - interval '23 hours'), ($1, false, 'answer', '', NULL, now() - interval '25 hours'),
		($1, false, 'purchase', '', gen_random_uuid(), now() - interval '399 days'), ($1, false, 'old purchase', '', gen_random_uuid(), now() - interval '401 days'),
		($1, false, 'old answer', '', NULL, now() - interval '401 days')`, [16]byte(f.tenant.Account.Raw()))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := f.DeleteOldIdempotencyKeys(t.Context(), now()); err != nil || n != 3 {
		t.Errorf("%d were forgotten, %v; want 3", n, err)
	}
	if left := one[string](t, f.owner, "SELECT string_agg(key, ', ' ORDER BY key) FROM idempotency_keys"); left != "answer of today, purchase" {
		t.Errorf("left are %s", left)
	}
}
