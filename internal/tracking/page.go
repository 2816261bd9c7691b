package tracking

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"

	"github.com/waybillhq/waybill/internal/ship"
)

// A pageSeal writes a shipment into the address of its public page and reads
// it back. Whoever has no key can neither guess an address nor learn from one:
// it is encrypted, and its first half is a proof over what it holds. The same
// shipment always has the same address, so that nothing is stored.
type pageSeal struct {
	block cipher.Block
	proof []byte // key
}

const (
	pageProof = 16
	pageSize  = pageProof + 16 + 16 + 1 // proof, account, shipment, mode
)

// pageText is strict: an address has one spelling.
var pageText = base64.RawURLEncoding.Strict()

func newPageSeal(key []byte) pageSeal {
	secret, err := hkdf.Key(sha256.New, key, nil, "waybill tracking page", 64)
	if err != nil {
		panic("tracking: " + err.Error()) // 64 bytes can always be had
	}
	block, err := aes.NewCipher(secret[:32])
	if err != nil {
		panic("tracking: " + err.Error()) // the size is right
	}
	return pageSeal{block: block, proof: secret[32:]}
}

// prove returns the first bytes of an address. They also begin the key
// stream, which is what makes two addresses look unlike.
func (p pageSeal) prove(plain []byte) []byte {
	h := hmac.New(sha256.New, p.proof)
	h.Write(plain)
	return h.Sum(nil)[:pageProof]
}

// PagePath is the path of a shipment's public page. Nobody can guess it.
func (s *Service) PagePath(t ship.Tenant, id ship.ShipmentID) string {
	account, shipment := t.Account.Raw(), id.Raw()
	plain := append(append(make([]byte, 0, pageSize), account[:]...), shipment[:]...)
	mode := byte(0)
	if t.Livemode {
		mode = 1
	}
	plain = append(plain, mode)
	out := s.pages.prove(plain)
	hidden := make([]byte, len(plain))
	cipher.NewCTR(s.pages.block, out).XORKeyStream(hidden, plain)
	return "/track/" + pageText.EncodeToString(append(out, hidden...))
}

// PageOf reads the token at the end of such a path: ship.NotFound if this
// installation did not make it.
func (s *Service) PageOf(token string) (ship.Tenant, ship.ShipmentID, error) {
	raw, err := pageText.DecodeString(token)
	if err != nil || len(raw) != pageSize {
		return ship.Tenant{}, "", errNoParcelPage
	}
	plain := make([]byte, pageSize-pageProof)
	cipher.NewCTR(s.pages.block, raw[:pageProof]).XORKeyStream(plain, raw[pageProof:])
	if !hmac.Equal(s.pages.prove(plain), raw[:pageProof]) {
		return ship.Tenant{}, "", errNoParcelPage
	}
	t := ship.Tenant{Account: ship.AccountIDOf(ship.RawID(plain[:16])), Livemode: plain[32] == 1}
	return t, ship.ShipmentIDOf(ship.RawID(plain[16:32])), nil
}

var errNoParcelPage = ship.Coded(ship.NotFound, "tracking_not_found", "there is no such tracking page")
