package fedex_test

import (
	"bytes"
	"image/png"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/fedex"
	"github.com/waybillhq/waybill/internal/emulator"
	stand "github.com/waybillhq/waybill/internal/emulator/fedex"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// canned gives the same response to every request except those for tokens.
type canned struct {
	status int
	body   string
}

func (c canned) Do(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/oauth/token") {
		c = canned{http.StatusOK, `{"access_token":"t","token_type":"bearer","expires_in":3599,"scope":"CXS-TP"}`}
	}
	return c.response(), nil
}

func (c canned) response() *http.Response {
	return &http.Response{StatusCode: c.status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(c.body))}
}

func TestCheckProvesKeysAndAccount(t *testing.T) {
	for name, c := range map[string]struct {
		change func(carrier.Credentials)
		want   ship.Kind
	}{
		"all good":              {func(carrier.Credentials) {}, ""},
		"wrong secret":          {func(c carrier.Credentials) { c["client_secret"] = "another-secret" }, ship.Forbidden},
		"wrong tracking secret": {func(c carrier.Credentials) { c["track_client_secret"] = "another-secret" }, ship.Forbidden},
		"wrong account":         {func(c carrier.Credentials) { c["account_number"] = "123456789" }, ship.Forbidden},
		"projects exchanged": {func(c carrier.Credentials) {
			c["client_id"], c["client_secret"] = stand.TrackClientID, stand.TrackClientSecret
		}, ship.Forbidden},
	} {
		given := twoProjects()
		c.change(given)
		if err := open(t, given, carriertest.Server(t, newServer(t))).Check(t.Context()); ship.KindOf(err) != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	refused := canned{400, `{"errors":[{"code":"SERVICE.UNAVAILABLE.FOR.LANE","message":"no"}]}`}
	if err := open(t, credentials(), refused).Check(t.Context()); err != nil {
		t.Errorf("a refusal of the parcel is none of the account: %v", err)
	}
}

func TestLabelIsAPictureForEveryPiece(t *testing.T) {
	server := newServer(t)
	p, err := open(t, credentials(), carriertest.Server(t, server)).Buy(t.Context(), pieces())
	if err != nil {
		t.Fatal(err)
	}
	pages, err := label.Split(p.Label.Data)
	if err != nil || p.Label.Format != "png" || len(pages) != 3 || len(p.Pieces) != 3 || p.Pieces[0] != p.TrackingNumber {
		t.Fatalf("%d pages of %s, pieces %v: %v", len(pages), p.Label.Format, p.Pieces, err)
	}
	for i, page := range pages {
		picture, err := png.Decode(bytes.NewReader(page))
		if err != nil || picture.Bounds().Dx() != 800 || picture.Bounds().Dy() != 1200 {
			t.Errorf("page %d is no label: %v", i, err)
		}
		if fedex.Spec.Recognize(p.Pieces[i]) != carrier.Fits {
			t.Errorf("%s is no number of FedEx", p.Pieces[i])
		}
	}
	sold := server.Ledger.Entries()[0]
	if sold.Reference != reference || sold.Second == "" || sold.Account != stand.Account || sold.Amount != p.Price.Amount() || sold.Currency != p.Price.Currency {
		t.Errorf("the ledger says %+v, the purchase %v", sold, p.Price)
	}
}

func TestInvoiceAndOldCurrencyComeBack(t *testing.T) {
	b := requests()["britain"]
	c := open(t, credentials(), carriertest.Server(t, newServer(t)))
	p, err := c.Buy(t.Context(), b)
	if err != nil || p.Price.Currency != "GBP" || p.DeliveryAt.IsZero() {
		t.Errorf("%v at %v: %v", p.Price, p.DeliveryAt, err)
	}
	p, err = c.Buy(t.Context(), abroad())
	if err != nil || len(p.Documents) != 1 || p.Documents[0].Type != "commercial_invoice" || p.Documents[0].Format != "pdf" || !bytes.HasPrefix(p.Documents[0].Data, []byte("%PDF-")) {
		t.Errorf("documents %+v: %v", p.Documents, err)
	}
}

func TestAnswersThatAreNotOursAreUncertain(t *testing.T) {
	server := newServer(t)
	if err := server.Turn(emulator.Faults{Buy: map[string]float64{"wrong_reference": 1}}); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, credentials(), carriertest.Server(t, server)).Buy(t.Context(), buyOrder()); ship.KindOf(err) != ship.Uncertain {
		t.Errorf("another reference: %v, want uncertain", err)
	}
	const piece = `{"trackingNumber":"794791341818","customerReferences":[%REF],"packageDocuments":[{"contentType":"LABEL","docType":"%TYPE","encodedLabel":"%DATA"}]}`
	const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
	ours := `{"customerReferenceType":"CUSTOMER_REFERENCE","value":"` + reference + `"}`
	good := strings.NewReplacer("%REF", ours, "%TYPE", "PNG", "%DATA", pixel).Replace(piece)
	for name, c := range map[string]struct {
		pieces, transaction string
		want                ship.Kind
	}{
		"ours":                {good, reference, ""},
		"no echo":             {strings.NewReplacer("%REF", "", "%DATA", pixel).Replace(piece), "", ""},
		"another transaction": {good, "other", ship.Uncertain},
		"another reference":   {strings.NewReplacer("%REF", strings.Replace(ours, reference, "OTHER", 1), "%DATA", pixel).Replace(piece), reference, ship.Uncertain},
		"a PDF":               {strings.NewReplacer("%REF", ours, "%DATA", "JVBERi0xLjQK").Replace(piece), reference, ship.Uncertain},
		"no label":            {strings.NewReplacer("%REF", ours, "%DATA", "").Replace(piece), reference, ship.Uncertain},
		"two pieces":          {good + "," + good, reference, ship.Uncertain},
	} {
		body := `{"customerTransactionId":"` + c.transaction + `","output":{"transactionShipments":[{"masterTrackingNumber":"794791341818","pieceResponses":[` + c.pieces + `]}]}}`
		b := buyOrder()
		b.Shipment = ""
		p, err := open(t, credentials(), canned{200, body}).Buy(t.Context(), b)
		if ship.KindOf(err) != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err == nil && (!p.Price.IsZero() || !slices.Contains(p.Warnings, "FedEx did not return a price")) {
			t.Errorf("%s: price %v, warnings %q", name, p.Price, p.Warnings)
		}
	}
}

