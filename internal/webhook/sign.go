package webhook

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"time"
)

// The ways to sign: with a shared secret, with a key pair, or both.
const (
	SignV1   = "v1"
	SignV1a  = "v1a"
	SignBoth = "both"
)

// The headers of Standard Webhooks.
const (
	headerID        = "webhook-id"
	headerTimestamp = "webhook-timestamp"
	headerSignature = "webhook-signature"
)

const (
	secretPrefix    = "whsec_"
	publicKeyPrefix = "whpk_"
)

// keyMaterial is the secret of an endpoint: a shared secret, and the seed of a
// key pair. Both are made together, so that the way to sign can change later.
type keyMaterial [sha256.Size + ed25519.SeedSize]byte

func newKeyMaterial() (k keyMaterial) {
	rand.Read(k[:]) // never fails
	return k
}

func parseKeyMaterial(b []byte) (keyMaterial, error) {
	if len(b) != len(keyMaterial{}) {
		return keyMaterial{}, errors.New("the secret of an endpoint has the wrong length")
	}
	return keyMaterial(b), nil
}

// secret is the shared secret as receivers know it.
func (k *keyMaterial) secret() string {
	return secretPrefix + base64.StdEncoding.EncodeToString(k.shared())
}

// publicKey is the public key as receivers know it.
func (k *keyMaterial) publicKey() string {
	return publicKeyPrefix + base64.StdEncoding.EncodeToString(k.private().Public().(ed25519.PublicKey))
}

func (k *keyMaterial) shared() []byte { return k[:sha256.Size] }

func (k *keyMaterial) private() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(k[sha256.Size:]) }

// A signer makes the signatures of an endpoint. During a rotation it signs
// with the old secret too, until its time is over.
type signer struct {
	signature string
	keys      []signingKey // the present one first
}

type signingKey struct {
	until   time.Time // zero for the present one
	shared  []byte
	private ed25519.PrivateKey // nil without v1a
}

func newSigningKey(k keyMaterial, signature string, until time.Time) signingKey {
	out := signingKey{until: until, shared: k.shared()}
	if signature != SignV1 {
		out.private = k.private()
	}
	return out
}

// sign returns the value of the signature header over the very bytes of the
// body, and that of the timestamp's. The signatures stand in one line with
// spaces between; a receiver needs to find one that it can verify.
func (s *signer) sign(id string, at time.Time, body []byte) (timestamp, signature string) {
	timestamp = strconv.FormatInt(at.Unix(), 10)
	before := make([]byte, 0, 64)
	before = append(append(append(append(before, id...), '.'), timestamp...), '.')
	var whole []byte // what is signed; a hash takes it in parts, Ed25519 does not
	var buf [4 * 96]byte
	out := buf[:0]
	for i := range s.keys {
		k := &s.keys[i]
		if !k.until.IsZero() && !at.Before(k.until) {
			continue
		}
		if s.signature != SignV1a {
			mac := hmac.New(sha256.New, k.shared)
			mac.Write(before)
			mac.Write(body)
			out = appendSignature(out, "v1,", mac.Sum(nil))
		}
		if s.signature != SignV1 {
			if whole == nil {
				whole = slices.Concat(before, body)
			}
			out = appendSignature(out, "v1a,", ed25519.Sign(k.private, whole))
		}
	}
	return timestamp, string(out)
}

func appendSignature(out []byte, version string, signature []byte) []byte {
	if len(out) > 0 {
		out = append(out, ' ')
	}
	return base64.StdEncoding.AppendEncode(append(out, version...), signature)
}
