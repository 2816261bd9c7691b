package addresscheck

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// keptFor is how long an answer of a carrier is used again.
const keptFor = 30 * 24 * time.Hour

// cache keeps the answers of carriers in the database.
//
// A corrected street is personal data. An answer is therefore found by a keyed hash of
// the address, and encrypted with a key that is derived from the address too: who
// does not know the address can neither find nor read it, and nothing has to be
// erased when the address is.
type cache struct {
	store *store.Store
	key   []byte
}

func newCache(st *store.Store, key []byte) cache { return cache{store: st, key: key} }

// find returns the answer of the carrier that is kept, if there is one. An answer
// that cannot be read counts as none: the carrier is asked again.
func (c cache) find(ctx context.Context, by *carrier.Carrier, r Request) (check ship.AddressCheck, ok bool) {
	kept, err := c.store.AddressCheck(ctx, r.Tenant, by.Spec().Name, c.derive("hash", r.Address))
	if err != nil || time.Since(kept.At) > keptFor {
		return ship.AddressCheck{}, false
	}

	box, err := seal.New(c.derive("content", r.Address))
	if err != nil {
		return ship.AddressCheck{}, false
	}
	text, err := box.Open(kept.Encrypted, string(r.Tenant.Account), by.Spec().Name)
	if err != nil || json.Unmarshal(text, &check) != nil {
		return ship.AddressCheck{}, false
	}

	// The person is the one of the request.
	check.Address = r.Address.At(check.Address)
	for i := range check.Candidates {
		check.Candidates[i] = r.Address.At(check.Candidates[i])
	}
	return check, true
}

// keep stores the answer, without the person.
func (c cache) keep(ctx context.Context, by *carrier.Carrier, r Request, check ship.AddressCheck) error {
	check.Address = placeOf(check.Address)
	candidates := check.Candidates
	check.Candidates = nil
	for _, candidate := range candidates {
		check.Candidates = append(check.Candidates, placeOf(candidate))
	}

	text, err := json.Marshal(check)
	if err != nil {
		return err
	}
	box, err := seal.New(c.derive("content", r.Address))
	if err != nil {
		return err
	}
	return c.store.KeepAddressCheck(ctx, r.Tenant, by.Spec().Name, store.AddressCheck{
		Hash:      c.derive("hash", r.Address),
		Encrypted: box.Seal(text, string(r.Tenant.Account), by.Spec().Name),
		At:        time.Now(),
	})
}

// expire deletes what find does not return any more.
func (c cache) expire(ctx context.Context) error {
	return c.store.DeleteAddressChecks(ctx, time.Now().Add(-keptFor))
}

// derive returns 32 bytes that follow from the place of the address and the key.
func (c cache) derive(purpose string, address ship.Address) []byte {
	h := hmac.New(sha256.New, c.key)
	for _, part := range []string{
		"waybill address check", purpose,
		address.Address1, address.Address2, address.Address3,
		address.City, address.State, address.Zip, address.Country,
	} {
		h.Write([]byte(strings.ToUpper(part)))
		h.Write([]byte{0})
	}
	return h.Sum(nil)
}

// placeOf returns the address without the person.
func placeOf(address ship.Address) ship.Address { return ship.Address{}.At(address) }
