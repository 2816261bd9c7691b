package member

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"
)

// authenticator is a passkey in software: what a phone does, and what a bad
// one would.
type authenticator struct {
	key        *ecdsa.PrivateKey
	id         []byte
	handle     string // base64url, as it was told
	count      uint32
	origin     string
	rp         string
	unverified bool // does not verify its user
}

func newAuthenticator(t *testing.T) *authenticator {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id := make([]byte, 16)
	rand.Read(id)
	return &authenticator{key: key, id: id, origin: testBase, rp: "ship.example.com"}
}

var b64 = base64.RawURLEncoding

// asked is what of the options an authenticator reads.
type asked struct {
	PublicKey struct {
		Challenge string `json:"challenge"`
		RPID      string `json:"rpId"`
		RP        struct {
			ID string `json:"id"`
		} `json:"rp"`
		User struct {
			ID string `json:"id"`
		} `json:"user"`
		UserVerification       string `json:"userVerification"`
		AllowCredentials       []any  `json:"allowCredentials"`
		ExcludeCredentials     []any  `json:"excludeCredentials"`
		AuthenticatorSelection struct {
			ResidentKey      string `json:"residentKey"`
			UserVerification string `json:"userVerification"`
		} `json:"authenticatorSelection"`
	} `json:"publicKey"`
}

func ask(t *testing.T, c Ceremony) asked {
	t.Helper()
	var a asked
	if err := json.Unmarshal(c.Options, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *authenticator) client(t *testing.T, kind, challenge string) []byte {
	t.Helper()
	text, err := json.Marshal(map[string]any{"type": kind, "challenge": challenge, "origin": a.origin, "crossOrigin": false})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// data is what an authenticator says of itself; attested follows in a
// registration.
func (a *authenticator) data(attested []byte) []byte {
	rp := sha256.Sum256([]byte(a.rp))
	flags := byte(1) // present
	if !a.unverified {
		flags |= 4
	}
	if attested != nil {
		flags |= 64
	}
	out := append(rp[:], flags)
	out = binary.BigEndian.AppendUint32(out, a.count)
	return append(out, attested...)
}

// create answers a registration, without attestation.
func (a *authenticator) create(t *testing.T, c Ceremony) []byte {
	t.Helper()
	o := ask(t, c)
	a.handle = o.PublicKey.User.ID
	attested := make([]byte, 16) // of no model
	attested = binary.BigEndian.AppendUint16(attested, uint16(len(a.id)))
	attested = append(attested, a.id...)
	point, err := a.key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	attested = append(attested, 0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32) // CBOR: an ES256 key
	attested = append(attested, point[1:33]...)
	attested = append(attested, 0x22, 0x58, 32)
	attested = append(attested, point[33:]...)
	data := a.data(attested)
	object := append([]byte("\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58"), byte(len(data)))
	object = append(object, data...)
	return a.credential(t, map[string]any{
		"clientDataJSON": b64.EncodeToString(a.client(t, "webauthn.create", o.PublicKey.Challenge)), "attestationObject": b64.EncodeToString(object),
	})
}

// get answers a sign-in.
func (a *authenticator) get(t *testing.T, c Ceremony) []byte {
	t.Helper()
	client := a.client(t, "webauthn.get", ask(t, c).PublicKey.Challenge)
	data := a.data(nil)
	hash := sha256.Sum256(client)
	sum := sha256.Sum256(append(data[:len(data):len(data)], hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, a.key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return a.credential(t, map[string]any{
		"clientDataJSON": b64.EncodeToString(client), "authenticatorData": b64.EncodeToString(data), "signature": b64.EncodeToString(signature), "userHandle": a.handle,
	})
}

func (a *authenticator) credential(t *testing.T, response map[string]any) []byte {
	t.Helper()
	id := b64.EncodeToString(a.id)
	text, err := json.Marshal(map[string]any{"id": id, "rawId": id, "type": "public-key", "clientExtensionResults": map[string]any{}, "response": response})
	if err != nil {
		t.Fatal(err)
	}
	return text
}
