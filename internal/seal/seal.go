// Package seal encrypts small secrets for storage: webhook secrets, custom
// headers, credentials. It knows keys and bytes, stores nothing and imports the
// standard library alone.
//
// A sealed secret is AES-256-GCM under a key that is derived from one of the
// installation's, and opens only in the place that it was sealed for. It begins
// with the id of its key, so that keys can be changed: the new key seals, old
// ones still open, and what is written again is sealed anew.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
)

// A Box seals secrets and opens them. It is safe for concurrent use.
type Box struct {
	keys []key // the first seals
}

type key struct {
	id   [idSize]byte
	aead cipher.AEAD
}

// The layout of a sealed secret: version, key id, then nonce and ciphertext.
const (
	version    = 1
	idSize     = 4
	headerSize = 1 + idSize
	minKey     = 32
)

// ErrOpen says that a sealed secret cannot be opened: its key is not here, it
// was changed, or it was sealed for another place.
var ErrOpen = errors.New("a sealed secret cannot be opened")

// New returns a box. The first key seals; all open. Each has at least 32
// bytes.
func New(keys ...[]byte) (*Box, error) {
	b := &Box{}
	for _, k := range keys {
		made, err := derive(k)
		if err != nil {
			return nil, err
		}
		b.keys = append(b.keys, made)
	}
	if len(b.keys) == 0 {
		return nil, errors.New("no key to seal with")
	}
	return b, nil
}

// derive makes the key that encrypts, and an id that tells nothing of it. The
// installation's key serves other ends too, so it is never used as it is.
func derive(master []byte) (k key, err error) {
	if len(master) < minKey {
		return k, fmt.Errorf("a key has %d bytes, and needs %d", len(master), minKey)
	}
	secret, err := hkdf.Key(sha256.New, master, nil, "waybill seal key", 32)
	if err != nil {
		return k, err
	}
	id, err := hkdf.Key(sha256.New, master, nil, "waybill seal key id", idSize)
	if err != nil {
		return k, err
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return k, err
	}
	k.id = [idSize]byte(id)
	k.aead, err = cipher.NewGCMWithRandomNonce(block)
	return k, err
}

// Seal encrypts a secret for a place, which is given by its parts: account,
// mode, row, field.
func (b *Box) Seal(secret []byte, place ...string) []byte {
	k := b.keys[0]
	out := make([]byte, headerSize, headerSize+len(secret)+k.aead.Overhead())
	out[0] = version
	copy(out[1:], k.id[:])
	return k.aead.Seal(out, nil, secret, binding(out, place))
}

// Open decrypts what Seal made for the same place.
func (b *Box) Open(sealed []byte, place ...string) ([]byte, error) {
	k := b.keyOf(sealed)
	if k == nil {
		return nil, fmt.Errorf("%w: its key is not here", ErrOpen)
	}
	secret, err := k.aead.Open(nil, nil, sealed[headerSize:], binding(sealed[:headerSize], place))
	if err != nil {
		return nil, ErrOpen
	}
	return secret, nil
}

// Old reports whether a sealed secret is not under the present key: then it
// should be sealed again when it is next written.
func (b *Box) Old(sealed []byte) bool { return b.keyOf(sealed) != &b.keys[0] }

// Holds reports whether a sealed secret, or a wrapped data key, is under one of
// the box's keys.
func (b *Box) Holds(sealed []byte) bool { return b.keyOf(sealed) != nil }

func (b *Box) keyOf(sealed []byte) *key {
	if len(sealed) < headerSize || sealed[0] != version {
		return nil
	}
	for i := range b.keys {
		if string(b.keys[i].id[:]) == string(sealed[1:headerSize]) {
			return &b.keys[i]
		}
	}
	return nil
}

// binding ties the ciphertext to its header and its place.
func binding(header []byte, place []string) []byte {
	return append(append([]byte{}, header[:headerSize]...), placeText(place)...)
}

// placeText writes a place. Each part carries its length, so that no two
// places read the same.
func placeText(place []string) string {
	var b strings.Builder
	for _, part := range place {
		fmt.Fprintf(&b, "%d:%s", len(part), part)
	}
	return b.String()
}
