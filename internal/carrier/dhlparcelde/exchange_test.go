package dhlparcelde_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/dhlparcelde"
	"github.com/waybillhq/waybill/internal/emulator"
	standin "github.com/waybillhq/waybill/internal/emulator/dhlparcelde"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// changed returns an order with a change.
func changed(b carrier.BuyOrder, change func(*carrier.BuyOrder)) carrier.BuyOrder {
	change(&b)
	return b
}

// orders are all the kinds of shipments that there are.
func orders() map[string]carrier.BuyOrder {
	return map[string]carrier.BuyOrder{
		"domestic": domesticOrder(),
		"goods":    foreignOrder(),
		"ZPL": changed(domesticOrder(), func(b *carrier.BuyOrder) {
			b.Order.LabelFormat = "zpl"
		}),
		"every option": changed(domesticOrder(), func(b *carrier.BuyOrder) {
			b.Order.Options = ship.Options{
				Signature: "direct", SaturdayDelivery: true, CarbonNeutral: true,
				InsuredValue: ship.Money{Minor: 250000, Currency: "EUR"},
			}
			b.Order.ShipDate = ship.DateOf(time.Now().AddDate(0, 0, 3))
		}),
		"adult": changed(domesticOrder(), func(b *carrier.BuyOrder) { b.Order.Options.Signature = "adult" }),
		"Packstation": changed(domesticOrder(), func(b *carrier.BuyOrder) {
			b.Order.Options.ServicePoint = "packstation-118"
			b.Order.Destination.Company = "12345678"
		}),
		"post office": changed(domesticOrder(), func(b *carrier.BuyOrder) {
			b.Service = "kleinpaket"
			b.Order.Options.ServicePoint = "filiale-502"
			b.Order.Destination.Email = "ann@example.com"
		}),
		"inside the union": changed(domesticOrder(), func(b *carrier.BuyOrder) {
			b.Service = "warenpost_international_premium"
			b.Order.Destination.Country, b.Order.Destination.Zip, b.Order.Destination.City = "FR", "75001", "Paris"
		}),
		"economy": changed(foreignOrder(), func(b *carrier.BuyOrder) { b.Service = "paket_international" }),
		"duties paid": changed(foreignOrder(), func(b *carrier.BuyOrder) {
			b.Service = "paket_international_premium"
			b.Order.Customs.Incoterm = "DDP"
		}),
		"goods in francs": changed(foreignOrder(), func(b *carrier.BuyOrder) {
			b.Order.Destination.Country, b.Order.Destination.State, b.Order.Destination.Zip, b.Order.Destination.City = "CH", "", "8001", "Zürich"
			b.Order.Customs.Items = []ship.CustomsItem{{Description: "Watch", Quantity: 1, Value: ship.Money{Minor: 12000, Currency: "CHF"}, WeightGrams: 300}}
		}),
		"Europaket to Switzerland": changed(foreignOrder(), func(b *carrier.BuyOrder) {
			b.Service = "europaket"
			b.Order.Destination.Country, b.Order.Destination.State, b.Order.Destination.Zip, b.Order.Destination.City = "CH", "", "8001", "Zürich"
			b.Order.Customs.ContentsType = "other"
			b.Order.Customs.Incoterm = "DDP"
		}),
	}
}

// TestEveryShipmentIsBoughtAndVoided compares each kind with the ledger, and its
// exchanges with DHL's files.
func TestEveryShipmentIsBoughtAndVoided(t *testing.T) {
	contract := newContracts(t)
	for name, b := range orders() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStandIn(t)
			c := openWith(t, credentials(), contract.checked(carriertest.Server(t, s)))
			sale, err := c.Buy(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}

			e := s.Ledger.Entries()[0]
			if e.Reference != b.Reference || e.Second != b.Order.OrderID || e.Number != sale.TrackingNumber {
				t.Errorf("the ledger has %+v, bought %s", e, sale.TrackingNumber)
			}
			if err := label.Lint(sale.Label.Format, sale.Label.Data); err != nil {
				t.Errorf("the label: %v", err)
			}
			if !bytes.Contains(sale.Label.Data, []byte(b.Order.OrderID)) || bytes.Contains(sale.Label.Data, []byte(b.Shipment)) {
				t.Error("the label does not show the order number, or shows our own id")
			}
			if hasForm := len(sale.Documents) == 1 && sale.Documents[0].Type == "customs_form"; hasForm != (b.Order.Customs != nil) {
				t.Errorf("the documents are %d", len(sale.Documents))
			}
			if len(sale.Warnings) > 0 {
				t.Errorf("warnings: %q", sale.Warnings)
			}

			// The answer to the first void may have been lost.
			for range 2 {
				voided, err := c.Void(t.Context(), ship.Purchase{CarrierRef: sale.CarrierRef})
				if err != nil || voided.State != ship.StateVoided {
					t.Errorf("voided: %+v %v", voided, err)
				}
			}
			if n := len(s.Ledger.Entries()); n != 2 {
				t.Errorf("%d lines in the ledger, want a sale and a void", n)
			}
		})
	}
}

