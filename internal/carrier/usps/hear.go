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

// pushLimit bounds what USPS pushes: one parcel with its hundred events is a
// tenth of it.
const pushLimit = 1 << 20

// Hear reads a notification. It is USPS's if its X-HMAC is the HMAC-SHA256,
// under the secret of the subscription, of the time and the payload as they are
// written in it. The proof does not age: a notification may wait for us, and
// one that is sent again says nothing new.
//
// The request that tries out the address of a new subscription proves nothing
// and says nothing.
func (d *driver) Hear(header http.Header, body []byte) (carrier.Push, error) {
	var n notification
	if len(body) > pushLimit || !lenient(body, &n) {
		return carrier.Push{}, ship.Errorf(ship.Invalid, "the push could not be read")
	}
	if len(n.Payload) == 0 && n.Challenge != "" {
		return carrier.Push{}, nil
	}
	payload := n.payload()
	if !d.proved(header.Get("X-HMAC"), string(n.Timestamp), payload) {
		return carrier.Push{}, ship.Errorf(ship.Forbidden, "the push does not prove that it is the carrier's")
	}
	push := carrier.Push{Proven: true}
	now := time.Now()
	for _, raw := range listOf(json.RawMessage(payload)) {
		var r trackingResult
		if !lenient(raw, &r) {
			continue
		}
		number := bare(string(r.TrackingNumber))
		if !isNumber(number) {
			continue
		}
		heard := r.heard(number, now)
		push.Heard = append(push.Heard, heard...)
		if len(heard) == 0 && !slices.Contains(push.Numbers, number) {
			push.Numbers = append(push.Numbers, number)
		}
	}
	if len(push.Heard) == 0 && len(push.Numbers) == 0 {
		return carrier.Push{}, ship.Errorf(ship.Invalid, "the push names no parcel")
	}
	return push, nil
}

// payload is the payload as it was signed: the text that the JSON string holds,
// or the JSON itself if it is none.
func (n notification) payload() string {
	var s string
	if json.Unmarshal(n.Payload, &s) == nil {
		return s
	}
	return string(n.Payload)
}

// proved compares the proof in constant time. Without a secret there is none.
func (d *driver) proved(proof, timestamp, payload string) bool {
	given, err := base64.StdEncoding.DecodeString(strings.TrimSpace(proof))
	if err != nil || d.pushSecret == "" {
		return false
	}
	mac := hmac.New(sha256.New, []byte(d.pushSecret))
	mac.Write([]byte(timestamp + payload))
	return hmac.Equal(mac.Sum(nil), given)
}
