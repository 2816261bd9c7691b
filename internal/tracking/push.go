package tracking

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"net/http"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// PushPath returns the path that receives a carrier's pushes over the
// connection. Nobody can guess it.
func PushPath(key []byte, id ship.ConnectionID) string {
	return "/in/" + string(id) + "/" + pushToken(key, "push address", id)
}

// PushSecret returns the secret that a carrier's pushes over the connection are
// verified with: 32 characters.
func PushSecret(key []byte, id ship.ConnectionID) string {
	// Some carriers require upper-case letters, lower-case letters and digits
	// in such secrets.
	const mixed = "Wb7"
	return mixed + pushToken(key, "push secret", id)[:32-len(mixed)]
}

// pushToken derives a token for a purpose, so that none has to be stored.
func pushToken(key []byte, purpose string, id ship.ConnectionID) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(purpose))
	h.Write([]byte{0})
	h.Write([]byte(id))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(h.Sum(nil)[:20]))
}

// Admits checks whether an address accepts pushes; the error is ship.NotFound
// if the token does not belong to the connection.
func (s *Service) Admits(id ship.ConnectionID, token string) error {
	if !hmac.Equal([]byte(token), []byte(pushToken(s.key, "push address", id))) {
		return ship.Errorf(ship.NotFound, "no such address")
	}
	return nil
}

// maxPushHeaders bounds the headers of a push that are kept. A signature may be
// in any of them.
const maxPushHeaders = 32

// Receive stores a push as it arrived, if its address is valid. It is processed
// later, because the carrier is waiting for the response.
func (s *Service) Receive(ctx context.Context, id ship.ConnectionID, header http.Header, body []byte) error {
	tenant, err := s.ownerOf(ctx, id)
	if err != nil {
		return err
	}

	kept := http.Header{}
	for name, values := range header {
		if name != "Cookie" && len(kept) < maxPushHeaders {
			kept[name] = values
		}
	}
	return s.intake.add(ctx, store.Push{
		ID:         pushID(tenant, id, header, body),
		Tenant:     tenant,
		Connection: id,
		Header:     kept,
		Body:       body,
	})
}

// ownerOf returns the tenant of a connection. It never changes, so it is cached
// for good.
func (s *Service) ownerOf(ctx context.Context, id ship.ConnectionID) (ship.Tenant, error) {
	if tenant, known := s.owners.Load(id); known {
		return tenant.(ship.Tenant), nil
	}

	tenant, err := s.tenantOf(ctx, id)
	if err == nil {
		s.owners.Store(id, tenant)
	}
	return tenant, err
}

// pushID derives an ID from the body and the day, so that a repeat is
// recognized.
func pushID(t ship.Tenant, id ship.ConnectionID, header http.Header, body []byte) store.PushID {
	// The headers that authenticate it count too: a forged push with the same
	// body must not make the genuine one look like a repeat.
	h := sha256.New()
	h.Write([]byte(id))
	for _, name := range []string{"Authorization", "X-Hmac", "Credential", "Fdx-Signature"} {
		h.Write([]byte(header.Get(name) + "\x00"))
	}
	h.Write(body)
	sum := h.Sum(nil)

	// The day and the shard have the same position as in every other ID.
	raw := ship.RawIDAt(time.Now().UTC().Truncate(24 * time.Hour))
	copy(raw[8:], sum[:8])
	binary.BigEndian.PutUint16(raw[6:], uint16(t.Shard())<<4|binary.BigEndian.Uint16(sum[8:])&15)
	return raw
}
