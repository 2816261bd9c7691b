package ups

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Of Track Alert: how many numbers one subscription takes, and how long it
// lasts.
const (
	subscribeBatch = 100
	subscribedFor  = 14 * 24 * time.Hour
)

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

// until returns when the subscription of an account ends. UPS writes the year
// 9999 for one without an end.
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
