package canadapost_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
)

// TestALostAnswerIsFound loses the answer to a sale in every way, and requires
// that the look-up returns the one sale in the ledger with its label.
func TestALostAnswerIsFound(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"reset", "500", "502", "truncate", "wrong_reference"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			server := newStandIn(t)
			if err := server.Turn(emulator.Faults{Buy: map[string]float64{fault: 1}}); err != nil {
				t.Fatal(err)
			}
			post := openWith(t, credentials, newSchemas(t).Checked(carriertest.Server(t, server)))
			if _, err := post.Buy(t.Context(), domesticOrder()); ship.KindOf(err) != ship.Uncertain {
				t.Fatalf("a lost answer: %v, want uncertain", err)
			}

			found, err := post.Find(t.Context(), domesticOrder())
			if err != nil {
				t.Fatal(err)
			}
			entries := server.Ledger.Entries()
			if len(entries) != 1 || found.TrackingNumber != entries[0].Number || found.Price.Amount() != entries[0].Amount || found.Label.Format != "pdf" {
				t.Errorf("found %+v, and the ledger has %+v", found, entries)
			}
		})
	}
}

// TestALookUpThatIsNotUnderstoodProvesNothing: without the look-up by request id the
// lists of the days can show a shipment, and never that there is none.
func TestALookUpThatIsNotUnderstoodProvesNothing(t *testing.T) {
	t.Parallel()
	server := newStandIn(t)
	set(t, server, `{"noRequestId":true,"shipmentInfo":true}`)
	post := openWith(t, credentials, newSchemas(t).Checked(carriertest.Server(t, server)))
	if _, err := post.Find(t.Context(), domesticOrder()); ship.KindOf(err) != ship.Unavailable {
		t.Errorf("%v, want unavailable", err)
	}

	other := domesticOrder()
	other.Reference += "OTHER"
	for _, order := range []carrier.BuyOrder{other, domesticOrder()} {
		if _, err := post.Buy(t.Context(), order); err != nil {
			t.Fatal(err)
		}
	}

	found, err := post.Find(t.Context(), domesticOrder())
	if err != nil || found.TrackingNumber != server.Ledger.Entries()[1].Number {
		t.Errorf("%+v, %v", found, err)
	}
	absent := domesticOrder()
	absent.Reference = "S1"
	if _, err := post.Find(t.Context(), absent); ship.KindOf(err) != ship.Unavailable {
		t.Errorf("%v, want unavailable: a list may be cut off", err)
	}
}

// TestALookUpShowsRowsOrLinks finds a shipment in both forms of the answer, and an
// absent one in neither.
func TestALookUpShowsRowsOrLinks(t *testing.T) {
	t.Parallel()
	for _, settings := range []string{`{}`, `{"shipmentInfo":true}`} {
		server := newStandIn(t)
		set(t, server, settings)
		post := openWith(t, credentials, newSchemas(t).Checked(carriertest.Server(t, server)))
		if _, err := post.Buy(t.Context(), domesticOrder()); err != nil {
			t.Fatal(err)
		}

		found, err := post.Find(t.Context(), domesticOrder())
		if err != nil || found.TrackingNumber != server.Ledger.Entries()[0].Number {
			t.Errorf("%s: %+v, %v", settings, found, err)
		}
		absent := domesticOrder()
		absent.Reference = "S1"
		if _, err := post.Find(t.Context(), absent); ship.KindOf(err) != ship.NotFound {
			t.Errorf("%s: %v, want not found", settings, err)
		}
	}
}

