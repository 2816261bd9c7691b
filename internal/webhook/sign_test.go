package webhook

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const testEventID = "evt_01KJMBQDHV00GB3K9T4ZP6YS0R"

// signed is what a receiver sees of a delivery.
type signed struct {
	header http.Header
	body   []byte
}

func signWith(s signer, at time.Time, body []byte) signed {
	timestamp, signature := s.sign(testEventID, at, body)
	h := http.Header{}
	h.Set(headerID, testEventID)
	h.Set(headerTimestamp, timestamp)
	h.Set(headerSignature, signature)
	return signed{h, body}
}

// verifies asks the library of Standard Webhooks.
func verifies(t testing.TB, secret string, s signed) error {
	t.Helper()
	w, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	return w.Verify(s.body, s.header)
}

// verifiesAsymmetric is the receiver's side of v1a, by the letter of the
// specification.
func verifiesAsymmetric(publicKey string, s signed) bool {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(publicKey, "whpk_"))
	if err != nil || len(key) != ed25519.PublicKeySize {
		return false
	}
	message := []byte(s.header.Get("webhook-id") + "." + s.header.Get("webhook-timestamp") + "." + string(s.body))
	for one := range strings.SplitSeq(s.header.Get("webhook-signature"), " ") {
		if text, ok := strings.CutPrefix(one, "v1a,"); ok {
			signature, err := base64.StdEncoding.DecodeString(text)
			if err == nil && ed25519.Verify(key, message, signature) {
				return true
			}
		}
	}
	return false
}

// bodies are bodies that a careless signer gets wrong.
var bodies = [][]byte{
	nil, []byte(`{"type":"shipment.created"}`), []byte("a.b.c."), []byte("\x00\x01\x00"), []byte(`{"name":"Zoë 🚚 𝔘"}`), []byte("\xff\xfe broken"), bytes.Repeat([]byte("x"), 20<<10),
}

func TestSignaturesVerifyWithTheStandardLibrary(t *testing.T) {
	t.Parallel()
	key := newKeyMaterial()
	for _, body := range bodies {
		for _, signature := range []string{SignV1, SignV1a, SignBoth} {
			s := signWith(signer{signature, []signingKey{newSigningKey(key, signature, time.Time{})}}, time.Now(), body)
			if err := verifies(t, key.secret(), s); (err == nil) != (signature != SignV1a) {
				t.Errorf("%s over %.20q: %v", signature, body, err)
			}
			if verifiesAsymmetric(key.publicKey(), s) != (signature != SignV1) {
				t.Errorf("%s over %.20q: v1a is wrong", signature, body)
			}
		}
	}
}

func TestSignaturesAreTheLibrarysByteForByte(t *testing.T) {
	t.Parallel()
	for range 2000 {
		key := newKeyMaterial()
		body := make([]byte, rand.IntN(500))
		for i := range body {
			body[i] = byte(rand.Uint32())
		}
		at := time.Unix(rand.Int64N(1<<33), 0)
		_, got := (&signer{SignV1, []signingKey{newSigningKey(key, SignV1, time.Time{})}}).sign(testEventID, at, body)
		w, err := standardwebhooks.NewWebhook(key.secret())
		if err != nil {
			t.Fatal(err)
		}
		if want, err := w.Sign(testEventID, at, body); err != nil || got != want {
			t.Fatalf("%s, want %s: %v", got, want, err)
		}
	}
}

func TestARotationSignsWithBothSecretsForItsTime(t *testing.T) {
	t.Parallel()
	before, after := newKeyMaterial(), newKeyMaterial()
	until := time.Now().Add(time.Minute)
	s := signer{SignBoth, []signingKey{newSigningKey(after, SignBoth, time.Time{}), newSigningKey(before, SignBoth, until)}}
	during, over := signWith(s, time.Now(), bodies[1]), signWith(s, until, bodies[1])
	if n := len(strings.Fields(during.header.Get(headerSignature))); n != 4 {
		t.Errorf("%d signatures during the rotation, want 4", n)
	}
	for _, key := range []keyMaterial{before, after} {
		if err := verifies(t, key.secret(), during); err != nil || !verifiesAsymmetric(key.publicKey(), during) {
			t.Errorf("during the rotation: %v", err)
		}
	}
	if verifies(t, before.secret(), over) == nil || verifiesAsymmetric(before.publicKey(), over) {
		t.Error("the old secret outlives the rotation")
	}
	if err := verifies(t, after.secret(), over); err != nil {
		t.Errorf("after the rotation: %v", err)
	}
}

func TestNoMutationVerifies(t *testing.T) {
	t.Parallel()
	key := newKeyMaterial()
	s := signWith(signer{SignBoth, []signingKey{newSigningKey(key, SignBoth, time.Time{})}}, time.Now(), bodies[1])
	accepted := func(m signed) bool {
		return verifies(t, key.secret(), m) == nil || verifiesAsymmetric(key.publicKey(), m)
	}
	if !accepted(s) {
		t.Fatal("the original is refused")
	}
	for i := range len(s.body) * 8 {
		body := bytes.Clone(s.body)
		body[i/8] ^= 1 << (i % 8)
		if accepted(signed{s.header, body}) {
			t.Errorf("bit %d of the body may change", i)
		}
	}
	for _, name := range []string{headerID, headerTimestamp} {
		for i := range len(s.header.Get(name)) * 7 {
			value := []byte(s.header.Get(name))
			value[i/7] ^= 1 << (i % 7)
			h := s.header.Clone()
			h.Set(name, string(value))
			if accepted(signed{h, s.body}) {
				t.Errorf("bit %d of %s may change", i, name)
			}
		}
	}
}

func BenchmarkSign(b *testing.B) {
	body := bytes.Repeat([]byte("x"), 1500)
	for _, signature := range []string{SignV1, SignV1a} {
		b.Run(signature, func(b *testing.B) {
			b.ReportAllocs()
			s := signer{signature, []signingKey{newSigningKey(newKeyMaterial(), signature, time.Time{})}}
			for b.Loop() {
				s.sign(testEventID, time.Now(), body)
			}
		})
	}
}
