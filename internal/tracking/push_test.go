package tracking_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store/storetest"
	"github.com/waybillhq/waybill/internal/tracking"
)

// stored returns the number of pushes in the database, and everything that they
// contain.
func (b liveBench) stored(t *testing.T) (n int, text string) {
	t.Helper()
	err := storetest.Conn(t, b.database).QueryRow(t.Context(),
		"SELECT count(*), coalesce(string_agg(headers::text || encode(body, 'escape'), ' '), '') FROM pushes").Scan(&n, &text)
	if err != nil {
		t.Fatal(err)
	}
	return n, text
}

func upsPush(number string) []byte {
	now := time.Now().UTC().Add(-time.Hour)
	body, _ := json.Marshal(map[string]any{
		"trackingNumber":  number,
		"gmtActivityDate": now.Format("20060102"), "gmtActivityTime": now.Format("150405"),
		"localActivityDate": now.Format("20060102"), "localActivityTime": now.Format("150405"), "gmtOffset": "+00.00",
		"activityStatus": map[string]string{"type": "I", "code": "OT", "description": "Out for Delivery", "descriptionCode": "021"},
	})
	return body
}

// UPS sends the secret itself with every push. Whoever reads the database could
// push with it.
func TestThePushSecretIsNotInTheDatabase(t *testing.T) {
	t.Parallel()
	for _, header := range []http.Header{
		{"Credential": {"SECRET"}},
		{"Authorization": {"Bearer SECRET"}},
		{"Credential": {"SECRET"}, "X-Forwarded-Authorization": {"Bearer SECRET"}, "Cookie": {"SECRET"}},
	} {
		b := newLiveBench(t, "ups")
		sh := b.buy(t)
		for _, values := range header {
			values[0] = strings.ReplaceAll(values[0], "SECRET", b.secret())
		}
		if err := b.receive(t, header, upsPush(sh.Purchase.TrackingNumber)); err != nil {
			t.Fatal(err)
		}
		if n, text := b.stored(t); n != 1 || strings.Contains(text, b.secret()) {
			t.Errorf("%d pushes are stored as %s", n, text)
		}

		// Another copy verifies what is stored, and believes it.
		other := b
		other.Service = b.another()
		time.Sleep(10 * time.Millisecond)
		other.hear(t)
		b.want(t, string(sh.ID), ship.OutForDelivery, 3)
	}
}

// The mark that stands for the secret cannot be sent instead of it.
func TestTheMarkOfTheSecretProvesNothing(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	sh := b.buy(t)
	for _, value := range []string{"\x01", "[secret]", ""} {
		if err := b.receive(t, http.Header{"Credential": {value}}, upsPush(sh.Purchase.TrackingNumber)); err != nil {
			t.Fatal(err)
		}
	}
	b.hear(t)
	b.want(t, string(sh.ID), ship.LabelGenerated, 2)
}

func TestForgedPushesTakeNoRoom(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ups", "usps", "fedex"} {
		b := newLiveBench(t, name)
		large := strings.Repeat(" ", 900<<10)
		for _, body := range []string{string(upsPush("1Z204W4R0308071865")), "{}", "nonsense", "null" + large, `{"payload":"{}"}` + large} {
			for _, header := range []http.Header{{}, {"X-Hmac": {"AAAA"}, "Fdx-Signature": {"AAAA"}, "Credential": {"guess"}}} {
				if err := b.receive(t, header, []byte(body)); err != nil {
					t.Errorf("%s learns that its push is refused: %v", name, err)
				}
			}
		}
		if n, _ := b.stored(t); n != 0 {
			t.Errorf("%d forged pushes at %s are stored", n, name)
		}
	}
}

// USPS tries a new address with a push that is not signed.
func TestAPushWithoutASignatureIsSmallAndSoonGone(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "usps")
	challenge := []byte(`{"challenge":"are you there"}`)
	arrival, err := b.Inspect(t.Context(), b.carrier.Connection, http.Header{}, challenge)
	if err != nil || arrival.Verified {
		t.Fatalf("an unsigned push is verified: %t, %v", arrival.Verified, err)
	}
	if err := b.receive(t, http.Header{}, challenge); err != nil {
		t.Fatal(err)
	}
	if n, _ := b.stored(t); n != 1 {
		t.Fatalf("%d pushes are stored", n)
	}
	b.hear(t)
	if n, _ := b.stored(t); n != 0 {
		t.Errorf("%d unsigned pushes are still stored after they were processed", n)
	}

	// One that is signed is kept, to recognize its repeats.
	b.push(t, b.secret(), b.buy(t).Purchase.TrackingNumber, "OA")
	b.hear(t)
	if n, _ := b.stored(t); n != 1 {
		t.Errorf("%d signed pushes are kept", n)
	}

	large := append(challenge, []byte(strings.Repeat(" ", tracking.MaxUnverified))...)
	if err := b.receive(t, http.Header{}, large); ship.CodeOf(err) != "body_too_large" {
		t.Errorf("a large unsigned push: %v", err)
	}
}

// A carrier goes on pushing to the address, and with the secret, that it was
// given before the key was rotated.
func TestPushesSurviveTheRotationOfTheKey(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	sh := b.buy(t)
	old := tracking.PushSecret([]byte(oldPushKey), b.carrier.Connection)
	path := tracking.PushPath([]byte(oldPushKey), b.carrier.Connection)
	if err := b.Admits(b.carrier.Connection, path[strings.LastIndexByte(path, '/')+1:]); err != nil {
		t.Errorf("the old address: %v", err)
	}
	arrival, err := b.Inspect(t.Context(), b.carrier.Connection, http.Header{"Credential": {old}}, upsPush(sh.Purchase.TrackingNumber))
	if err != nil || !arrival.Verified {
		t.Fatalf("verified %t, %v", arrival.Verified, err)
	}
	if err := b.Receive(t.Context(), arrival); err != nil {
		t.Fatal(err)
	}
	if n, text := b.stored(t); n != 1 || strings.Contains(text, old) {
		t.Errorf("%d pushes are stored as %s", n, text)
	}
	time.Sleep(10 * time.Millisecond)
	b.hear(t)
	b.want(t, string(sh.ID), ship.OutForDelivery, 3)

	// A key that was removed proves nothing.
	gone := tracking.PushSecret([]byte("abcdefabcdefabcdefabcdefabcdefab"), b.carrier.Connection)
	if arrival, err := b.Inspect(t.Context(), b.carrier.Connection, http.Header{"Credential": {gone}}, upsPush(sh.Purchase.TrackingNumber)); err != nil || arrival.Verified {
		t.Errorf("a removed key: verified %t, %v", arrival.Verified, err)
	}

	usps := newLiveBench(t, "usps")
	sh = usps.buy(t)
	usps.push(t, tracking.PushSecret([]byte(oldPushKey), usps.carrier.Connection), sh.Purchase.TrackingNumber, "OF")
	time.Sleep(10 * time.Millisecond)
	usps.hear(t)
	usps.want(t, string(sh.ID), ship.OutForDelivery, 3)
}
