package seal

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
)

// A Wrapper encrypts data keys with a key of its own: the installation's box,
// or a key that never leaves a key service. It is safe for concurrent use.
type Wrapper interface {
	// Wrap encrypts a data key and binds it to what it belongs to, which is
	// given by its parts.
	Wrap(ctx context.Context, key []byte, binding ...string) ([]byte, error)
	// Unwrap decrypts what Wrap made with the same binding. The error is
	// ErrNoKey if it was wrapped with a key that is not here, another ErrOpen
	// if it was changed or has another binding, and any other if the key
	// service cannot be asked now.
	Unwrap(ctx context.Context, wrapped []byte, binding ...string) ([]byte, error)
	// Old reports whether Wrap would use another key today. It makes no call.
	Old(wrapped []byte) bool
}

// ErrNoKey is the ErrOpen of something whose key is not here.
var ErrNoKey = fmt.Errorf("%w: its key is not configured", ErrOpen)

// An Envelope is a secret encrypted with a data key of its own, and that key,
// wrapped. A change of the wrapper's key changes Key alone.
type Envelope struct {
	Key    []byte
	Secret []byte
}

const (
	dataKeySize     = 32
	envelopeVersion = 1
)

// SealEnvelope encrypts a secret and binds it to what it belongs to, which is
// given by its parts.
func SealEnvelope(ctx context.Context, w Wrapper, secret []byte, binding ...string) (Envelope, error) {
	key := make([]byte, dataKeySize)
	rand.Read(key) // never fails
	aead, err := dataCipher(key)
	if err != nil {
		return Envelope{}, err
	}

	wrapped, err := w.Wrap(ctx, key, binding...)
	if err != nil {
		return Envelope{}, fmt.Errorf("wrap a data key: %w", err)
	}
	sealed := aead.Seal([]byte{envelopeVersion}, nil, secret, envelopeData(binding))
	return Envelope{Key: wrapped, Secret: sealed}, nil
}

// Open decrypts the secret, with the binding that it was sealed with. The
// errors are those of Unwrap.
func (e Envelope) Open(ctx context.Context, w Wrapper, binding ...string) ([]byte, error) {
	if len(e.Secret) == 0 || e.Secret[0] != envelopeVersion {
		return nil, ErrOpen
	}

	key, err := w.Unwrap(ctx, e.Key, binding...)
	if err != nil {
		return nil, err
	}
	aead, err := dataCipher(key)
	if err != nil {
		return nil, err
	}

	secret, err := aead.Open(nil, nil, e.Secret[1:], envelopeData(binding))
	if err != nil {
		return nil, ErrOpen
	}
	return secret, nil
}

// Rewrap returns the envelope with its data key under the wrapper's present
// key. The secret stays as it is.
func (e Envelope) Rewrap(ctx context.Context, w Wrapper, binding ...string) (Envelope, error) {
	key, err := w.Unwrap(ctx, e.Key, binding...)
	if err != nil {
		return Envelope{}, err
	}
	wrapped, err := w.Wrap(ctx, key, binding...)
	if err != nil {
		return Envelope{}, fmt.Errorf("wrap a data key: %w", err)
	}
	return Envelope{Key: wrapped, Secret: e.Secret}, nil
}

// envelopeData returns the associated data of a secret: it opens with no other
// binding, and never as anything but the secret of an envelope.
func envelopeData(binding []string) []byte {
	return append([]byte("waybill envelope\x01"), encodeBinding(binding)...)
}

func dataCipher(key []byte) (cipher.AEAD, error) {
	if len(key) != dataKeySize {
		return nil, ErrOpen
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// dataKeyPart keeps data keys apart from the other secrets that a box seals.
const dataKeyPart = "data key"

// Wrap seals a data key with the box's first key.
func (b *Box) Wrap(_ context.Context, key []byte, binding ...string) ([]byte, error) {
	return b.Seal(key, append([]string{dataKeyPart}, binding...)...), nil
}

// Unwrap opens what Wrap made.
func (b *Box) Unwrap(_ context.Context, wrapped []byte, binding ...string) ([]byte, error) {
	if b.keyOf(wrapped) == nil {
		return nil, ErrNoKey
	}
	return b.Open(wrapped, append([]string{dataKeyPart}, binding...)...)
}

// Ring is several wrappers as one: the first wraps, all unwrap. The key service
// can be changed while what the old one wrapped is still read.
type Ring []Wrapper

// Wrap wraps with the first.
func (r Ring) Wrap(ctx context.Context, key []byte, binding ...string) ([]byte, error) {
	if len(r) == 0 {
		return nil, errors.New("no key to wrap with")
	}
	return r[0].Wrap(ctx, key, binding...)
}

// Unwrap unwraps with the one whose key it is.
func (r Ring) Unwrap(ctx context.Context, wrapped []byte, binding ...string) ([]byte, error) {
	for _, wrapper := range r {
		key, err := wrapper.Unwrap(ctx, wrapped, binding...)
		if !errors.Is(err, ErrNoKey) {
			return key, err
		}
	}
	return nil, ErrNoKey
}

// Old reports whether it is not under the first one's present key.
func (r Ring) Old(wrapped []byte) bool { return len(r) > 0 && r[0].Old(wrapped) }
