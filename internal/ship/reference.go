package ship

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
)

// Reference returns the name under which a carrier knows an attempt to buy: "S"
// and 25 characters. It is derived from the idempotency key, or else the
// shipment, so that after a restore to an earlier moment a retry with its key
// finds what was bought.
func Reference(key []byte, t Tenant, name string, attempt int) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("reference\x00"))
	h.Write([]byte(t.Account))
	h.Write([]byte{0, byte(attempt >> 8), byte(attempt)})
	if t.Livemode {
		h.Write([]byte{1})
	} else {
		h.Write([]byte{0})
	}
	h.Write([]byte(name))
	sum := h.Sum(nil)

	reference := []byte{'S'}
	for i := range 25 {
		bit := i * 5
		digit := binary.BigEndian.Uint16(sum[bit/8:]) >> (11 - bit%8) & 31
		reference = append(reference, crockford[digit])
	}
	return string(reference)
}
