package dhlexpress_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/emulator"
	standin "github.com/waybillhq/waybill/internal/emulator/dhlexpress"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// orders returns all the kinds of shipments that there are.
func orders() map[string]carrier.BuyOrder {
	list := map[string]carrier.BuyOrder{"domestic": domesticOrder(), "goods": foreignOrder()}
	add := func(name string, b carrier.BuyOrder, change func(*carrier.BuyOrder)) {
		change(&b)
		list[name] = b
	}
	add("inside the union", domesticOrder(), func(b *carrier.BuyOrder) {
		b.Service = "express_worldwide"
		b.Order.Destination.Country, b.Order.Destination.Zip, b.Order.Destination.City = "FR", "75001", "Paris"
	})
	add("Canary Islands", foreignOrder(), func(b *carrier.BuyOrder) {
		b.Order.Destination.Country, b.Order.Destination.State, b.Order.Destination.Zip = "ES", "", "35001"
	})
	add("documents", foreignOrder(), func(b *carrier.BuyOrder) {
		b.Order.Customs.ContentsType = "documents"
		b.Order.Parcels = []ship.Parcel{{WeightGrams: 80, Packaging: "dhl_envelope"}}
		b.Order.Options.InsuredValue = ship.Money{Minor: 50000, Currency: "EUR"}
	})
	add("every option", foreignOrder(), func(b *carrier.BuyOrder) {
		home := true
		b.Service = "express_12"
		b.Order.Options = ship.Options{Signature: "adult", SaturdayDelivery: true, InsuredValue: ship.Money{Minor: 123450, Currency: "EUR"}}
		b.Order.Billing = &ship.Billing{Type: "third_party", Account: "950000001"}
		b.Order.Customs.Incoterm = "DDP"
		b.Order.Destination.Residential = &home
		b.Order.ShipDate = ship.DateOf(time.Now().AddDate(0, 0, 3))
	})
	add("to a service point", domesticOrder(), func(b *carrier.BuyOrder) {
		b.Service = "express_domestic"
		b.Order.Options = ship.Options{ServicePoint: "BER001", Signature: "direct", CarbonNeutral: true}
	})
	add("batteries and ice, held and paid in cash", foreignOrder(), func(b *carrier.BuyOrder) {
		b.Order.Options = ship.Options{
			HoldAtLocation:   true,
			DryIce:           ship.DryIce{Weight: 100, WeightGrams: 100},
			LithiumBatteries: ship.LithiumBatteries{Type: "ion", Packed: "in_equipment"},
			COD:              ship.COD{Amount: ship.Money{Minor: 5000, Currency: "EUR"}, Method: "cash"},
		}
	})
	add("a return", foreignOrder(), func(b *carrier.BuyOrder) {
		b.Order.Origin, b.Order.Destination = b.Order.Destination, b.Order.Origin
		b.Order.IsReturn = true
		b.Order.Customs.TaxIDs = []string{"12-3456789", "IM2760000742"}
	})
	add("many pieces", domesticOrder(), func(b *carrier.BuyOrder) {
		b.Order.Options = ship.Options{Signature: "standard", SaturdayDelivery: true}
		for range 24 {
			b.Order.Parcels = append(b.Order.Parcels, ship.Parcel{WeightGrams: 500, Packaging: "dhl_box_3"})
		}
	})
	return list
}

