package fedex

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

const (
	// signatureHeader proves a push: the HMAC of its body with the security
	// token that the portal was given.
	signatureHeader = "Fdx-Signature"

	// pushLimit bounds a push: the story of a parcel is some 20 kB.
	pushLimit = 1 << 20
)

// Hear verifies and reads what FedEx pushed: the same as it answers to Track.
// A parcel of which nothing can be read is named, so that it can be asked
// about.
func (d *driver) Hear(header http.Header, body []byte) (carrier.Push, error) {
	if len(body) > pushLimit {
		return carrier.Push{}, ship.Errorf(ship.Invalid, "the push is too large")
	}
	if !d.signed(header.Get(signatureHeader), body) {
		return carrier.Push{}, ship.Errorf(ship.Forbidden, "the push is not signed with the security token")
	}
	var told trackAnswer
	if !readSome(body, &told) {
		return carrier.Push{}, ship.Errorf(ship.Invalid, "the push could not be read")
	}
	push := carrier.Push{Proven: true}
	for _, r := range told.Output.Results {
		heard := r.heard("", time.Now())
		push.Heard = append(push.Heard, heard...)
		if number := r.number(); len(heard) == 0 && number != "" {
			push.Numbers = append(push.Numbers, number)
		}
	}
	return push, nil
}

// number is the parcel's own.
func (r *completeResult) number() string {
	for _, s := range r.Stories {
		if s.Number.TrackingNumber != "" {
			return s.Number.TrackingNumber
		}
	}
	return r.TrackingNumber
}

// signed reports whether the signature is that of the body. FedEx describes it
// in base64, and once in hexadecimal.
func (d *driver) signed(signature string, body []byte) bool {
	if d.pushSecret == "" {
		return false // whoever pushes could sign with no token at all
	}
	mac := hmac.New(sha256.New, []byte(d.pushSecret))
	_, _ = mac.Write(body) // never fails
	want := mac.Sum(nil)
	signature = strings.TrimSpace(signature)
	if got, err := base64.StdEncoding.DecodeString(signature); err == nil && hmac.Equal(got, want) {
		return true
	}
	got, err := hex.DecodeString(signature)
	return err == nil && hmac.Equal(got, want)
}
