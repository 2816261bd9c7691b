package gls_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/gls"
	"github.com/waybillhq/waybill/internal/emulator"
	standin "github.com/waybillhq/waybill/internal/emulator/gls"
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
		"domestic":      domesticOrder(),
		"three parcels": changed(domesticOrder(), func(b *carrier.BuyOrder) { b.Order.Parcels = []ship.Parcel{parcel(1000), parcel(40000), parcel(1)} }),
		"ZPL": changed(domesticOrder(), func(b *carrier.BuyOrder) {
			b.Order.LabelFormat = "zpl"
			b.Order.Parcels = append(b.Order.Parcels, parcel(90))
		}),
		"to France": changed(domesticOrder(), func(b *carrier.BuyOrder) {
			b.Order.Destination.Country, b.Order.Destination.Zip, b.Order.Destination.City = "FR", "75001", "Paris"
		}),
		"from Finland": changed(domesticOrder(), func(b *carrier.BuyOrder) {
			b.Order.Origin.Country, b.Order.Origin.Zip, b.Order.Origin.City = "FI", "00100", "Helsinki"
		}),
		"to a parcel shop": changed(domesticOrder(), func(b *carrier.BuyOrder) { b.Order.Options.ServicePoint = "2760004711" }),
		"every option": changed(domesticOrder(), func(b *carrier.BuyOrder) {
			b.Order.Options = ship.Options{
				Signature:    "direct",
				InsuredValue: ship.Money{Minor: 250000, Currency: "EUR"},
				COD:          ship.COD{Amount: ship.Money{Minor: 4990, Currency: "EUR"}},
			}
		}),
		"cash without an order number": changed(domesticOrder(), func(b *carrier.BuyOrder) {
			b.Order.OrderID, b.Order.Reference = "", ""
			b.Order.Options.COD = ship.COD{Amount: ship.Money{Minor: 4990, Currency: "EUR"}}
		}),
		"a return": returnOrder(),
		"express on Saturday": changed(domesticOrder(), func(b *carrier.BuyOrder) {
			b.Service = "express_12"
			b.Order.Options = ship.Options{Signature: "standard", SaturdayDelivery: true}
		}),
	}
}

// returnOrder brings the parcel of domesticOrder back.
func returnOrder() carrier.BuyOrder {
	return changed(domesticOrder(), func(b *carrier.BuyOrder) {
		b.Service = "shop_return"
		b.Order.IsReturn = true
		b.Order.Origin, b.Order.Destination = b.Order.Destination, b.Order.Origin
	})
}

// TestAReturnNamesTheCustomer looks at what is sent: GLS's consignee of a return is
// the customer, and the parcel goes to the shipper of the contact id.
func TestAReturnNamesTheCustomer(t *testing.T) {
	t.Parallel()
	sent := sentBy(t, credentials(), returnOrder())
	for _, part := range []string{
		`"Consignee":{"Category":"PRIVATE","Address":{"Name1":"Käthe Groß"`,
		`"Shipper":{"ContactID":"` + standin.ContactID + `"}`,
		`"Service":[{"ShopReturn":{"ServiceName":"service_shopreturn","NumberOfLabels":1}}]`,
	} {
		if !strings.Contains(sent, part) {
			t.Errorf("%s is missing in %s", part, sent)
		}
	}

	bought, err := openWith(t, credentials(), carriertest.Server(t, newStandIn(t))).Buy(t.Context(), returnOrder())
	if err != nil || len(bought.Warnings) != 1 || !strings.Contains(bought.Warnings[0], "contact ID") {
		t.Errorf("bought with %q, %v", bought.Warnings, err)
	}

	for pointer, order := range map[string]carrier.BuyOrder{
		"/service": changed(returnOrder(), func(b *carrier.BuyOrder) { b.Service = "parcel" }),
		"/parcels": changed(returnOrder(), func(b *carrier.BuyOrder) { b.Order.Parcels = append(b.Order.Parcels, parcel(1)) }),
	} {
		_, err := openWith(t, credentials(), nil).Buy(t.Context(), order)
		if failure, ok := errors.AsType[*ship.Error](err); !ok || len(failure.Fields) != 1 || failure.Fields[0].Pointer != pointer {
			t.Errorf("err = %+v, want %s", err, pointer)
		}
	}
	forward := changed(domesticOrder(), func(b *carrier.BuyOrder) { b.Service = "shop_return" })
	if _, err := openWith(t, credentials(), nil).Buy(t.Context(), forward); ship.KindOf(err) != ship.Invalid {
		t.Errorf("a ShopReturn that is no return: %v", err)
	}
}