func TestVoidIsDoneOnceAndSafeTwice(t *testing.T) {
	server := newServer(t)
	c := open(t, twoProjects(), carriertest.Server(t, server))
	b := pieces()
	p, err := c.Buy(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	found, err := c.Find(t.Context(), b)
	if err != nil || found.CarrierRef != p.CarrierRef || !slices.Equal(found.Pieces, p.Pieces) || len(found.Label.Data) > 0 || found.Service != "ground" {
		t.Errorf("found %+v: %v", found, err)
	}
	for range 2 {
		if v, err := c.Void(t.Context(), ship.Purchase{CarrierRef: found.CarrierRef}); err != nil || v.State != ship.StateVoided {
			t.Errorf("void: %v %v", v, err)
		}
	}
	if n := len(server.Ledger.Entries()); n != 2 {
		t.Errorf("the ledger has %d lines, want a sale and a void", n)
	}
	if _, err := c.Find(t.Context(), b); ship.KindOf(err) != ship.NotFound {
		t.Errorf("a cancelled shipment: %v, want not found", err)
	}
	if _, err := c.Void(t.Context(), ship.Purchase{CarrierRef: "794791341818"}); ship.KindOf(err) != ship.Invalid {
		t.Errorf("a number that was never sold: %v, want invalid", err)
	}
	for code, want := range map[string]ship.Kind{
		"SHIPMENT.CANCELEDWITHOUTPICKUP.SUCCESS":    "",
		"CANCELSHIPMENT.TRACKINGNUMBER.DELETED":     "",
		"MASTERTRACKINGID.TRACKINGNUMBER.CANCELLED": "",
		"SHIPMENT.CANCELEDWITHOUTPICKUP.FAILURE":    ship.Invalid,
		"TRACKINGIDS.TRACKINGNUMBER.CLOSED":         ship.Invalid,
	} {
		refused := canned{400, `{"errors":[{"code":"` + code + `","message":"no words to go by"}]}`}
		if _, err := open(t, credentials(), refused).Void(t.Context(), ship.Purchase{CarrierRef: "1"}); ship.KindOf(err) != want {
			t.Errorf("%s: %v, want %q", code, err, want)
		}
	}
	for body, want := range map[string]ship.Kind{
		`{"output":{"cancelledShipment":false,"message":"tendered"}}`:                                 ship.Invalid,
		`{"output":{"cancelledShipment":false,"message":"Already tendered, cannot be cancelled"}}`:    ship.Invalid,
		`{"output":{"cancelledShipment":false,"message":"Shipment has already been deleted"}}`:        "",
		`{"output":{"cancelledShipment":true,"successMessage":"Success"}}`:                            "",
		`{"output":{"alerts":[{"code":"VIRTUAL.RESPONSE","message":"This is a Virtual Response."}]}}`: ship.Uncertain,
	} {
		if _, err := open(t, credentials(), canned{200, body}).Void(t.Context(), ship.Purchase{CarrierRef: "1"}); ship.KindOf(err) != want {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
}

func TestOnlyFedExItselfCanSayThatNothingWasBought(t *testing.T) {
	result := func(fields string) string {
		return `{"output":{"completeTrackResults":[{"trackResults":[{` + fields + `}]}]}}`
	}
	const number = `"trackingNumberInfo":{"trackingNumber":"794791341818"}`
	for name, c := range map[string]struct {
		status int
		body   string
		want   ship.Kind
	}{
		"not found":                  {200, result(`"error":{"code":"TRACKING.REFERENCENUMBER.NOTFOUND","message":"no"}`), ship.NotFound},
		"not found, as a refusal":    {400, `{"errors":[{"code":"TRACKING.REFERENCENUMBER.NOTFOUND","message":"no"}]}`, ship.NotFound},
		"not found, as a status":     {404, `{"errors":[{"code":"TRACKING.REFERENCENUMBER.NOTFOUND","message":"no"}]}`, ship.NotFound},
		"a path that is not there":   {404, `{"errors":[{"code":"NOT.FOUND.ERROR","message":"no resource"}]}`, ship.Unavailable},
		"something else is missing":  {404, `{"errors":[{"code":"RESOURCE.NOTFOUND","message":"no"}]}`, ship.Unavailable},
		"a gateway's page":           {404, `<html>Not Found</html>`, ship.Unavailable},
		"another error":              {200, result(`"error":{"code":"TRACKING.DATA.UNAVAILABLE","message":"later"}`), ship.Unavailable},
		"data that is unavailable":   {200, result(`"error":{"code":"TRACKING.DATA.NOTFOUND","message":"Tracking data unavailable"}`), ship.Unavailable},
		"several of the kind":        {200, result(`"error":{"code":"TRACKING.DATA.NOTUNIQUE","message":"no"}`), ship.Unavailable},
		"a refused window":           {400, `{"errors":[{"code":"TRACKING.SHIPDATEEND.FUTURE","message":"no"}]}`, ship.Invalid},
		"nothing":                    {200, `{"output":{"completeTrackResults":[]}}`, ship.Unavailable},
		"cancelled":                  {200, result(number + `,"latestStatusDetail":{"code":"CA"}`), ship.NotFound},
		"somebody else's":            {200, result(number + `,"additionalTrackingInfo":{"packageIdentifiers":[{"type":"CUSTOMER_REFERENCE","values":["G177832"]}]}`), ship.NotFound},
		"a hit":                      {200, result(number + `,"additionalTrackingInfo":{"packageIdentifiers":[{"type":"CUSTOMER_REFERENCE","values":["` + reference + `"]}]}`), ""},
		"a hit in another spelling":  {200, result(number + `,"additionalTrackingInfo":{"packageIdentifiers":[{"type":"SHIPPER_REFERENCE","value":"` + reference + `"}]}`), ""},
		"a hit without identifiers":  {200, result(number), ""},
		"a later piece by itself":    {200, result(number + `,"packageDetails":{"sequenceNumber":"2"}`), ship.Unavailable},
		"a later piece, master told": {200, result(number + `,"packageDetails":{"sequenceNumber":"2"},"additionalTrackingInfo":{"packageIdentifiers":[{"type":"STANDARD_MPS","value":["794791341818"]}]}`), ""},
	} {
		p, err := open(t, credentials(), canned{c.status, c.body}).Find(t.Context(), buyOrder())
		if ship.KindOf(err) != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err == nil && (p.CarrierRef != "794791341818" || p.TrackingNumber != p.CarrierRef) {
			t.Errorf("%s: found %+v", name, p)
		}
	}
}

// TestPurchasesAreFoundUnderEitherNameOfTheirReference: FedEx's tracking has two
// names for the reference of a purchase, and nothing says which one it uses.
func TestPurchasesAreFoundUnderEitherNameOfTheirReference(t *testing.T) {
	for _, kind := range []string{"", "CUSTOMER_REFERENCE", "SHIPPER_REFERENCE"} {
		via := carriertest.Server(t, newServer(t))
		settings(t, via, `{"referenceType":"`+kind+`"}`)
		c := open(t, credentials(), via)
		bought, err := c.Buy(t.Context(), buyOrder())
		if err != nil {
			t.Fatal(err)
		}
		if found, err := c.Find(t.Context(), buyOrder()); err != nil || found.TrackingNumber != bought.TrackingNumber {
			t.Errorf("known as %q: found %+v, %v", kind, found, err)
		}
	}
}

// TestAbsenceIsNotBelievedBeforeTheShipDate: FedEx refuses a window that ends in
// the future, and does not say what a search without one covers.
func TestAbsenceIsNotBelievedBeforeTheShipDate(t *testing.T) {
	c := open(t, credentials(), carriertest.Server(t, newServer(t)))
	later := buyOrder()
	later.Order.ShipDate = ship.DateOf(time.Now().AddDate(0, 0, 5))
	if _, err := c.Find(t.Context(), later); ship.KindOf(err) != ship.Unavailable {
		t.Errorf("not bought, sent in five days: %v, want unavailable", err)
	}
	bought, err := c.Buy(t.Context(), later)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := c.Find(t.Context(), later); err != nil || found.TrackingNumber != bought.TrackingNumber {
		t.Errorf("bought, sent in five days: %+v, %v", found, err)
	}
}

// settings changes how the emulator behaves.
func settings(t testing.TB, via carrier.Doer, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, fedex.Spec.TestURL+"/_emulator/settings", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := via.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		t.Fatalf("settings %s: status %d", body, resp.StatusCode)
	}
}

func TestRatesTakeTheAccountsPriceWithTaxes(t *testing.T) {
	body := `{"output":{"rateReplyDetails":[
	{"serviceType":"FEDEX_GROUND","ratedShipmentDetails":[
		{"rateType":"LIST","totalNetCharge":535.68,"currency":"CAD"},{"rateType":"ACCOUNT","totalNetFedExCharge":33.51,"totalNetCharge":38.54,"currency":"CAD"}],
		"operationalDetail":{"commitDate":"2024-07-25T23:59:00","transitTime":"FOUR_DAYS","ineligibleForMoneyBackGuarantee":true}},
	{"serviceType":"INTERNATIONAL_FIRST","commit":{"label":"Delivery date unavailable"},
		"ratedShipmentDetails":[{"rateType":"LIST","totalNetCharge":"1338.5","shipmentRateDetail":{"currency":"UKL"}}]},
	{"serviceType":"PRIORITY_OVERNIGHT","commit":{"dateDetail":{"dayFormat":"2024-07-23T10:30:00"},"transitDays":{"minimumTransitTime":"ONE_DAY"}},
		"ratedShipmentDetails":[{"rateType":"ACCOUNT","totalNetCharge":70,"currency":"USD"}]},
	{"serviceType":"FEDEX_1_DAY_FREIGHT","ratedShipmentDetails":[{"rateType":"ACCOUNT","totalNetCharge":900,"currency":"USD"}]},
	{"serviceType":"FEDEX_2_DAY","ratedShipmentDetails":[]}]}}`
	rates, err := open(t, credentials(), canned{200, body}).Rates(t.Context(), order())
	if err != nil || len(rates) != 3 {
		t.Fatal(rates, err)
	}
	g, first, overnight := rates[0], rates[1], rates[2]
	if g.Service != "ground" || g.Price != (ship.Money{Minor: 3854, Currency: "CAD"}) || g.TransitDays != 4 || g.Guaranteed || g.DeliveryAt.Hour() != 23 {
		t.Errorf("ground: %+v", g)
	}
	if first.Price != (ship.Money{Minor: 133850, Currency: "GBP"}) || first.TransitDays != 0 || !first.DeliveryAt.IsZero() || first.Guaranteed {
		t.Errorf("international first: %+v", first)
	}
	if overnight.TransitDays != 1 || overnight.DeliveryAt.Minute() != 30 || !overnight.Guaranteed {
		t.Errorf("priority overnight: %+v", overnight)
	}
}
