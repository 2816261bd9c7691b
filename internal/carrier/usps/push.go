package usps

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// pushLimit bounds the size of a push: one parcel with a hundred events is a
// tenth of it.
const pushLimit = 1 << 20

// DecodePush decodes a notification. It is accepted only if its X-HMAC is the
// HMAC-SHA256, under the secret of the subscription, of the time and the
// payload as they are written in it. The signature does not expire: a
// notification may have waited for us, and a repeated one has nothing new.
func (d *driver) DecodePush(header http.Header, body []byte) (carrier.Push, error) {
	var message notification
	if len(body) > pushLimit || !decodeLeniently(body, &message) {
		return carrier.Push{}, ship.Errorf(ship.Invalid, "the push could not be read")
	}

	// USPS tries the address of a new subscription with a challenge, which is
	// not signed and reports nothing.
	if len(message.Payload) == 0 && message.Challenge != "" {
		return carrier.Push{}, nil
	}

	payload := message.signedPayload()
	if !d.isSigned(header.Get("X-HMAC"), string(message.Timestamp), payload) {
		return carrier.Push{}, ship.Errorf(ship.Forbidden, "the push has no valid signature of the carrier")
	}

	push := carrier.Push{Verified: true}
	now := time.Now()
	for _, raw := range listOf(json.RawMessage(payload)) {
		var result trackingResult
		if !decodeLeniently(raw, &result) {
			continue
		}
		number := withoutRouting(string(result.TrackingNumber))
		if !isPlausibleNumber(number) {
			continue
		}

		// A parcel without readable events is looked up instead.
		updates := result.updates(number, now)
		push.Updates = append(push.Updates, updates...)
		if len(updates) == 0 && !slices.Contains(push.Numbers, number) {
			push.Numbers = append(push.Numbers, number)
		}
	}
	if len(push.Updates) == 0 && len(push.Numbers) == 0 {
		return carrier.Push{}, ship.Errorf(ship.Invalid, "the push contains no tracking number")
	}
	return push, nil
}

// signedPayload returns the payload as it was signed: the text that the JSON
// string holds, or the JSON itself if it is not a string.
func (n notification) signedPayload() string {
	var s string
	if json.Unmarshal(n.Payload, &s) == nil {
		return s
	}
	return string(n.Payload)
}

// isSigned reports whether the signature is valid. Without a secret none is.
func (d *driver) isSigned(signature, timestamp, payload string) bool {
	given, err := base64.StdEncoding.DecodeString(strings.TrimSpace(signature))
	if err != nil {
		return false
	}

	// The comparison takes constant time, so that its duration says nothing
	// about the expected signature.
	return slices.ContainsFunc(d.pushSecrets, func(secret string) bool {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(timestamp + payload))
		return hmac.Equal(mac.Sum(nil), given)
	})
}
