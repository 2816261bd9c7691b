package fedex_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/fedex"
	"github.com/waybillhq/waybill/internal/ship"
)

// pointersOf returns the fields that an error points at.
func pointersOf(t *testing.T, err error) []string {
	t.Helper()
	e, ok := errors.AsType[*ship.Error](err)
	if !ok || e.Kind != ship.Invalid {
		t.Fatalf("%v, want an invalid order", err)
	}
	var list []string
	for _, f := range e.Fields {
		if !strings.Contains(f.Detail, "FedEx") || !strings.HasSuffix(f.Detail, ".") {
			t.Errorf("%s: %q is no sentence that names FedEx", f.Pointer, f.Detail)
		}
		list = append(list, f.Pointer)
	}
	return list
}

func TestAllProblemsOfAnOrderComeTogether(t *testing.T) {
	b := abroad()
	b.Order.Origin.Phone = ""
	b.Order.Origin.Company = strings.Repeat("Acme ", 8)
	b.Order.Destination.Name = "山田太郎"
	b.Order.Parcels[0].Packaging = "ups_tube"
	b.Order.Options.InsuredValue = ship.Money{Minor: 1e9, Currency: "USD"}
	b.Order.Customs.Items[0].Description = strings.Repeat("shirt ", 100)
	b.Order.Customs.Items[1].Value.Currency = "EUR"
	b.Order.Customs.TaxIdentifiers = []ship.TaxIdentifier{{Type: "vat", Number: "12345678901234567890"}}
	b.Order.Customs.TaxIDs = []string{"12345678901234567890"}
	c := open(t, credentials(), silent{})

	_, err := c.Buy(t.Context(), b)
	got := pointersOf(t, err)
	for _, want := range []string{
		"/origin/phone", "/origin/company", "/destination/name", "/parcels/0/packaging", "/options/insuredValue",
		"/customs/items/0/description", "/customs/items/1/value/currency", "/customs/taxIdentifiers/0/number", "/customs/taxIds/0",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("nothing about %s in %v", want, got)
		}
	}
	if message := err.Error(); !strings.Contains(message, "FedEx needs a phone number for the sender") || !strings.Contains(message, "18 characters") {
		t.Errorf("the message is %q", message)
	}

	_, err = c.Rates(t.Context(), b.Order)
	if got := pointersOf(t, err); !slices.Equal(got, []string{"/parcels/0/packaging", "/options/insuredValue"}) {
		t.Errorf("a quote complains of %v", got)
	}
}

// Fields that FedEx needs only for a label must not prevent a quote.
func TestQuotesNeedNeitherPhonesNorGoods(t *testing.T) {
	o := abroad().Order
	o.Origin.Phone, o.Destination.Phone = "", ""
	o.Destination.Name, o.Destination.City = "山田太郎", "ロンドン"
	for name, customs := range map[string]*ship.Customs{
		"no goods": nil,
		"goods in two currencies": {Items: []ship.CustomsItem{
			{Description: "Shirt", Quantity: 1, Value: ship.Money{Minor: 100, Currency: "USD"}},
			{Description: "Cap", Quantity: 1, Value: ship.Money{Minor: 100, Currency: "EUR"}},
		}},
	} {
		o.Customs = customs
		rates, err := open(t, credentials(), carriertest.Server(t, newServer(t))).Rates(t.Context(), o)
		if err != nil || len(rates) == 0 {
			t.Errorf("%s: %v %v", name, rates, err)
		}
	}
}

