package tracking

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"net/http"
	"slices"
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
	isKnown := slices.ContainsFunc(s.keys, func(key []byte) bool {
		return hmac.Equal([]byte(token), []byte(pushToken(key, "push address", id)))
	})
	if !isKnown {
		return ship.Errorf(ship.NotFound, "no such address")
	}
	return nil
}

// signatureHeaders are the headers of a push that are kept: those by which
// carriers sign.
var signatureHeaders = []string{"Authorization", "X-Hmac", "Credential", "Fdx-Signature"}

// An Arrival is a push that was inspected and is not stored yet.
type Arrival struct {
	// Verified says that the signature is valid. Any other push is at most a
	// reason to poll the carrier, and anybody who knows the address can send
	// one.
	Verified bool

	push     store.Push
	content  decodedPush
	rejected error // why it is not the carrier's, or cannot be read
}

// MaxUnverified is the largest body, in bytes, of a push that is stored although
// it is not verified.
const MaxUnverified = 16 << 10

// Inspect verifies a push, before anything of it is stored. The error says that
// this is not possible now; the carrier sends the push again.
func (s *Service) Inspect(ctx context.Context, id ship.ConnectionID, header http.Header, body []byte) (Arrival, error) {
	tenant, err := s.ownerOf(ctx, id)
	if err != nil {
		return Arrival{}, err
	}

	kept := http.Header{}
	for _, name := range signatureHeaders {
		for _, value := range header[name] {
			if !strings.Contains(value, secretMark) {
				kept.Add(name, value)
			}
		}
	}
	arrival := Arrival{push: store.Push{
		ID:         pushID(tenant, id, kept, body),
		Tenant:     tenant,
		Connection: id,
		Header:     kept,
		Body:       body,
	}}

	content, err := s.decodePush(ctx, arrival.push)
	switch {
	case err == nil:
		arrival.content = content
		arrival.Verified = content.Verified
	case isRejected(err):
		arrival.rejected = err
	default:
		return Arrival{}, &ship.Error{Kind: ship.Unavailable, Message: "the push cannot be verified at the moment; send it again later", Err: err}
	}
	return arrival, nil
}

// Receive stores a push that was inspected; it is processed later, because the
// carrier is waiting for the response. A push that was rejected is not stored,
// and the response does not say so: a forger should not learn from it.
func (s *Service) Receive(ctx context.Context, arrival Arrival) error {
	push := arrival.push
	if arrival.rejected != nil {
		s.log.WarnContext(ctx, "a push was rejected", "connection", push.Connection, "error", arrival.rejected)
		return nil
	}
	if !arrival.Verified && len(push.Body) > MaxUnverified {
		return ship.Coded(ship.Invalid, "body_too_large", "a push without a signature may have at most %d bytes", MaxUnverified)
	}

	for _, secret := range s.pushSecrets(push.Connection) {
		push.Header = replaceInHeader(push.Header, secret, secretMark)
	}
	return s.intake.add(ctx, push, arrival.content)
}

// isRejected reports whether the error says that a push is not the carrier's, or
// cannot be read.
func isRejected(err error) bool {
	switch ship.KindOf(err) {
	case ship.Forbidden, ship.Invalid, ship.Unsupported, ship.NotFound:
		return true
	}
	return false
}

// secretMark stands for the connection's push secret in a stored header: some
// carriers send the secret itself. A header that contains the mark when it arrives
// is not kept.
const secretMark = "\x01"

// replaceInHeader returns the header with old replaced by text.
func replaceInHeader(header http.Header, old, text string) http.Header {
	replaced := make(http.Header, len(header))
	for name, values := range header {
		for _, value := range values {
			replaced[name] = append(replaced[name], strings.ReplaceAll(value, old, text))
		}
	}
	return replaced
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

// pushSecrets returns the connection's push secret under each key. The
// connection must be there: the secrets are cached for good.
func (s *Service) pushSecrets(id ship.ConnectionID) []string {
	if secrets, known := s.secrets.Load(id); known {
		return secrets.([]string)
	}

	secrets := make([]string, len(s.keys))
	for i, key := range s.keys {
		secrets[i] = PushSecret(key, id)
	}
	s.secrets.Store(id, secrets)
	return secrets
}

// pushID derives an ID from the body and the day, so that a repeat is
// recognized.
func pushID(t ship.Tenant, id ship.ConnectionID, header http.Header, body []byte) store.PushID {
	// The headers that authenticate it count too: a forged push with the same
	// body must not make the genuine one look like a repeat.
	h := sha256.New()
	h.Write([]byte(id))
	for _, name := range signatureHeaders {
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
