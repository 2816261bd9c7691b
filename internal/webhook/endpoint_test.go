package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

func testBox(t testing.TB, keys ...byte) *seal.Box {
	t.Helper()
	var list [][]byte
	for _, k := range keys {
		list = append(list, bytes.Repeat([]byte{k}, 32))
	}
	box, err := seal.New(list...)
	if err != nil {
		t.Fatal(err)
	}
	return box
}

func testService(t testing.TB, st *store.Store, box *seal.Box) *Service {
	t.Helper()
	return New(Config{Store: st, Box: box, Sender: localSender(t, func(o *SenderOptions) { o.UserAgent = "Waybill/test" }), BaseURL: "https://ship.example.com"})
}

func TestKeysOfTheSealChangeWithoutLosingAnEndpoint(t *testing.T) {
	t.Parallel()
	st := storetest.Open(t)
	before := testService(t, st, testBox(t, 1))
	made, err := before.Create(t.Context(), testTenant, Settings{URL: new("https://example.com/"), Headers: map[string]string{"X-Token": "t"}, Signature: new(SignBoth)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := testService(t, st, testBox(t, 2)).Target(t.Context(), testTenant, made.ID); !errors.Is(err, seal.ErrOpen) {
		t.Errorf("without its key: %v", err)
	}
	during := testService(t, st, testBox(t, 2, 1))
	target, err := during.Target(t.Context(), testTenant, made.ID)
	if err != nil || target.header.Get("X-Token") != "t" || target.header.Get("User-Agent") != "Waybill/test" || target.Version != 1 {
		t.Fatalf("target = %+v, %v", target, err)
	}
	if _, err := during.Update(t.Context(), testTenant, made.ID, Settings{Description: new("written again")}); err != nil {
		t.Fatal(err)
	}
	after := testService(t, st, testBox(t, 2))
	target, err = after.Target(t.Context(), testTenant, made.ID)
	if err != nil || target.header.Get("X-Token") != "t" || target.Version != 2 {
		t.Fatalf("sealed again: %+v, %v", target, err)
	}
	if err := verifies(t, made.Secret, signWith(target.signer, time.Now(), []byte("{}"))); err != nil {
		t.Error(err)
	}
	rotated, err := after.RotateSecret(t.Context(), testTenant, made.ID)
	if err != nil {
		t.Fatal(err)
	}
	if target, err = after.Target(t.Context(), testTenant, made.ID); err != nil {
		t.Fatal(err)
	}
	s, later := signWith(target.signer, time.Now(), []byte("{}")), signWith(target.signer, time.Now().Add(25*time.Hour), []byte("{}"))
	for _, e := range []Endpoint{made, rotated} {
		if err := verifies(t, e.Secret, s); err != nil || !verifiesAsymmetric(e.PublicKey, s) {
			t.Errorf("during the rotation: %v", err)
		}
	}
	if verifiesAsymmetric(made.PublicKey, later) || !verifiesAsymmetric(rotated.PublicKey, later) {
		t.Error("after a day the old key still signs, or the new one does not")
	}
}

func TestASecretOpensForItsEndpointAlone(t *testing.T) {
	t.Parallel()
	st := storetest.Open(t)
	s := testService(t, st, testBox(t, 1))
	var made [2]Endpoint
	for i := range made {
		var err error
		if made[i], err = s.Create(t.Context(), testTenant, Settings{URL: new("https://example.com/")}); err != nil {
			t.Fatal(err)
		}
	}
	other, err := st.Endpoint(t.Context(), testTenant, made[1].ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.ChangeEndpoint(t.Context(), testTenant, made[0].ID, "webhook.changed", func(e *store.Endpoint) error { e.Secret = other.Secret; return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Target(t.Context(), testTenant, made[0].ID); !errors.Is(err, seal.ErrOpen) {
		t.Errorf("with another's secret: %v", err)
	}
}

func TestATestEventOfEachKindIsWhole(t *testing.T) {
	t.Parallel()
	var got []byte
	address := sink(t, func(_ http.ResponseWriter, r *http.Request) { got, _ = io.ReadAll(r.Body) })
	st := storetest.Open(t)
	s := testService(t, st, testBox(t, 1))
	made, err := s.Create(t.Context(), testTenant, Settings{URL: &address, Kinds: []ship.EventKind{ship.ShipmentException, ship.ShipmentCreated}})
	if err != nil || !slices.Equal(made.Kinds, []ship.EventKind{ship.ShipmentCreated, ship.ShipmentException}) {
		t.Fatalf("made %+v, %v", made, err)
	}
	for i, kind := range ship.EventKinds {
		s.tested = map[ship.EndpointID]time.Time{} // a second later
		a, err := s.Test(t.Context(), testTenant, made.ID, kind)
		if err != nil || !a.Delivered() {
			t.Fatalf("%s: %+v, %v", kind, a, err)
		}
		var e struct {
			ID, Type string
			Test     bool
			Sequence int
			Data     struct {
				Shipment struct{ ID, Status, LabelURL, TrackingNumber string }
				Event    struct{ Status, Timestamp string }
			}
		}
		if err := json.Unmarshal(got, &e); err != nil || e.ID != string(a.Event) || e.Type != string(kind) || !e.Test || e.Sequence != min(i, 4)+1 {
			t.Errorf("%s: %v in %s", kind, err, got)
		}
		if d := e.Data; ship.Status(d.Event.Status).Kind() != kind || d.Shipment.Status != d.Event.Status || d.Event.Timestamp == "" || !strings.HasPrefix(d.Shipment.LabelURL, "https://ship.example.com/") || d.Shipment.TrackingNumber == "" {
			t.Errorf("%s: %s", kind, got)
		}
	}
	list, more, err := s.Deliveries(t.Context(), testTenant, made.ID, ship.Page{Limit: 4})
	if err != nil || len(list) != 4 || !more || list[0].Trigger != TriggerTest || list[0].Outcome != OutcomeDelivered {
		t.Errorf("%d deliveries, more %t, %v", len(list), more, err)
	}
	if log, err := s.Events(t.Context(), testTenant, "", nil, 10); err != nil || len(log.Entries) != 0 {
		t.Errorf("the log has %d events, %v", len(log.Entries), err)
	}
}

func TestHeadersThatBelongToTheServiceAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Host", "host", "Content-Type", "content-encoding", "Webhook-Signature", "webhook-x", "Connection", "Transfer-Encoding", "TE", "Trailer", "Upgrade", "Expect", "User-Agent", "Proxy-Authorization", "accept-encoding", "", "a b", "a:b", "ä", strings.Repeat("x", 65)} {
		if checkHeaders(map[string]string{name: "v"}) == nil {
			t.Errorf("%q is taken", name)
		}
	}
	for _, value := range []string{"", "a\r\nb: c", "a\nb", "\x00", "ä", " a", "a\t", strings.Repeat("x", 1025)} {
		if checkHeaders(map[string]string{"X-A": value}) == nil {
			t.Errorf("the value %q is taken", value)
		}
	}
	if checkHeaders(map[string]string{"X-A": "1", "x-a": "2"}) == nil {
		t.Error("a name is taken twice")
	}
	if wrong := checkHeaders(map[string]string{"Authorization": "Bearer x", "X-Api-Key": "a b", "x_y": "z"}); wrong != nil {
		t.Errorf("good ones: %v", wrong)
	}
}