// TestADeliveryToTheSenderIsNone tracks a parcel that came back: GLS has no code of
// its own for that, only words.
func TestADeliveryToTheSenderIsNone(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	c := openWith(t, credentials(), carriertest.Server(t, s))
	sale, err := c.Buy(t.Context(), domesticOrder())
	if err != nil {
		t.Fatal(err)
	}
	for words, want := range map[string]ship.Status{
		"The parcel has been returned to the sender.":                "exception",
		"The parcel was delivered to the original consignor":         "exception",
		"The parcel has been delivered.":                             "delivered",
		"Delivered. Thank you for the data that the sender provided": "delivered",
	} {
		if err := s.Turn(emulator.Faults{Tracking: []emulator.Scan{{Code: "DELIVERED/DELIVD.NORMAL", Text: words}}}); err != nil {
			t.Fatal(err)
		}
		updates, err := c.Track(t.Context(), []string{sale.TrackingNumber})
		if err != nil || len(updates) == 0 {
			t.Fatalf("%d updates, %v", len(updates), err)
		}
		last := updates[len(updates)-1].Scan
		if last.Status != want || want == "exception" && last.Reason != "return_to_sender" {
			t.Errorf("%q is %s %s %s", words, last.Code, last.Status, last.Reason)
		}
		if status, reason, _ := gls.Spec.MeaningOf(last.Code); status != last.Status || reason != last.Reason {
			t.Errorf("%s means %s %s later", last.Code, status, reason)
		}
	}
}

// TestEveryShipmentIsBoughtFoundAndVoided compares each kind with the ledger, and
// its exchanges with GLS's files.
func TestEveryShipmentIsBoughtFoundAndVoided(t *testing.T) {
	contract := newContracts(t, withoutBody)
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
			if n := len(b.Order.Parcels); n > 1 && len(sale.Pieces) != n || strings.Count(sale.CarrierRef, ",") != n-1 {
				t.Errorf("%d parcels have the numbers %v and the ids %s", n, sale.Pieces, sale.CarrierRef)
			}
			if err := label.Lint(sale.Label.Format, sale.Label.Data); err != nil {
				t.Errorf("the label: %v", err)
			}
			if !bytes.Contains(sale.Label.Data, []byte(b.Order.OrderID)) || bytes.Contains(sale.Label.Data, []byte(b.Shipment)) {
				t.Error("the label does not show the order number, or shows our own id")
			}

			found, err := c.Find(t.Context(), b)
			if err != nil || found.CarrierRef != sale.CarrierRef || !slices.Equal(found.Pieces, sale.Pieces) || !bytes.Equal(found.Label.Data, sale.Label.Data) {
				t.Errorf("bought %s, found %s: %v", sale.CarrierRef, found.CarrierRef, err)
			}

			// The answer to the first void may have been lost.
			for range 2 {
				voided, err := c.Void(t.Context(), ship.Purchase{CarrierRef: sale.CarrierRef})
				if err != nil || voided.State != ship.StateVoided {
					t.Errorf("voided: %+v %v", voided, err)
				}
			}
			if _, err := c.Find(t.Context(), b); ship.KindOf(err) != ship.NotFound {
				t.Errorf("a voided shipment is found: %v", err)
			}
		})
	}
}

// TestALostPurchaseIsFound loses the answer to a purchase, and finds what was sold
// with its label.
func TestALostPurchaseIsFound(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"reset", "500", "truncate", "wrong_reference"} {
		s := newStandIn(t)
		if err := s.Turn(emulator.Faults{Buy: map[string]float64{fault: 1}}); err != nil {
			t.Fatal(err)
		}
		c := openWith(t, credentials(), carriertest.Server(t, s))
		if _, err := c.Buy(t.Context(), domesticOrder()); ship.KindOf(err) != ship.Uncertain {
			t.Errorf("%s: %v", fault, err)
		}
		found, err := c.Find(t.Context(), domesticOrder())
		if err != nil || found.TrackingNumber != s.Ledger.Entries()[0].Number || len(found.Label.Data) == 0 {
			t.Errorf("after %s found %s: %v", fault, found.TrackingNumber, err)
		}
	}
}

