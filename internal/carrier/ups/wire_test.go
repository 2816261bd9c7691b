package ups

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

func TestWeightsAndSizesRoundUpOnce(t *testing.T) {
	for _, tc := range []struct {
		u     units
		grams int64
		want  string
	}{
		{imperial, ship.Pound.Grams(1), "1.0"},
		{imperial, ship.Pound.Grams(4.2), "4.2"},
		{imperial, ship.Pound.Grams(149.9), "149.9"},
		{imperial, ship.Pound.Grams(150), "150.0"},
		{imperial, ship.Ounce.Grams(16), "1.0"},
		{imperial, 1, "0.1"},
		{imperial, 1000, "2.3"},
		{metric, 1000, "1.0"},
		{metric, 1001, "1.1"},
		{metric, 1, "0.1"},
	} {
		if got := tc.u.weigh(tc.u.tenths(tc.grams)); got.Weight != tc.want {
			t.Errorf("%d g are %s %s, want %s", tc.grams, got.Weight, got.UnitOfMeasurement.Code, tc.want)
		}
	}
	for n := range int64(300) {
		inches := float64(n + 1)
		if got := imperial.lengthUnits(ship.Inch.Millimetres(inches)); got != n+1 {
			t.Errorf("%v in are %d in", inches, got)
		}
	}
	if got := metric.measure(&ship.Dimensions{LengthMM: 10, WidthMM: 301, HeightMM: 99}); got == nil || got.Length != "31" || got.Width != "10" || got.Height != "1" {
		t.Errorf("measured %+v, want the longest side first", got)
	}
}

func TestPricesAreExact(t *testing.T) {
	usd := func(minor int64) ship.Money { return ship.Money{Minor: minor, Currency: "USD"} }
	for _, tc := range []struct {
		published money
		own       *negotiated
		want      ship.Money
	}{
		{money{"USD", "14.46"}, nil, usd(1446)},
		{money{"USD", "14.46"}, &negotiated{TotalCharge: money{"USD", "10.01"}}, usd(1001)},
		{money{"USD", "14.46"}, &negotiated{TotalCharge: money{"USD", "0.00"}}, usd(1446)},
		{money{"USD", "14.46"}, &negotiated{}, usd(1446)},
		{money{"USD", "9007199254740993.01"}, nil, ship.Money{}},
		{money{"USD", "90071992547409.93"}, nil, usd(9007199254740993)},
		{money{"JPY", "1500.00"}, nil, ship.Money{Minor: 1500, Currency: "JPY"}},
		{money{"USD", "1e3"}, nil, ship.Money{}},
		{money{"", ""}, nil, ship.Money{}},
	} {
		if got := price(tc.published, tc.own); got != tc.want {
			t.Errorf("price(%v, %v) = %v, want %v", tc.published, tc.own, got, tc.want)
		}
	}
	if got := wholeUnits(usd(8497)); got.MonetaryValue != "85" {
		t.Errorf("84.97 is %s in whole dollars", got.MonetaryValue)
	}
	if a, b, c := share(usd(10), 3, 0), share(usd(10), 3, 1), share(usd(10), 3, 2); a.Minor != 4 || b.Minor != 3 || c.Minor != 3 {
		t.Errorf("10 cents are divided as %d %d %d", a.Minor, b.Minor, c.Minor)
	}
}

func TestArrivalsKeepTheirDay(t *testing.T) {
	for in, want := range map[day]string{
		{"20261120", "230000"}: "2026-11-20T23:00:00Z",
		{"20261120", "1030"}:   "2026-11-20T10:30:00Z",
		{"20261120", ""}:       "2026-11-20T00:00:00Z",
		{"20261120", "noon"}:   "2026-11-20T00:00:00Z",
		{"", ""}:               "0001-01-01T00:00:00Z",
		{"20261345", "230000"}: "0001-01-01T00:00:00Z",
	} {
		if got := arrival(in).Format(time.RFC3339); got != want {
			t.Errorf("arrival(%v) = %s, want %s", in, got, want)
		}
	}
}

// UPS sends one member of a list alone, and "" for an object that is not
// there.
func TestAnswersAreReadInEverySpelling(t *testing.T) {
	image := base64.StdEncoding.EncodeToString([]byte("GIF89a"))
	label := `{"TrackingNumber":"1Z","ShippingLabel":{"ImageFormat":{"Code":"gif"},"GraphicImage":"` + image + `"}}`
	for _, packages := range []string{label, "[" + label + "]"} {
		var a shipAnswer
		err := json.Unmarshal([]byte(`{"ShipmentResponse":{"Response":{"TransactionReference":""},"ShipmentResults":{
			"ShipmentIdentificationNumber":"1Z","Form":"","PackageResults":`+packages+`}}}`), &a)
		if err != nil {
			t.Fatal(err)
		}
		p, err := new(driver).sale(a, carrier.BuyOrder{Reference: "R", Order: ship.Order{Parcels: make([]ship.Parcel, 1)}})
		if err != nil || p.TrackingNumber != "1Z" || string(p.Label.Data) != "GIF89a" {
			t.Errorf("%+v, %v", p, err)
		}
	}
	var token tokenAnswer
	for _, life := range []string{`"14399"`, `14399`} {
		if err := json.Unmarshal([]byte(`{"expires_in":`+life+`}`), &token); err != nil || token.ExpiresIn != "14399" {
			t.Errorf("%s is read as %s: %v", life, token.ExpiresIn, err)
		}
	}
	said := first(refusalsOf([]byte(`{"response":{"errors":{"code":120100,"message":"no"}}}`)))
	if said != (ship.Refusal{Code: "120100", Message: "no"}) {
		t.Errorf("refusal %+v", said)
	}
}

