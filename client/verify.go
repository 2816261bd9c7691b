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

// Why a request is rejected. Answer it with 400 or 401; the service tries again
// later.
var (
	ErrWebhookHeaders   = errors.New("waybill: a header of the webhook is missing or malformed")
	ErrWebhookTimestamp = errors.New("waybill: the webhook was sent more than 5 minutes ago, or in the future")
	ErrWebhookSignature = errors.New("waybill: webhook signature does not match the secret")
)

// webhookTolerance is how far the clocks of the service and of the receiver may
// be apart. Older requests may be replays.
const webhookTolerance = 5 * time.Minute

// VerifyWebhook checks that a request comes from the service and returns its
// event. The body must be the very bytes that were received.
//
// The secret is that of the webhook (whsec_...) or its public key (whpk_...).
// It can be several, with commas or spaces between, and a signature by one of
// them is enough: a receiver can accept the old and the new one during a
// rotation.
//
// An event can be delivered twice: keep Event.ID and skip those that were seen.
func VerifyWebhook(secret string, header http.Header, body []byte) (Event, error) {
	return verifyWebhook(secret, header, body, time.Now())
}

func verifyWebhook(secret string, header http.Header, body []byte, now time.Time) (Event, error) {
	keys, err := parseWebhookKeys(secret)
	if err != nil {
		return Event{}, err
	}

	id := header.Get("webhook-id")
	timestamp := header.Get("webhook-timestamp")
	signatures := header.Get("webhook-signature")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if id == "" || signatures == "" || err != nil {
		return Event{}, ErrWebhookHeaders
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > webhookTolerance || age < -webhookTolerance {
		return Event{}, ErrWebhookTimestamp
	}

	// The id and the time are signed too: neither can be changed to replay a
	// request. The body is decoded only once it is verified.
	message := bytes.Join([][]byte{[]byte(id), []byte(timestamp), body}, []byte("."))
	if !keys.signed(message, signatures) {
		return Event{}, ErrWebhookSignature
	}
	var event Event
	if err := json.Unmarshal(body, &event); err != nil {
		return Event{}, fmt.Errorf("waybill: body of the webhook: %w", err)
	}
	return event, nil
}

// webhookKeys are those that a receiver accepts.
type webhookKeys struct {
	shared [][]byte
	public []ed25519.PublicKey
}

func parseWebhookKeys(secret string) (keys webhookKeys, err error) {
	isSeparator := func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' }
	for _, text := range strings.FieldsFunc(secret, isSeparator) {
		encoded, isPublic := strings.CutPrefix(text, "whpk_")
		key, err := base64.StdEncoding.Strict().DecodeString(strings.TrimPrefix(encoded, "whsec_"))
		switch {
		case err != nil || len(key) == 0 || isPublic && len(key) != ed25519.PublicKeySize:
			// The text itself stays out of errors: it is a secret.
			return keys, errors.New("waybill: invalid webhook secret: want \"whsec_\" or \"whpk_\" followed by base64")
		case isPublic:
			keys.public = append(keys.public, key)
		default:
			keys.shared = append(keys.shared, key)
		}
	}

	if len(keys.shared)+len(keys.public) == 0 {
		return keys, errors.New("waybill: the secret of the webhook is empty")
	}
	return keys, nil
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
