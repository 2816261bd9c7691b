package amazonshipping_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/amazonshipping"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
)

// withoutTokens checks all requests but those for tokens.
type withoutTokens struct {
	contract *carriertest.Contract
	via      carrier.Doer
}

// Do is carrier.Doer.
func (w withoutTokens) Do(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/auth/o2/token") {
		return w.via.Do(r)
	}
	return w.contract.Checked(w.via).Do(r)
}

// set changes the settings of an emulator.
func set(t *testing.T, server *emulator.Server, settings string) {
	t.Helper()
	w := httptest.NewRecorder()
	server.ServeHTTP(w, httptest.NewRequest(http.MethodPut, "/_emulator/settings", strings.NewReader(settings)))
	if w.Code != http.StatusNoContent {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
}

// TestALostAnswerIsForAPerson: there is no look-up, so a lost purchase is
// uncertain and stays so, and is in the ledger once.
func TestALostAnswerIsForAPerson(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"reset", "500", "502", "truncate", "wrong_reference"} {
		server := newStandIn(t)
		if err := server.Turn(emulator.Faults{Buy: map[string]float64{fault: 1}}); err != nil {
			t.Fatal(err)
		}
		amazon := openWith(t, credentials, carriertest.Server(t, server))
		if _, err := amazon.Buy(t.Context(), order()); ship.KindOf(err) != ship.Uncertain {
			t.Errorf("%s: %v, want uncertain", fault, err)
		}
		if _, err := amazon.Find(t.Context(), order()); ship.KindOf(err) != ship.Unsupported {
			t.Errorf("%s: a look-up: %v, want unsupported", fault, err)
		}
		if n := len(server.Ledger.Entries()); n != 1 {
			t.Errorf("%s: %d sales", fault, n)
		}
	}
}

// TestThePurchaseCarriesItsKey sends a purchase a second time, as a repeat would:
// Amazon recognizes it by its key.
func TestThePurchaseCarriesItsKey(t *testing.T) {
	t.Parallel()
	server := newStandIn(t)
	var again []*http.Response
	via := carriertest.Server(t, server)
	amazon := openWith(t, credentials, doer(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/shipping/v2/shipments") {
			return via.Do(r)
		}
		if r.Header.Get("x-amzn-IdempotencyKey") != ref {
			t.Errorf("the key is %q", r.Header.Get("x-amzn-IdempotencyKey"))
		}
		body, err := readAll(r)
		if err != nil {
			return nil, err
		}
		for range 2 {
			repeated := r.Clone(r.Context())
			repeated.Body = bodyOf(body)
			response, err := via.Do(repeated)
			if err != nil {
				return nil, err
			}
			again = append(again, response)
		}
		again[0].Body.Close()
		return again[1], nil
	}))
	if _, err := amazon.Buy(t.Context(), order()); err != nil {
		t.Fatal(err)
	}
	if n := len(server.Ledger.Entries()); n != 1 || len(again) != 2 {
		t.Errorf("%d sales of %d requests", n, len(again))
	}
}

// TestAnOddAnswerDoesNotLoseALabel changes types in the answer to a purchase. A
// label that was paid cannot be looked up, so it must be read from what is there.
func TestAnOddAnswerDoesNotLoseALabel(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	parcelOf := func(payload object) object { return payload["packageDocumentDetails"].([]any)[0].(object) }
	for name, test := range map[string]struct {
		change func(payload object)
		number string // empty if it is the emulator's
	}{
		"a number for a tracking ID": {func(payload object) { parcelOf(payload)["trackingId"] = 1578648261977 }, "1578648261977"},
		"a number for a shipment ID": {func(payload object) { payload["shipmentId"] = 87852211788104 }, ""},
		"a promise that is a list":   {func(payload object) { payload["promise"] = []any{} }, ""},
		"a time that is a number":    {func(payload object) { payload["promise"] = object{"deliveryWindow": object{"end": 1}} }, ""},
		"another document": {func(payload object) {
			parcel := parcelOf(payload)
			parcel["packageDocuments"] = append(parcel["packageDocuments"].([]any), object{"type": "RECEIPT", "format": 1, "contents": "not base64!"}, "text")
		}, ""},
	} {
		server := newStandIn(t)
		via := carriertest.Server(t, server)
		amazon := openWith(t, credentials, doer(func(r *http.Request) (*http.Response, error) {
			response, err := via.Do(r)
			if err != nil || !strings.HasSuffix(r.URL.Path, "/shipping/v2/shipments") {
				return response, err
			}
			defer response.Body.Close()
			var answer object
			if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
				return nil, err
			}
			test.change(answer["payload"].(object))
			changed, err := json.Marshal(answer)
			response.Body = bodyOf(changed)
			response.ContentLength = int64(len(changed))
			response.Header.Del("Content-Length")
			return response, err
		}))

		sold, err := amazon.Buy(t.Context(), order())
		want := cmp.Or(test.number, server.Ledger.Entries()[0].Number)
		if err != nil || sold.TrackingNumber != want || sold.CarrierRef == "" || len(sold.Label.Data) == 0 || len(sold.Documents) > 0 {
			t.Errorf("%s: %+v, %v", name, sold, err)
		}
	}
}

