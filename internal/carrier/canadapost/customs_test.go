package canadapost_test

import (
	"bytes"
	"encoding/xml"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/ship"
)

// sentShipment is the part of a purchase that these tests read.
type sentShipment struct {
	Options []struct {
		Code string `xml:"option-code"`
	} `xml:"delivery-spec>options>option"`
	Reason      string `xml:"delivery-spec>customs>reason-for-export"`
	OtherReason string `xml:"delivery-spec>customs>other-reason"`
	IOSS        string `xml:"delivery-spec>customs>ioss-id"`
	Items       []struct {
		Weight   string `xml:"unit-weight"`
		Province string `xml:"province-of-origin"`
	} `xml:"delivery-spec>customs>sku-list>item"`
}

// optionCodes returns the options of the purchase, in order.
func (s sentShipment) optionCodes() string {
	var codes []string
	for _, chosen := range s.Options {
		codes = append(codes, chosen.Code)
	}
	return strings.Join(codes, " ")
}

// spy keeps the bodies of the requests to a path.
type spy struct {
	via    carrier.Doer
	suffix string
	bodies [][]byte
}

// Do is carrier.Doer.
func (s *spy) Do(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, s.suffix) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		s.bodies = append(s.bodies, body)
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return s.via.Do(r)
}

// buy purchases an order from an emulator, and returns what was sent.
func buy(t *testing.T, order carrier.BuyOrder) (sentShipment, ship.Sale) {
	t.Helper()
	seen := &spy{via: newSchemas(t).Checked(carriertest.Server(t, newStandIn(t))), suffix: "/shipment"}
	bought, err := openWith(t, credentials, seen).Buy(t.Context(), order)
	if err != nil {
		t.Fatal(err)
	}

	var sent sentShipment
	if err := xml.Unmarshal(seen.bodies[0], &sent); err != nil {
		t.Fatal(err)
	}
	return sent, bought
}

// TestGoodsOfCanadaNameTheirProvince: Canada Post requires it of goods that were
// made in Canada, and of no others.
func TestGoodsOfCanadaNameTheirProvince(t *testing.T) {
	t.Parallel()
	order := foreignOrder()
	order.Order.Customs.Items[1].OriginCountry = "CA"
	sent, _ := buy(t, order)
	if sent.Items[0].Province != "" || sent.Items[1].Province != "ON" {
		t.Errorf("the items are %+v", sent.Items)
	}
}

// TestUndeliverableParcelsComeBack: the instruction depends on the service, so a
// purchase has that of its service, and a quote of all services has none.
func TestUndeliverableParcelsComeBack(t *testing.T) {
	t.Parallel()
	for service, want := range map[string]string{
		"tracked_packet_international": "SO COV RTS",
		"xpresspost_international":     "SO COV RASE",
		"international_parcel_air":     "SO COV RASE",
		"international_parcel_surface": "SO COV RASE",
		"priority_worldwide_parcel":    "SO COV RASE",
	} {
		order := foreignOrder()
		order.Service = service
		if sent, _ := buy(t, order); sent.optionCodes() != want {
			t.Errorf("%s: options %s, want %s", service, sent.optionCodes(), want)
		}
	}

	domestic, _ := buy(t, domesticOrder())
	if domestic.optionCodes() != "" {
		t.Errorf("within Canada: options %s", domestic.optionCodes())
	}

	seen := &spy{via: carriertest.Server(t, newStandIn(t)), suffix: "/price"}
	if _, err := openWith(t, credentials, seen).Rates(t.Context(), foreignOrder().Order); err != nil {
		t.Fatal(err)
	}
	for _, code := range []string{"RASE", "RTS", "ABAN"} {
		if bytes.Contains(seen.bodies[0], []byte(code)) {
			t.Errorf("the quote has an instruction: %s", seen.bodies[0])
		}
	}
}

// TestEveryContentHasAReason buys every type of contents that the API has.
func TestEveryContentHasAReason(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"merchandise":    "SOG",
		"gift":           "OTH Gift",
		"sample":         "SAM",
		"documents":      "DOC",
		"returned_goods": "OTH Returned goods",
		"other":          "OTH Other",
	}
	for _, contents := range ship.ContentsTypes {
		order := foreignOrder()
		order.Order.Customs.ContentsType = contents
		sent, _ := buy(t, order)
		if got := strings.TrimSpace(sent.Reason + " " + sent.OtherReason); got != want[contents] {
			t.Errorf("%s: %q, want %q", contents, got, want[contents])
		}
	}
}