// TestOnlyAnUnknownShipmentIsVoidedAlready has DHL refuse to delete a label: unless
// it says that it has no such shipment, the label can still be used and costs money.
func TestOnlyAnUnknownShipmentIsVoidedAlready(t *testing.T) {
	t.Parallel()
	void := func(given carrier.Credentials, via carrier.Doer) error {
		_, err := openWith(t, given, via).Void(t.Context(), ship.Purchase{CarrierRef: "00340434000000000001"})
		return err
	}
	elsewhere := credentials()
	elsewhere["profile"] = "ANOTHER_PROFILE"
	if err := void(elsewhere, carriertest.Server(t, newStandIn(t))); err == nil {
		t.Error("a label is voided under a group profile that DHL does not know")
	}

	for words, isVoided := range map[string]bool{
		"Unknown shipment number.":   true,
		"Die Sendung ist unbekannt.": true,
		"The shipment was not found": true,
		"Die Sendung wurde bereits manifestiert und kann nicht gelöscht werden.": false,
		"The shipment could not be deleted: unknown user group":                  false,
		"Unknown billing number": false,
	} {
		body := fmt.Sprintf(`{"status":{"title":"","status":207},"items":[{"shipmentNo":"1","sstatus":{"title":%q,"status":400}}]}`, words)
		via := carriertest.Answer{Path: "/orders", Status: http.StatusMultiStatus, Body: body}.Instead(carriertest.Server(t, newStandIn(t)))
		if err := void(credentials(), via); (err == nil) != isVoided {
			t.Errorf("%s: %v", words, err)
		}
	}
}

// TestAClosedShipmentIsNotVoided has DHL say that it has no such shipment: it may
// have been deleted, or closed and charged, which the manifests show.
func TestAClosedShipmentIsNotVoided(t *testing.T) {
	t.Parallel()
	const number = "00340434000000000001"
	const unknown = `{"status":{"title":"","status":207},"items":[{"shipmentNo":"` + number + `","sstatus":{"title":"Unknown shipment number.","status":400}}]}`
	now := time.Now()
	for name, c := range map[string]struct {
		status int
		body   string
		bought time.Time
		want   ship.Kind
	}{
		"on a manifest":                  {http.StatusOK, `{"items":[{"shipmentNo":"1"},{"shipmentNo":"` + number + `"}]}`, now, ship.Invalid},
		"on none":                        {http.StatusOK, `{"items":[{"shipmentNo":"1"}]}`, now.AddDate(0, 0, -3), ""},
		"no manifest of the day":         {http.StatusNotFound, `{}`, now.AddDate(0, 0, -3), ""},
		"no day yet":                     {http.StatusBadRequest, `{}`, now, ""},
		"a day that is too old":          {http.StatusBadRequest, `{}`, now.AddDate(0, 0, -90), ship.Invalid},
		"manifests may not be looked at": {http.StatusForbidden, `{}`, now, ship.Invalid},
		"it fails":                       {http.StatusInternalServerError, `{}`, now, ship.Uncertain},
		"no list":                        {http.StatusOK, `{}`, now, ship.Uncertain},
	} {
		via := carriertest.Answer{Path: "/orders", Status: http.StatusMultiStatus, Body: unknown}.Instead(carriertest.Server(t, newStandIn(t)))
		via = carriertest.Answer{Path: "/manifests", Status: c.status, Body: c.body}.Instead(via)
		_, err := openWith(t, credentials(), via).Void(t.Context(), ship.Purchase{CarrierRef: number, BoughtAt: c.bought})
		if ship.KindOf(err) != c.want {
			t.Errorf("%s: %v is %q, want %q", name, err, ship.KindOf(err), c.want)
		}
	}
}