func TestOffers(t *testing.T) {
	t.Parallel()
	amazon := openWith(t, credentials, withoutTokens{newContract(t), carriertest.Server(t, newStandIn(t))})
	rates, err := amazon.Rates(t.Context(), order().Order)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, rate := range rates {
		sum := int64(0)
		for _, charge := range rate.Charges {
			sum += charge.Amount.Minor
		}
		if sum != rate.Price.Minor || rate.DeliveryAt.IsZero() {
			t.Errorf("%+v", rate)
		}
		// The end of a selection is when the quote ends.
		i := strings.LastIndexByte(rate.Selection, ' ')
		seconds, err := strconv.ParseInt(rate.Selection[i+1:], 10, 64)
		if left := time.Until(time.Unix(seconds, 0)); err != nil || left < 9*time.Minute || left > 10*time.Minute {
			t.Errorf("%q ends in %v, %v", rate.Selection, left, err)
		}
		got = append(got, rate.Service+" "+rate.Price.Amount()+" "+rate.Selection[:i])
	}
	want := []string{"standard 7.32 7.32USD SWA-US-GND", "one_day 13.41 13.41USD SWA-US-ONE"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q: the cheapest of each, and none of another carrier", got, want)
	}

	signed := order().Order
	signed.Options.Signature = "standard"
	rates, err = amazon.Rates(t.Context(), signed)
	if err != nil || rates[0].Price.Amount() != "10.17" {
		t.Errorf("with a signature: %+v, %v", rates, err)
	}
	signed.Options.Signature = "adult"
	if _, err := amazon.Rates(t.Context(), signed); ship.KindOf(err) != ship.Invalid {
		t.Errorf("no offer has an adult signature: %v", err)
	}

	collected := order().Order
	collected.Options.ServicePoint = "LOCKER-7"
	if _, err := amazon.Rates(t.Context(), collected); err != nil {
		t.Errorf("to a locker: %v", err)
	}

	heavy := order().Order
	heavy.Parcels[0].Weight = 60
	_, err = amazon.Rates(t.Context(), heavy)
	if ship.KindOf(err) != ship.Invalid || ship.ErrorOf(err).Refusal.Code != "WEIGHT_RESTRICTIONS" {
		t.Errorf("a heavy parcel: %v", err)
	}
}

// TestSelectionsWithoutAnEndAreBought: those of quotes that were stored before
// selections had the end of their quote.
func TestSelectionsWithoutAnEndAreBought(t *testing.T) {
	t.Parallel()
	chosen := order()
	chosen.Service = "one_day"
	chosen.Selection = "13.41USD SWA-US-ONE"
	sold, err := openWith(t, credentials, carriertest.Server(t, newStandIn(t))).Buy(t.Context(), chosen)
	if err != nil || sold.Price.Amount() != "13.41" {
		t.Errorf("%+v, %v", sold, err)
	}
}

// sentPackage is the part of a quote that these tests read.
type sentPackage struct {
	Insured struct {
		Value json.Number `json:"value"`
		Unit  string      `json:"unit"`
	} `json:"insuredValue"`
	Items []struct {
		Weight struct {
			Value json.Number `json:"value"`
			Unit  string      `json:"unit"`
		} `json:"weight"`
		Invoice *struct {
			Number string `json:"invoiceNumber"`
		} `json:"invoiceDetails"`
	} `json:"items"`
}