// TestWhatTheDriverRefuses requires that nothing is sent that GLS would refuse or
// not do.
func TestWhatTheDriverRefuses(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	c := openWith(t, credentials(), carriertest.Server(t, s))
	for pointer, order := range map[string]carrier.BuyOrder{
		"/destination/country":      changed(domesticOrder(), func(b *carrier.BuyOrder) { b.Order.Destination.Country = "CH" }),
		"/origin/country":           changed(domesticOrder(), func(b *carrier.BuyOrder) { b.Order.Origin.Country, b.Order.Destination.Country = "CH", "CH" }),
		"/service":                  changed(domesticOrder(), func(b *carrier.BuyOrder) { b.Service = "ground" }),
		"/parcel/weight":            changed(domesticOrder(), func(b *carrier.BuyOrder) { b.Order.Parcels = []ship.Parcel{parcel(40001)} }),
		"/options/signature":        changed(domesticOrder(), func(b *carrier.BuyOrder) { b.Order.Options.Signature = "adult" }),
		"/options/saturdayDelivery": changed(domesticOrder(), func(b *carrier.BuyOrder) { b.Order.Options.SaturdayDelivery = true }),
		"/shipDate":                 changed(domesticOrder(), func(b *carrier.BuyOrder) { b.Order.ShipDate = "2020-01-31" }),
		"/destination/email": changed(domesticOrder(), func(b *carrier.BuyOrder) {
			b.Order.Options.ServicePoint = "2760004711"
			b.Order.Destination.Email, b.Order.Destination.Phone = "", "+49 40 1234"
		}),
		"/options/insuredValue": changed(domesticOrder(), func(b *carrier.BuyOrder) {
			b.Order.Parcels = append(b.Order.Parcels, parcel(1))
			b.Order.Options.InsuredValue = ship.Money{Minor: 1, Currency: "EUR"}
		}),
	} {
		_, err := c.Buy(t.Context(), order)
		failure, ok := errors.AsType[*ship.Error](err)
		if !ok || failure.Kind != ship.Invalid || len(failure.Fields) == 0 || failure.Fields[0].Pointer != pointer {
			t.Errorf("err = %+v, want %s", err, pointer)
		}
	}
	if n := len(s.Ledger.Entries()); n != 0 {
		t.Errorf("%d sales", n)
	}
}

// TestTheReasonIsInAHeader has GLS refuse with an empty body and a header in
// Latin-1.
func TestTheReasonIsInAHeader(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	c := openWith(t, credentials(), carriertest.Server(t, s))
	_, err := c.Buy(t.Context(), changed(domesticOrder(), func(b *carrier.BuyOrder) { b.Order.Destination.Zip = "00000" }))
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok || refused.Kind != ship.Invalid || refused.Refusal != (ship.Refusal{Code: "COMMON_EXISTS_ZIPCODE", Message: "Die Postleitzahl ist ungültig"}) ||
		len(refused.Fields) != 1 || refused.Fields[0].Pointer != "/destination/zip" {
		t.Errorf("err = %+v", err)
	}

	other := credentials()
	other["contact_id"] = "276another"
	c = openWith(t, other, carriertest.Server(t, s))
	if _, err := c.Buy(t.Context(), domesticOrder()); ship.KindOf(err) != ship.Forbidden {
		t.Errorf("a wrong contact id: %v", err)
	}
	for field, value := range map[string]string{"client_id": "another-client", "client_secret": "another-secret"} {
		given := credentials()
		given[field] = value
		if err := openWith(t, given, carriertest.Server(t, s)).Check(t.Context()); ship.KindOf(err) != ship.Forbidden {
			t.Errorf("a wrong %s: %v", field, err)
		}
	}
}

