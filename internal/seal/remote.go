package seal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"time"
)

// A crypt encrypts or decrypts a data key in a key service. The binding must be
// the same for both.
type crypt func(ctx context.Context, data []byte, binding string) ([]byte, error)

// remote is a wrapper whose key never leaves its service: data keys are sent
// there to be wrapped. The layout is that of a sealed secret with another
// version, and the id is the key's address, hashed.
type remote struct {
	id      [idSize]byte
	encrypt crypt
	decrypt crypt
}

const (
	remoteVersion = 2
	remoteTimeout = 10 * time.Second
)

// NewRemote returns a wrapper whose key is in a key service, at the address.
func NewRemote(address string, encrypt, decrypt func(ctx context.Context, data []byte, binding string) ([]byte, error)) Wrapper {
	sum := sha256.Sum256([]byte(address))
	return &remote{
		id:      [idSize]byte(sum[:]),
		encrypt: encrypt,
		decrypt: decrypt,
	}
}

func (r *remote) Wrap(ctx context.Context, key []byte, binding ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
	defer cancel()

	sealed, err := r.encrypt(ctx, key, encodeBinding(binding))
	if err != nil {
		return nil, err
	}
	return append(r.header(), sealed...), nil
}

func (r *remote) Unwrap(ctx context.Context, wrapped []byte, binding ...string) ([]byte, error) {
	if r.Old(wrapped) {
		return nil, ErrNoKey
	}

	ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
	defer cancel()
	return r.decrypt(ctx, wrapped[headerSize:], encodeBinding(binding))
}

// Old compares keys and not their versions: a service decrypts what older
// versions of its key encrypted.
func (r *remote) Old(wrapped []byte) bool { return !bytes.HasPrefix(wrapped, r.header()) }

func (r *remote) header() []byte { return append([]byte{remoteVersion}, r.id[:]...) }
