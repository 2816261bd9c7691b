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
// key pair. Both are created together, so that the way to sign can change later.
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

// secret returns the shared secret as receivers know it.
func (k *keyMaterial) secret() string {
	return secretPrefix + base64.StdEncoding.EncodeToString(k.shared())
}

// publicKey returns the public key as receivers know it.
func (k *keyMaterial) publicKey() string {
	return publicKeyPrefix + base64.StdEncoding.EncodeToString(k.private().Public().(ed25519.PublicKey))
}

func (k *keyMaterial) shared() []byte { return k[:sha256.Size] }

func (k *keyMaterial) private() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(k[sha256.Size:]) }

// A signer makes the signatures of an endpoint. During a rotation it signs
// with the old secret too, until that expires.
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
	key := signingKey{until: until, shared: k.shared()}
	if signature != SignV1 {
		key.private = k.private()
	}
	return key
}

// sign returns the values of the timestamp and signature headers for the exact
// bytes of the body. The signatures are separated by spaces; a receiver needs
// to find one that it can verify.
func (s *signer) sign(id string, at time.Time, body []byte) (timestamp, signature string) {
	timestamp = strconv.FormatInt(at.Unix(), 10)
	prefix := make([]byte, 0, 64)
	prefix = append(prefix, id...)
	prefix = append(prefix, '.')
	prefix = append(prefix, timestamp...)
	prefix = append(prefix, '.')

	// HMAC takes what is signed in parts, so the body is copied only if Ed25519
	// needs it in one piece.
	var signed []byte

	var buffer [4 * 96]byte
	signatures := buffer[:0]
	for i := range s.keys {
		key := &s.keys[i]
		if !key.until.IsZero() && !at.Before(key.until) {
			continue
		}

		if s.signature != SignV1a {
			mac := hmac.New(sha256.New, key.shared)
			mac.Write(prefix)
			mac.Write(body)
			signatures = appendSignature(signatures, "v1,", mac.Sum(nil))
		}
		if s.signature != SignV1 {
			if signed == nil {
				signed = slices.Concat(prefix, body)
			}
			signatures = appendSignature(signatures, "v1a,", ed25519.Sign(key.private, signed))
		}
	}
	return timestamp, string(signatures)
}

func appendSignature(list []byte, version string, signature []byte) []byte {
	if len(list) > 0 {
		list = append(list, ' ')
	}
	return base64.StdEncoding.AppendEncode(append(list, version...), signature)
}
