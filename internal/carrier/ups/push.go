package ups

import (
	"bytes"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// pushLimit is how large a push may be: a photo fits.
const pushLimit = 1 << 20

// DecodePush decodes one push. UPS does not sign its pushes: they carry the
// credential that the webhook was given at UPS, which is the connection's own
// secret.
func (d *driver) DecodePush(header http.Header, body []byte) (carrier.Push, error) {
	// Without a secret a push is accepted, but only as a reason to ask.
	verified := len(d.pushSecrets) > 0
	if verified && !hasCredential(header, d.pushSecrets) {
		return carrier.Push{}, ship.Errorf(ship.Forbidden, "the push does not contain this connection's credential")
	}

	if len(body) > pushLimit {
		return carrier.Push{}, ship.Errorf(ship.Invalid, "the push is larger than %d bytes", pushLimit)
	}
	var events some[json.RawMessage]
	if json.Unmarshal(body, &events) != nil {
		return carrier.Push{}, ship.Errorf(ship.Invalid, "the push is not JSON")
	}

	push := carrier.Push{Verified: verified}
	for _, raw := range events {
		var pushed alert
		if json.Unmarshal(raw, &pushed) != nil || !isPlausibleNumber(string(pushed.TrackingNumber)) {
			continue
		}
		if update, ok := pushed.event(raw).update(time.Now()); ok {
			push.Updates = append(push.Updates, update)
		} else {
			push.Numbers = append(push.Numbers, string(pushed.TrackingNumber))
		}
	}
	if len(push.Updates) == 0 && len(push.Numbers) == 0 {
		return carrier.Push{}, ship.Errorf(ship.Invalid, "the push contains no tracking number")
	}
	return push, nil
}

// hasCredential reports whether a push has one of the secrets, in the header
// Credential or as an authorization of any scheme.
func hasCredential(header http.Header, secrets []string) bool {
	_, token, _ := strings.Cut(header.Get("Authorization"), " ")

	// All places are compared, in constant time, so that the duration does not
	// reveal where the credential was or how much of it matched.
	found := 0
	for _, given := range []string{header.Get("Credential"), header.Get("Authorization"), token} {
		for _, secret := range secrets {
			found |= subtle.ConstantTimeCompare([]byte(given), []byte(secret))
		}
	}
	return found == 1
}

// isPlausibleNumber reports whether s may be a tracking number.
func isPlausibleNumber(s string) bool {
	return len(s) >= 7 && len(s) <= 34 && strings.Trim(s, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// event returns the event that a push reports.
func (a alert) event(raw []byte) reportedEvent {
	status := a.ActivityStatus.value
	event := reportedEvent{
		number: string(a.TrackingNumber),
		mark: mark{
			kind:     cleanCode(string(status.Type)),
			activity: cleanCode(string(status.Code)),
			status:   cleanStatus(string(status.DescriptionCode)),
		},
		description: string(status.Description),
		place:       a.ActivityLocation.value,
		moment: moment{
			date:     string(a.LocalActivityDate),
			clock:    string(a.LocalActivityTime),
			gmtDate:  string(a.GMTActivityDate),
			gmtClock: string(a.GMTActivityTime),
			offset:   string(a.GMTOffset),
		},
		raw: withoutPhoto(raw),
	}

	// A parcel that was delivered has no estimate.
	if a.ActualDeliveryDate == "" {
		event.estimate, _, _ = wallClock(string(a.ScheduledDeliveryDate), string(a.DeliveryEndTime))
	}
	return event
}

// withoutPhoto removes the photo of the delivery from what is kept.
func withoutPhoto(raw []byte) []byte {
	if !bytes.Contains(raw, []byte("deliveryPhoto")) {
		return raw
	}

	var parts map[string]json.RawMessage
	if json.Unmarshal(raw, &parts) != nil || len(parts["deliveryPhoto"]) <= len(`""`) {
		return raw
	}
	delete(parts, "deliveryPhoto")
	rest, err := json.Marshal(parts)
	if err != nil {
		return raw
	}
	return rest
}