func TestALabelThatIsNotReadyIsWaitedFor(t *testing.T) {
	t.Parallel()
	server := newStandIn(t)
	set(t, server, `{"notReady":2}`)
	post := openWith(t, credentials, carriertest.Server(t, server))
	bought, err := post.Buy(t.Context(), domesticOrder())
	if err != nil || !bytes.HasPrefix(bought.Label.Data, []byte("%PDF")) {
		t.Fatalf("%.40q, %v", bought.Label.Data, err)
	}

	// One that is never ready leaves the sale uncertain.
	set(t, server, `{"notReady":99}`)
	post.Deadlines.Buy = time.Second
	again := domesticOrder()
	again.Reference = "S2"
	if _, err := post.Buy(t.Context(), again); ship.KindOf(err) != ship.Uncertain {
		t.Errorf("%v, want uncertain", err)
	}
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

func TestAVoidIsARequestForARefund(t *testing.T) {
	t.Parallel()
	server := newStandIn(t)
	via := newSchemas(t).Checked(carriertest.Server(t, server))
	post := openWith(t, credentials, via)
	bought, err := post.Buy(t.Context(), domesticOrder())
	if err != nil {
		t.Fatal(err)
	}
	purchase := ship.Purchase{CarrierRef: bought.CarrierRef, TrackingNumber: bought.TrackingNumber}
	for range 2 { // asking again is safe
		result, err := post.Void(t.Context(), purchase)
		if err != nil || result.State != ship.StateRefundPending {
			t.Errorf("%+v, %v", result, err)
		}
	}

	without := carrier.Credentials{}
	for name, value := range credentials {
		if name != "refund_email" {
			without[name] = value
		}
	}
	_, err = openWith(t, without, via).Void(t.Context(), purchase)
	if ship.KindOf(err) != ship.Invalid || !strings.Contains(err.Error(), "refund_email") {
		t.Errorf("without an address: %v", err)
	}
}

// TestARefusedRefundIsNotPending has Canada Post refuse a refund that was never
// requested.
func TestARefusedRefundIsNotPending(t *testing.T) {
	t.Parallel()
	for words, isPending := range map[string]bool{
		"A refund has already been requested for this shipment.":       true,
		"The shipment was already refunded.":                           true,
		"A refund is not possible: the item has already been scanned.": false,
	} {
		via := carriertest.Answer{
			Path:   "/refund",
			Status: http.StatusBadRequest,
			Body:   `<messages xmlns="http://www.canadapost.ca/ws/messages"><message><code>7292</code><description>` + words + `</description></message></messages>`,
		}.Instead(carriertest.Server(t, newStandIn(t)))
		if _, err := openWith(t, credentials, via).Void(t.Context(), ship.Purchase{CarrierRef: "1"}); (err == nil) != isPending {
			t.Errorf("%s: %v", words, err)
		}
	}
}

// TestAParameterThatIsIgnoredProvesNothing has a Canada Post that answers every list
// alike: nothing shows that it looked for the reference.
func TestAParameterThatIsIgnoredProvesNothing(t *testing.T) {
	t.Parallel()
	via := carriertest.Answer{
		Path:   "/shipment",
		Status: http.StatusOK,
		Body:   `<shipments xmlns="http://www.canadapost.ca/ws/shipment-v8"></shipments>`,
	}.Instead(carriertest.Server(t, newStandIn(t)))
	if _, err := openWith(t, credentials, via).Find(t.Context(), domesticOrder()); ship.KindOf(err) != ship.Unavailable {
		t.Errorf("%v, want unavailable", err)
	}
}

// TestASaleAbroadHasItsPapers checks the goods of a sale abroad and its papers.
func TestASaleAbroadHasItsPapers(t *testing.T) {
	t.Parallel()
	post := openWith(t, credentials, newSchemas(t).Checked(carriertest.Server(t, newStandIn(t))))
	bought, err := post.Buy(t.Context(), foreignOrder())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(bought.TrackingNumber, "CA") || bought.Label.Format != "zpl" || bought.Price.Currency != "CAD" {
		t.Errorf("bought %+v", bought)
	}
	if len(bought.Documents) != 1 || bought.Documents[0].Type != "commercial_invoice" || bought.Documents[0].Format != "pdf" {
		t.Errorf("the documents are %+v", bought.Documents)
	}
	if !slices.ContainsFunc(bought.Warnings, func(w string) bool { return strings.Contains(w, "shortened to the 45 characters") }) {
		t.Errorf("the warnings are %q", bought.Warnings)
	}
}

func TestPricesAreInclusive(t *testing.T) {
	t.Parallel()
	post := openWith(t, credentials, newSchemas(t).Checked(carriertest.Server(t, newStandIn(t))))
	order := domesticOrder().Order
	order.Options.Signature = "adult"
	rates, err := post.Rates(t.Context(), order)
	if err != nil {
		t.Fatal(err)
	}
	if len(rates) != 5 {
		t.Errorf("%d rates, want those of the five services within Canada", len(rates))
	}
	for _, rate := range rates {
		sum := int64(0)
		types := map[ship.ChargeType]bool{}
		for _, charge := range rate.Charges {
			sum += charge.Amount.Minor
			types[charge.Type] = true
		}
		if sum != rate.Price.Minor || !types[ship.TaxCharge] || !types[ship.FuelCharge] || !types[ship.SignatureCharge] || rate.DeliveryAt.IsZero() {
			t.Errorf("%+v", rate)
		}
	}
}

func TestOrdersThatCanadaPostDoesNotTake(t *testing.T) {
	t.Parallel()
	post := openWith(t, credentials, carriertest.Server(t, newStandIn(t)))
	for pointer, change := range map[string]func(*carrier.BuyOrder){
		"/origin/country":           func(b *carrier.BuyOrder) { b.Order.Origin.Country = "US" },
		"/origin/phone":             func(b *carrier.BuyOrder) { b.Order.Origin.Phone = "" },
		"/destination/country":      func(b *carrier.BuyOrder) { *b = americanOrder(); b.Order.Destination.State = "PR" },
		"/destination/zip":          func(b *carrier.BuyOrder) { b.Order.Destination.Zip = "12345" },
		"/destination/state":        func(b *carrier.BuyOrder) { b.Order.Destination.State = "" },
		"/parcels":                  func(b *carrier.BuyOrder) { b.Order.Parcels = append(b.Order.Parcels, b.Order.Parcels[0]) },
		"/parcel/packaging":         func(b *carrier.BuyOrder) { b.Order.Parcels[0].Packaging = "box" },
		"/isReturn":                 func(b *carrier.BuyOrder) { *b = foreignOrder(); b.Order.IsReturn = true },
		"/options/saturdayDelivery": func(b *carrier.BuyOrder) { b.Order.Options.SaturdayDelivery = true },
		"/options/insuredValue":     func(b *carrier.BuyOrder) { b.Order.Options.InsuredValue = ship.Money{Minor: 1, Currency: "USD"} },
		"/service":                  func(b *carrier.BuyOrder) { b.Service = "xpresspost_international" },
		"/shipDate":                 func(b *carrier.BuyOrder) { b.Order.ShipDate = "2020-01-01" },
		"/customs/items":            func(b *carrier.BuyOrder) { *b = foreignOrder(); b.Order.Customs = nil },
		"/customs/items/0/value":    func(b *carrier.BuyOrder) { *b = foreignOrder(); b.Order.Customs.Items[0].Value.Currency = "USD" },
		"/customs/items/1/hsCode":   func(b *carrier.BuyOrder) { *b = foreignOrder(); b.Order.Customs.Items[1].HSCode = "42033" },
		"/customs/incoterm":         func(b *carrier.BuyOrder) { *b = foreignOrder(); b.Order.Customs.Incoterm = "DDP" },
		"/destination/phone":        func(b *carrier.BuyOrder) { *b = foreignOrder(); b.Order.Destination.Phone = "" },
	} {
		order := domesticOrder()
		change(&order)
		_, err := post.Buy(t.Context(), order)
		isNamed := slices.ContainsFunc(ship.ErrorOf(err).Fields, func(f ship.FieldError) bool { return f.Pointer == pointer })
		if ship.KindOf(err) != ship.Invalid || !isNamed {
			t.Errorf("%s: %v %+v", pointer, err, ship.ErrorOf(err).Fields)
		}
	}
}

func TestWrongNumbersAreTheConnections(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"AA001", "AA002", "AA003", "AA004", "E002"} {
		via := carriertest.Answer{
			Path:   "/price",
			Status: http.StatusBadRequest,
			Body:   `<messages xmlns="http://www.canadapost.ca/ws/messages"><message><code>` + code + `</code><description>No.</description></message></messages>`,
		}.Instead(carriertest.Server(t, newStandIn(t)))
		if _, err := openWith(t, credentials, via).Rates(t.Context(), domesticOrder().Order); ship.KindOf(err) != ship.Forbidden {
			t.Errorf("%s: %v, want forbidden", code, err)
		}
	}

	other := carrier.Credentials{}
	for name, value := range credentials {
		other[name] = value
	}
	other["contract_id"] = "99"
	post := openWith(t, other, carriertest.Server(t, newStandIn(t)))
	if _, err := post.Rates(t.Context(), domesticOrder().Order); ship.KindOf(err) != ship.Forbidden {
		t.Errorf("another contract: %v, want forbidden", err)
	}
}