// TestTaxNumbers: Canada Post has room for one number, and no other is dropped
// without a warning.
func TestTaxNumbers(t *testing.T) {
	t.Parallel()
	ioss := ship.TaxIdentifier{Type: "ioss", Number: "IM 123 456 7890"}
	vat := ship.TaxIdentifier{Type: "vat", Number: "DE 123456789", Party: "recipient"}
	long := ship.TaxIdentifier{Type: "ioss", Number: "IM123456789012345"}
	sender := ship.TaxIdentifier{Type: "gst", Number: "123456789", Party: "sender"}

	for name, test := range map[string]struct {
		given   []ship.TaxIdentifier
		untyped []string
		want    string
		leftOut []string
	}{
		"IOSS with spaces":     {[]ship.TaxIdentifier{ioss}, nil, "IM1234567890", nil},
		"IOSS before others":   {[]ship.TaxIdentifier{vat, ioss}, nil, "IM1234567890", []string{"taxIdentifiers.0"}},
		"one that is too long": {[]ship.TaxIdentifier{long}, nil, "", []string{"taxIdentifiers.0"}},
		"others":               {[]ship.TaxIdentifier{vat, sender}, []string{"77"}, "", []string{"taxIdentifiers.0", "taxIdentifiers.1", "taxIds.0"}},
	} {
		order := foreignOrder()
		order.Order.Customs.TaxIdentifiers = test.given
		order.Order.Customs.TaxIDs = test.untyped
		sent, bought := buy(t, order)

		var leftOut []string
		for _, warning := range bought.Warnings {
			if field, _, ok := strings.Cut(warning, " is left out"); ok {
				leftOut = append(leftOut, strings.TrimPrefix(field, "customs."))
			}
		}
		if sent.IOSS != test.want || !slices.Equal(leftOut, test.leftOut) {
			t.Errorf("%s: sent %q, left out %q", name, sent.IOSS, leftOut)
		}
	}
}

// TestCoverageWithinCanadaIsSignedFor: Canada Post requires a signature for it, in
// quotes and purchases.
func TestCoverageWithinCanadaIsSignedFor(t *testing.T) {
	t.Parallel()
	value := ship.Money{Minor: 15000, Currency: "CAD"}
	for signature, want := range map[string]string{"": "SO COV", "standard": "SO COV", "adult": "PA18 COV"} {
		order := domesticOrder()
		order.Order.Options = ship.Options{Signature: signature, InsuredValue: value}
		if sent, _ := buy(t, order); sent.optionCodes() != want {
			t.Errorf("signature %q: options %s, want %s", signature, sent.optionCodes(), want)
		}

		rates, err := openWith(t, credentials, carriertest.Server(t, newStandIn(t))).Rates(t.Context(), order.Order)
		if err != nil || len(rates) == 0 {
			t.Errorf("signature %q: %d rates, %v", signature, len(rates), err)
		}
	}

	abroad := foreignOrder()
	abroad.Order.Options.Signature = ""
	if sent, _ := buy(t, abroad); sent.optionCodes() != "COV RASE" {
		t.Errorf("abroad: options %s", sent.optionCodes())
	}
}

// TestGoodsAreNotHeavierThanTheirParcel: weights are rounded up piece by piece,
// which can add up to more than the parcel.
func TestGoodsAreNotHeavierThanTheirParcel(t *testing.T) {
	t.Parallel()
	type goods struct {
		quantity int
		grams    int64
	}
	for name, test := range map[string]struct {
		parcel int64
		goods  []goods
		want   string
	}{
		"three of 0.1 lb in 0.3 lb":  {137, []goods{{3, 46}}, "0.045"},
		"as heavy as the parcel":     {138, []goods{{3, 46}}, "0.046"},
		"only as much as is needed":  {182, []goods{{1, 46}, {3, 46}}, "0.045 0.045"},
		"the first is enough":        {183, []goods{{1, 46}, {3, 46}}, "0.045 0.046"},
		"a gram is the least":        {9, []goods{{2, 1}, {1, 10}}, "0.001 0.007"},
		"more than rounding":         {100, []goods{{3, 46}}, "0.046"},
		"no room for the unweighted": {100, []goods{{1, 100}, {2, 0}}, "0.098 0.001"},
	} {
		order := foreignOrder()
		order.Order.Parcels[0].Weight = float64(test.parcel)
		order.Order.Parcels[0].WeightGrams = test.parcel
		line := order.Order.Customs.Items[1]
		order.Order.Customs.Items = nil
		for _, good := range test.goods {
			line.Quantity = good.quantity
			line.WeightGrams = good.grams
			order.Order.Customs.Items = append(order.Order.Customs.Items, line)
		}

		sent, _ := buy(t, order)
		var got []string
		for _, item := range sent.Items {
			got = append(got, item.Weight)
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %q, want %s", name, got, test.want)
		}
	}
}