// quoted returns the package of the request that an order is quoted with.
func quoted(t *testing.T, given carrier.Credentials, asked ship.Order) sentPackage {
	t.Helper()
	var sent struct {
		Packages []sentPackage `json:"packages"`
	}
	via := carriertest.Server(t, newStandIn(t))
	amazon := openWith(t, given, doer(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/rates") {
			body, err := readAll(r)
			if err != nil {
				return nil, err
			}
			if err := json.Unmarshal(body, &sent); err != nil {
				t.Error(err)
			}
			r.Body = bodyOf(body)
		}
		return via.Do(r)
	}))

	// The emulator sells in the United States, so it has no offer elsewhere.
	if _, err := amazon.Rates(t.Context(), asked); err != nil && ship.ErrorOf(err).Refusal.Code != "NO_COVERAGE" {
		t.Fatal(err)
	}
	if len(sent.Packages) != 1 {
		t.Fatalf("%d packages", len(sent.Packages))
	}
	return sent.Packages[0]
}

// TestGoodsHaveAWeightAndAValue: Amazon requires the weight of every item, and an
// insured value.
func TestGoodsHaveAWeightAndAValue(t *testing.T) {
	t.Parallel()
	unknown := quoted(t, credentials, order().Order)
	if unknown.Insured.Value != "0" || unknown.Items[0].Weight.Value != "2" || unknown.Items[0].Weight.Unit != "POUND" {
		t.Errorf("without goods: %+v", unknown)
	}

	asked := order().Order
	asked.Customs = &ship.Customs{InvoiceNumber: "INV-7", Items: []ship.CustomsItem{
		{Description: "Shoes", Quantity: 2, Value: ship.Money{Minor: 3000, Currency: "USD"}, WeightGrams: 300},
		{Description: "Laces", Quantity: 1, Value: ship.Money{Minor: 500, Currency: "USD"}},
	}}
	goods := quoted(t, credentials, asked)
	if goods.Insured.Value != "65.00" || goods.Insured.Unit != "USD" || goods.Items[0].Weight.Value != "300" || goods.Items[1].Weight.Value != "308" || goods.Items[0].Invoice != nil {
		t.Errorf("with goods: %+v", goods)
	}

	asked.Options.InsuredValue = ship.Money{Minor: 1000, Currency: "USD"}
	if insured := quoted(t, credentials, asked); insured.Insured.Value != "10.00" {
		t.Errorf("insured: %+v", insured)
	}

	// In India the invoice goes with the items.
	given := maps.Clone(credentials)
	given["business_id"] = "IN"
	asked.Options.InsuredValue = ship.Money{}
	asked.Origin.Country = "IN"
	asked.Destination.Country = "IN"
	for i := range asked.Customs.Items {
		asked.Customs.Items[i].Value.Currency = "INR"
	}
	if indian := quoted(t, given, asked); indian.Items[0].Invoice == nil || indian.Items[0].Invoice.Number != "INV-7" {
		t.Errorf("in India: %+v", indian)
	}
}

// TestACheckDoesNotNeedCollectionForms: they may be closed to an account that ships.
func TestACheckDoesNotNeedCollectionForms(t *testing.T) {
	t.Parallel()
	server := newStandIn(t)
	amazon := openWith(t, credentials, carriertest.Server(t, server))
	set(t, server, `{"noForms":true}`)
	if err := amazon.Check(t.Context()); err != nil {
		t.Error(err)
	}
	set(t, server, `{"noRole":true}`)
	if err := amazon.Check(t.Context()); ship.KindOf(err) != ship.Forbidden {
		t.Errorf("without the role: %v, want forbidden", err)
	}
}

func TestAPriceThatHasRisenIsNotPaid(t *testing.T) {
	t.Parallel()
	server := newStandIn(t)
	amazon := openWith(t, credentials, carriertest.Server(t, server))
	rates, err := amazon.Rates(t.Context(), order().Order)
	if err != nil {
		t.Fatal(err)
	}

	chosen := order()
	chosen.Selection = rates[0].Selection
	set(t, server, `{"surcharge":10}`)
	if _, err := amazon.Buy(t.Context(), chosen); ship.KindOf(err) != ship.Invalid || !strings.Contains(err.Error(), "risen") {
		t.Errorf("%v, want a refusal", err)
	}
	set(t, server, `{"surcharge":-10}`)
	sold, err := amazon.Buy(t.Context(), chosen)
	if err != nil || sold.Price.Amount() != "7.22" || len(sold.Warnings) > 0 {
		t.Errorf("a lower price: %+v, %v", sold, err)
	}
	if n := len(server.Ledger.Entries()); n != 1 {
		t.Errorf("%d sales", n)
	}
}

