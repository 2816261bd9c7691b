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

// upkeep is how long a subscription is relied upon. It has no end of its own,
// but USPS ends one that was idle for 30 days and suspends one whose address
// did not answer.
const upkeep = 7 * 24 * time.Hour

// Subscribe asks for all parcels of the mailer ID; the numbers do not matter.
// USPS takes the same address and mailer once and names the subscription that
// is there: that one is kept if it is in force with our secret, and replaced if
// not.
func (d *driver) Subscribe(ctx context.Context, s carrier.Subscription) (time.Time, error) {
	if d.pushSecret == "" || s.URL == "" {
		return time.Time{}, ship.Errorf(ship.Internal, "pushes need a secret and an address")
	}
	err := d.create(ctx, s.URL)
	if id := takenBy(err); id != "" {
		err = d.keep(ctx, id, s.URL)
	}
	if err != nil {
		return time.Time{}, err
	}
	return time.Now().Add(upkeep), nil
}

func (d *driver) create(ctx context.Context, url string) error {
	in := subscriptionRequest{ListenerURL: url, Secret: d.pushSecret, FilterProperties: subscriptionFilter{d.mid}}
	if d.alertEmail != "" {
		in.AdminNotification = []adminEmail{{d.alertEmail}}
	}
	return d.askWith(ctx, subscriptionScope, d.via, carrierkit.Call{
		Method: http.MethodPost, URL: d.base + subscriptions, Body: in, Refusal: d.discreet(url),
	}, nil)
}

// keep looks at the subscription that is there, and replaces it if it does not
// serve.
func (d *driver) keep(ctx context.Context, id, url string) error {
	var a subscriptionAnswer
	seen := &tagReader{via: d.via}
	path := d.base + subscriptions + "/" + id
	err := d.askWith(ctx, subscriptionScope, seen, carrierkit.Call{Method: http.MethodGet, URL: path, Refusal: d.discreet(url)}, &a)
	switch {
	case ship.KindOf(err) == ship.NotFound:
		return d.create(ctx, url)
	case err != nil:
		return err
	case d.serves(a):
		return nil
	}
	call := carrierkit.Call{Method: http.MethodDelete, URL: path, Refusal: d.discreet(url)}
	if seen.tag != "" {
		call.Header = http.Header{"If-Match": {seen.tag}}
	}
	err = d.askWith(ctx, subscriptionScope, d.via, call, nil)
	if err != nil && ship.KindOf(err) != ship.NotFound {
		return err
	}
	return d.create(ctx, url)
}

// serves reports whether a subscription is in force with our secret, as far as
// USPS tells.
func (d *driver) serves(a subscriptionAnswer) bool {
	told := string(a.Secret)
	return !strings.EqualFold(string(a.Status), "SUSPENDED") && (told == "" || strings.Contains(told, "*") || told == d.pushSecret)
}

var namedID = regexp.MustCompile(`(?i)subscription\s?id\W{1,4}([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})`)

// takenBy is the subscription that has the address and the mailer already, if
// that is why USPS refused.
func takenBy(err error) string {
	e, ok := errors.AsType[*ship.Error](err)
	if !ok || e.Kind != ship.Invalid {
		return ""
	}
	if found := namedID.FindStringSubmatch(e.Refusal.Message); found != nil {
		return found[1]
	}
	return ""
}

// discreet reads an error without what USPS repeats of the request: the secret,
// and the address with its token.
func (d *driver) discreet(url string) func([]byte) ship.Refusal {
	hide := strings.NewReplacer(d.pushSecret, "[secret]", url, "[address]")
	return func(body []byte) ship.Refusal {
		said := refusalOf(body)
		said.Message = hide.Replace(said.Message)
		return said
	}
}

// tagReader remembers the version of what was read, which a deletion has to
// name.
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
