package tracking_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/tracking"
)

// pushOf returns a push of USPS with scans of a parcel, signed with the secret.
func pushOf(secret, number string, codes ...string) (http.Header, []byte) {
	var events []map[string]string
	for i, code := range codes {
		at := time.Now().Add(time.Duration(i-len(codes)) * time.Hour).UTC().Truncate(time.Minute)
		events = append(events, map[string]string{"eventCode": code, "eventType": "Scan " + code, "GMTTimestamp": at.Format("2006-01-02T15:04:05Z")})
	}
	payload, _ := json.Marshal(map[string]any{"trackingNumber": number, "trackingEvents": events})
	stamp := time.Now().UTC().Format(time.RFC3339Nano)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(stamp + string(payload)))
	body, _ := json.Marshal(map[string]string{"timestamp": stamp, "payload": string(payload)})
	return http.Header{"X-Hmac": {base64.StdEncoding.EncodeToString(mac.Sum(nil))}}, body
}

func (b liveBench) secret() string {
	return tracking.PushSecret([]byte(pushKey), b.carrier.Connection)
}

// push makes the carrier send a push.
func (b liveBench) push(t *testing.T, secret, number string, codes ...string) {
	t.Helper()
	header, body := pushOf(secret, number, codes...)
	if err := b.receive(t, header, body); err != nil {
		t.Fatal(err)
	}
}

// receive takes a push in as the API does.
func (b liveBench) receive(t *testing.T, header http.Header, body []byte) error {
	t.Helper()
	arrival, err := b.Inspect(t.Context(), b.carrier.Connection, header, body)
	if err != nil {
		return err
	}
	return b.Receive(t.Context(), arrival)
}

