package royalmail_test

import (
	"errors"
	"fmt"
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

// orders returns orders of every kind that Royal Mail sells.
func orders() map[string]carrier.BuyOrder {
	list := map[string]carrier.BuyOrder{}
	add := func(name string, base carrier.BuyOrder, change func(*carrier.BuyOrder)) {
		base.Reference = fmt.Sprintf("S%025d", len(list))
		change(&base)
		list[name] = base
	}
	for _, service := range royalmail.Spec.Services {
		base := domesticOrder()
		switch {
		case strings.HasPrefix(service.Code, "international_"):
			base = foreignOrder()
		case strings.HasPrefix(service.Code, "tracked_returns_"):
			base = returnOrder()
		}
		add(service.Code, base, func(request *carrier.BuyOrder) {
			request.Service = service.Code
			if strings.HasSuffix(service.Code, "large_letter") {
				request.Order.Parcels[0].Dimensions.HeightMM = 20
			}
		})
	}
	add("signed", domesticOrder(), func(r *carrier.BuyOrder) { r.Order.Options.Signature = "standard" })
	add("collected", domesticOrder(), func(r *carrier.BuyOrder) { r.Order.Options.HoldAtLocation = true })
	add("planned", domesticOrder(), func(r *carrier.BuyOrder) { r.Order.ShipDate = "2026-12-01" })
	add("medium", domesticOrder(), func(r *carrier.BuyOrder) { r.Order.Parcels = []ship.Parcel{parcel(9000)} })
	add("unknown size", domesticOrder(), func(r *carrier.BuyOrder) { r.Order.Parcels[0].Dimensions = nil })
	add("covered", domesticOrder(), func(r *carrier.BuyOrder) {
		r.Service = "special_delivery_1pm_1000"
		r.Order.Options.InsuredValue = ship.Money{Minor: 90000, Currency: "GBP"}
	})
	add("items without a weight", foreignOrder(), func(r *carrier.BuyOrder) {
		r.Order.Customs.Items[0].WeightGrams = 0
		r.Order.Customs.Items[1].WeightGrams = 0
	})
	add("declared at home", domesticOrder(), func(r *carrier.BuyOrder) {
		r.Order.Customs = foreignOrder().Order.Customs
		r.Order.Destination.Zip = "BT1 5GS"
		r.Order.Destination.Type = "consumer"
	})
	return list
}

// TestEveryMessageKeepsToRoyalMailsOwnFile buys, finds, prints and voids every
// kind of order, closes a manifest, and provokes the refusals.
func TestEveryMessageKeepsToRoyalMailsOwnFile(t *testing.T) {
	t.Parallel()
	server := newStandIn(t, delivered())
	opened := openVia(t, checked(newContract(t), carriertest.Server(t, server)))
	if err := opened.Check(t.Context()); err != nil {
		t.Fatal(err)
	}

	list := orders()
	for _, name := range slices.Sorted(maps.Keys(list)) {
		request := list[name]
		bought, err := opened.Buy(t.Context(), request)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if request.Order.IsReturn {
			continue // can be neither looked up nor voided
		}
		found, err := opened.Find(t.Context(), request)
		if err != nil || found.TrackingNumber != bought.TrackingNumber || len(found.Label.Data) == 0 {
			t.Errorf("%s: found %q with a label of %d bytes, %v", name, found.TrackingNumber, len(found.Label.Data), err)
		}
		if name == "planned" {
			continue // stays for the manifest
		}
		if _, err := opened.Void(t.Context(), ship.Purchase{CarrierRef: bought.CarrierRef}); err != nil {
			t.Errorf("%s: void: %v", name, err)
		}
	}

	closing, err := opened.CloseManifest(t.Context(), ship.ManifestOrder{})
	if err != nil || len(closing.Documents) != 1 {
		t.Errorf("manifest: %+v, %v", closing.Number, err)
	}
	t.Logf("%d kinds of orders", len(list))
}

// TestFieldsThatRoyalMailRefusesAreNamed is the answer of status 200 by which
// nothing is created.
func TestFieldsThatRoyalMailRefusesAreNamed(t *testing.T) {
	t.Parallel()
	server := newStandIn(t, emulator.Faults{})
	opened := openVia(t, carriertest.Server(t, server))
	request := domesticOrder()
	request.Order.Destination.Address1 = "1 Nowhere Street"

	_, err := opened.Buy(t.Context(), request)
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok || refused.Kind != ship.Invalid || refused.Refusal.Code != "6" {
		t.Fatalf("err = %v", err)
	}
	if len(refused.Fields) != 1 || refused.Fields[0].Pointer != "/destination/address1" {
		t.Errorf("fields: %+v", refused.Fields)
	}
	if sold := server.Ledger.Entries(); len(sold) != 0 {
		t.Errorf("%d entries in the ledger", len(sold))
	}
}

// TestOrdersThatCannotWorkAreNotSent lists what is refused without asking Royal
// Mail, each with its field.
func TestOrdersThatCannotWorkAreNotSent(t *testing.T) {
	t.Parallel()
	for pointer, change := range map[string]func(*carrier.BuyOrder){
		"/service":          func(r *carrier.BuyOrder) { r.Service = "international_tracked" },
		"/origin/country":   func(r *carrier.BuyOrder) { r.Order.Origin.Country = "US" },
		"/destination/type": func(r *carrier.BuyOrder) { r.Order.Destination.Zip = "bt1 5gs" },
		"/destination/zip":  func(r *carrier.BuyOrder) { r.Order.Destination.Zip = "" },
		"/parcels":          func(r *carrier.BuyOrder) { r.Order.Parcels = append(r.Order.Parcels, parcel(100)) },
		"/parcels/0/weight": func(r *carrier.BuyOrder) {
			r.Service = "tracked_48_large_letter"
			r.Order.Parcels[0].WeightGrams = 1500
		},
		"/parcels/0/dimensions":           func(r *carrier.BuyOrder) { r.Order.Parcels[0].Dimensions.LengthMM = 700 },
		"/parcels/0/packaging":            func(r *carrier.BuyOrder) { r.Order.Parcels[0].Packaging = "ups_pak" },
		"/options/signature":              func(r *carrier.BuyOrder) { r.Order.Options.Signature = "adult" },
		"/options/saturdayDelivery":       func(r *carrier.BuyOrder) { r.Order.Options.SaturdayDelivery = true },
		"/options/insuredValue":           func(r *carrier.BuyOrder) { r.Order.Options.InsuredValue = ship.Money{Minor: 100, Currency: "GBP"} },
		"/billing":                        func(r *carrier.BuyOrder) { r.Order.Billing = &ship.Billing{Type: "third_party", Account: "1"} },
		"/customs":                        func(r *carrier.BuyOrder) { *r = foreignOrder(); r.Order.Customs = nil },
		"/customs/incoterm":               func(r *carrier.BuyOrder) { *r = foreignOrder(); r.Order.Customs.Incoterm = "DDP" },
		"/customs/items/0/quantity":       func(r *carrier.BuyOrder) { *r = foreignOrder(); r.Order.Customs.Items[0].Quantity = 0 },
		"/customs/items/1/value/currency": func(r *carrier.BuyOrder) { *r = foreignOrder(); r.Order.Customs.Items[1].Value.Currency = "EUR" },
		"/customs/taxIdentifiers/1/number": func(r *carrier.BuyOrder) {
			*r = foreignOrder()
			r.Order.Customs.TaxIdentifiers[1].Number = strings.Repeat("9", 30)
		},
	} {
		request := domesticOrder()
		change(&request)
		_, err := openVia(t, nil).Buy(t.Context(), request)
		refused, ok := errors.AsType[*ship.Error](err)
		if !ok || refused.Kind != ship.Invalid {
			t.Errorf("%s: %v", pointer, err)
			continue
		}
		if !slices.ContainsFunc(refused.Fields, func(f ship.FieldError) bool {
			return f.Pointer == pointer || f.Pointer == strings.Replace(pointer, "/parcels/0", "/parcel", 1)
		}) {
			t.Errorf("%s is not among %+v", pointer, refused.Fields)
		}
	}
}

// TestALabelThatIsMissingFromTheAnswerIsFetched is a purchase whose label was not
// ready in the answer. If it cannot be fetched at once, a look-up finds it.
func TestALabelThatIsMissingFromTheAnswerIsFetched(t *testing.T) {
	t.Parallel()
	server := newStandIn(t, emulator.Faults{Account: "late_label"})
	via := checked(newContract(t), carriertest.Server(t, server))
	bought, err := openVia(t, via).Buy(t.Context(), domesticOrder())
	if err != nil || len(bought.Label.Data) == 0 {
		t.Errorf("bought with a label of %d bytes, %v", len(bought.Label.Data), err)
	}

	second := domesticOrder()
	second.Reference = "S9999999999ABCDEFGHJKMNPQR"
	if _, err := openVia(t, answering{via, "GET", "/label", http.StatusServiceUnavailable, ""}).Buy(t.Context(), second); ship.KindOf(err) != ship.Uncertain {
		t.Errorf("bought without a label: %v", err)
	}
	found, err := openVia(t, via).Find(t.Context(), second)
	if err != nil || len(found.Label.Data) == 0 {
		t.Errorf("found with a label of %d bytes, %v", len(found.Label.Data), err)
	}
	if sold := server.Ledger.Entries(); len(sold) != 2 {
		t.Errorf("%d entries in the ledger, want 2", len(sold))
	}
}

// TestWithinNorthernIrelandTheKindOfRecipientIsOptional is a lane on
// which Royal Mail does not require it. The emulated account is in Great Britain,
// so the order is not sent to it.
func TestWithinNorthernIrelandTheKindOfRecipientIsOptional(t *testing.T) {
	t.Parallel()
	request := domesticOrder()
	request.Order.Origin.Zip = "BT2 7AA"
	request.Order.Destination.Zip = "BT1 5GS"
	down := answering{nil, "POST", "/orders", http.StatusTooManyRequests, ""}
	if _, err := openVia(t, down).Buy(t.Context(), request); ship.KindOf(err) != ship.Limited {
		t.Errorf("err = %v, want that the order is sent", err)
	}
}

// TestAnOrderWhoseLabelCannotBePrintedIsDeleted would otherwise stay uncertain, and
// its order in Click & Drop.
func TestAnOrderWhoseLabelCannotBePrintedIsDeleted(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		faults emulator.Faults
		want   ship.Kind
		words  string
	}{
		{"never printed", emulator.Faults{Account: "no_label"}, ship.Invalid, "The label could not be generated"},
		{"not an OBA", emulator.Faults{Account: "no_oba"}, ship.Invalid, "OBA accounts only"},
		{"no postage", emulator.Faults{Account: "no_postage"}, ship.Invalid, "postage applied"},
		{"not deleted", emulator.Faults{Account: "no_label", Void: map[string]float64{"refuse": 1}}, ship.Uncertain, ""},
		{"deletion not confirmed", emulator.Faults{Account: "no_label", Void: map[string]float64{"lost": 1}}, ship.Uncertain, ""},
	} {
		server := newStandIn(t, tc.faults)
		opened := openVia(t, carriertest.Server(t, server))
		_, err := opened.Buy(t.Context(), domesticOrder())
		if ship.KindOf(err) != tc.want || !strings.Contains(ship.ErrorOf(err).Refusal.Message, tc.words) {
			t.Errorf("%s: %v, %+v", tc.name, err, ship.ErrorOf(err).Refusal)
		}
		if _, err := opened.Find(t.Context(), domesticOrder()); tc.want == ship.Invalid && ship.KindOf(err) != ship.NotFound {
			t.Errorf("%s: the order is still there: %v", tc.name, err)
		}
	}
}