func TestEveryShipmentIsQuotedBoughtAndFound(t *testing.T) {
	contract := newContract(t)
	for name, b := range orders() {
		t.Run(name, func(t *testing.T) {
			s := newStandIn(t)
			c := openWith(t, credentials, contract.Checked(carriertest.Server(t, s)))
			rates, err := c.Rates(t.Context(), b.Order)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(rates, func(r ship.Rate) bool { return r.Service == b.Service })
			if i < 0 || rates[i].TransitDays == 0 || rates[i].DeliveryAt.Before(time.Now()) {
				t.Fatalf("%s is not among %+v", b.Service, rates)
			}
			if rates[i].Selection == "" || len(rates[i].Charges) == 0 || rates[i].BillableWeightGrams == 0 || sum(rates[i].Charges) != rates[i].Price {
				t.Errorf("the rate is %+v", rates[i])
			}
			b.Selection = rates[i].Selection
			p, err := c.Buy(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			e := s.Ledger.Entries()[0]
			if p.Price != rates[i].Price || p.Price.Amount() != e.Amount || p.Price.Currency != e.Currency {
				t.Errorf("quoted %v, bought for %v, the ledger says %s %s", rates[i].Price, p.Price, e.Amount, e.Currency)
			}
			if e.Reference != b.Reference || e.Second != b.Order.OrderID || e.Number != p.TrackingNumber || e.Account != standin.Account {
				t.Errorf("the ledger says %+v", e)
			}
			checkPapers(t, b, p)
			found, err := c.Find(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			if found.TrackingNumber != p.TrackingNumber || !slices.Equal(found.Pieces, p.Pieces) || len(found.Label.Data) > 0 || found.DeliveryAt.IsZero() {
				t.Errorf("bought %+v, found %+v", p.TrackingNumber, found)
			}
		})
	}
}

func sum(charges []ship.Charge) ship.Money {
	total := ship.Money{Currency: charges[0].Amount.Currency}
	for _, c := range charges {
		total.Minor += c.Amount.Minor
	}
	return total
}

func checkPapers(t *testing.T, b carrier.BuyOrder, p ship.Sale) {
	t.Helper()
	n := len(b.Order.Parcels)
	if n > 1 && len(p.Pieces) != n || n == 1 && len(p.Pieces) != 0 {
		t.Errorf("%d parcels have the numbers %v", n, p.Pieces)
	}
	if p.Label.Format != "pdf" || bytes.Count(p.Label.Data, []byte("/Type/Page/")) != n {
		t.Errorf("the label of %d parcels has %d pages", n, bytes.Count(p.Label.Data, []byte("/Type/Page/")))
	}
	if !bytes.Contains(p.Label.Data, []byte(b.Order.OrderID)) || bytes.Contains(p.Label.Data, []byte(b.Shipment)) {
		t.Error("the label does not show the order number, or shows our own id")
	}
	if err := label.Lint("pdf", p.Label.Data); err != nil {
		t.Errorf("the label: %v", err)
	}
	goods := b.Order.Customs != nil && b.Order.Customs.ContentsType != "documents"
	if goods != (len(p.Documents) == 1 && p.Documents[0].Type == "commercial_invoice") {
		t.Errorf("the documents are %d", len(p.Documents))
	}
}

func TestTheCarrierSaysNo(t *testing.T) {
	contract := newContract(t, departures...)
	for name, c := range map[string]struct {
		change  func(*carrier.BuyOrder)
		code    string
		text    string
		pointer string
	}{
		"vague goods":   {func(b *carrier.BuyOrder) { b.Order.Customs.Items[1].Description = "Stuff" }, "7147", "update the description", "/customs/items/1/description"},
		"not on a lane": {func(b *carrier.BuyOrder) { b.Service = "express_easy" }, "996", "not available", "/service"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStandIn(t)
			b := foreignOrder()
			c.change(&b)
			_, err := openWith(t, credentials, contract.Checked(carriertest.Server(t, s))).Buy(t.Context(), b)
			e, ok := errors.AsType[*ship.Error](err)
			if !ok || e.Kind != ship.Invalid || e.Refusal.Code != c.code || !strings.Contains(e.Refusal.Message, c.text) || pointers(err) != c.pointer {
				t.Errorf("err = %+v", err)
			}
			if n := len(s.Ledger.Entries()); n != 0 {
				t.Errorf("%d sales", n)
			}
		})
	}
	other := carrier.Credentials{"api_key": standin.APIKey, "api_secret": standin.APISecret, "account_number": "987654321"}
	c := openWith(t, other, contract.Checked(carriertest.Server(t, newStandIn(t))))
	if _, err := c.Rates(t.Context(), domesticOrder().Order); ship.KindOf(err) != ship.Forbidden || !strings.Contains(refusalText(err), "account number") {
		t.Errorf("a wrong account: %v %q", err, refusalText(err))
	}
	if _, err := c.Buy(t.Context(), domesticOrder()); ship.KindOf(err) != ship.Forbidden {
		t.Errorf("a wrong account: %v", err)
	}
	wrong := carrier.Credentials{"api_key": standin.APIKey, "api_secret": "another-secret", "account_number": standin.Account}
	if err := openWith(t, wrong, contract.Checked(carriertest.Server(t, newStandIn(t)))).Check(t.Context()); ship.KindOf(err) != ship.Forbidden {
		t.Errorf("a wrong secret: %v", err)
	}
}

// seenBodies keeps what was sent to each path.
type seenBodies struct {
	via  carrier.Doer
	sent map[string]string
}

func (s *seenBodies) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		s.sent[r.URL.Path] = string(body)
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return s.via.Do(r)
}

