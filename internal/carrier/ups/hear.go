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

// Hear reads one push. UPS does not sign: the push carries the credential that
// the webhook was given at UPS, which is the connection's own secret.
func (d *driver) Hear(header http.Header, body []byte) (carrier.Push, error) {
	proven := d.pushSecret != ""
	if proven && !carries(header, d.pushSecret) {
		return carrier.Push{}, ship.Errorf(ship.Forbidden, "the push does not carry the credential of this connection")
	}
	if len(body) > pushLimit {
		return carrier.Push{}, ship.Errorf(ship.Invalid, "the push is larger than %d bytes", pushLimit)
	}
	var events some[json.RawMessage]
	if json.Unmarshal(body, &events) != nil {
		return carrier.Push{}, ship.Errorf(ship.Invalid, "the push is not JSON")
	}
	push := carrier.Push{Proven: proven}
	for _, raw := range events {
		var a alert
		if json.Unmarshal(raw, &a) != nil || !isNumber(string(a.TrackingNumber)) {
			continue
		}
		if h, ok := a.told(raw).heard(time.Now()); ok {
			push.Heard = append(push.Heard, h)
		} else {
			push.Numbers = append(push.Numbers, string(a.TrackingNumber))
		}
	}
	if len(push.Heard) == 0 && len(push.Numbers) == 0 {
		return carrier.Push{}, ship.Errorf(ship.Invalid, "the push names no parcel")
	}
	return push, nil
}

// carries reports whether a push has the credential, in a header of that name
// or as an authorization of any scheme.
func carries(header http.Header, secret string) bool {
	_, token, _ := strings.Cut(header.Get("Authorization"), " ")
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

// told is what a push tells.
func (a alert) told(raw []byte) told {
	s := a.ActivityStatus.is
	t := told{
		number:      string(a.TrackingNumber),
		mark:        mark{kind: cell(string(s.Type)), activity: cell(string(s.Code)), status: statusCell(string(s.DescriptionCode))},
		description: string(s.Description),
		place:       a.ActivityLocation.is,
		moment: moment{
			date: string(a.LocalActivityDate), clock: string(a.LocalActivityTime),
			gmtDate: string(a.GMTActivityDate), gmtClock: string(a.GMTActivityTime), offset: string(a.GMTOffset),
		},
		raw: withoutPhoto(raw),
	}
	if a.ActualDeliveryDate == "" {
		t.estimate, _, _ = wallClock(string(a.ScheduledDeliveryDate), string(a.DeliveryEndTime))
	}
	return t
}

// withoutPhoto leaves the photo of the delivery out of what is kept.
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
// parcels of the account. Where to is not told here: the app's webhook is set up
// at UPS, with its address and credential.
func (d *driver) Subscribe(ctx context.Context, s carrier.Subscription) (time.Time, error) {
	if len(s.Numbers) > 0 {
		// UPS pushes nothing about the placeholder of its test environment.
		s.Numbers = slices.DeleteFunc(slices.Clone(s.Numbers), isPlaceholder)
		if len(s.Numbers) == 0 {
			return time.Now().Add(subscribedFor), nil
		}
	}
	if len(s.Numbers) > subscribeBatch {
		return time.Time{}, ship.Errorf(ship.Invalid, "UPS takes %d numbers a subscription, not %d", subscribeBatch, len(s.Numbers))
	}
	body := subscriptionRequest{Locale: "en_US", CountryCode: "US", TrackingNumberList: s.Numbers}
	kind := "package"
	if len(s.Numbers) == 0 {
		kind, body.ShipperAccountNumber, body.SubAccountType = "account", d.account, []string{"Outbound"}
	}
	began := time.Now()
	var a subscriptionAnswer
	err := d.call(ctx, carrierkit.Call{Method: http.MethodPost, URL: d.base + "/track/v2/subscription/standard/" + kind, Body: body}, &a)
	switch {
	case err != nil:
		return time.Time{}, err
	case kind == "account":
		return a.until()
	case len(a.ValidTrackingNumbers) == 0:
		return time.Time{}, ship.Errorf(ship.Invalid, "UPS pushes about none of these numbers")
	}
	return began.Add(subscribedFor), nil
}

// until is when the subscription of an account ends; that of UPS itself is in
// the year 9999.
func (a subscriptionAnswer) until() (time.Time, error) {
	end, err := time.Parse(time.DateOnly, string(a.ExpiryDate))
	switch {
	case err != nil:
		return time.Time{}, ship.Errorf(ship.Unavailable, "UPS did not say until when it pushes")
	case end.Year() == 9999:
		return time.Time{}, nil
	}
	return end, nil
}