// TestAMissingCustomsFormIsFetchedOrReported has the label formats of an account
// that do not print the form with the label.
func TestAMissingCustomsFormIsFetchedOrReported(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		account             string
		documents, warnings int
	}{
		{"", 0, 0},
		{"customs_apart", 1, 0},
		{"no_customs_form", 0, 1},
	} {
		server := newStandIn(t, emulator.Faults{Account: tc.account})
		opened := openVia(t, checked(newContract(t), carriertest.Server(t, server)))
		bought, err := opened.Buy(t.Context(), foreignOrder())
		if err != nil || len(bought.Documents) != tc.documents || len(bought.Warnings) != tc.warnings {
			t.Errorf("%q: %d documents, %q, %v", tc.account, len(bought.Documents), bought.Warnings, err)
		}
		// A look-up does not say what is in the file of the label.
		found, err := opened.Find(t.Context(), foreignOrder())
		if err != nil || len(found.Documents)+len(found.Warnings) != 1 {
			t.Errorf("%q: found with %d documents, %q, %v", tc.account, len(found.Documents), found.Warnings, err)
		}
	}
}

// answering answers requests itself whose method and end of the path match.
type answering struct {
	carrier.Doer
	method, ends string
	status       int
	body         string
}

// Do is carrier.Doer.
func (a answering) Do(r *http.Request) (*http.Response, error) {
	if r.Method != a.method || !strings.HasSuffix(r.URL.Path, a.ends) {
		return a.Doer.Do(r)
	}
	return &http.Response{
		StatusCode: a.status,
		Header:     http.Header{},
		Body:       io.NopCloser(strings.NewReader(a.body)),
		Request:    r,
	}, nil
}