func TestLabelsHaveTheFormatThatIsWanted(t *testing.T) {
	t.Parallel()
	amazon := openWith(t, credentials, withoutTokens{newContract(t), carriertest.Server(t, newStandIn(t))})
	for wanted, format := range map[string]string{"": "pdf", "zpl": "zpl", "png": "png"} {
		asked := order()
		asked.Reference += wanted
		asked.Order.LabelFormat = wanted
		sold, err := amazon.Buy(t.Context(), asked)
		if err != nil || sold.Label.Format != format {
			t.Errorf("%s: %s, %v", wanted, sold.Label.Format, err)
		}
	}
}

func TestConnectionsThatDoNotWork(t *testing.T) {
	t.Parallel()
	server := newStandIn(t)
	via := carriertest.Server(t, server)
	set(t, server, `{"withdrawn":true}`)
	err := openWith(t, credentials, via).Check(t.Context())
	if ship.KindOf(err) != ship.Forbidden || !strings.Contains(err.Error(), "authorize it again") {
		t.Errorf("a withdrawn authorization: %v", err)
	}

	set(t, server, `{"quoteLife":"1ns"}`)
	if _, err := openWith(t, credentials, via).Buy(t.Context(), order()); ship.KindOf(err) != ship.Unavailable {
		t.Errorf("a quote that ended: %v, want unavailable", err)
	}

	other := carrier.Credentials{}
	for name, value := range credentials {
		other[name] = value
	}
	other["tracking_carrier_id"] = "AMZN_OTHER"
	set(t, server, `{}`)
	sold, err := openWith(t, other, via).Buy(t.Context(), order())
	if err != nil || len(sold.Warnings) != 1 || !strings.Contains(sold.Warnings[0], "tracking_carrier_id") {
		t.Errorf("%q, %v", sold.Warnings, err)
	}
}

// TestTheHostFollowsTheBusiness: Amazon has one for each part of the world.
func TestTheHostFollowsTheBusiness(t *testing.T) {
	t.Parallel()
	for business, want := range map[string]string{
		"": "sellingpartnerapi-na.amazon.com", "AmazonShipping_UK": "sellingpartnerapi-eu.amazon.com", "gb": "sellingpartnerapi-eu.amazon.com", "JP": "sellingpartnerapi-fe.amazon.com",
	} {
		var hosts []string
		given := carrier.Credentials{"client_id": "a", "client_secret": "b", "refresh_token": "c", "business_id": business}
		c, err := carrier.Open(amazonshipping.Spec, carrier.Opening{Credentials: given, BaseURL: amazonshipping.Spec.LiveURL, Via: doer(func(r *http.Request) (*http.Response, error) {
			hosts = append(hosts, r.URL.Host)
			body := `{"access_token":"x","expires_in":3600}`
			if r.URL.Host == want {
				body = `{}`
			}
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: bodyOf([]byte(body))}, nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Check(t.Context()); err != nil || !slices.Equal(hosts, []string{"api.amazon.com", want}) {
			t.Errorf("%q: %v, %v", business, hosts, err)
		}
	}
}

// TestTheGSTNumberOfIndia: Amazon takes the sender's GST number in India, and no
// other number.
func TestTheGSTNumberOfIndia(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		business string
		tax      ship.TaxIdentifier
		want     string
	}{
		"the sender's":    {"IN", ship.TaxIdentifier{Type: "gst", Number: "27 AAPFU0939F 1ZV"}, `[{"taxType":"GST","taxRegistrationNumber":"27AAPFU0939F1ZV"}]`},
		"the recipient's": {"IN", ship.TaxIdentifier{Type: "gst", Number: "27AAPFU0939F1ZV", Party: "recipient"}, ""},
		"of Singapore":    {"IN", ship.TaxIdentifier{Type: "gst", Number: "M90312345A", Country: "SG"}, ""},
		"another type":    {"IN", ship.TaxIdentifier{Type: "pan", Number: "AAPFU0939F"}, ""},
		"another country": {"US", ship.TaxIdentifier{Type: "gst", Number: "27AAPFU0939F1ZV"}, ""},
	} {
		given := maps.Clone(credentials)
		given["business_id"] = "AmazonShipping_" + test.business
		asked := order().Order
		asked.Origin.Country = test.business
		asked.Destination.Country = test.business
		asked.Customs = &ship.Customs{TaxIdentifiers: []ship.TaxIdentifier{test.tax}}

		var sent struct {
			Taxes json.RawMessage `json:"taxDetails"`
		}
		wasAsked := false
		via := carriertest.Server(t, newStandIn(t))
		amazon := openWith(t, given, doer(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/rates") {
				body, err := readAll(r)
				if err != nil {
					return nil, err
				}
				if err := json.Unmarshal(body, &sent); err != nil {
					t.Error(err)
				}
				wasAsked = true
				r.Body = bodyOf(body)
			}
			return via.Do(r)
		}))

		// The emulator sells in the United States, so it has no offer in India.
		_, err := amazon.Rates(t.Context(), asked)
		if err != nil && ship.ErrorOf(err).Refusal.Code != "NO_COVERAGE" {
			t.Errorf("%s: %v", name, err)
		}
		if !wasAsked || string(sent.Taxes) != test.want {
			t.Errorf("%s: sent %s, want %s", name, sent.Taxes, test.want)
		}
	}
}