// Whatever is wrong with the answer of a sale, it is uncertain.
func TestSalesThatAreNotWhatWasAskedAreUncertain(t *testing.T) {
	good := packageResult{TrackingNumber: "1Z", ShippingLabel: picture{coded{Code: "GIF"}, base64.StdEncoding.EncodeToString([]byte("GIF89a"))}}
	for name, change := range map[string]func(*shipAnswer){
		"another format": func(a *shipAnswer) {
			a.ShipmentResponse.ShipmentResults.PackageResults[0].ShippingLabel.ImageFormat.Code = "ZPL"
		},
		"another file": func(a *shipAnswer) {
			a.ShipmentResponse.ShipmentResults.PackageResults[0].ShippingLabel.GraphicImage = base64.StdEncoding.EncodeToString([]byte("^XA"))
		},
		"broken base64": func(a *shipAnswer) {
			a.ShipmentResponse.ShipmentResults.PackageResults[0].ShippingLabel.GraphicImage = "!"
		},
		"no number": func(a *shipAnswer) { a.ShipmentResponse.ShipmentResults.PackageResults[0].TrackingNumber = "" },
		"too few":   func(a *shipAnswer) { a.ShipmentResponse.ShipmentResults.PackageResults = nil },
		"another's": func(a *shipAnswer) {
			a.ShipmentResponse.Response.TransactionReference = some[reference]{{CustomerContext: "OTHER"}}
		},
	} {
		var a shipAnswer
		a.ShipmentResponse.ShipmentResults.PackageResults = some[packageResult]{good}
		change(&a)
		_, err := new(driver).sale(a, carrier.BuyOrder{Reference: "R", Order: ship.Order{Parcels: make([]ship.Parcel, 1)}})
		if ship.KindOf(err) != ship.Uncertain {
			t.Errorf("%s: %v, want uncertain", name, err)
		}
	}
}

func TestGoodsAreWrappedAtWords(t *testing.T) {
	for _, tc := range []struct {
		text  string
		want  []string
		whole bool
	}{
		{"", nil, true},
		{"one two", []string{"one two"}, true},
		{"one two three four", []string{"one two", "three four"}, true},
		{"abcdefghijklmno", []string{"abcdefghij", "klmno"}, true},
		{"one two three four five six seven", []string{"one two", "three four"}, false},
		{"größere Öfen", []string{"größere", "Öfen"}, true},
	} {
		got, whole := wrap(tc.text, 10, 2)
		if !slices.Equal(got, tc.want) || whole != tc.whole {
			t.Errorf("wrap(%q) = %q, %v", tc.text, got, whole)
		}
	}
}

func TestServicesAreTheSameBothWays(t *testing.T) {
	for _, s := range services {
		for _, l := range []lane{laneUS, laneCA, laneHome, laneAbroad} {
			if code := s.codeOn(l); code != "" {
				if back, ok := serviceByCarrierCode(code, l); !ok || back.code != s.code {
					t.Errorf("%s is %s on lane %d, which is %s", s.code, code, l, back.code)
				}
			}
		}
	}
	if _, ok := serviceByCarrierCode("", laneUS); ok {
		t.Error("no code is a service")
	}
}

func TestRatesTellWhatUPSTells(t *testing.T) {
	for body, want := range map[string]ship.Rate{
		`{"TotalCharges":{"CurrencyCode":"USD","MonetaryValue":"9.50"}}`: {},
		`{"GuaranteedDelivery":{"BusinessDaysInTransit":"2"}}`:           {TransitDays: 2, Guaranteed: true},
		`{"GuaranteedDelivery":{"BusinessDaysInTransit":"2"},"TimeInTransit":{"ServiceSummary":{"EstimatedArrival":{"Arrival":{"Date":"20261120"},"BusinessDaysInTransit":"3"}}}}`: {
			TransitDays: 3, Guaranteed: true, DeliveryAt: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC),
		},
		`{"TimeInTransit":{"ServiceSummary":{"GuaranteedIndicator":"","EstimatedArrival":{"BusinessDaysInTransit":1}}}}`: {TransitDays: 1, Guaranteed: true},
		`{"TimeInTransit":{"ServiceSummary":{"EstimatedArrival":{"BusinessDaysInTransit":"?"}}}}`:                        {},
	} {
		var r ratedShipment
		if err := json.Unmarshal([]byte(body), &r); err != nil {
			t.Fatal(err)
		}
		got := rateOf(services[0], laneUS, r)
		if got.TransitDays != want.TransitDays || got.Guaranteed != want.Guaranteed || !got.DeliveryAt.Equal(want.DeliveryAt) {
			t.Errorf("%s is %+v, want %+v", body, got, want)
		}
	}
}
