package ups

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Of Track Alert: how large a push may be (a photo fits), how many numbers one
// subscription takes, and how long it lasts.
const (
	pushLimit      = 1 << 20
	subscribeBatch = 100
	subscribedFor  = 14 * 24 * time.Hour
)

// DecodePush decodes one push. UPS does not sign its pushes: they carry the
// credential that the webhook was given at UPS, which is the connection's own
// secret.
func (d *driver) DecodePush(header http.Header, body []byte) (carrier.Push, error) {
	// Without a secret a push is accepted, but only as a reason to ask.
	verified := d.pushSecret != ""
	if verified && !hasCredential(header, d.pushSecret) {
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
		if json.Unmarshal(raw, &pushed) != nil || !isNumber(string(pushed.TrackingNumber)) {
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

// hasCredential reports whether a push has the credential, in a header of that
// name or as an authorization of any scheme.
func hasCredential(header http.Header, secret string) bool {
	_, token, _ := strings.Cut(header.Get("Authorization"), " ")

	// All places are compared, in constant time, so that the duration does not
	// tell where the credential was or how much of it was right.
	found := 0
	for _, given := range []string{header.Get("Credential"), header.Get("Authorization"), token} {
		found |= subtle.ConstantTimeCompare([]byte(given), []byte(secret))
	}
	return found == 1
}

// isNumber reports whether s may be a tracking number.
func isNumber(s string) bool {
	return len(s) >= 7 && len(s) <= 34 && strings.Trim(s, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// event is the event that a push reports.
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

type subscriptionRequest struct {
	Locale               string   `json:"locale"`
	CountryCode          string   `json:"countryCode"`
	TrackingNumberList   []string `json:"trackingNumberList,omitempty"`
	ShipperAccountNumber string   `json:"shipperAccountNumber,omitempty"`
	SubAccountType       []string `json:"subAccountType,omitempty"`
}

type subscriptionAnswer struct {
	ValidTrackingNumbers some[word] `json:"validTrackingNumbers"`
	ExpiryDate           word       `json:"expiryDate"`
}

// Subscribe asks for pushes about the numbers for fourteen days, or about all
// parcels of the account. It does not say where to: the app's webhook is set up
// at UPS, with its address and credential.
func (d *driver) Subscribe(ctx context.Context, subscription carrier.Subscription) (time.Time, error) {
	numbers := subscription.Numbers
	if len(numbers) > 0 {
		// UPS pushes nothing about the placeholder of its test environment.
		numbers = slices.DeleteFunc(slices.Clone(numbers), isPlaceholder)
		if len(numbers) == 0 {
			return time.Now().Add(subscribedFor), nil
		}
	}
	if len(numbers) > subscribeBatch {
		return time.Time{}, ship.Errorf(ship.Invalid, "UPS accepts at most %d numbers per subscription, not %d", subscribeBatch, len(numbers))
	}

	kind := "package"
	body := subscriptionRequest{Locale: "en_US", CountryCode: "US", TrackingNumberList: numbers}
	if len(numbers) == 0 {
		kind = "account"
		body.ShipperAccountNumber = d.account
		body.SubAccountType = []string{"Outbound"}
	}

	// The fourteen days may begin as soon as UPS has the request, so they are
	// counted from before it.
	began := time.Now()
	var answer subscriptionAnswer
	err := d.call(ctx, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + "/track/v2/subscription/standard/" + kind,
		Body:   body,
	}, &answer)
	switch {
	case err != nil:
		return time.Time{}, err
	case kind == "account":
		return answer.until()
	case len(answer.ValidTrackingNumbers) == 0:
		return time.Time{}, ship.Errorf(ship.Invalid, "UPS does not send push updates for any of these numbers")
	}
	return began.Add(subscribedFor), nil
}

// until is when the subscription of an account ends. UPS writes the year 9999
// for one without an end.
func (a subscriptionAnswer) until() (time.Time, error) {
	end, err := time.Parse(time.DateOnly, string(a.ExpiryDate))
	switch {
	case err != nil:
		return time.Time{}, ship.Errorf(ship.Unavailable, "UPS did not return the end date of the subscription")
	case end.Year() == 9999:
		return time.Time{}, nil
	}
	return end, nil
}