func TestOrdersThatAmazonDoesNotTake(t *testing.T) {
	t.Parallel()
	amazon := openWith(t, credentials, carriertest.Server(t, newStandIn(t)))
	for pointer, change := range map[string]func(*carrier.BuyOrder){
		"/origin/country":           func(b *carrier.BuyOrder) { b.Order.Origin.Country = "CA" },
		"/destination/country":      func(b *carrier.BuyOrder) { b.Order.Destination.Country = "MX" },
		"/destination/name":         func(b *carrier.BuyOrder) { b.Order.Destination.Name = "" },
		"/destination/city":         func(b *carrier.BuyOrder) { b.Order.Destination.City = "" },
		"/parcels":                  func(b *carrier.BuyOrder) { b.Order.Parcels = append(b.Order.Parcels, b.Order.Parcels[0]) },
		"/parcel/dimensions":        func(b *carrier.BuyOrder) { b.Order.Parcels[0].Dimensions = nil },
		"/isReturn":                 func(b *carrier.BuyOrder) { b.Order.IsReturn = true },
		"/options/saturdayDelivery": func(b *carrier.BuyOrder) { b.Order.Options.SaturdayDelivery = true },
		"/options/insuredValue":     func(b *carrier.BuyOrder) { b.Order.Options.InsuredValue = ship.Money{Minor: 1, Currency: "EUR"} },
		"/service":                  func(b *carrier.BuyOrder) { b.Service = "ground" },
		"/shipDate":                 func(b *carrier.BuyOrder) { b.Order.ShipDate = "2020-01-01" },
	} {
		asked := order()
		change(&asked)
		_, err := amazon.Buy(t.Context(), asked)
		isNamed := slices.ContainsFunc(ship.ErrorOf(err).Fields, func(f ship.FieldError) bool { return f.Pointer == pointer })
		if ship.KindOf(err) != ship.Invalid || !isNamed {
			t.Errorf("%s: %v %+v", pointer, err, ship.ErrorOf(err).Fields)
		}
	}
}

