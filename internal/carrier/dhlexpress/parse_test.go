package dhlexpress

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestMoneyIsReadAsText(t *testing.T) {
	for text, want := range map[string]string{
		"53.25 EUR": "53.25", "53.2 EUR": "53.20", "53 EUR": "53.00", "53.255 EUR": "53.26", "53.254 EUR": "53.25", "0.995 EUR": "1.00",
		"1234.5 JPY": "1235", "1234 JPY": "1234", "1.2345 KWD": "1.235", "90071992547409.93 USD": "90071992547409.93",
		"-1 EUR": "", "1e2 EUR": "", "1.2e5 EUR": "", "1.234e5 EUR": "", "1.23 ": "", " EUR": "", "1.23x EUR": "", "1.234x EUR": "",
	} {
		amount, currency, _ := strings.Cut(text, " ")
		got, ok := parseMoney(json.Number(amount), currency)
		if ok != (want != "") || ok && got.Amount() != want {
			t.Errorf("%s is %s, %v; want %s", text, got.Amount(), ok, want)
		}
	}
}

func TestThePriceIsTheBilledOne(t *testing.T) {
	for name, c := range map[string]struct {
		prices []price
		want   string
	}{
		"among others": {[]price{{"PULCL", "", "0"}, {"BASEC", "EUR", "60.10"}, {"BILLC", "USD", "70.25"}}, "70.25"},
		"nothing":      {[]price{{"PULCL", "EUR", "70.25"}}, ""},
		"zero":         {[]price{{"BILLC", "EUR", "0"}}, ""},
		"no currency":  {[]price{{"BILLC", "", "12.00"}}, ""},
	} {
		got, ok := billedPrice(c.prices)
		if ok != (c.want != "") || ok && got.Amount() != c.want {
			t.Errorf("%s: %v %v, want %q", name, got, ok, c.want)
		}
	}
}

func TestTimesAreLocalWhereTheParcelIs(t *testing.T) {
	zone := placeOf("US", "NY", "").ClosestZone()
	for text, want := range map[string]string{
		"2026-11-18T12:00:00":     "2026-11-18T12:00:00-05:00",
		"2026-11-18T23:59:00Z":    "2026-11-18T23:59:00-05:00",
		"2026-11-18T12:00:00.000": "2026-11-18T12:00:00-05:00",
		"2026-11-18":              "2026-11-18T23:59:00-05:00",
		"":                        "0001-01-01T00:00:00Z",
		"soon":                    "0001-01-01T00:00:00Z",
	} {
		if got := localTime(text, zone).Format(time.RFC3339); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestRefusalsAreReadWithTheirCodes(t *testing.T) {
	for body, want := range map[string]ship.Refusal{
		`{"detail":"998: bad date","title":"Bad request"}`:                                   {Code: "998", Message: "bad date"},
		`{"detail":"#/content/packages: too few"}`:                                           {Message: "#/content/packages: too few"},
		`{"detail":"Multiple problems","additionalDetails":["7120: a","8003: b"]}`:           {Code: "7120", Message: "a; 8003: b"},
		`{"detail":"Multiple problems","additionalDetails":["#/x: required key","7008: b"]}`: {Message: "#/x: required key; 7008: b"},
		`{"title":"Unauthorized"}`:                                                           {Message: "Unauthorized"},
		`<html>`:                                                                             {},
		`{}`:                                                                                 {},
	} {
		if got := refusalOf([]byte(body)); got != want {
			t.Errorf("%s is %+v, want %+v", body, got, want)
		}
	}
}
