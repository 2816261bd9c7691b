package seal

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

var place = []string{"acct_1", "test", "con_1", "ups"}

func envelopeOf(t *testing.T, w Wrapper, secret string, place ...string) Envelope {
	t.Helper()
	e, err := SealEnvelope(t.Context(), w, []byte(secret), place...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestAnEnvelopeOpensInItsPlaceAlone(t *testing.T) {
	t.Parallel()
	b := newBox(t, testKey(1))
	e := envelopeOf(t, b, "hunter2", place...)
	if got, err := e.Open(t.Context(), b, place...); err != nil || string(got) != "hunter2" {
		t.Fatalf("Open = %q, %v", got, err)
	}
	for _, other := range [][]string{
		{"acct_2", "test", "con_1", "ups"},
		{"acct_1", "live", "con_1", "ups"},
		{"acct_1", "test", "con_2", "ups"},
		{"acct_1", "test", "con_1", "fedex"},
		{"acct_1test", "", "con_1", "ups"},
		{},
	} {
		if _, err := e.Open(t.Context(), b, other...); !errors.Is(err, ErrOpen) {
			t.Errorf("it opens at %v: %v", other, err)
		}
	}
}

func TestEnvelopesCannotBeMixed(t *testing.T) {
	t.Parallel()
	b := newBox(t, testKey(1))
	one, two := envelopeOf(t, b, "one", place...), envelopeOf(t, b, "two", place...)
	if bytes.Equal(one.Key, two.Key) {
		t.Fatal("two envelopes share a data key")
	}
	for _, mixed := range []Envelope{{one.Key, two.Secret}, {two.Key, one.Secret}, {one.Secret, one.Key}, {one.Key, nil}, {nil, one.Secret}, {}} {
		if _, err := mixed.Open(t.Context(), b, place...); !errors.Is(err, ErrOpen) {
			t.Errorf("a mixed envelope: %v", err)
		}
	}
	// A place's own data key does not open what others bind to the same place.
	sealed := b.Seal([]byte(strings.Repeat("k", dataKeySize)), place...)
	if _, err := b.Unwrap(t.Context(), sealed, place...); !errors.Is(err, ErrOpen) {
		t.Errorf("a sealed secret passes for a data key: %v", err)
	}
}

func TestAChangedByteOfAnEnvelopeIsNoticed(t *testing.T) {
	t.Parallel()
	b := newBox(t, testKey(1))
	e := envelopeOf(t, b, "hunter2", place...)
	for _, part := range [][]byte{e.Key, e.Secret} {
		for i := range part {
			part[i] ^= 1
			if _, err := e.Open(t.Context(), b, place...); !errors.Is(err, ErrOpen) {
				t.Errorf("byte %d: %v", i, err)
			}
			part[i] ^= 1
		}
	}
}

func TestRewrappingChangesTheKeyAlone(t *testing.T) {
	t.Parallel()
	before, both, after := newBox(t, testKey(1)), newBox(t, testKey(2), testKey(1)), newBox(t, testKey(2))
	old := envelopeOf(t, before, "hunter2", place...)
	if !both.Old(old.Key) || before.Old(old.Key) {
		t.Fatal("it is not told whose key it is")
	}
	if _, err := old.Open(t.Context(), after, place...); !errors.Is(err, ErrNoKey) || !errors.Is(err, ErrOpen) {
		t.Errorf("without its key: %v", err)
	}
	fresh, err := old.Rewrap(t.Context(), both, place...)
	if err != nil || !bytes.Equal(fresh.Secret, old.Secret) || both.Old(fresh.Key) {
		t.Fatalf("Rewrap: %v", err)
	}
	if got, err := fresh.Open(t.Context(), after, place...); err != nil || string(got) != "hunter2" {
		t.Errorf("after it: %q, %v", got, err)
	}
	if _, err := old.Rewrap(t.Context(), both, "elsewhere"); !errors.Is(err, ErrOpen) {
		t.Errorf("it is rewrapped elsewhere: %v", err)
	}
}

func TestARingWrapsWithTheFirstAndUnwrapsWithAll(t *testing.T) {
	t.Parallel()
	first, second := newBox(t, testKey(1)), newBox(t, testKey(2))
	ring := Ring{first, second}
	old := envelopeOf(t, second, "old", place...)
	if !ring.Old(old.Key) {
		t.Error("what the second wrapped is not old")
	}
	if got, err := old.Open(t.Context(), ring, place...); err != nil || string(got) != "old" {
		t.Errorf("the second's: %q, %v", got, err)
	}
	fresh := envelopeOf(t, ring, "new", place...)
	if got, err := fresh.Open(t.Context(), first, place...); err != nil || string(got) != "new" || ring.Old(fresh.Key) {
		t.Errorf("the first's: %q, %v", got, err)
	}
	if _, err := fresh.Open(t.Context(), Ring{second}, place...); !errors.Is(err, ErrNoKey) {
		t.Errorf("without the first: %v", err)
	}
	if _, err := SealEnvelope(t.Context(), Ring{}, nil); err == nil {
		t.Error("an empty ring wraps")
	}
}

func BenchmarkEnvelopeOpen(b *testing.B) {
	box := newBox(b, testKey(1))
	e, err := SealEnvelope(b.Context(), box, make([]byte, 300), place...)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := e.Open(b.Context(), box, place...); err != nil {
			b.Fatal(err)
		}
	}
}
