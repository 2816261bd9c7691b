package royalmail_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
)

func TestALabelIsVoidedUntilItIsOnAManifest(t *testing.T) {
	t.Parallel()
	opened := openVia(t, checked(newContract(t), carriertest.Server(t, newStandIn(t, emulator.Faults{}))))
	first, err := opened.Buy(t.Context(), domesticOrder())
	if err != nil {
		t.Fatal(err)
	}
	purchase := ship.Purchase{CarrierRef: first.CarrierRef}
	for range 2 { // a void whose answer was lost is repeated
		if result, err := opened.Void(t.Context(), purchase); err != nil || result.State != ship.StateVoided {
			t.Errorf("void: %+v, %v", result, err)
		}
	}

	second, err := opened.Buy(t.Context(), domesticOrder())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := opened.CloseManifest(t.Context(), ship.ManifestOrder{}); err != nil {
		t.Fatal(err)
	}
	_, err = opened.Void(t.Context(), ship.Purchase{CarrierRef: second.CarrierRef})
	if ship.KindOf(err) != ship.Invalid || !strings.Contains(ship.ErrorOf(err).Refusal.Message, "manifested") {
		t.Errorf("void after the manifest: %v", err)
	}
}

// TestAnOrderThatIsNotThereIsCertainlyNotThere has both ways in which Click & Drop
// says so.
func TestAnOrderThatIsNotThereIsCertainlyNotThere(t *testing.T) {
	t.Parallel()
	for _, account := range []string{"", "absent_rows"} {
		opened := openVia(t, carriertest.Server(t, newStandIn(t, emulator.Faults{Account: account})))
		if _, err := opened.Find(t.Context(), domesticOrder()); ship.KindOf(err) != ship.NotFound {
			t.Errorf("%q: found: %v", account, err)
		}
		result, err := opened.Void(t.Context(), ship.Purchase{CarrierRef: "1001"})
		if err != nil || result.State != ship.StateVoided {
			t.Errorf("%q: void: %+v, %v", account, result, err)
		}
	}
}

// TestAnOrderThatIsStillThereIsNotVoided answers a void with "not found" about an
// order that a look-up shows.
func TestAnOrderThatIsStillThereIsNotVoided(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status int
		body   string
		want   ship.Kind
	}{
		{404, ``, ship.Uncertain},
		{400, `[{"code":"TradingName","message":"The trading name of the order was not found"}]`, ship.Invalid},
		{200, `{"deletedOrders":[],"errors":[{"code":"Batch","message":"The batch was not found"}]}`, ship.Invalid},
	} {
		via := carriertest.Server(t, newStandIn(t, emulator.Faults{}))
		bought, err := openVia(t, via).Buy(t.Context(), domesticOrder())
		if err != nil {
			t.Fatal(err)
		}
		opened := openVia(t, answering{via, "DELETE", "/" + bought.CarrierRef, tc.status, tc.body})
		if result, err := opened.Void(t.Context(), ship.Purchase{CarrierRef: bought.CarrierRef}); ship.KindOf(err) != tc.want {
			t.Errorf("%d %s: %+v, %v", tc.status, tc.body, result, err)
		}
	}
}

// TestAFormThatIsLateIsFetched closes a manifest whose form is ready at the third
// look.
func TestAFormThatIsLateIsFetched(t *testing.T) {
	t.Parallel()
	opened := openVia(t, checked(newContract(t), carriertest.Server(t, newStandIn(t, emulator.Faults{Account: "late_manifest"}))))
	if _, err := opened.Buy(t.Context(), domesticOrder()); err != nil {
		t.Fatal(err)
	}
	closing, err := opened.CloseManifest(t.Context(), ship.ManifestOrder{})
	if err != nil || closing.Number == "" || len(closing.Documents) != 1 {
		t.Errorf("closed as %q with %d documents, %v", closing.Number, len(closing.Documents), err)
	}
}

// TestALostManifestIsClosedAgain loses the answer of a manifest: closing again
// says that nothing is left, and closes nothing.
func TestALostManifestIsClosedAgain(t *testing.T) {
	t.Parallel()
	server := newStandIn(t, emulator.Faults{Day: map[string]float64{"reset": 1}})
	opened := openVia(t, carriertest.Server(t, server))
	if _, err := opened.Buy(t.Context(), domesticOrder()); err != nil {
		t.Fatal(err)
	}
	if _, err := opened.CloseManifest(t.Context(), ship.ManifestOrder{}); ship.KindOf(err) != ship.Uncertain {
		t.Errorf("first: %v", err)
	}
	again, err := opened.CloseManifest(t.Context(), ship.ManifestOrder{})
	if err != nil || !again.Existed {
		t.Errorf("again: %+v, %v", again, err)
	}
	if closed := closedManifests(server); closed != 1 {
		t.Errorf("%d manifests in the ledger, want 1", closed)
	}
}

// closedManifests counts the manifests that the emulator closed.
func closedManifests(server *emulator.Server) (closed int) {
	for _, entry := range server.Ledger.Entries() {
		if entry.Kind == emulator.ManifestClosed {
			closed++
		}
	}
	return closed
}

// TestAManifestThatFailsIsRetriedOnce has a manifest that fails after it got its
// number. Parcels on such a manifest must not be handed over.
func TestAManifestThatFailsIsRetriedOnce(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, account, lost string
		closes              bool
		words               string
	}{
		{"the retry closes it", "failed_manifest", "", true, ""},
		{"the answer to the retry is lost", "failed_manifest", "after", true, ""},
		{"the retry is lost", "failed_manifest", "before", false, "Failed"},
		{"the retry fails too", "broken_manifest", "", false, "Failed"},
		{"the retry is declined", "declined_retry", "", false, "The posting location is closed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			server := newStandIn(t, emulator.Faults{Account: tc.account})
			via := &lossyRetries{Doer: checked(newContract(t), carriertest.Server(t, server)), lost: tc.lost}
			opened := openVia(t, via)
			if _, err := opened.Buy(t.Context(), domesticOrder()); err != nil {
				t.Fatal(err)
			}

			closing, err := opened.CloseManifest(t.Context(), ship.ManifestOrder{})
			if via.retries != 1 {
				t.Errorf("%d retries, want 1", via.retries)
			}
			if tc.closes {
				if err != nil || closing.Number == "" || len(closing.Documents) != 1 || closedManifests(server) != 1 {
					t.Errorf("closed as %q with %d documents, %v", closing.Number, len(closing.Documents), err)
				}
				return
			}
			// An uncertain manifest would be closed again, and "nothing left" would
			// count as closed.
			if ship.KindOf(err) != ship.Invalid || !strings.Contains(ship.ErrorOf(err).Refusal.Message, tc.words) {
				t.Errorf("err = %v, %+v", err, ship.ErrorOf(err).Refusal)
			}
			if closedManifests(server) != 0 {
				t.Error("a manifest was closed")
			}
		})
	}
}

// lossyRetries counts retries of manifests, and loses them before or after they
// arrive.
type lossyRetries struct {
	carrier.Doer
	lost    string
	retries int
}

// Do is carrier.Doer.
func (l *lossyRetries) Do(r *http.Request) (*http.Response, error) {
	if !strings.Contains(r.URL.Path, "/manifests/retry/") {
		return l.Doer.Do(r)
	}
	l.retries++
	if l.lost == "before" {
		return nil, io.ErrUnexpectedEOF
	}
	response, err := l.Doer.Do(r)
	if l.lost == "after" && err == nil {
		response.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}
	return response, err
}
