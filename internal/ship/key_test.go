package ship

import (
	"strings"
	"testing"
)

func TestKeysKeepTheirModeAndShard(t *testing.T) {
	t.Parallel()
	seen := map[Key]bool{}
	for shard := range Shard(Shards) {
		live := shard%2 == 0
		k := NewKey(shard, live)
		back, ok := ParseKey(string(k))
		if !ok || back != k || k.Livemode() != live || k.Shard() != shard || seen[k] {
			t.Fatalf("key of shard %d, live %t: %t, shard %d, live %t", shard, live, ok, k.Shard(), k.Livemode())
		}
		seen[k] = true
		if want := map[bool]string{true: "sk_live_", false: "sk_test_"}[live]; !strings.HasPrefix(string(k), want) || len(k) != 49 {
			t.Fatalf("a key begins with %s and has %d characters", k[:8], len(k))
		}
	}
}

func TestEverySingleCharacterChangeOfAKeyIsRefused(t *testing.T) {
	t.Parallel()
	for range 5 {
		k := string(NewKey(77, true))
		for i := range k {
			for c := range 256 {
				changed := k[:i] + string([]byte{byte(c)}) + k[i+1:]
				if _, ok := ParseKey(changed); ok != (changed == k) {
					t.Fatalf("character %d as %q: passes %t", i, byte(c), ok)
				}
			}
		}
	}
}

func TestAMistypedKeyIsRefused(t *testing.T) {
	t.Parallel()
	k := string(NewKey(0, false))
	swapped := []byte(k)
	for i := range 30 {
		if swapped[10+i] != swapped[11+i] {
			swapped[10+i], swapped[11+i] = swapped[11+i], swapped[10+i]
			break
		}
	}
	for _, s := range []string{
		"", k[:48], k + "0", "sk_live_" + k[8:], "SK_TEST_" + k[8:], " " + k[1:], string(swapped), strings.ToLower(k), k[:20] + "\u00e9" + k[22:],
	} {
		if _, ok := ParseKey(s); ok {
			t.Errorf("%q passes for %q", s, k)
		}
	}
}

func TestAHintTellsNoMoreThanTheModeAndFourCharacters(t *testing.T) {
	t.Parallel()
	k := NewKey(1, true)
	if got, want := k.Hint(), "sk_live_..."+string(k[45:]); got != want {
		t.Errorf("Hint() = %s, want %s", got, want)
	}
	if k.Hash() == NewKey(1, true).Hash() {
		t.Error("two keys have one hash")
	}
}

func FuzzKey(f *testing.F) {
	f.Add(string(NewKey(4095, true)))
	f.Add(string(NewKey(0, false)))
	f.Add("sk_live_" + strings.Repeat("z", 41))
	f.Fuzz(func(t *testing.T, s string) {
		k, ok := ParseKey(s)
		if !ok {
			return
		}
		if string(k) != s || k.Shard() >= Shards || k.Livemode() != strings.HasPrefix(s, "sk_live_") {
			t.Fatalf("%q is read as %q of shard %d", s, k, k.Shard())
		}
		if _, ok := ParseKey(s[:len(s)-1]); ok {
			t.Fatalf("%q passes without its last character", s)
		}
	})
}