// TestWhatComesWithALabel has DHL refuse a shipment that it gave a number, and send a
// customs form that cannot be read.
func TestWhatComesWithALabel(t *testing.T) {
	t.Parallel()
	buy := func(item string) (ship.Sale, error) {
		via := carriertest.Answer{Path: "/orders", Status: http.StatusOK, Body: `{"items":[` + item + `]}`}.Instead(carriertest.Server(t, newStandIn(t)))
		return openWith(t, credentials(), via).Buy(t.Context(), foreignOrder())
	}
	if _, err := buy(`{"shipmentNo":"00340434000000000001","sstatus":{"title":"Error","statusCode":400}}`); ship.KindOf(err) != ship.Uncertain {
		t.Errorf("a refusal with a number: %v", err)
	}
	sale, err := buy(`{"shipmentNo":"00340434000000000001","sstatus":{"statusCode":200},"label":{"zpl2":"^XA^XZ"},"customsDoc":{"b64":"aGFsZg=="}}`)
	if err != nil || len(sale.Documents) != 0 || !strings.Contains(strings.Join(sale.Warnings, " "), "customs form") {
		t.Errorf("a damaged form: %q, %v", sale.Warnings, err)
	}
}

// TestAPickupThatWasMovedIsFound looks up a booking that DHL made for another day than
// the one that was asked for: a second driver must not be booked.
func TestAPickupThatWasMovedIsFound(t *testing.T) {
	t.Parallel()
	via := carriertest.Server(t, newStandIn(t))
	c := openWith(t, credentials(), via)
	booked, err := c.BookPickup(t.Context(), pickup())
	if err != nil {
		t.Fatal(err)
	}
	asked := pickup()
	asked.Order.Window.ReadyAt = asked.Order.Window.ReadyAt.AddDate(0, 0, -3)
	asked.Order.Window.CloseAt = asked.Order.Window.CloseAt.AddDate(0, 0, -3)
	found, err := c.FindPickup(t.Context(), asked)
	if err != nil || found.Confirmation != booked.Confirmation || found.Window.Date() != pickup().Order.Window.Date() {
		t.Errorf("booked %s, found %+v: %v", booked.Confirmation, found, err)
	}

	// An answer without a list says nothing about bookings.
	via = carriertest.Answer{Path: "/pickup/v3/orders", Status: http.StatusOK, Body: "null"}.Instead(via)
	if _, err := openWith(t, credentials(), via).FindPickup(t.Context(), asked); ship.KindOf(err) != ship.Unavailable {
		t.Errorf("without a list: %v", err)
	}
}

// seenBodies keeps the body of the last purchase.
type seenBodies struct {
	via  carrier.Doer
	sent []byte
}

// Do is carrier.Doer.
func (s *seenBodies) Do(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/orders") && r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		s.sent = body
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return s.via.Do(r)
}

