package royalmail_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
)

// sentTax are the tax numbers in an order that was sent.
type sentTax struct {
	Postage struct {
		IOSSNumber          string `json:"IOSSNumber"`
		RecipientEORINumber string `json:"recipientEoriNumber"`
	} `json:"postageDetails"`
	Importer struct {
		VATNumber  string `json:"vatNumber"`
		TaxCode    string `json:"taxCode"`
		EORINumber string `json:"eoriNumber"`
	} `json:"importer"`
}

// lastOrder keeps the tax numbers of the last order that passes.
type lastOrder struct {
	carrier.Doer
	tax sentTax
}

// Do is carrier.Doer.
func (l *lastOrder) Do(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		var orders struct{ Items []sentTax }
		if err := json.Unmarshal(body, &orders); err != nil {
			return nil, err
		}
		l.tax = orders.Items[0]
		r.Body = io.NopCloser(strings.NewReader(string(body)))
	}
	return l.Doer.Do(r)
}

// TestNoTaxNumberIsDroppedSilently sends each number or warns about it.
func TestNoTaxNumberIsDroppedSilently(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		customs  ship.Customs
		sent     func(sentTax) []string // pairs of what was sent and what is expected
		warnings []string
	}{
		{
			"of the recipient",
			ship.Customs{TaxIdentifiers: []ship.TaxIdentifier{
				{Type: "vat", Number: "FR83404833048", Party: "recipient"},
				{Type: "cpf", Number: "11144477735", Party: "recipient"},
				{Type: "eori", Number: "FR12345678901234", Party: "recipient"},
			}},
			func(s sentTax) []string {
				return []string{s.Importer.VATNumber, "FR83404833048", s.Importer.TaxCode, "11144477735", s.Postage.RecipientEORINumber, "FR12345678901234", s.Importer.EORINumber, ""}
			},
			nil,
		},
		{
			"of the recipient beside an importer",
			ship.Customs{TaxIdentifiers: []ship.TaxIdentifier{
				{Type: "vat", Number: "FR83404833048", Party: "recipient"},
				{Type: "vat", Number: "DE123456789", Party: "importer"},
			}},
			func(s sentTax) []string { return []string{s.Importer.VATNumber, "DE123456789", s.Importer.TaxCode, ""} },
			[]string{"customs.taxIdentifiers.0 (vat)"},
		},
		{
			"two of a kind",
			ship.Customs{TaxIdentifiers: []ship.TaxIdentifier{
				{Type: "cpf", Number: "11144477735", Party: "recipient"},
				{Type: "passport", Number: "P1", Party: "recipient"},
			}},
			func(s sentTax) []string { return []string{s.Importer.TaxCode, "11144477735"} },
			[]string{"customs.taxIdentifiers.1 (passport)"},
		},
		{
			"of the sender",
			ship.Customs{TaxIdentifiers: []ship.TaxIdentifier{{Type: "ioss", Number: "IM3720000123"}, {Type: "vat", Number: "GB999"}}, TaxIDs: []string{"X1"}},
			func(s sentTax) []string {
				return []string{s.Postage.IOSSNumber, "IM3720000123", s.Importer.VATNumber, ""}
			},
			[]string{"customs.taxIdentifiers.1 (vat)", "customs.taxIds.0"},
		},
	} {
		via := &lastOrder{Doer: checked(newContract(t), carriertest.Server(t, newStandIn(t, emulator.Faults{})))}
		request := foreignOrder()
		request.Order.Customs.TaxIdentifiers = tc.customs.TaxIdentifiers
		request.Order.Customs.TaxIDs = tc.customs.TaxIDs
		bought, err := openVia(t, via).Buy(t.Context(), request)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}

		pairs := tc.sent(via.tax)
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] != pairs[i+1] {
				t.Errorf("%s: sent %q, want %q", tc.name, pairs[i], pairs[i+1])
			}
		}
		if len(bought.Warnings) != len(tc.warnings) {
			t.Errorf("%s: warnings %q, want %q", tc.name, bought.Warnings, tc.warnings)
			continue
		}
		for i, name := range tc.warnings {
			if !strings.HasPrefix(bought.Warnings[i], name) {
				t.Errorf("%s: warning %q, want %q", tc.name, bought.Warnings[i], name)
			}
		}
	}
}
