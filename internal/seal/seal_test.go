package seal

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func testKey(c byte) []byte { return bytes.Repeat([]byte{c}, 32) }

func newBox(t testing.TB, keys ...[]byte) *Box {
	t.Helper()
	b, err := New(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestASecretOpensInItsPlaceAlone(t *testing.T) {
	t.Parallel()
	b := newBox(t, testKey(1))
	place := []string{"acct_1", "test", "whe_1", "secret"}
	sealed := b.Seal([]byte("hunter2"), place...)
	if got, err := b.Open(sealed, place...); err != nil || string(got) != "hunter2" {
		t.Fatalf("Open = %q, %v", got, err)
	}
	if bytes.Contains(sealed, []byte("hunter2")) {
		t.Error("the secret is there to read")
	}
	for i := range place {
		other := append([]string{}, place...)
		other[i] += "x"
		if _, err := b.Open(sealed, other...); !errors.Is(err, ErrOpen) {
			t.Errorf("it opens at %v: %v", other, err)
		}
	}
	if _, err := b.Open(sealed, "acct_1test", "", "whe_1", "secret"); !errors.Is(err, ErrOpen) {
		t.Errorf("places run together: %v", err)
	}
	if _, err := b.Open(sealed); !errors.Is(err, ErrOpen) {
		t.Errorf("it opens without a place: %v", err)
	}
}

func TestAChangedByteIsNoticed(t *testing.T) {
	t.Parallel()
	b := newBox(t, testKey(1), testKey(2))
	sealed := b.Seal([]byte("hunter2"), "p")
	for i := range sealed {
		for bit := range 8 {
			sealed[i] ^= 1 << bit
			if _, err := b.Open(sealed, "p"); !errors.Is(err, ErrOpen) {
				t.Errorf("byte %d, bit %d: %v", i, bit, err)
			}
			sealed[i] ^= 1 << bit
		}
	}
	for n := range sealed {
		if _, err := b.Open(sealed[:n], "p"); !errors.Is(err, ErrOpen) {
			t.Errorf("cut to %d: %v", n, err)
		}
	}
}

func TestKeysAreChangedWithoutLosingWhatIsSealed(t *testing.T) {
	t.Parallel()
	before, both, after := newBox(t, testKey(1)), newBox(t, testKey(2), testKey(1)), newBox(t, testKey(2))
	sealed := before.Seal([]byte("s"), "p")
	if _, err := after.Open(sealed, "p"); !errors.Is(err, ErrOpen) {
		t.Errorf("it opens without its key: %v", err)
	}
	got, err := both.Open(sealed, "p")
	if err != nil || string(got) != "s" || !both.Old(sealed) || before.Old(sealed) {
		t.Fatalf("Open = %q, %v; old %t, %t", got, err, both.Old(sealed), before.Old(sealed))
	}
	again := both.Seal(got, "p")
	if got, err := after.Open(again, "p"); err != nil || string(got) != "s" || both.Old(again) {
		t.Errorf("sealed again: %q, %v", got, err)
	}
}

func TestTheSameSecretIsSealedDifferentlyEachTime(t *testing.T) {
	t.Parallel()
	b := newBox(t, testKey(1))
	seen := map[string]bool{}
	for range 1000 {
		seen[string(b.Seal(nil, "p"))] = true
	}
	if len(seen) != 1000 {
		t.Errorf("%d of 1000 differ", len(seen))
	}
}

func TestWeakKeysAreRefused(t *testing.T) {
	t.Parallel()
	for _, keys := range [][][]byte{nil, {[]byte(strings.Repeat("k", 31))}, {testKey(1), nil}} {
		if _, err := New(keys...); err == nil {
			t.Errorf("%d keys are taken", len(keys))
		}
	}
}

func BenchmarkSealOpen(b *testing.B) {
	box := newBox(b, testKey(1))
	secret := make([]byte, 64)
	for b.Loop() {
		if _, err := box.Open(box.Seal(secret, "acct_1", "test", "whe_1", "secret"), "acct_1", "test", "whe_1", "secret"); err != nil {
			b.Fatal(err)
		}
	}
}