// TestAParcelThatIsOnItsWayIsNotVoided has GLS refuse with the status 200.
func TestAParcelThatIsOnItsWayIsNotVoided(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	c := openWith(t, credentials(), carriertest.Server(t, s))
	sale, err := c.Buy(t.Context(), domesticOrder())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Turn(emulator.Faults{Tracking: []emulator.Scan{{Code: "INTRANSIT/INTRAN.NORMAL"}}}); err != nil {
		t.Fatal(err)
	}
	_, err = c.Void(t.Context(), ship.Purchase{CarrierRef: sale.CarrierRef})
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok || refused.Kind != ship.Invalid || refused.Refusal.Code != "SCANNED" {
		t.Errorf("err = %+v", err)
	}
}

// TestScansOfAParcel requires that the status of the parcel is a scan, and that
// unknown codes are kept.
func TestScansOfAParcel(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	c := openWith(t, credentials(), carriertest.Server(t, s))
	sale, err := c.Buy(t.Context(), domesticOrder())
	if err != nil {
		t.Fatal(err)
	}
	script := []emulator.Scan{{Code: "PREADVICE/INTIAL.PREADVICE", City: "Bonn"}, {Code: "INTRANSIT/NEW.CODE"}, {Code: "DELIVEREDPS/NEW.SHOP"}}
	if err := s.Turn(emulator.Faults{Tracking: script}); err != nil {
		t.Fatal(err)
	}

	updates, err := c.Track(t.Context(), []string{sale.TrackingNumber, "123456789011", "no,number"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range updates {
		if u.TrackingNumber != sale.TrackingNumber || len(u.Raw) == 0 {
			t.Errorf("%+v", u)
		}
		got = append(got, fmt.Sprintf("%s %s %s %s", u.Scan.Code, u.Scan.Status, u.Scan.Reason, u.Scan.Location))
	}
	want := "NEW.SHOP  unmapped Hamburg, DE|NEW.CODE  unmapped Hamburg, DE|INTIAL.PREADVICE label_generated  Bonn, DE|DELIVEREDPS in_transit available_for_pickup Hamburg, DE"
	if strings.Join(got, "|") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, "|"), want)
	}
}

// TestLabelsComeInTwoForms reads a label that is a text and not a list, and
// refuses one that is cut off.
func TestLabelsComeInTwoForms(t *testing.T) {
	t.Parallel()
	whole := base64.StdEncoding.EncodeToString(emulator.PDF(emulator.Page{Wide: 100, High: 100}))
	half := base64.StdEncoding.EncodeToString([]byte("%PDF-1.4 half"))
	for printed, isWhole := range map[string]bool{
		`[{"Data":"` + whole + `","LabelFormat":"PDF"}]`:   true,
		`[{"Data":["` + whole + `"],"LabelFormat":"PDF"}]`: true,
		`[{"Data":"` + half + `","LabelFormat":"PDF"}]`:    false,
		`[{"Data":"` + whole + `","LabelFormat":"PNG"}]`:   false,
		`[]`: false,
	} {
		body := `{"CreatedShipment":{"ShipmentReference":["` + ref + `"],"CustomerID":"1","PickupLocation":"DE 230",` +
			`"ParcelData":[{"TrackID":"ZK8ABC12","ParcelNumber":"123456789011"}],"PrintData":` + printed + `}}`
		via := carriertest.Answer{Path: "/rs/shipments", Status: http.StatusOK, Body: body}.Instead(carriertest.Server(t, newStandIn(t)))
		_, err := openWith(t, credentials(), via).Buy(t.Context(), domesticOrder())
		if isWhole != (err == nil) || err != nil && ship.KindOf(err) != ship.Uncertain {
			t.Errorf("%s: %v", printed, err)
		}
	}
}

