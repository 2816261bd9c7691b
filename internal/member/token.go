package member

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// newToken returns a secret of 256 bits, and the hash that is stored of it.
func newToken() (token string, hash [32]byte) {
	var secret [32]byte
	rand.Read(secret[:]) // never fails
	token = base64.RawURLEncoding.EncodeToString(secret[:])
	return token, hashOf(token)
}

// hashOf returns what is stored of a token. Tokens are random and long, so a
// plain hash cannot be reversed, and the time of a lookup by it reveals nothing.
func hashOf(token string) [32]byte { return sha256.Sum256([]byte(token)) }

// The kinds of ceremonies: what is begun and can be finished once. Those of the
// first group are rows; the others travel sealed in their token, so that a
// stranger who begins many writes nothing.
const (
	kindSetup = "setup"
	kindCode  = "code"
	kindReset = "reset"
	kindTOTP  = "totp"

	kindPasskey       = "passkey"
	kindPasskeyStepUp = "passkey_step_up"
	kindNewPasskey    = "passkey_new"
	kindOIDC          = "oidc"
	kindSpent         = "spent" // the row of a sealed one that was finished
)

// sealedToken is a ceremony inside its token.
type sealedToken struct {
	Expires int64           `json:"e"` // Unix seconds
	Person  ship.PersonID   `json:"p,omitempty"`
	Session ship.SessionID  `json:"s,omitempty"`
	Data    json.RawMessage `json:"d"`
}

// ceremonyLifetime is how long the browser has to answer.
const ceremonyLifetime = 10 * time.Minute

// sealCeremony begins a ceremony of which nothing is stored.
func (s *Service) sealCeremony(kind string, a Actor, data any) (string, error) {
	if s.box == nil {
		return "", errNoBox
	}

	inner, err := json.Marshal(data)
	if err != nil {
		return "", fmt.Errorf("ceremony %s: %w", kind, err)
	}
	text, err := json.Marshal(sealedToken{
		Expires: s.now().Add(ceremonyLifetime).Unix(),
		Person:  a.Person.ID,
		Session: a.Session,
		Data:    inner,
	})
	if err != nil {
		return "", fmt.Errorf("ceremony %s: %w", kind, err)
	}

	// The seal has a random part, so each token is different and is spent for
	// itself.
	return base64.RawURLEncoding.EncodeToString(s.box.Seal(text, "ceremony", kind)), nil
}

// openCeremony reads what sealCeremony sealed into data. It does not end the
// ceremony: that is part of the transaction that it leads to.
func (s *Service) openCeremony(kind, token string, data any) (sealedToken, error) {
	var ceremony sealedToken
	if s.box == nil {
		return ceremony, errNoBox
	}

	// A token has one spelling: another of the same bytes would have another
	// hash, and could be spent again.
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil {
		return ceremony, expired()
	}
	text, err := s.box.Open(raw, "ceremony", kind)
	if err != nil {
		return ceremony, expired()
	}

	if err := json.Unmarshal(text, &ceremony); err != nil {
		return ceremony, fmt.Errorf("ceremony %s: %w", kind, err)
	}
	if s.now().Unix() >= ceremony.Expires {
		return ceremony, expired()
	}
	if err := json.Unmarshal(ceremony.Data, data); err != nil {
		return ceremony, fmt.Errorf("ceremony %s: %w", kind, err)
	}
	return ceremony, nil
}

func expired() error {
	return ship.Coded(ship.Gone, "expired", "this request has expired or was already used: start again")
}