// TestWhatIsSent looks at the parts of a purchase that the emulator does not judge.
func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"domestic":                 `"consignee":{"name1":"Käthe Groß","name3":"Hinterhaus","addressStreet":"Mönckebergstraße 7","postalCode":"20095","city":"Hamburg","country":"DEU","phone":"+49 40 4280"}`,
		"goods":                    `"items":[{"itemDescription":"Cotton shirts, men's","countryOfOrigin":"PRT","hsCode":"6205202015","packagedQuantity":3,"itemValue":{"currency":"EUR","value":19.99},"itemWeight":{"uom":"g","value":200}},{"itemDescription":"Leather belt","packagedQuantity":2,"itemValue":{"currency":"EUR","value":35.00},"itemWeight":{"uom":"g","value":267}}]`,
		"every option":             `"services":{"signedForByRecipient":true,"noNeighbourDelivery":true,"additionalInsurance":{"currency":"EUR","value":2500.00},"goGreenPlus":true}`,
		"adult":                    `"services":{"visualCheckOfAge":"A18"}`,
		"economy":                  `"services":{"endorsement":"RETURN","premium":false}`,
		"Packstation":              `"consignee":{"name":"Käthe Groß","lockerID":118,"postNumber":"12345678","postalCode":"20095","city":"Hamburg","country":"DEU"}`,
		"post office":              `"consignee":{"name":"Käthe Groß","retailID":502,"email":"ann@example.com","postalCode":"20095","city":"Hamburg","country":"DEU"}`,
		"duties paid":              `"services":{"endorsement":"RETURN","premium":true,"postalDeliveryDutyPaid":true}`,
		"Europaket to Switzerland": `"customs":{"invoiceNo":"INV-7","exportType":"OTHER","exportDescription":"Other","shippingConditions":"DDP","postalCharges":{"currency":"EUR","value":0},"shipperCustomsRef":"DE123456789012","consigneeCustomsRef":"12-3456789"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			via := &seenBodies{via: carriertest.Server(t, newStandIn(t))}
			if _, err := openWith(t, credentials(), via).Buy(t.Context(), orders()[name]); err != nil {
				t.Fatal(err)
			}
			sent := strings.ReplaceAll(string(via.sent), `\u0026`, "&")
			if !strings.Contains(sent, want) {
				t.Errorf("sent %s\nwant %s", sent, want)
			}
		})
	}
}

// TestThePickupWindowIsLocalTime books a pickup whose times are written with two
// offsets: DHL gets both on the clock of the place.
func TestThePickupWindowIsLocalTime(t *testing.T) {
	t.Parallel()
	want := ""
	for _, zone := range []*time.Location{pickup().Order.Window.ReadyAt.Location(), time.FixedZone("", 5*3600)} {
		via := &seenBodies{via: carriertest.Server(t, newStandIn(t))}
		asked := pickup()
		asked.Order.Window.CloseAt = asked.Order.Window.CloseAt.In(zone)
		if _, err := openWith(t, credentials(), via).BookPickup(t.Context(), asked); err != nil {
			t.Fatal(err)
		}
		_, hours, _ := strings.Cut(string(via.sent), `"businessHours":`)
		hours, _, _ = strings.Cut(hours, "]")
		if want == "" {
			want = hours
		}
		if hours != want || hours == "" {
			t.Errorf("sent %s, want %s", hours, want)
		}
	}
}

// TestWhatTheDriverRefuses requires that nothing is sent that DHL would refuse or
// not do.
func TestWhatTheDriverRefuses(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	via := carriertest.Server(t, s)
	for name, c := range map[string]struct {
		order   carrier.BuyOrder
		pointer string
	}{
		"two parcels":           {changed(domesticOrder(), func(b *carrier.BuyOrder) { b.Order.Parcels = append(b.Order.Parcels, parcel(100)) }), "/parcels"},
		"from elsewhere":        {changed(foreignOrder(), func(b *carrier.BuyOrder) { b.Order.Origin.Country = "AT" }), "/origin/country"},
		"domestic abroad":       {changed(foreignOrder(), func(b *carrier.BuyOrder) { b.Service = "paket" }), "/service"},
		"abroad at home":        {changed(domesticOrder(), func(b *carrier.BuyOrder) { b.Service = "europaket" }), "/service"},
		"too heavy":             {changed(domesticOrder(), func(b *carrier.BuyOrder) { b.Order.Parcels = []ship.Parcel{parcel(31501)} }), "/parcel/weight"},
		"no declaration":        {changed(foreignOrder(), func(b *carrier.BuyOrder) { b.Order.Customs = nil }), "/customs"},
		"dollars":               {changed(domesticOrder(), func(b *carrier.BuyOrder) { b.Order.Options.InsuredValue = ship.Money{Minor: 1, Currency: "USD"} }), "/options/insuredValue/currency"},
		"signature abroad":      {changed(foreignOrder(), func(b *carrier.BuyOrder) { b.Order.Options.Signature = "adult" }), "/options/signature"},
		"locker without number": {changed(domesticOrder(), func(b *carrier.BuyOrder) { b.Order.Options.ServicePoint = "packstation-118" }), "/destination/company"},
		"unknown point":         {changed(domesticOrder(), func(b *carrier.BuyOrder) { b.Order.Options.ServicePoint = "118" }), "/destination/servicePoint"},
		"a past day":            {changed(domesticOrder(), func(b *carrier.BuyOrder) { b.Order.ShipDate = "2020-01-31" }), "/shipDate"},
		"two currencies":        {changed(foreignOrder(), func(b *carrier.BuyOrder) { b.Order.Customs.Items[1].Value.Currency = "USD" }), "/customs/items/1/value/currency"},
		"a Polish street":       {changed(domesticOrder(), func(b *carrier.BuyOrder) { b.Order.Destination.City = "東京" }), "/destination/city"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := openWith(t, credentials(), via).Buy(t.Context(), c.order)
			failure, ok := errors.AsType[*ship.Error](err)
			if !ok || failure.Kind != ship.Invalid || len(failure.Fields) == 0 || failure.Fields[0].Pointer != c.pointer {
				t.Errorf("err = %+v, want %s", err, c.pointer)
			}
		})
	}

	t.Run("a product without its billing number", func(t *testing.T) {
		given := credentials()
		delete(given, "billing_kleinpaket")
		_, err := openWith(t, given, via).Buy(t.Context(), changed(domesticOrder(), func(b *carrier.BuyOrder) { b.Service = "kleinpaket" }))
		if ship.KindOf(err) != ship.Invalid || !strings.Contains(err.Error(), "billing number") {
			t.Errorf("err = %v", err)
		}
	})
	if n := len(s.Ledger.Entries()); n != 0 {
		t.Errorf("%d sales", n)
	}
}

// TestTheCarrierSaysNo has DHL refuse what the driver lets pass.
func TestTheCarrierSaysNo(t *testing.T) {
	t.Parallel()
	contract := newContracts(t)
	s := newStandIn(t)
	via := contract.checked(carriertest.Server(t, s))

	wrongBilling := credentials()
	wrongBilling["billing_paket"] = "44444444440101"
	wrongProfile := credentials()
	wrongProfile["profile"] = "ANOTHER"
	for name, given := range map[string]carrier.Credentials{"billing number": wrongBilling, "profile": wrongProfile} {
		_, err := openWith(t, given, via).Buy(t.Context(), domesticOrder())
		if ship.KindOf(err) != ship.Forbidden || !strings.Contains(err.Error(), "Carriers") {
			t.Errorf("a wrong %s: %v", name, err)
		}
	}

	if err := s.Turn(emulator.Faults{Refuse: 1}); err != nil {
		t.Fatal(err)
	}
	_, err := openWith(t, credentials(), via).Buy(t.Context(), domesticOrder())
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok || refused.Kind != ship.Invalid || refused.Refusal.Code != "consignee" || len(refused.Fields) != 1 || refused.Fields[0].Pointer != "/destination" {
		t.Errorf("err = %+v", err)
	}
	if n := len(s.Ledger.Entries()); n != 0 {
		t.Errorf("%d sales", n)
	}
}

// TestWrongCredentials requires that each wrong credential is a problem of the
// connection, also where DHL answers 200.
func TestWrongCredentials(t *testing.T) {
	t.Parallel()
	via := carriertest.Server(t, newStandIn(t))
	for field, value := range map[string]string{"api_key": "another-key", "api_secret": "another-secret", "username": "another", "password": "another-password"} {
		given := credentials()
		given[field] = value
		c := openWith(t, given, via)
		if err := c.Check(t.Context()); ship.KindOf(err) != ship.Forbidden {
			t.Errorf("a wrong %s: %v", field, err)
		}
		if _, err := c.Track(t.Context(), []string{"00340434161094015902"}); ship.KindOf(err) != ship.Forbidden {
			t.Errorf("tracking with a wrong %s: %v", field, err)
		}
	}

	none := carrier.Credentials{"api_key": standin.APIKey, "api_secret": standin.APISecret, "username": standin.User, "password": standin.Password}
	c := openWith(t, none, via)
	if err := c.Check(t.Context()); ship.KindOf(err) != ship.Forbidden || !strings.Contains(err.Error(), "billing number") {
		t.Errorf("no billing number: %v", err)
	}
	if _, err := c.BookPickup(t.Context(), pickup()); ship.KindOf(err) != ship.Forbidden {
		t.Errorf("a pickup without a billing number: %v", err)
	}

	for _, number := range []string{"3333333333620", "33333333336201", "333333333301-1"} {
		given := credentials()
		given["billing_paket"] = number
		_, err := carrier.Open(dhlparcelde.Spec, carrier.Opening{Credentials: given})
		if ship.KindOf(err) != ship.Invalid {
			t.Errorf("the billing number %s of another product: %v", number, err)
		}
	}
}

// TestALostPurchaseIsFoundByItsReference loses the answer after the sale: the shipment
// is found in tracking, its label is fetched again, and nothing is bought twice.
func TestALostPurchaseIsFoundByItsReference(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"reset", "500", "truncate", "wrong_reference"} {
		for _, request := range []carrier.BuyOrder{domesticOrder(), foreignOrder()} {
			s := newStandIn(t)
			if err := s.Turn(emulator.Faults{Buy: map[string]float64{fault: 1}}); err != nil {
				t.Fatal(err)
			}
			c := openWith(t, credentials(), carriertest.Server(t, s))
			request.Order.LabelFormat = "zpl"
			if _, err := c.Buy(t.Context(), request); ship.KindOf(err) != ship.Uncertain {
				t.Errorf("%s: %v", fault, err)
			}
			found, err := c.Find(t.Context(), request)
			sold := s.Ledger.Entries()
			if err != nil || len(sold) != 1 || found.TrackingNumber != sold[0].Number || found.CarrierRef != sold[0].Number || found.Label.Format != "zpl" {
				t.Errorf("a look-up after %s: %q, %v", fault, found.TrackingNumber, err)
			}
			if hasForm := len(found.Documents) == 1; hasForm != (request.Order.Customs != nil) {
				t.Errorf("%d documents", len(found.Documents))
			}
		}
	}
}

// TestALateShipmentIsNotFoundYet buys while tracking is behind: the look-up finds
// nothing first and the shipment later, so that its absence alone proves nothing.
func TestALateShipmentIsNotFoundYet(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	turn := func(lag time.Duration) {
		if err := s.Turn(emulator.Faults{LookupLag: new(emulator.Duration(lag))}); err != nil {
			t.Fatal(err)
		}
	}
	turn(time.Hour)
	c := openWith(t, credentials(), carriertest.Server(t, s))
	if _, err := c.Buy(t.Context(), domesticOrder()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Find(t.Context(), domesticOrder()); ship.KindOf(err) != ship.NotFound {
		t.Errorf("before: %v", err)
	}
	turn(0)
	if _, err := c.Find(t.Context(), domesticOrder()); err != nil {
		t.Errorf("after: %v", err)
	}
}

// TestOnlyDHLsOwnWordsMeanNotBought has a look-up answered in every way: only the
// statement that there is no data may mean that nothing was bought.
func TestOnlyDHLsOwnWordsMeanNotBought(t *testing.T) {
	t.Parallel()
	piece := func(number, reference string) string {
		return `<data name="piece-shipment" error-status="0" piece-code="` + number + `" piece-customer-reference="` + reference + `"/>`
	}
	list := func(code, pieces string) string {
		return `<data name="piece-shipment-list" code="` + code + `" error="words">` + pieces + `</data>`
	}
	for name, c := range map[string]struct {
		status int
		body   string
		want   ship.Kind
	}{
		"no data":                {http.StatusOK, list("100", ""), ship.NotFound},
		"not transmitted yet":    {http.StatusOK, list("200", ""), ship.Unavailable},
		"login failed":           {http.StatusOK, list("5", ""), ship.Forbidden},
		"locked":                 {http.StatusOK, list("6", ""), ship.Forbidden},
		"another code":           {http.StatusOK, list("45", ""), ship.Unavailable},
		"an empty list":          {http.StatusOK, list("0", ""), ship.Unavailable},
		"another reference":      {http.StatusOK, list("0", piece("00340434161094015902", "OTHER")), ship.Unavailable},
		"no number":              {http.StatusOK, list("0", piece("", ref)), ship.Unavailable},
		"two shipments":          {http.StatusOK, list("0", piece("00340434161094015902", ref)+piece("00340434161094022115", ref)), ship.Unavailable},
		"a label that is closed": {http.StatusOK, list("0", piece("00340434161094015902", ref)), ship.Unavailable},
		"no XML":                 {http.StatusOK, "busy", ship.Unavailable},
		"it fails":               {http.StatusInternalServerError, "", ship.Unavailable},
		"a 404":                  {http.StatusNotFound, "", ship.Unavailable},
	} {
		via := carriertest.Answer{Path: "/v0/shipments", Status: c.status, Body: c.body}.Instead(carriertest.Server(t, newStandIn(t)))
		if _, err := openWith(t, credentials(), via).Find(t.Context(), domesticOrder()); ship.KindOf(err) != c.want {
			t.Errorf("%s: %v is %q, want %q", name, err, ship.KindOf(err), c.want)
		}
	}
}

// TestAnItemIsJudgedByItself has the status of an item differ from that of the
// answer.
func TestAnItemIsJudgedByItself(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]ship.Kind{
		`{"status":{"statusCode":200},"items":[{"sstatus":{"title":"Error","statusCode":400},"validationMessages":[{"property":"details.weight","validationMessage":"too high","validationState":"Error"}]}]}`: ship.Invalid,
		`{"status":{"statusCode":207},"items":[{"sstatus":{"title":"Error","status":500}}]}`:                                                                                                                   ship.Uncertain,
		`{"status":{"statusCode":200},"items":[{"sstatus":{"statusCode":200},"label":{"b64":"JVBERi0="}}]}`:                                                                                                    ship.Uncertain,
		`{"status":{"statusCode":200},"items":[{"shipmentNo":"00340434161094015902","sstatus":{"statusCode":200},"label":{"b64":"JVBERi0="}}]}`:                                                                ship.Uncertain,
		`{"status":{"statusCode":200},"items":[{"shipmentNo":"00340434161094015902","sstatus":{"statusCode":200},"label":{"zpl2":"^XA^FDhalf"}}]}`:                                                             ship.Uncertain,
	} {
		if !json.Valid([]byte(body)) {
			t.Fatal(body)
		}
		via := answering{carriertest.Server(t, newStandIn(t)), body}
		if _, err := openWith(t, credentials(), via).Buy(t.Context(), domesticOrder()); ship.KindOf(err) != want {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}

// answering answers purchases with a fixed body.
type answering struct {
	via  carrier.Doer
	body string
}

// Do is carrier.Doer.
func (a answering) Do(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/orders") {
		return a.via.Do(r)
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(a.body))}, nil
}

// returnOrder brings the parcel of domesticOrder back.
func returnOrder() carrier.BuyOrder {
	return changed(domesticOrder(), func(b *carrier.BuyOrder) {
		b.Service = "retoure"
		b.Order.IsReturn = true
		b.Order.Origin, b.Order.Destination = b.Order.Destination, b.Order.Origin
	})
}

// TestAReturnIsBoughtForTheReceiver buys returns at the emulator, whose exchanges are
// held against DHL's file.
func TestAReturnIsBoughtForTheReceiver(t *testing.T) {
	t.Parallel()
	contract := newContracts(t)
	for name, order := range map[string]carrier.BuyOrder{
		"plain":          returnOrder(),
		"carbon neutral": changed(returnOrder(), func(b *carrier.BuyOrder) { b.Order.Options.CarbonNeutral = true }),
		"long street":    changed(returnOrder(), func(b *carrier.BuyOrder) { b.Order.Origin.Address1 = "Straße des 17. Juni 135-137" }),
	} {
		server := newStandIn(t)
		c := openWith(t, credentials(), contract.checked(carriertest.Server(t, server)))
		sale, err := c.Buy(t.Context(), order)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		sold := server.Ledger.Entries()[0]
		if sold.Reference != order.Reference || sold.Second != order.Order.OrderID || sold.Number != sale.TrackingNumber || sold.Account != standin.Receiver {
			t.Errorf("%s: the ledger has %+v, bought %s", name, sold, sale.TrackingNumber)
		}
		if err := label.Lint(sale.Label.Format, sale.Label.Data); err != nil {
			t.Errorf("%s: the label: %v", name, err)
		}
		if len(sale.Documents) != 1 || sale.Documents[0].Type != "qr_code" || len(sale.Warnings) != 1 || !strings.Contains(sale.Warnings[0], "receiver deu") {
			t.Errorf("%s: %d documents, warnings %q", name, len(sale.Documents), sale.Warnings)
		}
		if dhlparcelde.Spec.Recognize(sale.TrackingNumber) != carrier.Fits {
			t.Errorf("%s: the number %s is not recognized", name, sale.TrackingNumber)
		}

		// DHL deletes no returns, and finds none by their reference.
		if _, err := c.Void(t.Context(), ship.Purchase{CarrierRef: sale.CarrierRef}); ship.KindOf(err) != ship.Invalid {
			t.Errorf("%s: voided: %v", name, err)
		}
		if _, err := c.Find(t.Context(), order); ship.KindOf(err) != ship.Unavailable {
			t.Errorf("%s: looked up: %v", name, err)
		}
		if updates, err := c.Track(t.Context(), []string{sale.TrackingNumber}); err != nil || len(updates) == 0 {
			t.Errorf("%s: tracked %d, %v", name, len(updates), err)
		}
		if n := len(server.Ledger.Entries()); n != 1 {
			t.Errorf("%s: %d lines in the ledger, want the sale", name, n)
		}
	}
}

// TestAReturnThatDHLWouldRefuseIsNotSent refuses returns, and shows what the emulator
// refuses.
func TestAReturnThatDHLWouldRefuseIsNotSent(t *testing.T) {
	t.Parallel()
	for pointer, order := range map[string]carrier.BuyOrder{
		"/service":              changed(returnOrder(), func(b *carrier.BuyOrder) { b.Service = "paket" }),
		"/parcels":              changed(returnOrder(), func(b *carrier.BuyOrder) { b.Order.Parcels = append(b.Order.Parcels, parcel(1)) }),
		"/origin/address1":      changed(returnOrder(), func(b *carrier.BuyOrder) { b.Order.Origin.Address1 = "Am Hof" }),
		"/origin/country":       changed(returnOrder(), func(b *carrier.BuyOrder) { b.Order.Origin.Country = "AT" }),
		"/destination/country":  changed(returnOrder(), func(b *carrier.BuyOrder) { b.Order.Destination.Country = "AT" }),
		"/options/insuredValue": changed(returnOrder(), func(b *carrier.BuyOrder) { b.Order.Options.InsuredValue = ship.Money{Minor: 100, Currency: "EUR"} }),
		"/options/signature":    changed(returnOrder(), func(b *carrier.BuyOrder) { b.Order.Options.Signature = "standard" }),
	} {
		_, err := openWith(t, credentials(), nil).Buy(t.Context(), order)
		if failure, ok := errors.AsType[*ship.Error](err); !ok || len(failure.Fields) != 1 || failure.Fields[0].Pointer != pointer {
			t.Errorf("err = %+v, want %s", err, pointer)
		}
	}
	forward := changed(domesticOrder(), func(b *carrier.BuyOrder) { b.Service = "retoure" })
	if _, err := openWith(t, credentials(), nil).Buy(t.Context(), forward); ship.KindOf(err) != ship.Invalid {
		t.Errorf("a return service that brings nothing back: %v", err)
	}

	elsewhere := credentials()
	elsewhere["return_receiver"] = "another"
	server := newStandIn(t)
	if _, err := openWith(t, elsewhere, carriertest.Server(t, server)).Buy(t.Context(), returnOrder()); ship.KindOf(err) != ship.Forbidden {
		t.Errorf("with a receiver that DHL does not know: %v", err)
	}
	if n := len(server.Ledger.Entries()); n != 0 {
		t.Errorf("%d lines in the ledger, want none", n)
	}
}

// TestAnIncompleteReturnIsUncertain has DHL answer without the number or the label.
func TestAnIncompleteReturnIsUncertain(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"sstatus":{"title":"Created","status":201},"label":{"b64":"JVBERi0xLjQ="}}`,
		`{"sstatus":{"title":"Created","status":201},"shipmentNo":"999900000014"}`,
		`{"sstatus":{"title":"Created","status":201},"shipmentNo":"999900000014","label":{"b64":"JVBERi0xLjQ="}}`,
	} {
		via := carriertest.Answer{Path: "/returns/v1/orders", Status: http.StatusCreated, Body: body}.Instead(carriertest.Server(t, newStandIn(t)))
		if _, err := openWith(t, credentials(), via).Buy(t.Context(), returnOrder()); ship.KindOf(err) != ship.Uncertain {
			t.Errorf("%s: %v", body, err)
		}
	}
}