// TestALostAnswerIsFoundAndNotBoughtAgain loses the answer after the sale in every
// way that the emulator knows.
func TestALostAnswerIsFoundAndNotBoughtAgain(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"reset", "500", "502", "truncate", "wrong_reference"} {
		server := newStandIn(t, emulator.Faults{Buy: map[string]float64{fault: 1}})
		opened := openVia(t, carriertest.Server(t, server))
		if _, err := opened.Buy(t.Context(), domesticOrder()); ship.KindOf(err) != ship.Uncertain {
			t.Errorf("%s: %v", fault, err)
		}
		found, err := opened.Find(t.Context(), domesticOrder())
		if sold := server.Ledger.Entries(); err != nil || len(sold) != 1 || found.TrackingNumber != sold[0].Number {
			t.Errorf("%s: found %q, %v", fault, found.TrackingNumber, err)
		}
	}
}

// TestOfTwoOrdersUnderOneReferenceTheFirstIsFound sends an order twice, which only
// a mistake outside of the service would.
func TestOfTwoOrdersUnderOneReferenceTheFirstIsFound(t *testing.T) {
	t.Parallel()
	opened := openVia(t, carriertest.Server(t, newStandIn(t, emulator.Faults{})))
	first, err := opened.Buy(t.Context(), domesticOrder())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := opened.Buy(t.Context(), domesticOrder()); err != nil {
		t.Fatal(err)
	}
	if found, err := opened.Find(t.Context(), domesticOrder()); err != nil || found.TrackingNumber != first.TrackingNumber {
		t.Errorf("found %s, want %s (%v)", found.TrackingNumber, first.TrackingNumber, err)
	}
}

