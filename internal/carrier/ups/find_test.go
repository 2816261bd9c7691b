package ups_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/ups"
	"github.com/waybillhq/waybill/internal/emulator"
	standin "github.com/waybillhq/waybill/internal/emulator/ups"
	"github.com/waybillhq/waybill/internal/ship"
)

// set changes the settings of the emulator.
func set(t *testing.T, server http.Handler, settings string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/_emulator/settings", strings.NewReader(settings))
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	if w.Code != http.StatusNoContent {
		t.Fatalf("settings %s: %d %s", settings, w.Code, w.Body)
	}
}

// However UPS looks labels up by reference, a sale is found with all its
// labels, in exchanges that keep to UPS's own files.
func TestASaleIsFoundHoweverUPSRecoversLabels(t *testing.T) {
	contract := carriertest.NewContract(t, ups.Spec.TestURL, []carriertest.Departure{billingWeight, recoveryFormat, recoveredFormat, roadieNumbers, recoveryByNumber}, files...)
	orders := map[string]carrier.BuyOrder{"one parcel": buyOrder(), "two parcels abroad": severalAbroad()}
	several := buyOrder()
	several.Order.Parcels = []ship.Parcel{parcel(), parcel(), parcel()}
	orders["three parcels"] = several

	for name, b := range orders {
		for _, settings := range []string{
			`{}`,
			`{"recovery":"candidates"}`,
			`{"recovery":"candidates","leadOnly":true}`,
			`{"recovery":"returns"}`,
			`{"recovery":"returns","leadOnly":true}`,
		} {
			t.Run(name+" "+settings, func(t *testing.T) {
				server, via := service(t)
				set(t, server, settings)
				c := open(t, contract.Checked(via))
				if _, err := c.Find(t.Context(), b); ship.KindOf(err) != ship.NotFound {
					t.Errorf("before the sale: %v, want not found", err)
				}
				p, err := c.Buy(t.Context(), b)
				if err != nil {
					t.Fatal(err, fields(err))
				}

				found, err := c.Find(t.Context(), b)
				if err != nil {
					t.Fatal(err)
				}
				if found.TrackingNumber != p.TrackingNumber || found.CarrierRef != p.CarrierRef || !slices.Equal(found.Pieces, p.Pieces) {
					t.Errorf("found %s (%s) %v, want %s (%s) %v", found.TrackingNumber, found.CarrierRef, found.Pieces, p.TrackingNumber, p.CarrierRef, p.Pieces)
				}
				if string(found.Label.Data) != string(p.Label.Data) {
					t.Error("the label is another one")
				}

				if _, err := c.Void(t.Context(), purchase(p)); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Find(t.Context(), b); ship.KindOf(err) != ship.NotFound {
					t.Errorf("after the void: %v, want not found", err)
				}
			})
		}
	}
}

