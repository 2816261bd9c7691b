// Package seal encrypts small secrets for storage: webhook secrets, custom
// headers, credentials. It imports the standard library alone.
//
// A sealed secret is AES-256-GCM under a key that is derived from one of the
// installation's. It is bound to what it belongs to (account, mode, row, field)
// and opens only with the same binding. It begins with the id of its key, so
// keys can be changed: the new key seals, old ones still open, and what is
// written again is sealed with the new one.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
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
// was changed, or it was sealed with another binding.
var ErrOpen = errors.New("cannot decrypt a stored secret")

// New returns a box. The first key seals; all open. Each has at least 32
// bytes.
func New(keys ...[]byte) (*Box, error) {
	b := &Box{}
	for _, master := range keys {
		derived, err := derive(master)
		if err != nil {
			return nil, err
		}
		b.keys = append(b.keys, derived)
	}
	if len(b.keys) == 0 {
		return nil, errors.New("no key to seal with")
	}
	return b, nil
}

// derive returns the key that encrypts, and an id that reveals nothing of it.
// The installation's key has other uses too, so it is never used as it is.
func derive(master []byte) (derived key, err error) {
	if len(master) < minKey {
		return derived, fmt.Errorf("a key has %d bytes; at least %d are required", len(master), minKey)
	}

	secret, err := hkdf.Key(sha256.New, master, nil, "waybill seal key", 32)
	if err != nil {
		return derived, err
	}
	id, err := hkdf.Key(sha256.New, master, nil, "waybill seal key id", idSize)
	if err != nil {
		return derived, err
	}

	block, err := aes.NewCipher(secret)
	if err != nil {
		return derived, err
	}
	derived.id = [idSize]byte(id)
	derived.aead, err = cipher.NewGCMWithRandomNonce(block)
	return derived, err
}

// Seal encrypts a secret and binds it to what it belongs to, which is given by
// its parts: account, mode, row, field.
func (b *Box) Seal(secret []byte, binding ...string) []byte {
	present := b.keys[0]
	out := make([]byte, headerSize, headerSize+len(secret)+present.aead.Overhead())
	out[0] = version
	copy(out[1:], present.id[:])
	return present.aead.Seal(out, nil, secret, associatedData(out, binding))
}

// Open decrypts what Seal made with the same binding.
func (b *Box) Open(sealed []byte, binding ...string) ([]byte, error) {
	used := b.keyOf(sealed)
	if used == nil {
		return nil, fmt.Errorf("%w: its key is not configured", ErrOpen)
	}

	secret, err := used.aead.Open(nil, nil, sealed[headerSize:], associatedData(sealed[:headerSize], binding))
	if err != nil {
		return nil, ErrOpen
	}
	return secret, nil
}

// Reseal returns a sealed secret under the present key, with the binding that it
// was sealed with.
func (b *Box) Reseal(sealed []byte, binding ...string) ([]byte, error) {
	secret, err := b.Open(sealed, binding...)
	if err != nil {
		return nil, err
	}
	return b.Seal(secret, binding...), nil
}

// ResealEach is Reseal for several secrets, of which those that are nil or under
// the present key stay as they are. bindingOf returns the binding of each.
func (b *Box) ResealEach(secrets [][]byte, bindingOf func(i int) []string) ([][]byte, error) {
	resealed := slices.Clone(secrets)
	for i, sealed := range secrets {
		if sealed == nil || !b.Old(sealed) {
			continue
		}

		var err error
		if resealed[i], err = b.Reseal(sealed, bindingOf(i)...); err != nil {
			return nil, err
		}
	}
	return resealed, nil
}

// KeyHeaders returns the beginnings of what each of the box's keys has sealed or
// wrapped, the present key's first.
func (b *Box) KeyHeaders() [][]byte {
	headers := make([][]byte, len(b.keys))
	for i := range b.keys {
		headers[i] = append([]byte{version}, b.keys[i].id[:]...)
	}
	return headers
}

// Old reports whether a sealed secret is not under the present key: then it
// should be sealed again when it is next written.
func (b *Box) Old(sealed []byte) bool { return b.keyOf(sealed) != &b.keys[0] }

// Holds reports whether a sealed secret, or a wrapped data key, is under one of
// the box's keys.
func (b *Box) Holds(sealed []byte) bool { return b.keyOf(sealed) != nil }

// keyOf returns the key that a secret was sealed with; nil if it is not here.
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

// associatedData ties the ciphertext to its header and its binding.
func associatedData(header []byte, binding []string) []byte {
	return append(append([]byte{}, header[:headerSize]...), encodeBinding(binding)...)
}

// encodeBinding writes a binding as text. Each part carries its length: two
// different bindings never encode to the same text.
func encodeBinding(binding []string) string {
	var text strings.Builder
	for _, part := range binding {
		fmt.Fprintf(&text, "%d:%s", len(part), part)
	}
	return text.String()
}