// TestAProxysNotFoundProvesNothing asks an address where there is no Click & Drop:
// an order that is not there may be bought again, so the answer must be certain.
func TestAProxysNotFoundProvesNothing(t *testing.T) {
	t.Parallel()
	ledger, err := emulator.OpenLedger("")
	if err != nil {
		t.Fatal(err)
	}
	opened := openVia(t, carriertest.Server(t, emulator.New("nobody", ledger)))
	if _, err := opened.Find(t.Context(), domesticOrder()); ship.KindOf(err) != ship.Unavailable {
		t.Errorf("found: %v", err)
	}
	if _, err := opened.Void(t.Context(), ship.Purchase{CarrierRef: "1001"}); ship.KindOf(err) != ship.Uncertain {
		t.Errorf("void: %v", err)
	}
}

// TestAnAccountThatMayNotPrintIsReportedByItsCheck is an account without OBA.
func TestAnAccountThatMayNotPrintIsReportedByItsCheck(t *testing.T) {
	t.Parallel()
	opened := openVia(t, checked(newContract(t), carriertest.Server(t, newStandIn(t, emulator.Faults{Account: "no_oba"}))))
	err := opened.Check(t.Context())
	if ship.KindOf(err) != ship.Forbidden || !strings.Contains(err.Error(), "Online Business Account") {
		t.Errorf("err = %v", err)
	}
}
