package usps

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

const (
	subscriptions     = "/subscriptions-tracking/v3/subscriptions"
	subscriptionScope = "subscriptions-tracking"
)

// upkeep is the time until a subscription is checked again. It does not expire,
// but USPS ends one that was idle for 30 days and suspends one whose address
// did not answer.
const upkeep = 7 * 24 * time.Hour

// Subscribe asks for all parcels of the mailer ID; the numbers do not matter.
func (d *driver) Subscribe(ctx context.Context, subscription carrier.Subscription) (time.Time, error) {
	if d.pushSecret == "" || subscription.URL == "" {
		return time.Time{}, ship.Errorf(ship.Internal, "push subscriptions need a secret and a URL")
	}

	// USPS takes the same address and mailer once, and its refusal names the
	// subscription that exists.
	err := d.createSubscription(ctx, subscription.URL)
	if id := existingSubscription(err); id != "" {
		err = d.renewSubscription(ctx, id, subscription.URL)
	}
	if err != nil {
		return time.Time{}, err
	}
	return time.Now().Add(upkeep), nil
}

func (d *driver) createSubscription(ctx context.Context, url string) error {
	request := subscriptionRequest{
		ListenerURL:      url,
		Secret:           d.pushSecret,
		FilterProperties: subscriptionFilter{d.mid},
	}
	if d.alertEmail != "" {
		request.AdminNotification = []adminEmail{{d.alertEmail}}
	}

	return d.callWithScope(ctx, subscriptionScope, d.via, carrierkit.Call{
		Method:  http.MethodPost,
		URL:     d.base + subscriptions,
		Body:    request,
		Refusal: d.redactedRefusal(url),
	}, nil)
}

// renewSubscription keeps the existing subscription if it is in force with our
// secret, and replaces it if not.
func (d *driver) renewSubscription(ctx context.Context, id, url string) error {
	path := d.base + subscriptions + "/" + id
	reader := &tagReader{via: d.via}

	var answer subscriptionAnswer
	err := d.callWithScope(ctx, subscriptionScope, reader, carrierkit.Call{
		Method:  http.MethodGet,
		URL:     path,
		Refusal: d.redactedRefusal(url),
	}, &answer)
	switch {
	case ship.KindOf(err) == ship.NotFound:
		return d.createSubscription(ctx, url)
	case err != nil:
		return err
	case d.isInForce(answer):
		return nil
	}

	// A deletion has to name the version that was read.
	deletion := carrierkit.Call{
		Method:  http.MethodDelete,
		URL:     path,
		Refusal: d.redactedRefusal(url),
	}
	if reader.tag != "" {
		deletion.Header = http.Header{"If-Match": {reader.tag}}
	}
	err = d.callWithScope(ctx, subscriptionScope, d.via, deletion, nil)
	if err != nil && ship.KindOf(err) != ship.NotFound {
		return err
	}
	return d.createSubscription(ctx, url)
}

// isInForce reports whether a subscription is in force with our secret, as far
// as USPS shows it: a secret that is masked or left out is assumed to be ours.
func (d *driver) isInForce(answer subscriptionAnswer) bool {
	secret := string(answer.Secret)
	isOurs := secret == "" || strings.Contains(secret, "*") || secret == d.pushSecret
	return isOurs && !strings.EqualFold(string(answer.Status), "SUSPENDED")
}

var namedID = regexp.MustCompile(`(?i)subscription\s?id\W{1,4}([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})`)

// existingSubscription returns the id of the subscription that has the address
// and the mailer already, if that is why USPS declined.
func existingSubscription(err error) string {
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok || refused.Kind != ship.Invalid {
		return ""
	}
	if found := namedID.FindStringSubmatch(refused.Refusal.Message); found != nil {
		return found[1]
	}
	return ""
}

// redactedRefusal reads an error without what USPS repeats of the request: the
// secret, and the address with its token.
func (d *driver) redactedRefusal(url string) func([]byte) ship.Refusal {
	redact := strings.NewReplacer(d.pushSecret, "[secret]", url, "[address]")
	return func(body []byte) ship.Refusal {
		refusal := refusalOf(body)
		refusal.Message = redact.Replace(refusal.Message)
		return refusal
	}
}

// tagReader keeps the ETag of what was read, which a deletion has to name.
type tagReader struct {
	via carrier.Doer
	tag string
}

// Do is carrier.Doer.
func (t *tagReader) Do(r *http.Request) (*http.Response, error) {
	resp, err := t.via.Do(r)
	if err == nil {
		t.tag = resp.Header.Get("ETag")
	}
	return resp, err
}
