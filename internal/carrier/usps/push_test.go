package usps

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

const testSecret = "0123456789abcdefghijklmnopqrstuv"

const scanned = `{"trackingNumber":"42063104` + parcelA + `","statusCategory":"Out for Delivery","trackingEvents":[{"eventType":"Out for Delivery","eventCode":"OF",` +
	`"eventTimestamp":"2026-03-06T08:10:00","GMTTimestamp":"2026-03-06T14:10:00Z","GMTOffset":"-06:00","eventCity":"ST LOUIS","eventState":"MO","eventZIPCode":"63104"}]}`

// pushed returns a notification that is signed with a secret.
func pushed(secret, stamp, payload string) (http.Header, []byte) {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(stamp + payload))
	body, _ := json.Marshal(map[string]string{"subscriptionId": "s", "timestamp": stamp, "payload": payload})
	return http.Header{"X-Hmac": {base64.StdEncoding.EncodeToString(mac.Sum(nil))}}, body
}

func TestAPushIsHeard(t *testing.T) {
	c := listening(t, nil, testSecret)
	header, body := pushed(testSecret, "2026-03-06T14:10:05Z", scanned)
	push, err := c.DecodePush(header, body)
	if err != nil {
		t.Fatal(err)
	}
	want := parcelA + " | 2026-03-06T14:10:00Z | out_for_delivery  | OF | St Louis, MO, US | Out for Delivery | -\n"
	if got := timeline(push.Updates); got != want || !push.Verified || len(push.Numbers) > 0 {
		t.Errorf("heard %s, want %s: %+v", got, want, push)
	}
	again, err := c.DecodePush(header, body)
	if err != nil || !reflect.DeepEqual(again, push) {
		t.Errorf("a push that comes again is %+v, %v", again, err)
	}
}

func TestAForgedPushIsNotHeard(t *testing.T) {
	c := listening(t, nil, testSecret)
	header, body := pushed(testSecret, "2026-03-06T14:10:05Z", scanned)
	other, _ := pushed("another secret of 32 characters.", "2026-03-06T14:10:05Z", scanned)
	empty, _ := pushed("", "2026-03-06T14:10:05Z", scanned)
	for name, try := range map[string]struct {
		header http.Header
		body   []byte
	}{
		"without proof":     {http.Header{}, body},
		"by another":        {other, body},
		"by nobody":         {empty, body},
		"not base64":        {http.Header{"X-Hmac": {"%%%"}}, body},
		"cut":               {http.Header{"X-Hmac": {header.Get("X-HMAC")[:8]}}, body},
		"another payload":   {header, bytes.Replace(body, []byte("OF"), []byte("01"), 1)},
		"another time":      {header, bytes.Replace(body, []byte("14:10:05"), []byte("14:10:06"), 1)},
		"of another parcel": {header, bytes.Replace(body, []byte("42063104"), []byte("42063105"), 1)},
		"without payload":   {header, []byte(`{"timestamp":"2026-03-06T14:10:05Z"}`)},
	} {
		if push, err := c.DecodePush(try.header, try.body); ship.KindOf(err) != ship.Forbidden || len(push.Updates)+len(push.Numbers) > 0 || push.Verified {
			t.Errorf("%s: %+v, %v", name, push, err)
		}
	}
	if _, err := listening(t, nil, "").DecodePush(empty, body); ship.KindOf(err) != ship.Forbidden {
		t.Errorf("without a secret of ours: %v", err)
	}
}

func TestOddPushes(t *testing.T) {
	c := listening(t, nil, testSecret)
	for _, tc := range []struct {
		name, payload string
		heard         int
		numbers       string
		want          ship.Kind
	}{
		{"several", `[` + scanned + `,` + scanned + `]`, 2, "", ""},
		{"no events", `{"trackingNumber":"` + parcelA + `","trackingEvents":[]}`, 0, parcelA, ""},
		{"an odd date", strings.NewReplacer("2026-03-06T08:10:00", "soon", "2026-03-06T14:10:00Z", "later").Replace(scanned), 0, parcelA, ""},
		{"no number", `{"trackingEvents":[]}`, 0, "", ship.Invalid},
		{"an odd number", `{"trackingNumber":"<script>","trackingEvents":[]}`, 0, "", ship.Invalid},
		{"not JSON", `Delivered`, 0, "", ship.Invalid},
		{"nothing", ``, 0, "", ship.Invalid},
	} {
		header, body := pushed(testSecret, "1772806205", tc.payload)
		push, err := c.DecodePush(header, body)
		if len(push.Updates) != tc.heard || strings.Join(push.Numbers, " ") != tc.numbers || tc.want == "" && err != nil || tc.want != "" && ship.KindOf(err) != tc.want {
			t.Errorf("%s: %+v, %v", tc.name, push, err)
		}
	}
	for name, body := range map[string]string{
		"empty": "", "a page": "<html>", "a list": "[]", "a word": `"x"`, "oversized": `{"payload":"` + strings.Repeat("x", pushLimit) + `"}`,
	} {
		if _, err := c.DecodePush(http.Header{}, []byte(body)); ship.KindOf(err) != ship.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if push, err := c.DecodePush(http.Header{}, []byte(`{"challenge":"abc"}`)); err != nil || push.Verified || len(push.Updates)+len(push.Numbers) > 0 {
		t.Errorf("the try of the address: %+v, %v", push, err)
	}
}

// TestAPayloadThatIsNoTextIsProvedAsItIsWritten sends the time as a number and
// the payload as an object.
func TestAPayloadThatIsNoTextIsProvedAsItIsWritten(t *testing.T) {
	header, _ := pushed(testSecret, "1772806205", scanned)
	body := fmt.Sprintf(`{"timestamp":1772806205,"payload":%s}`, scanned)
	push, err := listening(t, nil, testSecret).DecodePush(header, []byte(body))
	if err != nil || len(push.Updates) != 1 {
		t.Errorf("%+v, %v", push, err)
	}
}

// FuzzHear decodes arbitrary payloads with a valid signature: the decoder must
// not trust signed content, either.
func FuzzHear(f *testing.F) {
	f.Add("2026-03-06T14:10:05Z", scanned, []byte(`{}`))
	f.Add("", `[{"trackingNumber":7,"trackingEvents":{}}]`, []byte(`{"challenge":1}`))
	f.Add("x", `{"trackingNumber":"`+parcelA+`","trackingEvents":[{"eventCode":"/","eventType":"<","GMTOffset":"-","eventTimestamp":"2026-01-01"}]}`, []byte(`[`))
	c := listening(f, nil, testSecret)
	f.Fuzz(func(t *testing.T, stamp, payload string, raw []byte) {
		if push, err := c.DecodePush(http.Header{"X-Hmac": {"AAAA"}}, raw); err == nil && (push.Verified || len(push.Updates) > 0) {
			t.Errorf("heard without proof: %+v", push)
		}
		push, err := c.DecodePush(pushed(testSecret, stamp, payload))
		if err != nil && ship.KindOf(err) != ship.Invalid && ship.KindOf(err) != ship.Forbidden {
			t.Errorf("%v", err)
		}
		for _, h := range push.Updates {
			status, reason, _ := Spec.MeaningOf(h.Scan.Code)
			if h.Scan.Status != status || h.Scan.Reason != reason || h.Scan.Code[0] == '.' || h.Scan.At.IsZero() || len(h.Scan.Code) > 80 || len(h.Scan.Description) > maxText {
				t.Errorf("heard %+v", h)
			}
		}
	})
}
