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
// it back. Without the key nobody can guess an address or learn from one: it is
// encrypted, and it begins with a MAC of what it holds. The same shipment always
// has the same address, so that nothing is stored.
type pageSeal struct {
	block  cipher.Block
	macKey []byte
}

const (
	pageMAC  = 16
	pageSize = pageMAC + 16 + 16 + 1 // MAC, account, shipment, mode
)

// pageText is a strict encoding: every address has exactly one spelling.
var pageText = base64.RawURLEncoding.Strict()

func newPageSeal(key []byte) pageSeal {
	secret, err := hkdf.Key(sha256.New, key, nil, "waybill tracking page", 64)
	if err != nil {
		panic("tracking: " + err.Error()) // 64 bytes can always be derived
	}

	block, err := aes.NewCipher(secret[:32])
	if err != nil {
		panic("tracking: " + err.Error()) // the size is right
	}
	return pageSeal{block: block, macKey: secret[32:]}
}

// mac returns the first bytes of an address. They are also the initialization
// vector of its encryption, so no two addresses look alike.
func (p pageSeal) mac(plain []byte) []byte {
	h := hmac.New(sha256.New, p.macKey)
	h.Write(plain)
	return h.Sum(nil)[:pageMAC]
}

// PagePath returns the path of a shipment's public page. Nobody can guess it.
func (s *Service) PagePath(t ship.Tenant, id ship.ShipmentID) string {
	account := t.Account.Raw()
	shipment := id.Raw()
	mode := byte(0)
	if t.Livemode {
		mode = 1
	}
	plain := make([]byte, 0, pageSize)
	plain = append(plain, account[:]...)
	plain = append(plain, shipment[:]...)
	plain = append(plain, mode)

	token := s.pages.mac(plain)
	encrypted := make([]byte, len(plain))
	cipher.NewCTR(s.pages.block, token).XORKeyStream(encrypted, plain)
	return "/track/" + pageText.EncodeToString(append(token, encrypted...))
}

// PageOf reads the token at the end of such a path: ship.NotFound if this
// installation did not make it.
func (s *Service) PageOf(token string) (ship.Tenant, ship.ShipmentID, error) {
	raw, err := pageText.DecodeString(token)
	if err != nil || len(raw) != pageSize {
		return ship.Tenant{}, "", errNoParcelPage
	}

	// The MAC is over the plain text, so that is decrypted first, and used only
	// if the MAC is right.
	plain := make([]byte, pageSize-pageMAC)
	cipher.NewCTR(s.pages.block, raw[:pageMAC]).XORKeyStream(plain, raw[pageMAC:])
	if !hmac.Equal(s.pages.mac(plain), raw[:pageMAC]) {
		return ship.Tenant{}, "", errNoParcelPage
	}

	t := ship.Tenant{Account: ship.AccountIDOf(ship.RawID(plain[:16])), Livemode: plain[32] == 1}
	return t, ship.ShipmentIDOf(ship.RawID(plain[16:32])), nil
}

var errNoParcelPage = ship.Coded(ship.NotFound, "tracking_not_found", "no such tracking page")
