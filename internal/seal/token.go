package seal

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
)

// A Signer signs claims that a client keeps and brings back, so that nothing
// need be stored. The claims can be read by anybody who has the token.
type Signer struct {
	keys [][]byte // the first signs, all verify
}

// NewSigner returns a signer with the key. What was signed with an old key is
// still verified.
func NewSigner(key []byte, old ...[]byte) Signer {
	return Signer{append([][]byte{key}, old...)}
}

// Sign returns a token of the claims and their signature. The purpose keeps
// tokens of one kind from passing as another.
func (s Signer) Sign(purpose string, claims any) string {
	data, _ := json.Marshal(claims) // strings and numbers always encode
	return base64.RawURLEncoding.EncodeToString(data) + "." + base64.RawURLEncoding.EncodeToString(mac(s.keys[0], purpose, data))
}

// Verify reads what Sign returned into claims. It reports false if the token is
// not one of the signer's for the purpose.
func (s Signer) Verify(purpose, token string, claims any) bool {
	body, signature, ok := strings.Cut(token, ".")
	data, dataErr := base64.RawURLEncoding.DecodeString(body)
	given, givenErr := base64.RawURLEncoding.DecodeString(signature)
	if !ok || dataErr != nil || givenErr != nil {
		return false
	}

	isSigned := slices.ContainsFunc(s.keys, func(key []byte) bool {
		return hmac.Equal(given, mac(key, purpose, data))
	})
	return isSigned && json.Unmarshal(data, claims) == nil
}

// MAC returns a signature of 16 bytes of the data, which a caller may shorten.
func (s Signer) MAC(purpose string, data []byte) []byte { return mac(s.keys[0], purpose, data) }

// VerifyMAC reports whether given is the beginning of what MAC returns for the data,
// or returned with an old key. How short it may be is for the caller to say.
func (s Signer) VerifyMAC(purpose string, data, given []byte) bool {
	return slices.ContainsFunc(s.keys, func(key []byte) bool {
		signature := mac(key, purpose, data)
		return len(given) > 0 && len(given) <= len(signature) && hmac.Equal(given, signature[:len(given)])
	})
}

func mac(key []byte, purpose string, data []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(purpose))
	h.Write([]byte{0})
	h.Write(data)
	return h.Sum(nil)[:16]
}