// TestOnlyGLSsOwnWordsMeanNotBought has a look-up answered in every other way: only
// "no data found" proves that nothing was sold. Whatever else is taken for that
// would buy a second label.
func TestOnlyGLSsOwnWordsMeanNotBought(t *testing.T) {
	t.Parallel()
	said := func(code, message string) http.Header { return http.Header{"Error": {code}, "Message": {message}} }
	for name, c := range map[string]struct {
		status int
		header http.Header
		body   string
		want   ship.Kind
	}{
		"its code":                   {http.StatusNotFound, said("NO_DATA_FOUND", "-"), "", ship.NotFound},
		"its words":                  {http.StatusBadRequest, said("E1", "No data found for the given reference"), "", ship.NotFound},
		"its words in a body":        {http.StatusNotFound, nil, `{"errors":[{"code":"404","message":"No data found"}]}`, ship.NotFound},
		"a bare 404":                 {http.StatusNotFound, nil, "", ship.Unavailable},
		"a page of a proxy":          {http.StatusNotFound, nil, "<html>not found</html>", ship.Unavailable},
		"a route that is not there":  {http.StatusNotFound, nil, `{"fault":{"faultstring":"Not Found","detail":{"errorcode":"x"}}}`, ship.Unavailable},
		"another thing is not found": {http.StatusBadRequest, said("CONTACT_ID_NOT_FOUND", "The ContactID was not found"), "", ship.Invalid},
		"gone":                       {http.StatusGone, nil, "", ship.Invalid},
		"it fails":                   {http.StatusInternalServerError, said("NO_DATA_FOUND", "No data found"), "", ship.Unavailable},
		"too many requests":          {http.StatusTooManyRequests, nil, "", ship.Limited},
		"not allowed":                {http.StatusForbidden, nil, "", ship.Forbidden},
		"no shipment in the answer":  {http.StatusOK, nil, `{}`, ship.Unavailable},
		"no parcel in the answer":    {http.StatusOK, nil, `{"CreatedShipment":{"ParcelData":[]}}`, ship.Unavailable},
		"not JSON":                   {http.StatusOK, nil, `No data found`, ship.Unavailable},
	} {
		via := carriertest.Answer{Path: "/reprintparcel", Status: c.status, Header: c.header, Body: c.body}.Instead(carriertest.Server(t, newStandIn(t)))
		if _, err := openWith(t, credentials(), via).Find(t.Context(), domesticOrder()); ship.KindOf(err) != c.want {
			t.Errorf("%s: %v is %q, want %q", name, err, ship.KindOf(err), c.want)
		}
	}
}

// TestOnlyAnEmptyListMeansNotBought has GLS print nothing for a reference, and
// answer in every way when it is asked for the list of parcels.
func TestOnlyAnEmptyListMeansNotBought(t *testing.T) {
	t.Parallel()
	nothing := carriertest.Answer{Path: "/reprintparcel", Status: http.StatusNotFound, Header: http.Header{"Error": {"NO_DATA_FOUND"}, "Message": {"-"}}}
	unit := func(reference, status string) string {
		return `{"UnitItems":[{"TrackID":"ZK8ABC12","ShipmentReference":["` + reference + `"],"InitialDate":"2026-11-16T10:00:00+01:00","Status":"` + status + `"}]}`
	}
	for name, c := range map[string]struct {
		status int
		header http.Header
		body   string
		want   ship.Kind
	}{
		"an empty list":                 {http.StatusOK, nil, `{"UnitItems":[]}`, ship.NotFound},
		"the parcel of another":         {http.StatusOK, nil, unit("OTHER", "PREADVICE"), ship.NotFound},
		"a cancelled parcel":            {http.StatusOK, nil, unit(ref, "CANCELED"), ship.NotFound},
		"its code":                      {http.StatusNotFound, http.Header{"Error": {"NO_DATA_FOUND"}, "Message": {"-"}}, "", ship.NotFound},
		"the parcel, and no label":      {http.StatusOK, nil, unit(ref, "PREADVICE"), ship.Unavailable},
		"no list":                       {http.StatusOK, nil, `{}`, ship.Unavailable},
		"it fails":                      {http.StatusInternalServerError, nil, "", ship.Unavailable},
		"a bare 404":                    {http.StatusNotFound, nil, "", ship.Unavailable},
		"the account must not list":     {http.StatusForbidden, nil, "", ship.Forbidden},
		"another thing is not accepted": {http.StatusBadRequest, http.Header{"Error": {"E1"}, "Message": {"-"}}, "", ship.Invalid},
	} {
		via := nothing.Instead(carriertest.Server(t, newStandIn(t)))
		via = carriertest.Answer{Path: "/tracking/parcels", Status: c.status, Header: c.header, Body: c.body}.Instead(via)
		if _, err := openWith(t, credentials(), via).Find(t.Context(), domesticOrder()); ship.KindOf(err) != c.want {
			t.Errorf("%s: %v is %q, want %q", name, err, ship.KindOf(err), c.want)
		}
	}
}

