package ups_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/ups"
	"github.com/waybillhq/waybill/internal/ship"
)

// pushSecret is what the webhook was given at UPS.
const pushSecret = "Rk7mQ2xVt9LpZ4sWc8YhB3nJd6FgA1uE"

func listener(t testing.TB, via carrier.Doer, secret string) *carrier.Carrier {
	t.Helper()
	c, err := carrier.Open(ups.Spec, carrier.Opening{Credentials: credentials, BaseURL: ups.Spec.TestURL, PushSecret: secret, Via: via})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func with(name, value string) http.Header {
	h := http.Header{}
	h.Set(name, value)
	h.Set("User-Agent", "UPSPubSubTrackingService")
	return h
}

// outForDelivery is a push in UPS's own form.
const outForDelivery = `{"trackingNumber":"1Z204W4R0308071865","localActivityDate":"20240423","localActivityTime":"091519",
	"activityLocation":{"city":"CHARLOTTE","stateProvince":"NC","postalCode":"","country":"US"},
	"activityStatus":{"type":"I","code":"OT","description":"Out for Delivery","descriptionCode":"021"},
	"scheduledDeliveryDate":"20240423","actualDeliveryDate":"","actualDeliveryTime":"","gmtActivityDate":"20240423","gmtActivityTime":"131519",
	"gmtOffset":"-04.00","deliveryStartTime":"150000","deliveryEndTime":"170000","deliveryTimeDescription":"estimated delivery window"}`

func TestAPushTellsOneScan(t *testing.T) {
	c := listener(t, nil, pushSecret)
	want := ship.Scan{
		Code: "I/OT/021", At: time.Date(2024, 4, 23, 13, 15, 19, 0, time.UTC), Status: ship.OutForDelivery,
		Description: "Out for Delivery", Location: "Charlotte, NC, US",
	}
	for _, h := range []http.Header{with("credential", pushSecret), with("Authorization", "Bearer "+pushSecret), with("Authorization", pushSecret)} {
		// A replayed push reports the same scan again, with the same key.
		for range 2 {
			p, err := c.DecodePush(h, []byte(outForDelivery))
			if err != nil || !p.Verified || len(p.Updates) != 1 || len(p.Numbers) != 0 {
				t.Fatalf("heard %+v, %v", p, err)
			}
			got := p.Updates[0]
			if got.TrackingNumber != "1Z204W4R0308071865" || got.Scan != want || !got.EstimateAt.Equal(time.Date(2024, 4, 23, 17, 0, 0, 0, time.UTC)) || string(got.Raw) != outForDelivery {
				t.Errorf("heard %+v", got)
			}
		}
	}
}

func TestForgedPushesAreForbidden(t *testing.T) {
	c := listener(t, nil, pushSecret)
	for name, h := range map[string]http.Header{
		"no credential":    {},
		"a wrong one":      with("Credential", strings.ToLower(pushSecret)),
		"a part of it":     with("Credential", pushSecret[:31]),
		"more than it":     with("Credential", pushSecret+"x"),
		"empty":            with("Credential", ""),
		"empty bearer":     with("Authorization", "Bearer "),
		"the client's id":  with("x-api-key", credentials["client_id"]),
		"another's header": with("X-Credential", pushSecret),
	} {
		if p, err := c.DecodePush(h, []byte(outForDelivery)); ship.KindOf(err) != ship.Forbidden || len(p.Updates) != 0 {
			t.Errorf("%s: heard %+v, %v", name, p, err)
		} else if strings.Contains(err.Error(), pushSecret) {
			t.Errorf("%s: the secret is in the error", name)
		}
	}
	if p, err := listener(t, nil, "").DecodePush(http.Header{}, []byte(outForDelivery)); err != nil || p.Verified || len(p.Updates) != 1 {
		t.Errorf("without a secret a push proves nothing: %+v, %v", p, err)
	}
}

func TestOddPushesAreReadAsFarAsTheyGo(t *testing.T) {
	c := listener(t, nil, pushSecret)
	hear := func(body string) (carrier.Push, error) {
		return c.DecodePush(with("Credential", pushSecret), []byte(body))
	}
	for name, body := range map[string]string{
		"empty": "", "a page": "<html>", "a word": `"x"`, "nothing": "null", "an empty list": "[]", "cut off": outForDelivery[:200],
		"no number":    `{"activityStatus":{"type":"I","code":"AR"},"gmtActivityDate":"20240423","gmtActivityTime":"131519"}`,
		"not a number": `{"trackingNumber":"'; DROP TABLE","activityStatus":{"type":"I"}}`,
		"oversized":    `{"trackingNumber":"1Z204W4R0308071865","deliveryPhoto":"` + strings.Repeat("A", 1<<20) + `"}`,
	} {
		if p, err := hear(body); ship.KindOf(err) != ship.Invalid {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	for name, body := range map[string]string{
		"no time":  `{"trackingNumber":"1Z204W4R0308071865","activityStatus":{"type":"D","code":"FS","descriptionCode":"011"}}`,
		"no code":  `{"trackingNumber":"1Z204W4R0308071865","gmtActivityDate":"20240423","gmtActivityTime":"131519"}`,
		"a future": `{"trackingNumber":"1Z204W4R0308071865","activityStatus":{"type":"D"},"gmtActivityDate":"20990423","gmtActivityTime":"131519"}`,
		"lists":    `{"trackingNumber":"1Z204W4R0308071865","activityStatus":[],"activityLocation":[]}`,
	} {
		if p, err := hear(body); err != nil || len(p.Updates) != 0 || !reflect.DeepEqual(p.Numbers, []string{"1Z204W4R0308071865"}) {
			t.Errorf("%s: %+v, %v, want a reason to ask", name, p, err)
		}
	}
	p, err := hear(`{"trackingNumber":"1Z204W4R0308071865","localActivityDate":"20240423","localActivityTime":"95004","activityLocation":{"country":"US","stateProvince":"NC"},
		"activityStatus":{"type":"D","code":"FS","descriptionCode":11},"actualDeliveryDate":"20240423","scheduledDeliveryDate":"20191014","deliveryPhoto":"/9j/4AAQ"}`)
	if err != nil || len(p.Updates) != 1 {
		t.Fatal(p, err)
	}
	if h := p.Updates[0]; h.Scan.Code != "D/FS/011" || h.Scan.Status != ship.Delivered || !h.Scan.At.Equal(time.Date(2024, 4, 23, 13, 50, 4, 0, time.UTC)) || !h.EstimateAt.IsZero() || bytes.Contains(h.Raw, []byte("/9j")) {
		t.Errorf("heard %+v %s", h, h.Raw)
	}
	if p, err := hear("[" + outForDelivery + `,7,{"trackingNumber":"1Z204W4R0308071873"}]`); err != nil || len(p.Updates) != 1 || len(p.Numbers) != 1 {
		t.Errorf("several: %+v, %v", p, err)
	}
}

func FuzzHear(f *testing.F) {
	f.Add("x", []byte(outForDelivery))
	f.Add("", []byte(`[{"trackingNumber":"1Z204W4R0308071865","activityStatus":{"type":"D","descriptionCode":11}}]`))
	f.Add(pushSecret[1:], []byte(`{"activityLocation":[[[`))
	c := listener(f, nil, pushSecret)
	f.Fuzz(func(t *testing.T, forged string, body []byte) {
		if p, err := c.DecodePush(with("Credential", forged), body); ship.KindOf(err) != ship.Forbidden && forged != pushSecret {
			t.Fatalf("heard %+v, %v without the secret", p, err)
		}
		p, err := c.DecodePush(with("Credential", pushSecret), body)
		if err != nil && ship.KindOf(err) != ship.Invalid {
			t.Fatal(err)
		}
		for _, h := range p.Updates {
			status, reason, _ := ups.Spec.MeaningOf(h.Scan.Code)
			if h.TrackingNumber == "" || h.Scan.At.IsZero() || len(h.Scan.Code) > 40 || h.Scan.Code[0] == '.' || status != h.Scan.Status || reason != h.Scan.Reason || !json.Valid(h.Raw) {
				t.Fatalf("heard %+v", h)
			}
		}
	})
}
