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

// PushPath is where a carrier's pushes over the connection arrive. Nobody can
// guess it.
func PushPath(key []byte, id ship.ConnectionID) string {
	return "/in/" + string(id) + "/" + pushWord(key, "push address", id)
}

// PushSecret is what a carrier's pushes over the connection prove themselves
// with: 32 characters.
func PushSecret(key []byte, id ship.ConnectionID) string {
	const mixed = "Wb7" // FedEx wants capitals, small letters and digits
	return mixed + pushWord(key, "push secret", id)[:32-len(mixed)]
}

func pushWord(key []byte, purpose string, id ship.ConnectionID) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(purpose))
	h.Write([]byte{0})
	h.Write([]byte(id))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(h.Sum(nil)[:20]))
}

// Admits says whether a push may come in at an address: ship.NotFound if the
// token is not the connection's.
func (s *Service) Admits(id ship.ConnectionID, token string) error {
	if !hmac.Equal([]byte(token), []byte(pushWord(s.key, "push address", id))) {
		return ship.Errorf(ship.NotFound, "no such address")
	}
	return nil
}

// keptHeaders are those of a push that a proof may be in.
const keptHeaders = 32

// Receive stores a push of an address that admits it, as it came, to be taken
// in. What it means is found out later: the carrier waits for the answer.
func (s *Service) Receive(ctx context.Context, id ship.ConnectionID, header http.Header, body []byte) error {
	t, err := s.ownerOf(ctx, id)
	if err != nil {
		return err
	}
	kept := http.Header{}
	for name, values := range header {
		if name != "Cookie" && len(kept) < keptHeaders {
			kept[name] = values
		}
	}
	return s.intake.add(ctx, store.Push{ID: pushID(t, id, header, body), Tenant: t, Connection: id, Header: kept, Body: body})
}

// ownerOf is whose a connection is. That never changes.
func (s *Service) ownerOf(ctx context.Context, id ship.ConnectionID) (ship.Tenant, error) {
	if t, known := s.owners.Load(id); known {
		return t.(ship.Tenant), nil
	}
	t, err := s.tenantOf(ctx, id)
	if err == nil {
		s.owners.Store(id, t)
	}
	return t, err
}

// pushID follows from the body and the day, so that a repeat is known.
func pushID(t ship.Tenant, id ship.ConnectionID, header http.Header, body []byte) store.PushID {
	h := sha256.New()
	h.Write([]byte(id))
	for _, name := range []string{"Authorization", "X-Hmac", "Credential", "Fdx-Signature"} {
		h.Write([]byte(header.Get(name) + "\x00"))
	}
	h.Write(body)
	raw := ship.RawIDAt(time.Now().UTC().Truncate(24 * time.Hour))
	sum := h.Sum(nil)
	copy(raw[8:], sum[:8])
	binary.BigEndian.PutUint16(raw[6:], uint16(t.Shard())<<4|binary.BigEndian.Uint16(sum[8:])&15)
	return raw
}