// TestAPurchaseOfAnEarlierDayIsFound looks for purchases that were made on the day
// before, and some days after the shipment was created.
func TestAPurchaseOfAnEarlierDayIsFound(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, days := range map[string]struct{ created, bought int }{
		"on the day of its creation": {1, 1},
		"after an approval":          {9, 4},
	} {
		file := filepath.Join(t.TempDir(), "ledger")
		open := func() *emulator.Server {
			ledger, err := emulator.OpenLedger(file)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = ledger.Close() })
			return standin.New(ledger)
		}
		if _, err := openWith(t, credentials(), carriertest.Server(t, open())).Buy(t.Context(), domesticOrder()); err != nil {
			t.Fatal(err)
		}

		// Tomorrow comes by changing the day of the sale.
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var sold map[string]any
		if err := json.Unmarshal(text, &sold); err != nil {
			t.Fatal(err)
		}
		sold["at"] = now.AddDate(0, 0, -days.bought)
		if text, err = json.Marshal(sold); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(text, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}

		wanted := changed(domesticOrder(), func(b *carrier.BuyOrder) { b.Shipment = ship.NewShipmentID(0, now.AddDate(0, 0, -days.created)) })
		found, err := openWith(t, credentials(), carriertest.Server(t, open())).Find(t.Context(), wanted)
		if err != nil || found.TrackingNumber != sold["number"] {
			t.Errorf("%s: found %q, %v", name, found.TrackingNumber, err)
		}
	}
}

