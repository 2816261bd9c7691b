package member

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestAPasswordMatchesItsOwnHashAlone(t *testing.T) {
	t.Parallel()
	p := newPasswords(currentCost)
	hash, err := p.hash(t.Context(), "pässword of mine")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") || p.outdated(hash) {
		t.Errorf("hash %s", hash)
	}
	other, err := p.hash(t.Context(), "pässword of mine")
	if err != nil || other == hash {
		t.Errorf("two hashes of one password are the same: %v", err)
	}
	for password, want := range map[string]bool{"pässword of mine": true, "pa\u0308ssword of mine": true, "password of mine": false, "": false} {
		if got, err := p.matches(t.Context(), password, hash); got != want || err != nil {
			t.Errorf("%q matches: %t, %v", password, got, err)
		}
	}
	if got, err := p.matches(t.Context(), "", ""); got || err != nil {
		t.Errorf("a person without a password: %t, %v", got, err)
	}
	if _, err := p.matches(t.Context(), "x", "$2a$10$nonsense"); err == nil {
		t.Error("a hash that is none is read")
	}
}

// The time is not compared, which would fail on a busy machine, but the work:
// argon2 takes its memory for each password that it is given.
func TestNoHashCostsAsMuchAsAWrongPassword(t *testing.T) {
	p := newPasswords(currentCost)
	hash, err := p.hash(t.Context(), "a password of somebody")
	if err != nil {
		t.Fatal(err)
	}
	work := func(hash string) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := p.matches(t.Context(), "something else", hash); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	known, unknown := work(hash), work("")
	if least := uint64(currentCost.memoryKiB) << 10; known < least || unknown < least || max(known, unknown)-min(known, unknown) > least/100 {
		t.Errorf("a wrong password takes %d bytes, no hash %d", known, unknown)
	}
}

func TestAnOldHashIsOutdated(t *testing.T) {
	t.Parallel()
	weak := cost{memoryKiB: 8 * 1024, passes: 1, lanes: 1}
	salt := make([]byte, saltSize)
	p := newPasswords(currentCost)
	if hash := phc(weak, salt, derive("old password", salt, weak)); !p.outdated(hash) {
		t.Error("a cheap hash counts as today's")
	} else if ok, err := p.matches(t.Context(), "old password", hash); !ok || err != nil {
		t.Errorf("a cheap hash no longer matches: %t, %v", ok, err)
	}
}

func TestHashesAreReadOnlyAsWritten(t *testing.T) {
	t.Parallel()
	good := phc(currentCost, make([]byte, saltSize), make([]byte, keySize))
	rapid.Check(t, func(t *rapid.T) {
		b := []byte(good)
		b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		c, _, key, err := parsePHC(string(b))
		if err == nil && (c.passes < 1 || c.lanes < 1 || c.memoryKiB > 1<<20 || len(key) != keySize) {
			t.Fatalf("%q is read as %+v", b, c)
		}
	})
}

func TestPasswordsThatAreGuessedFirstAreRefused(t *testing.T) {
	t.Parallel()
	for password, good := range map[string]bool{
		testPassword: true, "Xk2!vbQ9#fLm": true, "дом на горе и сад": true, strings.Repeat("long words ", 20): true,
		"short": false, "elevenchars": false, "aaaaaaaaaaaaaa": false, "123456789012": false, "password12345": false, "Passwordpassword1!": false,
		"qwertyuiop123": false, "ada.lovelace1843": false, "Ada Lovelace 1": false, "waybill-waybill": false, strings.Repeat("xyzab ", 60): false, "bad\xffutf8 password": false,

		// What lists of leaked passwords and rules over words begin with.
		"chocolate123": false, "Chocolate123!": false, "ch0c0l@te1234": false, "michael19851985": false, "sunshine2024!": false, "iloveyou1234": false,
		"liverpoolfc1": false, "1qaz2wsx3edc": false, "zaq12wsxcde3": false, "abcdefghijkl": false, "january01011990": false, "P@ssw0rd2024!": false,
		"administrator": false, "welcome12345": false, "superman1234": false, "butterfly123": false, "Manchester12": false, "spongebob123": false,

		// The account's own words.
		"northwind2024": false, "Northwind Supply 1": false, "NORTHWINDSUPPLY!!": false, "northwind-waybill": false, "n0rthw1nd2024!": false,
		"lovelace.example": false, "shippingwaybill1": false,
		"northwind sails over copper hills": true,
	} {
		if wrong := checkPassword(password, "ada.lovelace@example.com", "Ada Lovelace", "Northwind Supply"); (len(wrong) == 0) != good {
			t.Errorf("%q: %v", password, wrong)
		}
	}
}

// Any text can be sent as a password.
func TestNoPasswordIsTooMuchForItsCheck(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		checkPassword(rapid.String().Draw(t, "password"), rapid.String().Draw(t, "name"))
	})
	for _, password := range []string{
		strings.Repeat("\u0130", 200) + "password",
		strings.Repeat("4@8({[<369!1|0$5+7%2", 12),
		strings.Repeat("\U0001F4E6", 256),
		strings.Repeat("a1", 128),
	} {
		start := time.Now()
		checkPassword(password, "ada@example.com")
		if took := time.Since(start); took > time.Second {
			t.Errorf("%.20q takes %s", password, took)
		}
	}
}

func BenchmarkArgon2(b *testing.B) {
	p := newPasswords(currentCost)
	for b.Loop() {
		if _, err := p.hash(b.Context(), "a password of somebody"); err != nil {
			b.Fatal(err)
		}
	}
}
