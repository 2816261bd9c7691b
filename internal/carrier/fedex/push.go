package fedex

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

const (
	// signatureHeader proves a push: the HMAC of its body with the security
	// token that the portal was given.
	signatureHeader = "Fdx-Signature"

	// pushLimit bounds a push: the history of a parcel is some 20 kB.
	pushLimit = 1 << 20
)

// DecodePush verifies and decodes what FedEx pushed, which has the form of its
// answer to Track. A parcel without readable scans is named, so that it can be
// looked up.
func (d *driver) DecodePush(header http.Header, body []byte) (carrier.Push, error) {
	if len(body) > pushLimit {
		return carrier.Push{}, ship.Errorf(ship.Invalid, "the push is too large")
	}

	// Nothing is decoded before the signature is verified.
	if !d.isSigned(header.Get(signatureHeader), body) {
		return carrier.Push{}, ship.Errorf(ship.Forbidden, "the push is not signed with the security token")
	}
	var answer trackAnswer
	if !decodeLeniently(body, &answer) {
		return carrier.Push{}, ship.Errorf(ship.Invalid, "the push could not be read")
	}

	push := carrier.Push{Verified: true}
	for _, result := range answer.Output.Results {
		updates := result.updates("", time.Now())
		push.Updates = append(push.Updates, updates...)
		if number := result.number(); len(updates) == 0 && number != "" {
			push.Numbers = append(push.Numbers, number)
		}
	}
	return push, nil
}

// number returns the parcel's own tracking number.
func (r *completeResult) number() string {
	for _, history := range r.Histories {
		if history.Number.TrackingNumber != "" {
			return history.Number.TrackingNumber
		}
	}
	return r.TrackingNumber
}

// isSigned reports whether the signature is that of the body. Without a token
// none is.
func (d *driver) isSigned(signature string, body []byte) bool {
	return slices.ContainsFunc(d.pushSecrets, func(secret string) bool {
		return isSignedWith(secret, signature, body)
	})
}

func isSignedWith(secret, signature string, body []byte) bool {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write(body) // never fails
	want := mac.Sum(nil)

	// FedEx documents the signature in base64, and in one place in hexadecimal.
	signature = strings.TrimSpace(signature)
	if got, err := base64.StdEncoding.DecodeString(signature); err == nil && hmac.Equal(got, want) {
		return true
	}
	got, err := hex.DecodeString(signature)
	return err == nil && hmac.Equal(got, want)
}
