package tracking

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// A pageSeal writes a shipment into the address of its public page and reads
// it back. Without the key nobody can guess an address or learn from one: it is
// encrypted, and it begins with a MAC of what it holds. The same shipment has
// the same address, and one for each day on which it is renewed, so that nothing
// is stored.
type pageSeal struct {
	block  cipher.Block
	macKey []byte
}

const (
	pageMAC         = 16
	pageSize        = pageMAC + 16 + 16 + 1 // MAC, account, shipment, mode
	renewedPageSize = pageSize + 2          // and the day of the renewal
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

// pageSeals are the keys of addresses: the first writes, all read.
type pageSeals []pageSeal

func newPageSeals(keys [][]byte) pageSeals {
	seals := make(pageSeals, len(keys))
	for i, key := range keys {
		seals[i] = newPageSeal(key)
	}
	return seals
}

func (p pageSeals) path(page Page) string { return p[0].path(page) }

// read reads the token of a path; ship.NotFound if it was made with none of the
// keys.
func (p pageSeals) read(token string) (Page, error) {
	for _, seal := range p {
		if page, err := seal.read(token); err == nil {
			return page, nil
		}
	}
	return Page{}, errNoParcelPage
}

// ShardOfPage returns the shard of a token of a public page, which one of the keys
// has made.
func ShardOfPage(keys [][]byte) func(token string) (ship.Shard, bool) {
	seals := newPageSeals(keys)
	return func(token string) (ship.Shard, bool) {
		page, err := seals.read(token)
		return page.Tenant.Shard(), err == nil
	}
}

// mac returns the first bytes of an address. They are also the initialization
// vector of its encryption, so no two addresses look alike.
func (p pageSeal) mac(plain []byte) []byte {
	h := hmac.New(sha256.New, p.macKey)
	h.Write(plain)
	return h.Sum(nil)[:pageMAC]
}

// A Page is what the address of a public page holds.
type Page struct {
	Tenant    ship.Tenant
	Shipment  ship.ShipmentID
	RenewedOn time.Time // the day, in UTC; the zero time for a first address
}

// PagePath returns the path of a shipment's public page. Nobody can guess it.
func (s *Service) PagePath(t ship.Tenant, id ship.ShipmentID) string {
	return s.pages.path(Page{Tenant: t, Shipment: id})
}

// CurrentPagePath returns the path of a shipment's public page: the first one
// or, once that has ended, one that is renewed today.
func (s *Service) CurrentPagePath(ctx context.Context, shipment ship.Shipment) (string, error) {
	page := Page{Tenant: shipment.Tenant, Shipment: shipment.ID}

	// Most shipments are too young for their page to have ended.
	now := s.clock()
	if s.pagesFor == 0 || now.Sub(shipment.CreatedAt()) < s.pagesFor {
		return s.pages.path(page), nil
	}

	tracked, err := s.Track(ctx, shipment.Tenant, string(shipment.ID), "")
	switch {
	case ship.KindOf(err) == ship.NotFound: // nothing was reported yet
	case err != nil:
		return "", err
	case s.hasEnded(page, tracked):
		page.RenewedOn = now.UTC().Truncate(24 * time.Hour)
	}
	return s.pages.path(page), nil
}

// OpenPage reads the token at the end of such a path, and the parcel that it is
// about: ship.NotFound if this installation did not make it, or if it has ended.
func (s *Service) OpenPage(ctx context.Context, token string) (Page, Tracked, error) {
	page, err := s.pages.read(token)
	if err != nil {
		return Page{}, Tracked{}, err
	}

	tracked, err := s.Track(ctx, page.Tenant, string(page.Shipment), "")
	if err != nil {
		return Page{}, Tracked{}, err
	}
	if s.hasEnded(page, tracked) {
		return Page{}, Tracked{}, errNoParcelPage
	}
	return page, tracked, nil
}

// hasEnded reports whether an address is too old. Its time begins with the
// delivery, or with the last event of a parcel that was not delivered, or with
// its renewal.
func (s *Service) hasEnded(page Page, tracked Tracked) bool {
	if s.pagesFor == 0 {
		return false
	}

	began := page.RenewedOn
	for _, scan := range tracked.Scans {
		if scan.At.After(began) {
			began = scan.At
		}
	}
	return !began.IsZero() && s.clock().After(began.Add(s.pagesFor))
}

// path returns the path of a page.
func (p pageSeal) path(page Page) string {
	account := page.Tenant.Account.Raw()
	shipment := page.Shipment.Raw()
	mode := byte(0)
	if page.Tenant.Livemode {
		mode = 1
	}
	plain := make([]byte, 0, renewedPageSize)
	plain = append(plain, account[:]...)
	plain = append(plain, shipment[:]...)
	plain = append(plain, mode)
	if !page.RenewedOn.IsZero() {
		plain = binary.BigEndian.AppendUint16(plain, uint16(page.RenewedOn.Unix()/secondsOfDay))
	}

	token := p.mac(plain)
	encrypted := make([]byte, len(plain))
	cipher.NewCTR(p.block, token).XORKeyStream(encrypted, plain)
	return "/track/" + pageText.EncodeToString(append(token, encrypted...))
}

const secondsOfDay = 24 * 60 * 60

// read reads the token of a path; ship.NotFound if it was not made with the key.
func (p pageSeal) read(token string) (Page, error) {
	raw, err := pageText.DecodeString(token)
	if err != nil || len(raw) != pageSize && len(raw) != renewedPageSize {
		return Page{}, errNoParcelPage
	}

	// The MAC is over the plain text, so that is decrypted first, and used only
	// if the MAC is right.
	plain := make([]byte, len(raw)-pageMAC)
	cipher.NewCTR(p.block, raw[:pageMAC]).XORKeyStream(plain, raw[pageMAC:])
	if !hmac.Equal(p.mac(plain), raw[:pageMAC]) {
		return Page{}, errNoParcelPage
	}

	page := Page{
		Tenant:   ship.Tenant{Account: ship.AccountIDOf(ship.RawID(plain[:16])), Livemode: plain[32] == 1},
		Shipment: ship.ShipmentIDOf(ship.RawID(plain[16:32])),
	}
	if len(raw) == renewedPageSize {
		page.RenewedOn = time.Unix(int64(binary.BigEndian.Uint16(plain[33:]))*secondsOfDay, 0).UTC()
	}
	return page, nil
}

var errNoParcelPage = ship.Coded(ship.NotFound, "tracking_not_found", "no such tracking page")
