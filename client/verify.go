package client

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Why a request is not believed. Answer it with 400 or 401; the service tries
// again later.
var (
	ErrWebhookHeaders   = errors.New("waybill: a header of the webhook is missing or malformed")
	ErrWebhookTimestamp = errors.New("waybill: the webhook was sent more than 5 minutes ago, or in the future")
	ErrWebhookSignature = errors.New("waybill: no signature of the webhook is made with the secret")
)

// webhookTolerance is how far the clocks of the service and of the receiver may
// be apart. Older requests may be replays.
const webhookTolerance = 5 * time.Minute

// VerifyWebhook checks that a request comes from the service and returns its
// event. The body must be the very bytes that were received.
//
// The secret is that of the webhook (whsec_...) or its public key (whpk_...);
// several, with commas or spaces between, each are enough, so that a receiver
// can know the old and the new one during a rotation.
//
// An event can come twice: keep Event.ID and skip what was seen.
func VerifyWebhook(secret string, header http.Header, body []byte) (Event, error) {
	return verifyWebhook(secret, header, body, time.Now())
}

func verifyWebhook(secret string, header http.Header, body []byte, now time.Time) (Event, error) {
	keys, err := parseWebhookKeys(secret)
	if err != nil {
		return Event{}, err
	}
	id, timestamp, signatures := header.Get("webhook-id"), header.Get("webhook-timestamp"), header.Get("webhook-signature")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if id == "" || signatures == "" || err != nil {
		return Event{}, ErrWebhookHeaders
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > webhookTolerance || age < -webhookTolerance {
		return Event{}, ErrWebhookTimestamp
	}
	message := bytes.Join([][]byte{[]byte(id), []byte(timestamp), body}, []byte("."))
	if !keys.signed(message, signatures) {
		return Event{}, ErrWebhookSignature
	}
	var e Event
	if err := json.Unmarshal(body, &e); err != nil {
		return Event{}, fmt.Errorf("waybill: body of the webhook: %w", err)
	}
	return e, nil
}

// webhookKeys are those that a receiver believes.
type webhookKeys struct {
	shared [][]byte
	public []ed25519.PublicKey
}

func parseWebhookKeys(secret string) (k webhookKeys, err error) {
	for _, text := range strings.FieldsFunc(secret, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' }) {
		public, asymmetric := strings.CutPrefix(text, "whpk_")
		b, err := base64.StdEncoding.Strict().DecodeString(strings.TrimPrefix(public, "whsec_"))
		switch {
		case err != nil || len(b) == 0 || asymmetric && len(b) != ed25519.PublicKeySize:
			// The text itself stays out of errors: it is a secret.
			return k, errors.New("waybill: a secret of the webhook is written neither as whsec_ nor as whpk_ and base64")
		case asymmetric:
			k.public = append(k.public, b)
		default:
			k.shared = append(k.shared, b)
		}
	}
	if len(k.shared)+len(k.public) == 0 {
		return k, errors.New("waybill: the secret of the webhook is empty")
	}
	return k, nil
}

// signed reports whether one of the signatures is made with one of the keys.
func (k webhookKeys) signed(message []byte, signatures string) bool {
	for text := range strings.FieldsSeq(signatures) {
		version, encoded, _ := strings.Cut(text, ",")
		signature, err := base64.StdEncoding.Strict().DecodeString(encoded)
		if err != nil {
			continue
		}
		switch version {
		case "v1":
			for _, key := range k.shared {
				mac := hmac.New(sha256.New, key)
				mac.Write(message)
				if hmac.Equal(signature, mac.Sum(nil)) {
					return true
				}
			}
		case "v1a":
			for _, key := range k.public {
				if ed25519.Verify(key, message, signature) {
					return true
				}
			}
		}
	}
	return false
}