// TestEveryParcelIsVoidedInTheEnd loses the answer to the cancellation of the first
// of three parcels, and repeats the void: GLS refuses to cancel the first again.
func TestEveryParcelIsVoidedInTheEnd(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	c := openWith(t, credentials(), carriertest.Server(t, s))
	sale, err := c.Buy(t.Context(), orders()["three parcels"])
	if err != nil {
		t.Fatal(err)
	}
	purchase := ship.Purchase{CarrierRef: sale.CarrierRef, Pieces: sale.Pieces}

	if err := s.Turn(emulator.Faults{Void: map[string]float64{"lost": 1}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Void(t.Context(), purchase); ship.KindOf(err) != ship.Uncertain {
		t.Fatalf("a lost answer: %v", err)
	}
	if err := s.Turn(emulator.Faults{}); err != nil {
		t.Fatal(err)
	}
	voided, err := c.Void(t.Context(), purchase)
	if err != nil || voided.State != ship.StateVoided {
		t.Errorf("the second void: %+v %v", voided, err)
	}
	if _, isVoided, _ := s.Ledger.Sold(sale.TrackingNumber); !isVoided {
		t.Errorf("GLS has cancelled only %v", s.Ledger.VoidedPieces())
	}
}

// TestACancelledParcelIsNamed has GLS cancel the first of three parcels and refuse
// the second: nobody may use the label of the first.
func TestACancelledParcelIsNamed(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	via := carriertest.Server(t, s)
	sale, err := openWith(t, credentials(), via).Buy(t.Context(), orders()["three parcels"])
	if err != nil {
		t.Fatal(err)
	}
	ids := strings.Split(sale.CarrierRef, ",")
	purchase := ship.Purchase{CarrierRef: sale.CarrierRef, Pieces: sale.Pieces}

	void := func(answer carriertest.Answer) error {
		_, err := openWith(t, credentials(), answer.Instead(via)).Void(t.Context(), purchase)
		return err
	}
	err = void(carriertest.Answer{Path: ids[1], Status: http.StatusOK, Body: `{"TrackID":"` + ids[1] + `","Result":"SCANNED"}`})
	if ship.KindOf(err) != ship.Invalid || !strings.Contains(err.Error(), sale.Pieces[0]) || strings.Contains(err.Error(), sale.Pieces[2]) {
		t.Errorf("err = %v, want it to name %s", err, sale.Pieces[0])
	}
	if s.Ledger.VoidedPieces()[ids[2]] {
		t.Error("a parcel is cancelled although the shipment is on its way")
	}

	// Only tracking shows whether the first was cancelled.
	err = void(carriertest.Answer{Path: "/trackids/" + strings.Join(ids, ","), Status: http.StatusInternalServerError})
	if ship.KindOf(err) != ship.Uncertain {
		t.Errorf("without tracking: %v", err)
	}
}

// TestMissingPagesAreReported sells two parcels with the label of one.
func TestMissingPagesAreReported(t *testing.T) {
	t.Parallel()
	order := changed(domesticOrder(), func(b *carrier.BuyOrder) { b.Order.Parcels = append(b.Order.Parcels, parcel(500)) })
	for pages, isComplete := range map[int]bool{1: false, 2: true} {
		drawn := slices.Repeat([]emulator.Page{{Wide: 100, High: 100}}, pages)
		body := `{"CreatedShipment":{"ShipmentReference":["` + ref + `"],"CustomerID":"1","PickupLocation":"DE 230",` +
			`"ParcelData":[{"TrackID":"ZK8ABC12","ParcelNumber":"123456789011"},{"TrackID":"ZK8ABC13","ParcelNumber":"123456789028"}],` +
			`"PrintData":[{"Data":"` + base64.StdEncoding.EncodeToString(emulator.PDF(drawn...)) + `","LabelFormat":"PDF"}]}}`
		via := carriertest.Answer{Path: "/rs/shipments", Status: http.StatusOK, Body: body}.Instead(carriertest.Server(t, newStandIn(t)))
		sale, err := openWith(t, credentials(), via).Buy(t.Context(), order)
		isWarned := slices.ContainsFunc(sale.Warnings, func(text string) bool { return strings.Contains(text, "1 pages for 2 parcels") })
		if err != nil || isWarned == isComplete {
			t.Errorf("%d pages: %q, %v", pages, sale.Warnings, err)
		}
	}
}

// TestAParcelInAShopIsNotDelivered polls a parcel of GLS's own example twice. A later
// event must not make the ones before it others, and a delivery to a parcel shop is
// not one to the recipient.
func TestAParcelInAShopIsNotDelivered(t *testing.T) {
	t.Parallel()
	const shop = `{"code":"DELIVD.PARCELSHOP","city":"Bonn","country":"DE","description":"at the ParcelShop","eventDateTime":"2025-02-10T15:13:46+0100"}`
	const handed = `{"code":"INTIAL.NORMAL","city":"Bonn","country":"DE","description":"The parcel was handed over to GLS.","eventDateTime":"2025-02-10T15:11:12+0100"}`
	const later = `{"code":"CHANGD.PARCELBOX","city":"Bonn","country":"DE","eventDateTime":"2025-02-11T09:00:00+0100"}`
	poll := func(events, at string) (codes []string) {
		body := `{"parcels":[{"requested":"42249028960","unitno":"42249028960","status":"DELIVEREDPS","statusDateTime":"` + at + `","events":[` + events + `]}]}`
		via := carriertest.Answer{Path: "/trackids/42249028960", Status: http.StatusOK, Body: body}.Instead(carriertest.Server(t, newStandIn(t)))
		updates, err := openWith(t, credentials(), via).Track(t.Context(), []string{"42249028960"})
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range updates {
			codes = append(codes, fmt.Sprintf("%s %s %s", u.Scan.Code, u.Scan.At.Format(time.TimeOnly), u.Scan.Status))
		}
		return codes
	}

	first := poll(shop+","+handed, "2025-02-10T15:13:46+0100")
	want := []string{"DELIVD.PARCELSHOP 14:13:46 in_transit", "INTIAL.NORMAL 14:11:12 picked_up"}
	if !slices.Equal(first, want) {
		t.Errorf("%q\nwant %q", first, want)
	}
	second := poll(later+","+shop+","+handed, "2025-02-10T15:13:46+0100")
	if want = append([]string{"CHANGD.PARCELBOX 08:00:00 "}, want...); !slices.Equal(second, want) {
		t.Errorf("%q\nwant %q", second, want)
	}
}

// sentBy returns the bodies that a purchase sends to an account with FlexDelivery.
func sentBy(t *testing.T, given carrier.Credentials, order carrier.BuyOrder) string {
	t.Helper()
	sent := ""
	server := newStandIn(t)
	if err := server.Turn(emulator.Faults{Account: "flexdelivery"}); err != nil {
		t.Fatal(err)
	}
	via := carriertest.Server(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		sent += string(body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		server.ServeHTTP(w, r)
	}))
	if _, err := openWith(t, given, via).Buy(t.Context(), order); err != nil {
		t.Fatal(err)
	}
	return sent
}

// TestFlexDeliveryIsAskedForByTheConnection looks at what is sent: GLS refuses the
// shipment of a shipper whose contract does not include it, and a recipient who must
// sign is not offered to have the parcel left elsewhere.
func TestFlexDeliveryIsAskedForByTheConnection(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		setting, signature string
		isOffered          bool
	}{
		{"", "", false},
		{"no", "", false},
		{"yes", "", true},
		{"yes", "standard", false},
		{"yes", "direct", false},
	} {
		given := credentials()
		given["flex_delivery"] = tc.setting
		sent := sentBy(t, given, changed(domesticOrder(), func(b *carrier.BuyOrder) { b.Order.Options.Signature = tc.signature }))
		if strings.Contains(sent, "service_flexdelivery") != tc.isOffered {
			t.Errorf("%+v: sent %s", tc, sent)
		}
	}

	given := credentials()
	given["flex_delivery"] = "sometimes"
	if _, err := gls.Spec.Open(carrier.Opening{Credentials: given}); ship.KindOf(err) != ship.Invalid {
		t.Errorf("another word: %v", err)
	}
}

