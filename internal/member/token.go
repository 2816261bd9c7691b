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

// newToken makes a secret of 256 bits, and what is stored of it.
func newToken() (token string, hash [32]byte) {
	var b [32]byte
	rand.Read(b[:]) // never fails
	token = base64.RawURLEncoding.EncodeToString(b[:])
	return token, hashOf(token)
}

// hashOf is what is stored of a token. Tokens are random and long, so a plain
// hash cannot be reversed, and looking one up by it tells nothing by its time.
func hashOf(token string) [32]byte { return sha256.Sum256([]byte(token)) }

// The kinds of what begins and ends once. Those of the first group are rows;
// the others travel sealed in their token, so that a stranger who begins many
// writes nothing.
const (
	kindSetup = "setup"
	kindCode  = "code"
	kindReset = "reset"
	kindTOTP  = "totp"

	kindPasskey       = "passkey"
	kindPasskeyStepUp = "passkey_step_up"
	kindNewPasskey    = "passkey_new"
	kindOIDC          = "oidc"
	kindSpent         = "spent" // the row of a sealed one that has ended
)

// sealedToken is a ceremony inside its token.
type sealedToken struct {
	Expires int64           `json:"e"` // Unix seconds
	Person  ship.PersonID   `json:"p,omitempty"`
	Session ship.SessionID  `json:"s,omitempty"`
	Data    json.RawMessage `json:"d"`
}

// ceremonyFor is how long the browser has for its part.
const ceremonyFor = 10 * time.Minute

// sealCeremony begins a ceremony that no row tells of.
func (s *Service) sealCeremony(kind string, a Actor, data any) (string, error) {
	if s.box == nil {
		return "", errNoBox
	}
	inner, err := json.Marshal(data)
	if err != nil {
		return "", fmt.Errorf("ceremony %s: %w", kind, err)
	}
	text, err := json.Marshal(sealedToken{Expires: s.now().Add(ceremonyFor).Unix(), Person: a.Person.ID, Session: a.Session, Data: inner})
	if err != nil {
		return "", fmt.Errorf("ceremony %s: %w", kind, err)
	}
	// The random part makes each token a different one, so that each is spent
	// for itself.
	return base64.RawURLEncoding.EncodeToString(s.box.Seal(text, "ceremony", kind)), nil
}

// openCeremony reads what sealCeremony made into data. It does not end it:
// that is for the transaction of what it leads to.
func (s *Service) openCeremony(kind, token string, data any) (sealedToken, error) {
	var t sealedToken
	if s.box == nil {
		return t, errNoBox
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil {
		return t, expired()
	}
	text, err := s.box.Open(raw, "ceremony", kind)
	if err != nil {
		return t, expired()
	}
	if err := json.Unmarshal(text, &t); err != nil {
		return t, fmt.Errorf("ceremony %s: %w", kind, err)
	}
	if s.now().Unix() >= t.Expires {
		return t, expired()
	}
	if err := json.Unmarshal(t.Data, data); err != nil {
		return t, fmt.Errorf("ceremony %s: %w", kind, err)
	}
	return t, nil
}

func expired() error {
	return ship.Coded(ship.Gone, "expired", "this was used already, or it is too old: begin again")
}