// A refusal points at our request where FedEx's code says what it is about, and
// never repeats FedEx's text, which may contain the request.
func TestRefusalsPointAtTheOrder(t *testing.T) {
	for codes, want := range map[string][]string{
		"SHIPMENT.RECIPIENT.PHONENUMBER.INVALID":            {"/destination/phone"},
		"SHIPPER.POSTALCODE.INVALID":                        {"/origin/zip"},
		"DESTINATION.POSTAL.REQUIRED":                       {"/destination/zip"},
		"RECIPIENTS.STATEORPROVINCECODE.INVALID":            {"/destination/state"},
		"PACKAGE.WEIGHT.EXCEEDED":                           {"/parcels/0/weight"},
		"COMMODITY.HARMONIZEDCODE.INVALID":                  {"/customs/items"},
		"SHIPPER.TINS.NUMBER.INVALID SHIPDATESTAMP.INVALID": {"/customs/taxIdentifiers", "/shipDate"},
		"SERVICE.TYPE.INVALID":                              {"/service"},
		"SYSTEM.UNEXPECTED.ERROR":                           nil,
		"POSTALCODE.INVALID":                                nil, // whose?
	} {
		var list []string
		for code := range strings.FieldsSeq(codes) {
			list = append(list, `{"code":"`+code+`","message":"ugly words"}`)
		}
		c := open(t, credentials(), canned{400, `{"errors":[` + strings.Join(list, ",") + `]}`})
		_, bought := c.Buy(t.Context(), buyOrder())
		_, quoted := c.Rates(t.Context(), order())
		for _, err := range []error{bought, quoted} {
			if got := pointersOf(t, err); !slices.Equal(got, want) {
				t.Errorf("%s points at %v, want %v", codes, got, want)
			}
			e, _ := errors.AsType[*ship.Error](err)
			first, _, _ := strings.Cut(codes, " ")
			if e.Refusal.Code != first || !strings.Contains(e.Refusal.Message, "ugly words") {
				t.Errorf("%s: the refusal is %+v", codes, e.Refusal)
			}
			for _, f := range e.Fields {
				if strings.Contains(f.Detail, "ugly words") {
					t.Errorf("%s: the detail is FedEx's text: %q", codes, f.Detail)
				}
			}
		}
	}

	// With several parcels it is not known which one is too heavy.
	c := open(t, credentials(), canned{400, `{"errors":[{"code":"PACKAGE.WEIGHT.EXCEEDED","message":"no"}]}`})
	_, bought := c.Buy(t.Context(), pieces())
	_, quoted := c.Rates(t.Context(), pieces().Order)
	for _, err := range []error{bought, quoted} {
		if got := pointersOf(t, err); !slices.Equal(got, []string{"/parcels"}) {
			t.Errorf("three parcels: %v", got)
		}
	}

	// Which side is meant may stand in the message or in a parameter.
	for _, body := range []string{
		`{"errors":[{"code":"POSTALCODE.INVALID","message":"The recipient's postal code is wrong."}]}`,
		`{"errors":[{"code":"POSTALCODE.INVALID","message":"Wrong.","parameterList":[{"key":"requestedShipment.recipients[0].address.postalCode","value":"1"}]}]}`,
	} {
		_, err := open(t, credentials(), canned{400, body}).Buy(t.Context(), buyOrder())
		if got := pointersOf(t, err); !slices.Equal(got, []string{"/destination/zip"}) {
			t.Errorf("%s points at %v", body, got)
		}
	}
}

// The test environment answers recorded requests alone. That is not the order's
// fault, and does not prove that a purchase does not exist.
func TestRequestsThatTheTestEnvironmentDoesNotKnow(t *testing.T) {
	c := open(t, credentials(), canned{400, `{"errors":[{"code":"REQUEST.MISMATCH","message":"Response is unavailable for the request payload sent to this virtualized sandbox instance."}]}`})
	_, rates := c.Rates(t.Context(), order())
	_, buy := c.Buy(t.Context(), buyOrder())
	_, void := c.Void(t.Context(), ship.Purchase{CarrierRef: "794791341818"})
	for _, err := range []error{rates, buy, void} {
		e, ok := errors.AsType[*ship.Error](err)
		if !ok || e.Kind != ship.Unsupported || e.Refusal.Code != "REQUEST.MISMATCH" || !strings.Contains(e.Message, "the FedEx test environment does not answer this request") {
			t.Errorf("%v, want that it is not testable", err)
		}
	}
	if _, err := c.Find(t.Context(), buyOrder()); ship.KindOf(err) != ship.Unavailable {
		t.Errorf("find: %v, want unavailable", err)
	}
	if err := c.Check(t.Context()); err != nil {
		t.Errorf("check: %v; the keys were let in", err)
	}

	live, err := carrier.Open(fedex.Spec, carrier.Opening{Credentials: credentials(), BaseURL: fedex.Spec.LiveURL, Live: true, Via: canned{400, `{"errors":[{"code":"REQUEST.MISMATCH"}]}`}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := live.Void(t.Context(), ship.Purchase{CarrierRef: "794791341818"}); ship.KindOf(err) != ship.Unavailable {
		t.Errorf("a void in production: %v, want unavailable", err)
	}

	recorded := canned{200, `{"output":{"alerts":[{"code":"VIRTUAL.RESPONSE","message":"This is a Virtual Response."}],"transactionShipments":[{"masterTrackingNumber":"794953555571","pieceResponses":[]}]}}`}
	if _, err := open(t, credentials(), recorded).Buy(t.Context(), buyOrder()); ship.KindOf(err) != ship.Unsupported {
		t.Errorf("a recorded answer: %v, want unsupported", err)
	}
}