// TestWhatIsSentIsWhatShipITReads has the spellings, days and weights that GLS's
// portal writes otherwise.
func TestWhatIsSentIsWhatShipITReads(t *testing.T) {
	t.Parallel()
	order := changed(domesticOrder(), func(b *carrier.BuyOrder) {
		b.Order.ShipDate = ship.Date(time.Now().AddDate(0, 0, 2).Format(time.DateOnly))
		b.Order.Parcels = []ship.Parcel{parcel(1), parcel(1131), parcel(40000)}
	})
	sent := sentBy(t, credentials(), order)
	for _, part := range []string{
		`"ZIPCode":"20095"`, `"eMail":"kaethe@example.com"`, `"Middleware":"WaybillviaGLS"`,
		`"ShippingDate":"` + string(order.Order.ShipDate) + `"`, `"Weight":0.10`, `"Weight":1.14`, `"Weight":40.00`,
	} {
		if !strings.Contains(sent, part) {
			t.Errorf("%s is missing in %s", part, sent)
		}
	}
	if strings.Contains(sent, "IncotermCode") {
		t.Errorf("within Germany: %s", sent)
	}

	given := credentials()
	given["middleware"] = "ACMEviaGLS"
	sent = sentBy(t, given, orders()["to France"])
	if !strings.Contains(sent, `"IncotermCode":"20"`) || !strings.Contains(sent, `"Middleware":"ACMEviaGLS"`) {
		t.Errorf("to France: %s", sent)
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	carriertest.Numbers(t, gls.Spec, map[string]carriertest.NumberFormat{
		"parcel number": {Payload: `[0-9]{11}`, Check: func(digits string) int {
			sum := 1
			for i, digit := range digits {
				sum += int(digit-'0') * []int{3, 1}[i%2]
			}
			return (1000 - sum) % 10
		}},
		"track id": {Payload: `[A-Z][A-Z0-9]{6}[0-9]`},
	})
	for number, want := range map[string]carrier.Recognition{
		"123456789011": carrier.Fits,
		"123456789012": carrier.NotRecognized,
		"XHAX4HDA":     carrier.FitsLoosely,
		"XHAX4HD":      carrier.NotRecognized,
		"SHIPMENT":     carrier.NotRecognized,
		"12345678":     carrier.NotRecognized,
	} {
		if got := gls.Spec.Recognize(number); got != want {
			t.Errorf("%q: %v, want %v", number, got, want)
		}
	}
}
