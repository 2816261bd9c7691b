package royalmail_test

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/royalmail"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
)

// sentWith returns the body of a purchase with settings of the connection.
func sentWith(t *testing.T, settings carrier.Credentials, request carrier.BuyOrder) string {
	t.Helper()
	sent := ""
	server := newStandIn(t, emulator.Faults{})
	via := carriertest.Server(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if r.Method == http.MethodPost {
			sent = string(body)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		server.ServeHTTP(w, r)
	}))
	given := maps.Clone(credentials)
	maps.Copy(given, settings)
	if _, err := carriertest.Open(t, royalmail.Spec, given, via).Buy(t.Context(), request); err != nil {
		t.Errorf("%v: %v", settings, err)
	}
	return sent
}

// TestTheAccountSaysItsCodes has the usual codes of Click & Drop, and those of an
// account that differ.
func TestTheAccountSaysItsCodes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ setting, want string }{
		{"", `"serviceCode":"TPS48",`},
		{"tracked_48=TPS48/01", `"serviceCode":"TPS48","serviceRegisterCode":"01"`},
		{" tracked_24 = TRN24 , tracked_48 = TPL48HV ", `"serviceCode":"TPL48HV",`},
	} {
		sent := sentWith(t, carrier.Credentials{"service_codes": tc.setting}, domesticOrder())
		if !strings.Contains(sent, tc.want) || strings.Contains(sent, "serviceRegisterCode") != strings.Contains(tc.want, "serviceRegisterCode") {
			t.Errorf("%q: sent %s", tc.setting, sent)
		}
	}

	for _, wrong := range []string{"TPS48", "tracked_99=TPS48", "tracked_48=", "tracked_48=TPS48/1", "tracked_48=ABCDEFGHIJK"} {
		if _, err := royalmail.Spec.Open(carrier.Opening{Credentials: carrier.Credentials{"service_codes": wrong}}); ship.KindOf(err) != ship.Invalid {
			t.Errorf("%q: %v", wrong, err)
		}
	}

	// Nothing is sent for a service whose code is not known.
	request := domesticOrder()
	request.Service = "tracked_24_age_verified"
	given := maps.Clone(credentials)
	delete(given, "service_codes")
	_, err := carriertest.Open(t, royalmail.Spec, given, nil).Buy(t.Context(), request)
	if ship.KindOf(err) != ship.Invalid || !strings.Contains(ship.ErrorOf(err).Fields[0].Detail, "service_codes") {
		t.Errorf("without a code: %v", err)
	}
}

func TestRecipientsAreNotified(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string][2]bool{"": {true, false}, "email": {true, false}, "SMS": {false, true}, "both": {true, true}, "no": {}} {
		sent := sentWith(t, carrier.Credentials{"notify_recipient": setting}, domesticOrder())
		got := [2]bool{strings.Contains(sent, `"receiveEmailNotification":true`), strings.Contains(sent, `"receiveSmsNotification":true`)}
		if got != want || strings.Contains(sent, `"sendNotificationsTo":"recipient"`) != (want[0] || want[1]) {
			t.Errorf("%q: sent %s", setting, sent)
		}
	}

	silent := domesticOrder()
	silent.Order.Destination.Email = ""
	if sent := sentWith(t, nil, silent); strings.Contains(sent, "otification") {
		t.Errorf("without an address: %s", sent)
	}
	if _, err := royalmail.Spec.Open(carrier.Opening{Credentials: carrier.Credentials{"notify_recipient": "post"}}); ship.KindOf(err) != ship.Invalid {
		t.Errorf("another word: %v", err)
	}
}

// TestOrdersWithoutPostageExist has an account that does not apply postage to orders
// of the API. A lost purchase must not be taken for one that was never made.
func TestOrdersWithoutPostageExist(t *testing.T) {
	t.Parallel()
	for _, service := range []string{"tracked_48", "royal_mail_48"} {
		request := domesticOrder()
		request.Service = service
		server := newStandIn(t, emulator.Faults{Account: "no_postage", Buy: map[string]float64{"reset": 1}})
		opened := openVia(t, carriertest.Server(t, server))
		if _, err := opened.Buy(t.Context(), request); ship.KindOf(err) != ship.Uncertain {
			t.Fatal(err)
		}
		if _, err := opened.Find(t.Context(), request); ship.KindOf(err) != ship.Unavailable || !strings.Contains(err.Error(), "Apply postage automatically") {
			t.Errorf("%s: %v", service, err)
		}

		// A person applies the postage.
		if err := server.Turn(emulator.Faults{}); err != nil {
			t.Fatal(err)
		}
		if found, err := opened.Find(t.Context(), request); err != nil || len(found.Label.Data) == 0 {
			t.Errorf("%s: found %q, %v", service, found.TrackingNumber, err)
		}
	}

	refused := openVia(t, carriertest.Server(t, newStandIn(t, emulator.Faults{Account: "no_postage"})))
	if _, err := refused.Buy(t.Context(), domesticOrder()); ship.KindOf(err) != ship.Invalid || !strings.Contains(err.Error(), "Apply postage automatically") {
		t.Errorf("bought: %v", err)
	}
}

