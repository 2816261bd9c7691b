package fedex_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/fedex"
	stand "github.com/waybillhq/waybill/internal/emulator/fedex"
	"github.com/waybillhq/waybill/internal/ship"
)

// bought buys the order from the emulator and returns what was sent.
func bought(t *testing.T, b carrier.BuyOrder, given carrier.Credentials) (sent sentShipment, p ship.Sale) {
	t.Helper()
	wire := &overheard{via: carriertest.Server(t, newServer(t))}
	p, err := open(t, given, wire).Buy(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	var request struct {
		Shipment sentShipment `json:"requestedShipment"`
	}
	if err := json.Unmarshal(wire.bodies[len(wire.bodies)-1], &request); err != nil {
		t.Fatal(err)
	}
	return request.Shipment, p
}

// sentShipment is as much of a purchase as the tests look at.
type sentShipment struct {
	ServiceType string
	Special     struct {
		Types []string `json:"specialServiceTypes"`
	} `json:"shipmentSpecialServices"`
	Customs *struct {
		DutiesPayment struct {
			PaymentType string
			Payor       json.RawMessage
		}
		Commodities []struct {
			Description string
			Purpose     string
			Regulatory  []json.RawMessage `json:"regulatoryDetails"`
		}
		RecipientID *struct{ Type, Value string } `json:"recipientCustomsId"`
	} `json:"customsClearanceDetail"`
	Packages []struct {
		References []struct {
			Type  string `json:"customerReferenceType"`
			Value string
		} `json:"customerReferences"`
	} `json:"requestedPackageLineItems"`
}

func (s sentShipment) reference(kind string) string {
	for _, r := range s.Packages[0].References {
		if r.Type == kind {
			return r.Value
		}
	}
	return ""
}

func TestTheOrderNumberAndTheReferenceArePrinted(t *testing.T) {
	b := buyOrder()
	b.Order.Reference = "For the shop"
	sent, _ := bought(t, b, credentials())
	if sent.reference("CUSTOMER_REFERENCE") != reference || sent.reference("P_O_NUMBER") != b.Order.OrderID || sent.reference("INVOICE_NUMBER") != "For the shop" {
		t.Errorf("the references are %+v", sent.Packages[0].References)
	}
	for _, r := range sent.Packages[0].References {
		if r.Value == string(b.Shipment) {
			t.Errorf("the shipment's id is printed as %s", r.Type)
		}
	}

	b.Order.OrderID = strings.Repeat("1234567890", 4)
	b.Order.Reference = "注文"
	sent, p := bought(t, b, credentials())
	if sent.reference("P_O_NUMBER") != b.Order.OrderID[:30] || sent.reference("INVOICE_NUMBER") != "" {
		t.Errorf("the references are %+v", sent.Packages[0].References)
	}
	for _, want := range []string{"orderId is truncated on the label: FedEx prints 30 characters", "reference is not on the label: the carrier cannot print its characters"} {
		if !slices.Contains(p.Warnings, want) {
			t.Errorf("no warning %q in %q", want, p.Warnings)
		}
	}
}

// A client learns that its account is not enrolled from a refusal, which buys
// nothing: the next attempt has the invoice printed.
func TestPaperlessTradeWhereFedExTakesIt(t *testing.T) {
	const paperless = "ELECTRONIC_TRADE_DOCUMENTS"
	sent, p := bought(t, abroad(), credentials())
	if !slices.Contains(sent.Special.Types, paperless) || len(p.Documents) != 1 || slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, "electronically") }) {
		t.Errorf("services %v, documents %d, warnings %q", sent.Special.Types, len(p.Documents), p.Warnings)
	}

	off := abroad()
	off.Order.Customs.Paperless = "off"
	if sent, p := bought(t, off, credentials()); slices.Contains(sent.Special.Types, paperless) || len(p.Documents) != 1 {
		t.Errorf("off: services %v, documents %d", sent.Special.Types, len(p.Documents))
	}

	server := newServer(t)
	unenrolled := credentials()
	unenrolled["account_number"] = stand.UnenrolledAccount
	c := open(t, unenrolled, carriertest.Server(t, server))
	_, err := c.Buy(t.Context(), abroad())
	if ship.KindOf(err) != ship.Unavailable || !strings.Contains(err.Error(), "electronically") || len(server.Ledger.Entries()) != 0 {
		t.Errorf("not enrolled: %v, %d lines sold", err, len(server.Ledger.Entries()))
	}
	p, err = c.Buy(t.Context(), abroad())
	if err != nil || len(p.Documents) != 1 || len(server.Ledger.Entries()) != 1 {
		t.Errorf("the next attempt: %v, %d documents, %d lines sold", err, len(p.Documents), len(server.Ledger.Entries()))
	}
}