func TestPaperlessTradeIsUsedWhereTheQuoteOffersIt(t *testing.T) {
	contract := newContract(t)
	for name, c := range map[string]struct {
		change    func(*carrier.BuyOrder)
		unquoted  bool
		paperless bool
		warned    bool
	}{
		"offered":             {func(*carrier.BuyOrder) {}, false, true, false},
		"asked for":           {func(b *carrier.BuyOrder) { b.Order.Customs.Paperless = "auto" }, false, true, false},
		"turned off":          {func(b *carrier.BuyOrder) { b.Order.Customs.Paperless = "off" }, false, false, false},
		"not on this lane":    {func(b *carrier.BuyOrder) { toBrazil(b) }, false, false, true},
		"bought with no rate": {func(*carrier.BuyOrder) {}, true, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			via := &seenBodies{via: contract.Checked(carriertest.Server(t, newStandIn(t))), sent: map[string]string{}}
			dhl := openWith(t, credentials, via)
			b := foreignOrder()
			c.change(&b)
			rates, err := dhl.Rates(t.Context(), b.Order)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(rates, func(r ship.Rate) bool { return r.Service == b.Service })
			if !c.unquoted {
				b.Selection = rates[i].Selection
			}
			p, err := dhl.Buy(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			sent := via.sent["/mydhlapi/test/shipments"]
			if strings.Contains(sent, `"WY"`) != c.paperless {
				t.Errorf("sent %s", sent)
			}
			if len(p.Documents) != 1 || p.Documents[0].Type != "commercial_invoice" {
				t.Errorf("documents %d", len(p.Documents))
			}
			if slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, "print the commercial invoice") }) != c.warned {
				t.Errorf("warnings %q", p.Warnings)
			}
		})
	}
}

func TestAReturnIsKeptWhereTheQuoteOffersIt(t *testing.T) {
	contract := newContract(t)
	for name, c := range map[string]struct {
		change func(*carrier.BuyOrder)
		quoted bool
		kept   bool
	}{
		"offered":            {func(*carrier.BuyOrder) {}, true, true},
		"inside the country": {func(b *carrier.BuyOrder) { *b = domesticOrder(); b.Order.IsReturn = true }, true, true},
		"not from there": {func(b *carrier.BuyOrder) {
			b.Order.Origin.Country, b.Order.Origin.State, b.Order.Origin.Zip = "NG", "", ""
		}, true, false},
		"bought with no rate": {func(*carrier.BuyOrder) {}, false, false},
		"not a return":        {func(b *carrier.BuyOrder) { b.Order.IsReturn = false }, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			via := &seenBodies{via: contract.Checked(carriertest.Server(t, newStandIn(t))), sent: map[string]string{}}
			dhl := openWith(t, credentials, via)
			b := foreignOrder()
			b.Order.Origin, b.Order.Destination = b.Order.Destination, b.Order.Origin
			b.Order.Customs.TaxIDs = nil
			b.Order.IsReturn = true
			c.change(&b)

			rates, err := dhl.Rates(t.Context(), b.Order)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(rates, func(r ship.Rate) bool { return r.Service == b.Service })
			if c.quoted {
				b.Selection = rates[i].Selection
			}
			p, err := dhl.Buy(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}

			sent := via.sent["/mydhlapi/test/shipments"]
			warned := slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, "within a few days") })
			if strings.HasSuffix(b.Selection, " PT") != c.kept || strings.Contains(sent, `"serviceCode":"PT"`) != c.kept || warned != (b.Order.IsReturn && !c.kept) {
				t.Errorf("sent %s, warned %q", sent, p.Warnings)
			}
			if strings.Contains(sent, `{"typeCode":"payer","number":"`+standin.Account+`"}`) != b.Order.IsReturn {
				t.Errorf("the accounts are in %s", sent)
			}
			if hasTemplate := strings.Contains(sent, "RET_COM_INVOICE_A4_01"); hasTemplate != (b.Order.IsReturn && b.Order.Customs != nil) {
				t.Errorf("the template is in %s", sent)
			}
		})
	}
}

func toBrazil(b *carrier.BuyOrder) {
	b.Order.Destination.Country = "BR"
	b.Order.Destination.State = "SP"
	b.Order.Destination.City = "Sao Paulo"
	b.Order.Destination.Zip = "01310-100"
	b.Order.Customs.TaxIdentifiers = []ship.TaxIdentifier{{Type: "cpf", Number: "123.456.789-09", Party: "importer"}}
	b.Order.Origin.Type = "business"
	b.Order.Destination.Type = "consumer"
}