// TestTheWayBackIsNoDelivery tracks a parcel that goes back to its sender.
func TestTheWayBackIsNoDelivery(t *testing.T) {
	t.Parallel()
	server := newStandIn(t)
	if err := server.Turn(emulator.Faults{Tracking: []emulator.Scan{{Code: "PickupDone"}, {Code: "Undeliverable"}, {Code: "Delivered/RETURNS"}, {Code: "SomethingNew"}}}); err != nil {
		t.Fatal(err)
	}
	departures := []carriertest.Departure{{
		Operation: "GET /shipping/v2/tracking", Answer: true, Contains: "value is not one of the allowed values",
		Reason: "the test invents a code, as Amazon may",
	}}
	amazon := openWith(t, credentials, withoutTokens{newContract(t, departures...), carriertest.Server(t, server)})
	sold, err := amazon.Buy(t.Context(), order())
	if err != nil {
		t.Fatal(err)
	}
	updates, err := amazon.Track(t.Context(), []string{sold.TrackingNumber, "TBA000000000000"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, update := range updates {
		got = append(got, fmt.Sprintf("%s %s/%s %s [%s]", update.Scan.Code, update.Scan.Status, update.Scan.Reason, update.Scan.Description, update.Scan.Location))
		if time.Since(update.Scan.At) > time.Minute || update.EstimateAt.IsZero() {
			t.Errorf("%+v", update)
		}
	}
	want := []string{
		"PickupDone picked_up/ Pickup done [Newark, NJ, US]",
		"Undeliverable exception/undeliverable Undeliverable [Newark, NJ, US]",
		"Delivered/RETURNS exception/return_to_sender Delivered [Newark, NJ, US]",
		"SomethingNew /unmapped Something new [Newark, NJ, US]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// TestEveryEventHasARow checks the status table against Amazon's own list.
func TestEveryEventHasARow(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("CARRIER_SPECS")
	if dir == "" {
		t.Skip("CARRIER_SPECS is not set")
	}
	data, err := os.ReadFile(filepath.Join(dir, "amazon-shipping", "shippingV2.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Definitions struct {
			EventCode struct {
				Enum []string `json:"enum"`
			} `json:"EventCode"`
		} `json:"definitions"`
	}
	if err := json.Unmarshal(data, &file); err != nil || len(file.Definitions.EventCode.Enum) < 14 {
		t.Fatalf("%d codes: %v", len(file.Definitions.EventCode.Enum), err)
	}
	for _, code := range file.Definitions.EventCode.Enum {
		if _, _, known := amazonshipping.Spec.MeaningOf(code); !known {
			t.Errorf("%s has no row", code)
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	carriertest.Numbers(t, amazonshipping.Spec, map[string]carriertest.NumberFormat{
		"TBA": {Payload: `TB[ACM][0-9]{12}`},
	})
	for _, number := range []string{"TBA12345678901", "TBA1234567890123", "TBX123456789012", "TBA12345678901A", "TBA"} {
		if got := carrier.Recognize([]carrier.Spec{amazonshipping.Spec}, number); len(got) > 0 {
			t.Errorf("%s is recognized", number)
		}
	}
}

// TestOnlyACancelledShipmentIsVoidedAlready has Amazon refuse to cancel a label:
// unless it was cancelled before, the label can still be used and costs money.
func TestOnlyACancelledShipmentIsVoidedAlready(t *testing.T) {
	t.Parallel()
	for words, isVoided := range map[string]bool{
		"The shipment is already cancelled":                          true,
		"Shipment has already been canceled.":                        true,
		"The shipment was already picked up and cannot be cancelled": false,
		"Cancellation is not possible: already delivered":            false,
	} {
		via := carriertest.Answer{
			Path:   "/cancel",
			Status: http.StatusBadRequest,
			Body:   `{"errors":[{"code":"InvalidRequest","message":"` + words + `"}]}`,
		}.Instead(carriertest.Server(t, newStandIn(t)))
		_, err := openWith(t, credentials, via).Void(t.Context(), ship.Purchase{CarrierRef: "1"})
		if (err == nil) != isVoided {
			t.Errorf("%s: %v", words, err)
		}
	}
}

// forgetful answers the first request for rates as Amazon does about a token that has
// expired.
type forgetful struct {
	carrier.Doer
	asked int
}

// Do is carrier.Doer.
func (f *forgetful) Do(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/rates") {
		if f.asked++; f.asked == 1 {
			body := `{"errors":[{"code":"Unauthorized","message":"Access to requested resource is denied.","details":"The access token you provided has expired."}]}`
			return &http.Response{
				StatusCode: http.StatusForbidden,
				Header:     http.Header{"Content-Type": {"application/json"}},
				Body:       io.NopCloser(strings.NewReader(body)),
				Request:    r,
			}, nil
		}
	}
	return f.Doer.Do(r)
}

// TestATokenThatAmazonRefusesIsReplaced: Amazon answers 403 both for a token that has
// expired and for a role that is missing.
func TestATokenThatAmazonRefusesIsReplaced(t *testing.T) {
	t.Parallel()
	via := &forgetful{Doer: carriertest.Server(t, newStandIn(t))}
	if _, err := openWith(t, credentials, via).Rates(t.Context(), order().Order); err != nil || via.asked != 2 {
		t.Errorf("asked %d times: %v", via.asked, err)
	}
}