// A sale that Label Recovery does not know, by its reference or its number, is
// found by tracking, without its label. Until tracking knows it, it is absent for
// both; the lag of look-ups covers that time.
func TestASaleThatOnlyTrackingKnowsIsFoundWithoutItsLabel(t *testing.T) {
	several := buyOrder()
	several.Order.Parcels = []ship.Parcel{parcel(), parcel(), parcel()}
	for name, b := range map[string]carrier.BuyOrder{"one parcel": buyOrder(), "three parcels": several} {
		for _, settings := range []string{`{"recovery":"never"}`, `{"recovery":"never","leadOnly":true}`} {
			t.Run(name+" "+settings, func(t *testing.T) {
				server, via := service(t)
				set(t, server, settings)
				c := open(t, via)
				p, err := c.Buy(t.Context(), b)
				if err != nil {
					t.Fatal(err)
				}

				found, err := c.Find(t.Context(), b)
				if err != nil || found.TrackingNumber != p.TrackingNumber || found.CarrierRef != p.CarrierRef || !slices.Equal(found.Pieces, p.Pieces) || len(found.Label.Data) > 0 {
					t.Fatalf("found %+v, %v; want %s without a label", found, err, p.TrackingNumber)
				}
				if _, err := c.Void(t.Context(), purchase(found)); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Find(t.Context(), b); ship.KindOf(err) != ship.NotFound {
					t.Errorf("after the void: %v, want not found", err)
				}
			})
		}
	}

	server, via := service(t)
	set(t, server, `{"recovery":"never","trackingLag":"1h"}`)
	c := open(t, via)
	if _, err := c.Buy(t.Context(), buyOrder()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Find(t.Context(), buyOrder()); ship.KindOf(err) != ship.NotFound {
		t.Errorf("before tracking knows it: %v, want not found", err)
	}
	set(t, server, `{"trackingLag":"1h"}`)
	if found, err := c.Find(t.Context(), buyOrder()); err != nil || len(found.Label.Data) == 0 {
		t.Errorf("tracking is late and Label Recovery is not: %+v, %v", found, err)
	}
}

// An absence needs the word of Label Recovery and of tracking: where one of them
// cannot be asked, nothing is known.
func TestOneSourceAloneIsNoAbsence(t *testing.T) {
	const unknown = `{"response":{"errors":[{"code":"9801031","message":"not found"}]}}`
	const voided = `{"response":{"errors":[{"code":"9801040","message":"voided"}]}}`
	const untracked = `{"trackResponse":{"shipment":[{"warnings":[{"code":"TW0001","message":"Tracking Information Not Found"}]}]}}`
	for name, tc := range map[string]struct {
		recovered, tracked answering
		want               ship.Kind
	}{
		"both say so":                     {answering{400, unknown}, answering{200, untracked}, ship.NotFound},
		"both say so, as a status":        {answering{400, unknown}, answering{404, `{"response":{"errors":[{"code":"TW0001","message":"none"}]}}`}, ship.NotFound},
		"voided, and tracking has none":   {answering{400, voided}, answering{200, untracked}, ship.NotFound},
		"voided, and tracking is away":    {answering{400, voided}, answering{503, `{}`}, ship.Unavailable},
		"tracking is away":                {answering{400, unknown}, answering{503, `{}`}, ship.Unavailable},
		"tracking is not allowed":         {answering{400, unknown}, answering{403, `{"response":{"errors":[{"code":"250002","message":"no"}]}}`}, ship.Forbidden},
		"tracking says nothing":           {answering{400, unknown}, answering{200, `{"trackResponse":{"shipment":[{}]}}`}, ship.Unavailable},
		"tracking dislikes the reference": {answering{400, unknown}, answering{400, `{"response":{"errors":[{"code":"TV1002","message":"Invalid inquiry number"}]}}`}, ship.Invalid},
		"tracking has no such path":       {answering{400, unknown}, answering{404, `<html>`}, ship.Unavailable},
		"recovery is away":                {answering{503, `{}`}, answering{200, untracked}, ship.Unavailable},
		"recovery is unavailable":         {answering{400, `{"response":{"errors":[{"code":"300000","message":"later"}]}}`}, answering{200, untracked}, ship.Unavailable},
	} {
		c := open(t, bySource{tc.recovered, tc.tracked})
		if _, err := c.Find(t.Context(), buyOrder()); ship.KindOf(err) != tc.want {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
}

// answering is a canned answer.
type answering struct {
	status int
	body   string
}

// bySource answers Label Recovery and tracking on their own.
type bySource struct{ recovered, tracked answering }

// Do is carrier.Doer.
func (b bySource) Do(r *http.Request) (*http.Response, error) {
	with := answering{200, `{"token_type":"Bearer","access_token":"t","expires_in":"3600","status":"approved"}`}
	switch {
	case strings.Contains(r.URL.Path, "/labels/"):
		with = b.recovered
	case strings.Contains(r.URL.Path, "/track/"):
		with = b.tracked
	}
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(with.status)
	_, _ = w.WriteString(with.body)
	return w.Result(), nil
}

// Two sales under one reference are distinguished by where they go, and never
// by chance.
func TestOneOfTwoSalesIsFoundByItsPostalCode(t *testing.T) {
	for _, settings := range []string{`{}`, `{"recovery":"candidates"}`, `{"recovery":"returns"}`} {
		t.Run(settings, func(t *testing.T) {
			server, via := service(t)
			set(t, server, settings)
			c := open(t, via)
			elsewhere := buyOrder()
			elsewhere.Order.Destination.City, elsewhere.Order.Destination.Zip = "Albany", "12207"
			if _, err := c.Buy(t.Context(), elsewhere); err != nil {
				t.Fatal(err)
			}
			ours, err := c.Buy(t.Context(), buyOrder())
			if err != nil {
				t.Fatal(err)
			}

			found, err := c.Find(t.Context(), buyOrder())
			if err != nil || found.TrackingNumber != ours.TrackingNumber {
				t.Errorf("found %s, %v; want %s", found.TrackingNumber, err, ours.TrackingNumber)
			}

			if _, err := c.Buy(t.Context(), buyOrder()); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Find(t.Context(), buyOrder()); ship.KindOf(err) != ship.Conflict {
				t.Errorf("two sales to one place: %v, want conflict", err)
			}
		})
	}
}

// UPS's test environment sells everything under one number, and keeps nothing.
func TestTheTestEnvironmentOfUPS(t *testing.T) {
	contract := carriertest.NewContract(t, ups.Spec.TestURL, []carriertest.Departure{billingWeight, recoveryFormat, roadieNumbers}, files...)
	server, via := service(t)
	set(t, server, `{"testEnvironment":true}`)
	asked := &counting{via: contract.Checked(via)}
	c := open(t, asked)

	b := buyOrder()
	b.Order.Parcels = []ship.Parcel{parcel(), parcel()}
	first, err := c.Buy(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	b.Reference = "SZZZZZZZZZZZZZZZZZZZZZZZZZ"
	second, err := c.Buy(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}

	seen := map[string]bool{}
	for _, n := range append(slices.Clone(first.Pieces), second.Pieces...) {
		if seen[n] || !strings.HasPrefix(n, "1ZXXXXXXXXXXXXXXXX") || ship.NormalizeTrackingNumber(n) != n || len(n) > 34 {
			t.Errorf("number %s is another's, or cannot be kept", n)
		}
		seen[n] = true
	}
	if first.CarrierRef == second.CarrierRef || len(seen) != 4 {
		t.Errorf("shipments %s and %s with %v", first.CarrierRef, second.CarrierRef, seen)
	}

	if _, err := c.Find(t.Context(), b); ship.KindOf(err) != ship.NotFound {
		t.Errorf("Find: %v, want not found", err)
	}

	asked.calls = 0
	if heard, err := c.Track(t.Context(), first.Pieces); err != nil || len(heard) != 0 {
		t.Errorf("tracked %v, %v", heard, err)
	}
	if v, err := c.Void(t.Context(), purchase(first)); err != nil || v.State != ship.StateVoided {
		t.Errorf("void = %v, %v", v, err)
	}
	if _, err := c.Subscribe(t.Context(), carrier.Subscription{Numbers: first.Pieces}); err != nil {
		t.Errorf("subscribe: %v", err)
	}
	if asked.calls != 0 {
		t.Errorf("UPS was asked %d times about numbers that are none", asked.calls)
	}
	if n := len(server.Ledger.Entries()); n != 0 {
		t.Errorf("%d lines in the ledger", n)
	}

	live, err := carrier.Open(ups.Spec, carrier.Opening{Credentials: credentials, BaseURL: ups.Spec.TestURL, Live: true, Via: via})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := live.Buy(t.Context(), b); ship.KindOf(err) != ship.Uncertain {
		t.Errorf("a live purchase with the number of the test environment: %v, want uncertain", err)
	}
}

// counting counts the requests that are sent.
type counting struct {
	via   carrier.Doer
	calls int
}

// Do is carrier.Doer.
func (c *counting) Do(r *http.Request) (*http.Response, error) {
	c.calls++
	return c.via.Do(r)
}

// The label of a lost answer is found under its own reference though the first
// one on it is the order number.
func TestTheOrderNumberIsOnTheLabel(t *testing.T) {
	for _, tc := range []struct {
		order, reference string
		printed          string
		warned           bool
	}{
		{"ORD-1001", "", "ORD-1001", false},
		{"ORD-1001", "PO 77", "ORD-1001 / PO 77", false},
		{"ORD-1001", "ORD-1001", "ORD-1001", false},
		{"ORD-1001", "a purchase order with a long number", "ORD-1001", true},
		{strings.Repeat("9", 40), "", strings.Repeat("9", 35), true},
	} {
		for _, b := range []carrier.BuyOrder{buyOrder(), abroad()} {
			server, via := service(t)
			c := open(t, via)
			b.Order.OrderID, b.Order.Reference = tc.order, tc.reference
			p, err := c.Buy(t.Context(), b)
			if err != nil {
				t.Fatal(err, fields(err))
			}
			sold, _, _ := server.Ledger.Sold(p.TrackingNumber)
			var kept struct{ References []string }
			if err := json.Unmarshal(sold.Kept, &kept); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(kept.References, []string{tc.printed, b.Reference}) || sold.Reference != b.Reference || sold.Second != string(b.Shipment) {
				t.Errorf("%q and %q: UPS got %q for %s", tc.order, tc.reference, kept.References, sold.Second)
			}
			if warned := slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, "orderId and reference") }); warned != tc.warned {
				t.Errorf("%q and %q: warnings %q", tc.order, tc.reference, p.Warnings)
			}
			if found, err := c.Find(t.Context(), b); err != nil || found.TrackingNumber != p.TrackingNumber {
				t.Errorf("%q and %q: found %s, %v", tc.order, tc.reference, found.TrackingNumber, err)
			}
		}
	}
}

// An invoice that is to be printed is announced by UPS, one without paper is
// not; both come as a document.
func TestInvoicesGoWithoutPaperUnlessTheClientSaysNo(t *testing.T) {
	for paperless, printed := range map[string]bool{"": false, "auto": false, "off": true} {
		_, via := service(t)
		b := abroad()
		b.Order.Customs.Paperless = paperless
		p, err := open(t, via).Buy(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		announced := slices.Contains(p.Warnings, "UPS says: Customs Invoice is required when the shipment is tendered to UPS.")
		if announced != printed || len(p.Documents) != 1 || p.Documents[0].Type != "commercial_invoice" {
			t.Errorf("%q: warnings %q, %d documents", paperless, p.Warnings, len(p.Documents))
		}
	}
}

// A quote says what it consists of, and needs no more than a place.
func TestQuotesSayWhatUPSCharges(t *testing.T) {
	contract := carriertest.NewContract(t, ups.Spec.TestURL, []carriertest.Departure{declaredValue}, files...)
	_, via := service(t)
	c := open(t, contract.Checked(via))
	o := order()
	o.Options = ship.Options{Signature: "adult", SaturdayDelivery: true, InsuredValue: ship.Money{Minor: 25000, Currency: "USD"}}
	rates, err := c.Rates(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rates {
		kinds := map[ship.ChargeType]int64{}
		var sum int64
		for _, part := range r.Charges {
			kinds[part.Type] = part.Amount.Minor
			sum += part.Amount.Minor
		}
		if sum != r.Price.Minor || kinds[ship.BaseCharge] == 0 || kinds[ship.ResidentialCharge] != 545 || kinds[ship.SignatureCharge] != 625 ||
			kinds[ship.InsuranceCharge] != 420 || kinds[ship.SaturdayCharge] != 1600 {
			t.Errorf("%s costs %v: %v", r.Service, r.Price, r.Charges)
		}
		if r.ListPrice.Minor <= r.Price.Minor || r.ListPrice.Currency != "USD" {
			t.Errorf("%s costs %v of %v", r.Service, r.Price, r.ListPrice)
		}
		if r.BillableWeightGrams != 1361 { // 3 lb: 2.5 lb, rounded up to whole pounds
			t.Errorf("%s is charged for %d g", r.Service, r.BillableWeightGrams)
		}
	}

	bare := order()
	bare.Destination = ship.Address{Zip: "10118", Country: "US"}
	if rates, err := c.Rates(t.Context(), bare); err != nil || len(rates) == 0 {
		t.Errorf("a postal code alone: %v %v", err, fields(err))
	}
	foreign := abroad().Order
	foreign.Customs = nil
	foreign.Origin.Phone = ""
	foreign.Destination = ship.Address{Zip: "10117", Country: "DE"}
	if rates, err := c.Rates(t.Context(), foreign); err != nil || len(rates) == 0 {
		t.Errorf("a German postal code without customs: %v %v", err, fields(err))
	}
	nowhere := order()
	nowhere.Destination = ship.Address{Country: "US"}
	if _, err := c.Rates(t.Context(), nowhere); len(fields(err)) != 1 || fields(err)[0].Pointer != "/destination/zip" {
		t.Errorf("no place: %v %v", err, fields(err))
	}
}

// UPS's refusals name the fields of our request.
func TestRefusalsOfUPSPointAtTheOrder(t *testing.T) {
	for _, tc := range []struct{ code, message, pointer string }{
		{"120207", "Missing/Invalid ShipTo PostalCode. Postal Code length must be 6.", "/destination/zip"},
		{"120206", "Missing or invalid ship to StateProvinceCode", "/destination/state"},
		{"120209", "Missing/Invalid ShipTo PhoneNumber", "/destination/phone"},
		{"120106", "Missing/Invalid Shipper StateProvinceCode", "/origin/state"},
		{"120109", "Missing/Invalid Shipper PhoneNumber", "/origin/phone"},
		{"120802", "Address Validation Error on ShipTo address", "/destination"},
		{"120801", "Address Validation Error on Shipper address", "/origin"},
		{"111285", "The postal code 90012 is invalid for CA United States.", "/origin/zip"},
		{"121285", "The postal code 10118 is invalid for NY United States.", "/destination/zip"},
		{"111286", "CA is not a valid state for the specified shipment.", "/origin/state"},
		{"9111286", "NY is not a valid state for the specified shipment.", "/destination/state"},
		{"111035", "The maximum per package weight for the selected service is 150 pounds", "/parcels/0/weight"},
		{"110609", "All package dimensions are required and each must be greater than 0 for package 2.", "/parcels/1/dimensions"},
		{"121210", "The requested service is unavailable between the selected locations.", "/service"},
		{"121045", "The Saturday Delivery option is unavailable with the requested service.", "/options/saturdayDelivery"},
		{"120413", "The UPS account number provided as the payment method cannot be billed.", "/billing/account"},
		{"129999", "Missing or invalid ship to postal code", "/destination/zip"},
		{"9120999", "Missing or invalid Shipper's city", "/origin/city"},
		{"128907", "Invalid ProductIdentifier", "/customs/items/0/productIdentifiers"},
		{"128916", "Missing or invalid TaxIdentificationNumber", "/customs/taxIdentifiers"},
		{"999999", "Something else", ""},
	} {
		body := `{"response":{"errors":[{"code":"` + tc.code + `","message":"` + tc.message + `"},{"code":"120205","message":"Missing/Invalid ShipTo City"}]}}`
		c := open(t, scripted(t, 400, body))
		_, bought := c.Buy(t.Context(), buyOrder())
		_, quoted := c.Rates(t.Context(), order())
		for _, err := range []error{bought, quoted} {
			var pointers []string
			for _, f := range fields(err) {
				pointers = append(pointers, f.Pointer)
			}
			want := []string{"/destination/city"}
			if tc.pointer != "" {
				want = []string{tc.pointer, "/destination/city"}
			}
			if !slices.Equal(pointers, want) || ship.KindOf(err) != ship.Invalid || code(err) != tc.code {
				t.Errorf("%s %s: %v at %v, want %v", tc.code, tc.message, err, pointers, want)
			}
		}
	}
}

// Invalid settings are refused.
func TestTheStandInRefusesUnknownSettings(t *testing.T) {
	ledger, err := emulator.OpenLedger("")
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	standin.New(ledger).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/_emulator/settings", strings.NewReader(`{"recovery":"magic"}`)))
	if w.Code != http.StatusUnprocessableEntity {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