func TestTheLocalProductIsBoughtAsQuoted(t *testing.T) {
	dhl := openWith(t, credentials, newContract(t).Checked(carriertest.Server(t, newStandIn(t))))
	b := domesticOrder()
	b.Order.Origin.Country, b.Order.Origin.Zip, b.Order.Origin.City = "GB", "EC1A 1BB", "London"
	b.Order.Destination.Country, b.Order.Destination.Zip, b.Order.Destination.City = "GB", "M1 1AE", "Manchester"
	if _, err := dhl.Buy(t.Context(), b); ship.KindOf(err) != ship.Invalid || pointers(err) != "/service" {
		t.Errorf("without the quote's product: %v %s", err, pointers(err))
	}
	rates, err := dhl.Rates(t.Context(), b.Order)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(rates, func(r ship.Rate) bool { return r.Service == b.Service })
	b.Selection = rates[i].Selection
	if _, err := dhl.Buy(t.Context(), b); err != nil {
		t.Errorf("with the quote's product: %v", err)
	}
}

// pointers returns the fields of an error.
func pointers(err error) string {
	e, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return ""
	}
	var list []string
	for _, f := range e.Fields {
		list = append(list, f.Pointer)
	}
	return strings.Join(list, " ")
}

// Credentials that DHL repeats must not appear anywhere in an error.
func TestNoErrorRepeatsTheCredentials(t *testing.T) {
	login := base64.StdEncoding.EncodeToString([]byte(standin.APIKey + ":" + standin.APISecret))
	body := `{"title":"Bad request","additionalDetails":["#/content/incoterm: you sent ` + login + `","#/productCode: with ` + standin.APISecret + `"]}`
	_, err := openWith(t, credentials, &fixed{status: 422, body: body}).Buy(t.Context(), domesticOrder())
	e, ok := errors.AsType[*ship.Error](err)
	if text := fmt.Sprintf("%+v", e); !ok || len(e.Fields) != 2 || strings.Contains(text, login) || strings.Contains(text, standin.APISecret) {
		t.Errorf("err = %s", text)
	}
}

func refusalText(err error) string {
	e, _ := errors.AsType[*ship.Error](err)
	return e.Refusal.Message
}

func TestALostAnswerIsUncertainAndFoundLater(t *testing.T) {
	for _, fault := range []string{"hang", "reset", "500", "502", "truncate"} {
		t.Run(fault, func(t *testing.T) {
			s := newStandIn(t)
			c := openWith(t, credentials, carriertest.Server(t, s))
			if fault == "hang" {
				c.Deadlines.Buy = time.Second // a busy machine needs some of it to reach the carrier
			}
			if err := s.Turn(emulator.Faults{Buy: map[string]float64{fault: 1}, LookupLag: new(emulator.Duration(50 * time.Millisecond))}); err != nil {
				t.Fatal(err)
			}
			b := foreignOrder()
			if _, err := c.Buy(t.Context(), b); ship.KindOf(err) != ship.Uncertain {
				t.Fatalf("Buy: %v, want uncertain", err)
			}
			time.Sleep(60 * time.Millisecond)
			p, err := c.Find(t.Context(), b)
			if err != nil || p.TrackingNumber != s.Ledger.Entries()[0].Number {
				t.Errorf("Find = %s, %v", p.TrackingNumber, err)
			}
		})
	}
}

// fixed gives every request the same response.
type fixed struct {
	status int
	body   string
	seen   *http.Request
}

func (f *fixed) Do(r *http.Request) (*http.Response, error) {
	f.seen = r
	return &http.Response{
		StatusCode: f.status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(f.body)),
	}, nil
}

func TestOnlyDHLCanSayThatThereIsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   ship.Kind
	}{
		"DHL says so":          {404, `{"title":"Not data found","detail":"No Shipments Found for ReferenceID | X","status":"404"}`, ship.NotFound},
		"DHL says so with 200": {200, `{"shipments":[]}`, ship.NotFound},
		"a proxy says so":      {404, `<html>404 page not found</html>`, ship.Unavailable},
		"an empty page":        {404, ``, ship.Unavailable},
		"nobody says anything": {200, `{}`, ship.Unavailable},
		"another's shipment":   {200, `{"shipments":[{"shipmentTrackingNumber":"2100000010","status":"Success","shipperReferences":[{"value":"other"}],"events":[]}]}`, ship.NotFound},
		"a failed line":        {200, `{"shipments":[{"shipmentTrackingNumber":"2100000010","status":"No Shipments Found","events":[]}]}`, ship.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := openWith(t, credentials, &fixed{status: c.status, body: c.body}).Find(t.Context(), domesticOrder())
			if ship.KindOf(err) != c.want {
				t.Errorf("%v: %s, want %s", err, ship.KindOf(err), c.want)
			}
		})
	}
}