// hear processes all pushes that have arrived.
func (b liveBench) hear(t *testing.T) {
	t.Helper()
	if _, err := b.ProcessPushes(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// waiting makes all unprocessed pushes due, and counts them.
func (b liveBench) waiting(t *testing.T) int {
	t.Helper()
	now := time.Now().UTC()
	list, err := b.store.DuePushes(t.Context(), now.Add(time.Hour), now, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func (b liveBench) want(t *testing.T, id string, status ship.Status, scans int) {
	t.Helper()
	got, err := b.Track(t.Context(), b.tenant, id, "")
	if err != nil || got.Progress.Status != status || len(got.Scans) != scans {
		t.Errorf("%s is %s with %d scans, %v; want %s with %d", id, got.Progress.Status, len(got.Scans), err, status, scans)
	}
}

func TestAPushIsBelievedOnceWhoeverHearsIt(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "usps")
	sh := b.buy(t)
	header, body := pushOf(b.secret(), sh.Purchase.TrackingNumber, "OA", "10", "OF")
	var group sync.WaitGroup
	for range 20 { // the carrier retries before it gets an answer
		group.Go(func() {
			if err := b.receive(t, header, body); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for range 3 {
		group.Go(func() { b.hear(t) })
	}
	group.Wait()
	b.want(t, string(sh.ID), ship.OutForDelivery, 5)
	b.push(t, b.secret(), sh.Purchase.TrackingNumber, "OA", "10", "OF") // the same push with another timestamp
	b.hear(t)
	b.want(t, string(sh.ID), ship.OutForDelivery, 5)
	if n := b.waiting(t); n != 0 {
		t.Errorf("%d pushes are not taken in", n)
	}
	if j, _, err := b.store.TrackingState(t.Context(), b.tenant, sh.ID.Raw()); err != nil || j.Sequence != 5 {
		t.Errorf("%d events were told, %v", j.Sequence, err)
	}
}

func TestABusyCopyHearsWhatOthersLeft(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "usps")
	sh := b.buy(t)
	b.hear(t) // from now on it processes what it receives
	header, body := pushOf(b.secret(), sh.Purchase.TrackingNumber, "OA", "10")
	other := store.Push{ID: ship.NewRawID(7, time.Now()), Tenant: b.tenant, Connection: b.carrier.Connection, Header: header, Body: body}
	if _, err := b.store.AddPushes(t.Context(), []store.Push{other}, time.Now().UTC()); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 300 { // more than it processes at once
		group.Go(func() { b.push(t, b.secret(), "9400100000000000000017", "OF") }) // not a parcel of this account
	}
	group.Wait()
	time.Sleep(250 * time.Millisecond)
	b.hear(t)
	b.want(t, string(sh.ID), ship.InTransit, 4)
}

func TestAPushWithoutProofChangesNothing(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "usps")
	sh := b.buy(t)
	b.push(t, "another secret", sh.Purchase.TrackingNumber, "01")
	b.hear(t)
	b.want(t, string(sh.ID), ship.LabelGenerated, 2)
	if n := b.waiting(t); n != 0 {
		t.Errorf("%d pushes are looked at again", n)
	}
	if err := b.Admits(b.carrier.Connection, "guess"); ship.KindOf(err) != ship.NotFound {
		t.Errorf("a guessed address is admitted: %v", err)
	}
	path := tracking.PushPath([]byte(pushKey), b.carrier.Connection)
	if err := b.Admits(b.carrier.Connection, path[strings.LastIndexByte(path, '/')+1:]); err != nil {
		t.Errorf("its own address: %v", err)
	}
}

func TestAPushThatIsAheadOfItsParcelIsHeardAgain(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "usps")
	b.push(t, b.secret(), "9400100000000000000017", "OA")
	b.hear(t)
	if n := b.waiting(t); n != 1 {
		t.Fatalf("%d pushes wait for their parcel", n)
	}
	tr, _, err := b.Follow(t.Context(), b.tenant, "key_1", "9400100000000000000017", "usps")
	if err != nil {
		t.Fatal(err)
	}
	b.hear(t)
	b.want(t, string(tr.Tracker), ship.PickedUp, 1)
	b.push(t, b.secret(), "9400100000000000000024", "OA")
	for range 3 {
		b.hear(t)
		b.waiting(t)
	}
	if n := b.waiting(t); n != 0 {
		t.Errorf("%d pushes of parcels that are nobody's are never forgotten", n)
	}
}

func TestAPushIsOfItsOwnCarriersParcels(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "usps")
	sh := b.buy(t)
	number := sh.Purchase.TrackingNumber
	var trackers []string
	for _, carrier := range []string{"usps", "fedex"} {
		tr, _, err := b.Follow(t.Context(), b.tenant, "key_1", number, carrier)
		if err != nil {
			t.Fatal(err)
		}
		trackers = append(trackers, string(tr.Tracker))
	}
	b.push(t, b.secret(), number, "OA", "01")
	b.hear(t)
	b.want(t, string(sh.ID), ship.Delivered, 4)
	b.want(t, trackers[0], ship.Delivered, 2)
	b.want(t, trackers[1], ship.Created, 0)
}

func TestAnotherCopyHearsWhatADeadOneReceived(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "usps")
	sh := b.buy(t)
	b.hear(t) // from now on it keeps what it receives in memory
	b.push(t, b.secret(), sh.Purchase.TrackingNumber, "OA")
	other := b
	other.Service = b.another()
	other.hear(t)
	b.want(t, string(sh.ID), ship.LabelGenerated, 2)
	if n := b.waiting(t); n != 1 { // its claim has expired
		t.Fatalf("%d pushes are claimed", n)
	}
	other.hear(t)
	b.want(t, string(sh.ID), ship.PickedUp, 3)
	b.hear(t) // the copy that seemed dead was only slow
	b.want(t, string(sh.ID), ship.PickedUp, 3)
}

func TestALatePushDoesNotMoveTheEstimateBack(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "usps")
	sh := b.buy(t)
	now := time.Now().UTC().Truncate(time.Minute)
	tell := func(at time.Time, code, day string) {
		payload, _ := json.Marshal(map[string]any{
			"trackingNumber": sh.Purchase.TrackingNumber, "deliveryDateExpectation": map[string]string{"expectedDeliveryDate": day},
			"trackingEvents": []any{map[string]string{"eventCode": code, "eventType": "Scan", "GMTTimestamp": at.Format("2006-01-02T15:04:05Z")}},
		})
		mac := hmac.New(sha256.New, []byte(b.secret()))
		mac.Write([]byte("t" + string(payload)))
		body, _ := json.Marshal(map[string]string{"timestamp": "t", "payload": string(payload)})
		if err := b.receive(t, http.Header{"X-Hmac": {base64.StdEncoding.EncodeToString(mac.Sum(nil))}}, body); err != nil {
			t.Fatal(err)
		}
		b.hear(t)
	}
	tell(now.Add(2*time.Hour), "10", "2026-12-24")
	tell(now.Add(time.Hour), "OA", "2026-12-20")
	got, err := b.Track(t.Context(), b.tenant, string(sh.ID), "")
	if err != nil || got.Progress.EstimateAt.Format(time.DateOnly) != "2026-12-24" {
		t.Errorf("it is expected on %s, %v", got.Progress.EstimateAt, err)
	}
	if !slices.ContainsFunc(got.Scans, func(s ship.Scan) bool { return s.Code == "OA" }) {
		t.Errorf("the late scan is missing: %+v", got.Scans)
	}
}