func TestDutiesArePaidByWhoTheTermsSay(t *testing.T) {
	for incoterm, want := range map[string]string{"DDP": "SENDER", "DAP": "RECIPIENT", "": "RECIPIENT"} {
		b := abroad()
		b.Order.Customs.Incoterm = incoterm
		sent, _ := bought(t, b, credentials())
		duties := sent.Customs.DutiesPayment
		if duties.PaymentType != want || (duties.Payor != nil) != (want == "SENDER") {
			t.Errorf("%q: %s with %s, want %s", incoterm, duties.PaymentType, duties.Payor, want)
		}
	}
}

// Goods are described wherever a parcel leaves a country; product numbers are
// sent only where the European Union requires them.
func TestGoodsAreDescribedByTheirLane(t *testing.T) {
	shop := farAway()["europe"]
	sent, _ := bought(t, shop, credentials())
	if n := len(sent.Customs.Commodities[0].Regulatory); n != 3 || sent.Customs.Commodities[0].Purpose != "CONSUMER" {
		t.Errorf("into the European Union: %d product numbers, purpose %q", n, sent.Customs.Commodities[0].Purpose)
	}

	shop.Order.Destination = abroad().Order.Destination
	shop.Order.Destination.Type = "business"
	sent, _ = bought(t, shop, credentials())
	if n := len(sent.Customs.Commodities[0].Regulatory); n != 0 || sent.Customs.Commodities[0].Purpose != "BUSINESS" {
		t.Errorf("into the United Kingdom: %d product numbers, purpose %q", n, sent.Customs.Commodities[0].Purpose)
	}

	for _, name := range []string{"union", "island"} {
		b := requests()[name]
		b.Order.Customs = nil
		sent, p := bought(t, b, credentials())
		if len(sent.Customs.Commodities) != 1 || sent.Customs.Commodities[0].Description == "" || len(p.Documents) != 0 || len(sent.Special.Types) != 0 {
			t.Errorf("%s: %+v, %d documents", name, sent.Customs, len(p.Documents))
		}
	}
	if sent, _ := bought(t, buyOrder(), credentials()); sent.Customs != nil {
		t.Errorf("inside of the United States: %+v", sent.Customs)
	}
}

func TestBrazilKnowsTheRecipientByANumber(t *testing.T) {
	b := farAway()["brazil"]
	sent, _ := bought(t, b, credentials())
	if id := sent.Customs.RecipientID; id == nil || id.Type != "INDIVIDUAL" || id.Value != "123.456.789-09" {
		t.Errorf("the recipient is %+v", id)
	}
	b.Order.Customs.TaxIdentifiers = nil
	if _, p := bought(t, b, credentials()); !slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, "Brazil") }) {
		t.Errorf("warnings %q", p.Warnings)
	}
}

// A service is bought by the name under which it was quoted.
func TestServicesOfExtraHoursAreOffered(t *testing.T) {
	rates, err := open(t, credentials(), canned{200, `{"output":{"rateReplyDetails":[
	{"serviceType":"PRIORITY_OVERNIGHT_EXTRA_HOURS","ratedShipmentDetails":[{"rateType":"ACCOUNT","totalNetCharge":70,"currency":"USD"}]},
	{"serviceType":"FEDEX_FIRST_OVERNIGHT_EXTRA_HOURS","ratedShipmentDetails":[{"rateType":"ACCOUNT","totalNetCharge":90,"currency":"USD"}]}]}}`}).Rates(t.Context(), order())
	if err != nil || len(rates) != 2 {
		t.Fatal(rates, err)
	}
	if rates[0].Service != "priority_overnight_extra_hours" || rates[0].ServiceName != "FedEx Priority Overnight Extra Hours" || rates[1].Service != "first_overnight_extra_hours" || rates[1].Selection != "" {
		t.Errorf("%+v", rates)
	}

	b := buyOrder()
	b.Service, b.Selection = rates[0].Service, rates[0].Selection
	wire := &overheard{via: canned{400, `{}`}}
	if _, err := open(t, credentials(), wire).Buy(t.Context(), b); err == nil {
		t.Fatal("sold")
	}
	if body := string(wire.bodies[len(wire.bodies)-1]); !strings.Contains(body, `"serviceType":"PRIORITY_OVERNIGHT_EXTRA_HOURS"`) {
		t.Errorf("it asks for %s", body)
	}
	if _, known := fedex.Spec.Service("standard_overnight_extra_hours"); !known {
		t.Error("standard overnight has no extra hours")
	}
}