func TestTheOldestOfSeveralIsFound(t *testing.T) {
	via := &fixed{status: 200, body: `{"shipments":[
		{"shipmentTrackingNumber":2100000036,"status":"Success","shipmentTimestamp":"2026-11-16T10:00:01","events":[]},
		{"shipmentTrackingNumber":2100000025,"status":"Success","shipmentTimestamp":"2026-11-16T10:00:00","estimatedDeliveryDate":"2026-11-18","events":[]}]}`}
	p, err := openWith(t, credentials, via).Find(t.Context(), domesticOrder())
	if err != nil || p.TrackingNumber != "2100000025" {
		t.Fatalf("Find = %s, %v", p.TrackingNumber, err)
	}
	if want := "2026-11-18T23:59:00+01:00"; p.DeliveryAt.Format(time.RFC3339) != want {
		t.Errorf("delivery at %v, want %s", p.DeliveryAt, want)
	}
	q, day := via.seen.URL.Query(), func(n int) string { return time.Now().UTC().AddDate(0, 0, n).Format(time.DateOnly) }
	if q.Get("shipmentReference") != ref || q.Get("shipperAccountNumber") != standin.Account || q.Get("dateRangeTo") < day(1) || q.Get("dateRangeFrom") > day(-1) {
		t.Errorf("asked for %v", q)
	}
}

func TestPurchasesAreReadAsTheyCome(t *testing.T) {
	const pdf = "JVBERi0xLjQKJSVFT0YK" // a PDF of two lines
	for name, c := range map[string]struct {
		parcels int
		body    string
		want    ship.Kind
		labels  int // bytes
		others  int
	}{
		"number without quotes": {1, `{"shipmentTrackingNumber":2100000025,"documents":[{"imageFormat":"PDF","typeCode":"label","content":"` + pdf + `"}]}`, "", 15, 0},
		"the courier's copy":    {1, `{"shipmentTrackingNumber":"2100000025","documents":[{"imageFormat":"PDF","typeCode":"label","content":"` + pdf + `"},{"imageFormat":"PDF","typeCode":"label","content":"` + pdf + `"}]}`, "", 15, 1},
		"a label a piece":       {2, `{"shipmentTrackingNumber":"2100000025","packages":[{"referenceNumber":2,"trackingNumber":"JD2"},{"referenceNumber":1,"trackingNumber":"JD1"}],"documents":[{"imageFormat":"PDF","typeCode":"label","content":"` + pdf + `"},{"imageFormat":"PDF","typeCode":"label","content":"` + pdf + `"}]}`, "", 9 + 4 + 2*(4+15), 0},
		"a piece is missing":    {2, `{"shipmentTrackingNumber":"2100000025","packages":[{"referenceNumber":1,"trackingNumber":"JD1"}],"documents":[{"imageFormat":"PDF","typeCode":"label","content":"` + pdf + `"}]}`, ship.Uncertain, 0, 0},
		"no label":              {1, `{"shipmentTrackingNumber":"2100000025","documents":[{"imageFormat":"PDF","typeCode":"invoice","content":"` + pdf + `"}]}`, ship.Uncertain, 0, 0},
		"half a label":          {1, `{"shipmentTrackingNumber":"2100000025","documents":[{"imageFormat":"PDF","typeCode":"label","content":"JVBERi0xLjQK"}]}`, ship.Uncertain, 0, 0},
		"another format":        {1, `{"shipmentTrackingNumber":"2100000025","documents":[{"imageFormat":"ZPL","typeCode":"label","content":"` + pdf + `"}]}`, ship.Uncertain, 0, 0},
		"no number":             {1, `{"documents":[{"imageFormat":"PDF","typeCode":"label","content":"` + pdf + `"}]}`, ship.Uncertain, 0, 0},
		"an error as a success": {1, `{"instance":"/expressapi/shipments","detail":"7120: no invoice","title":"Bad request","status":"400"}`, ship.Uncertain, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := domesticOrder()
			b.Order.Parcels = slices.Repeat(b.Order.Parcels, c.parcels)
			p, err := openWith(t, credentials, &fixed{status: 201, body: c.body}).Buy(t.Context(), b)
			if ship.KindOf(err) != c.want || len(p.Label.Data) != c.labels || len(p.Documents) != c.others {
				t.Fatalf("Buy = %d bytes and %d papers, %v", len(p.Label.Data), len(p.Documents), err)
			}
			if c.parcels == 2 && err == nil && !slices.Equal(p.Pieces, []string{"JD1", "JD2"}) {
				t.Errorf("pieces %v", p.Pieces)
			}
		})
	}
}