// TestAParcelWithoutANumberHasThatOfItsOrder buys a service that Royal Mail does not
// track.
func TestAParcelWithoutANumberHasThatOfItsOrder(t *testing.T) {
	t.Parallel()
	request := domesticOrder()
	request.Service = "royal_mail_24"
	opened := openVia(t, carriertest.Server(t, newStandIn(t, delivered())))
	bought, err := opened.Buy(t.Context(), request)
	if err != nil || bought.TrackingNumber != "CD-"+bought.CarrierRef {
		t.Fatalf("bought %q of %q, %v", bought.TrackingNumber, bought.CarrierRef, err)
	}
	if updates, err := openVia(t, nil).Track(t.Context(), []string{bought.TrackingNumber}); err != nil || len(updates) != 0 {
		t.Errorf("tracked: %v, %v", updates, err)
	}
	if _, err := opened.Void(t.Context(), ship.Purchase{CarrierRef: bought.CarrierRef}); err != nil {
		t.Errorf("void: %v", err)
	}
}

// returnOrder brings the parcel of domesticOrder back.
func returnOrder() carrier.BuyOrder {
	request := domesticOrder()
	request.Service = "tracked_returns_48"
	request.Order.IsReturn = true
	request.Order.Origin, request.Order.Destination = request.Order.Destination, request.Order.Origin
	return request
}

func TestReturns(t *testing.T) {
	t.Parallel()
	server := newStandIn(t, delivered())
	opened := openVia(t, carriertest.Server(t, server))
	bought, err := opened.Buy(t.Context(), returnOrder())
	if err != nil {
		t.Fatal(err)
	}
	if sold := server.Ledger.Entries(); len(sold) != 1 || sold[0].Number != bought.TrackingNumber || sold[0].Service != "TSS" || sold[0].Reference != returnOrder().Reference {
		t.Errorf("the ledger has %+v", sold)
	}
	if len(bought.Documents) != 1 || bought.Documents[0].Type != "qr_code" {
		t.Errorf("%d documents", len(bought.Documents))
	}
	if updates, err := opened.Track(t.Context(), []string{bought.TrackingNumber}); err != nil || len(updates) == 0 {
		t.Errorf("tracked: %v, %v", updates, err)
	}

	// It is no order: nothing proves that it was not bought, and it stays.
	if _, err := opened.Find(t.Context(), returnOrder()); ship.KindOf(err) != ship.Unavailable {
		t.Errorf("looked up: %v", err)
	}
	if _, err := opened.Void(t.Context(), ship.Purchase{CarrierRef: bought.CarrierRef}); ship.KindOf(err) != ship.Invalid {
		t.Errorf("voided: %v", err)
	}
	if _, err := opened.CloseManifest(t.Context(), ship.ManifestOrder{}); err != nil {
		t.Errorf("a manifest without the return: %v", err)
	}

	lost := openVia(t, carriertest.Server(t, newStandIn(t, emulator.Faults{Buy: map[string]float64{"reset": 1}})))
	if _, err := lost.Buy(t.Context(), returnOrder()); ship.KindOf(err) != ship.Uncertain {
		t.Errorf("a lost answer: %v", err)
	}
}

func TestReturnsThatCannotWorkAreNotSent(t *testing.T) {
	t.Parallel()
	for pointer, change := range map[string]func(*carrier.BuyOrder){
		"/service":              func(r *carrier.BuyOrder) { r.Service = "tracked_48" },
		"/origin/country":       func(r *carrier.BuyOrder) { r.Order.Origin.Country = "FR" },
		"/destination/zip":      func(r *carrier.BuyOrder) { r.Order.Destination.Zip = "" },
		"/parcels":              func(r *carrier.BuyOrder) { r.Order.Parcels = append(r.Order.Parcels, parcel(100)) },
		"/parcel/weight":        func(r *carrier.BuyOrder) { r.Order.Parcels[0].WeightGrams = 20001 },
		"/options/signature":    func(r *carrier.BuyOrder) { r.Order.Options.Signature = "standard" },
		"/billing":              func(r *carrier.BuyOrder) { r.Order.Billing = &ship.Billing{Type: "third_party", Account: "1"} },
		"/options/insuredValue": func(r *carrier.BuyOrder) { r.Order.Options.InsuredValue = ship.Money{Minor: 100, Currency: "GBP"} },
	} {
		request := returnOrder()
		change(&request)
		_, err := openVia(t, nil).Buy(t.Context(), request)
		if ship.KindOf(err) != ship.Invalid || !slices.ContainsFunc(ship.ErrorOf(err).Fields, func(f ship.FieldError) bool { return f.Pointer == pointer }) {
			t.Errorf("%s: %+v", pointer, err)
		}
	}

	forward := domesticOrder()
	forward.Service = "tracked_returns_24"
	if _, err := openVia(t, nil).Buy(t.Context(), forward); ship.KindOf(err) != ship.Invalid {
		t.Errorf("a return service without a return: %v", err)
	}
}
