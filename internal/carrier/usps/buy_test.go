package usps_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/usps"
	"github.com/waybillhq/waybill/internal/emulator"
	standin "github.com/waybillhq/waybill/internal/emulator/usps"
	"github.com/waybillhq/waybill/internal/ship"
)

func TestTheSameReferenceBuysOnce(t *testing.T) {
	s, via := stand(t, nil)
	c := open(t, via)
	first, err := c.Buy(t.Context(), home())
	if err != nil {
		t.Fatal(err)
	}
	second, err := c.Buy(t.Context(), home())
	if err != nil || second.TrackingNumber != first.TrackingNumber || second.Price != first.Price {
		t.Errorf("the second purchase is %s, %v; want %s again", second.TrackingNumber, err, first.TrackingNumber)
	}
	if n := len(s.Ledger.Entries()); n != 1 {
		t.Errorf("USPS sold %d times, want once", n)
	}
	changed := home()
	changed.Order.Parcels[0].Weight = 2
	if _, err := c.Buy(t.Context(), changed); ship.KindOf(err) != ship.Uncertain {
		t.Errorf("the same reference for another order: %v, want uncertain: a label is there", err)
	}
	other := home()
	other.Reference += "X"
	if p, err := c.Buy(t.Context(), other); err != nil || p.TrackingNumber == first.TrackingNumber {
		t.Errorf("another reference bought %s, %v", p.TrackingNumber, err)
	}
}

func TestTheLedgerKnowsOurReferences(t *testing.T) {
	s, via := stand(t, nil)
	b := home()
	b.Order.Reference = "PO-7"
	p, err := open(t, via).Buy(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	e := s.Ledger.Entries()[0]
	if e.Reference != b.Reference || e.Second != b.Order.OrderID || e.Amount != p.Price.Amount() || e.Currency != "USD" || e.Account != standin.Account {
		t.Errorf("the ledger has %+v", e)
	}
	if !bytes.Contains(p.Label.Data, []byte(b.Order.OrderID)) || !bytes.Contains(p.Label.Data, []byte("PO-7")) {
		t.Error("the label shows neither the order number nor the reference")
	}
	if bytes.Contains(p.Label.Data, []byte(b.Reference)) || bytes.Contains(p.Label.Data, []byte(b.Shipment)) {
		t.Error("the label shows names of our own")
	}
}

// After an answer that is lost, cut off or mixed up, the purchase is found.
func TestWhatIsSoldAndNotAnsweredIsFound(t *testing.T) {
	for _, fault := range []string{"reset", "500", "502", "truncate", "wrong_reference"} {
		for name, b := range map[string]carrier.BuyOrder{"home": home(), "abroad": abroad()} {
			t.Run(fault+" "+name, func(t *testing.T) {
				s, via := stand(t, nil)
				c := open(t, via)
				if err := s.Turn(emulator.Faults{Buy: map[string]float64{fault: 1}}); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Buy(t.Context(), b); ship.KindOf(err) != ship.Uncertain {
					t.Errorf("Buy: %v, want uncertain", err)
				}
				p, err := c.Find(t.Context(), b)
				if err != nil || p.TrackingNumber != s.Ledger.Entries()[0].Number || len(s.Ledger.Entries()) != 1 {
					t.Errorf("Find = %s, %v with %d sales", p.TrackingNumber, err, len(s.Ledger.Entries()))
				}
			})
		}
	}
}

// TestMediaMailIsBoughtAsQuoted buys over a connection that ships nothing but media.
// A connection that does not say so sells none.
func TestMediaMailIsBoughtAsQuoted(t *testing.T) {
	s, via := stand(t, nil)
	media := maps.Clone(credentials)
	media["media_mail"] = "on"
	c, err := carrier.Open(usps.Spec, carrier.Opening{Credentials: media, BaseURL: usps.Spec.TestURL, Via: via})
	if err != nil {
		t.Fatal(err)
	}

	b := home()
	rates, err := c.Rates(t.Context(), b.Order)
	i := slices.IndexFunc(rates, func(r ship.Rate) bool { return r.Service == "media_mail" })
	if err != nil || i < 0 {
		t.Fatalf("rates %+v, %v", rates, err)
	}
	b.Service, b.Selection = rates[i].Service, rates[i].Selection
	sale, err := c.Buy(t.Context(), b)
	if err != nil || sale.Price != rates[i].Price || s.Ledger.Entries()[0].Service != "MEDIA_MAIL" {
		t.Fatalf("sold %+v, %v; the ledger has %+v", sale, err, s.Ledger.Entries())
	}

	usual := open(t, via)
	if _, err := usual.Buy(t.Context(), b); ship.KindOf(err) != ship.Invalid || len(s.Ledger.Entries()) != 1 {
		t.Errorf("a connection for any goods: %v with %d sales", err, len(s.Ledger.Entries()))
	}
	media["media_mail"] = "sometimes"
	if _, err := carrier.Open(usps.Spec, carrier.Opening{Credentials: media, BaseURL: usps.Spec.TestURL, Via: via}); err == nil {
		t.Error("any word is taken for the setting")
	}
}

func TestALookUpNeverBuys(t *testing.T) {
	s, via := stand(t, nil)
	c := open(t, via)
	for _, b := range []carrier.BuyOrder{home(), abroad()} {
		if _, err := c.Find(t.Context(), b); ship.KindOf(err) != ship.NotFound {
			t.Errorf("err = %v, want not found", err)
		}
	}
	if n := len(s.Ledger.Entries()); n != 0 {
		t.Errorf("looking up sold %d labels", n)
	}
}

// A label that USPS does not reprint is returned if the same request is sent
// again. A label that it no longer returns at all is neither found nor absent:
// treating it as absent would buy a second one.
func TestALabelThatIsNotReprintedIsNotAbsent(t *testing.T) {
	s, via := stand(t, nil)
	c := open(t, via)
	bought, err := c.Buy(t.Context(), home())
	if err != nil {
		t.Fatal(err)
	}
	for range standin.Reprints {
		if _, err := c.Find(t.Context(), home()); err != nil {
			t.Fatal(err)
		}
	}
	found, err := c.Find(t.Context(), home())
	if err != nil || found.TrackingNumber != bought.TrackingNumber || len(s.Ledger.Entries()) != 1 {
		t.Errorf("found %s, %v, after %d sales; want %s", found.TrackingNumber, err, len(s.Ledger.Entries()), bought.TrackingNumber)
	}
	changed := home()
	changed.Order.Destination.Name = "Somebody Else"
	if _, err := c.Find(t.Context(), changed); ship.KindOf(err) != ship.Conflict {
		t.Errorf("err = %v, want a conflict", err)
	}
	if n := len(s.Ledger.Entries()); n != 1 {
		t.Errorf("looking up sold %d labels", n-1)
	}
}

func TestWhatTheCarrierSaysToALookUp(t *testing.T) {
	for _, tc := range []struct {
		name, body string
		status     int
		want       ship.Kind
	}{
		{"unknown", problem("160378", "Tracking number not found for a mailing date within the last 45 days"), 400, ship.NotFound},
		{"unknown, by words alone", problem("00000XX", "Order not found"), 400, ship.NotFound},
		{"cancelled", problem("160379", "Canceled labels are unavailable for reprint"), 400, ship.NotFound},
		{"refunded", problem("160380", "Disputed labels are unavailable for reprint"), 400, ship.NotFound},
		{"mailed", problem("160381", "Labels past their mailingDate are unavailable for reprint"), 400, ship.Conflict},
		{"somebody else's", problem("160383", "The trackingNumber is not associated with your mailer profile"), 400, ship.Invalid},
		{"no such path", `{"error":{"code":"404","message":"Not Found"}}`, 404, ship.Unavailable},
		{"no such path, as a page", `<html>not found</html>`, 404, ship.Unavailable},
		{"another image", `{"labelMetadata":{"trackingNumber":"1","postage":1},"labelImage":"R0lGODlh"}`, 200, ship.Unavailable},
		{"no price", `{"labelMetadata":{"trackingNumber":"1"},"labelImage":"JVBERi0xLjQK"}`, 200, ship.Unavailable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := open(t, answering(t, tc.status, tc.body))
			if _, err := c.Find(t.Context(), home()); ship.KindOf(err) != tc.want {
				t.Errorf("err = %v: %s, want %s", err, ship.KindOf(err), tc.want)
			}
		})
	}
}

func TestWhatTheCarrierSaysToAPurchase(t *testing.T) {
	const good = `"trackingNumber":"9400100000000000000001","routingInformation":"42063104","labelImage":"JVBERi0xLjQK"`
	for _, tc := range []struct {
		name, body string
		want       ship.Kind
		price      int64
	}{
		{"whole", `{` + good + `,"postage":10.99,"extraServices":[{"price":3.95},{"price":null}],"fees":[{"price":4}]}`, "", 1894},
		{"added in binary", `{` + good + `,"postage":12.350000000000001}`, "", 1235},
		{"no price", `{` + good + `}`, ship.Uncertain, 0},
		{"a price in words", `{` + good + `,"postage":1e3}`, ship.Uncertain, 0},
		{"a negative price", `{` + good + `,"postage":-1}`, ship.Uncertain, 0},
		{"another destination", `{"trackingNumber":"94","routingInformation":"42010001","postage":1,"labelImage":"JVBERi0xLjQK"}`, ship.Uncertain, 0},
		{"another address", `{` + good + `,"postage":1,"labelAddress":{"ZIPCode":"10001"}}`, ship.Uncertain, 0},
		{"another image", `{"trackingNumber":"94","postage":1,"labelImage":"R0lGODlh"}`, ship.Uncertain, 0},
		{"no number", `{"postage":1,"labelImage":"JVBERi0xLjQK"}`, ship.Uncertain, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := open(t, answering(t, 200, tc.body)).Buy(t.Context(), home())
			if ship.KindOf(err) != tc.want || p.Price.Minor != tc.price {
				t.Errorf("Buy = %v, %v: %s; want %d, %s", p.Price, err, ship.KindOf(err), tc.price, tc.want)
			}
		})
	}
}

func TestWhatTheCarrierSaysToAVoid(t *testing.T) {
	for _, tc := range []struct {
		name, body string
		status     int
		state      ship.State
		want       ship.Kind
	}{
		{"cancelled", `{"trackingNumber":"9400 1","status":"CANCELED"}`, 200, ship.StateVoided, ""},
		{"refund", `{"trackingNumber":"94001","status":"DISPUTED","disputeId":"103789"}`, 200, ship.StateRefundPending, ""},
		{"cancelled before", problem("160186", "Order already canceled"), 400, ship.StateVoided, ""},
		{"refund before", problem("00000XX", "A refund request for this order has already been submitted today"), 400, ship.StateRefundPending, ""},
		{"another label", `{"trackingNumber":"94002","status":"CANCELED"}`, 200, "", ship.Uncertain},
		{"another status", `{"trackingNumber":"94001","status":"PENDING"}`, 200, "", ship.Uncertain},
		{"on a SCAN form", problem("160174", "Labels associated with a scan form cannot be canceled"), 400, "", ship.Invalid},
		{"unknown", problem("160185", "Order not found"), 400, "", ship.Invalid},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := open(t, answering(t, tc.status, tc.body))
			v, err := c.Void(t.Context(), ship.Purchase{Service: "ground_advantage", CarrierRef: "94001", TrackingNumber: "94001"})
			if v.State != tc.state || ship.KindOf(err) != tc.want {
				t.Errorf("Void = %v, %v; want %s, %s", v, err, tc.state, tc.want)
			}
		})
	}
}

// Offers of which none fits are a refusal; no offers at all do not count as an
// answer.
func TestOffersThatDoNotFitAreARefusal(t *testing.T) {
	for body, want := range map[string]ship.Kind{
		`{"pricingOptions":[{"shippingOptions":[{"mailClass":"MEDIA_MAIL","rateOptions":[{"totalBasePrice":4}]}]}]}`: ship.Invalid,
		`{"pricingOptions":[{"shippingOptions":[]}]}`:                                                                ship.Unavailable,
		`{}`: ship.Unavailable,
	} {
		_, via := stand(t, nil)
		c := open(t, doer(func(r *http.Request) (*http.Response, error) {
			if strings.HasPrefix(r.URL.Path, "/shipments/") {
				return respond(200, body), nil
			}
			return via.Do(r)
		}))
		if _, err := c.Rates(t.Context(), home().Order); ship.KindOf(err) != want {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}

// Orders that USPS cannot take are refused without calling it.
func TestWhatCannotBeSentIsRefusedBefore(t *testing.T) {
	change := func(f func(*carrier.BuyOrder)) carrier.BuyOrder { b := home(); f(&b); return b }
	there := func(f func(*carrier.BuyOrder)) carrier.BuyOrder { b := abroad(); f(&b); return b }
	for _, tc := range []struct {
		name  string
		order carrier.BuyOrder
		kind  ship.Kind
		field string
	}{
		{"several parcels", change(func(b *carrier.BuyOrder) { b.Order.Parcels = append(b.Order.Parcels, b.Order.Parcels[0]) }), ship.Unsupported, "/parcels"},
		{"from abroad", change(func(b *carrier.BuyOrder) { b.Order.Origin = abroad().Order.Destination }), ship.Unsupported, "/origin/country"},
		{"a return abroad", there(func(b *carrier.BuyOrder) { b.Order.IsReturn = true }), ship.Unsupported, "/isReturn"},
		{"paid by another", change(func(b *carrier.BuyOrder) { b.Order.Billing = &ship.Billing{Type: "third_party", Account: "1"} }), ship.Unsupported, "/billing/type"},
		{"signed abroad", there(func(b *carrier.BuyOrder) { b.Order.Options.Signature = "standard" }), ship.Unsupported, "/options/signature"},
		{"duties paid", there(func(b *carrier.BuyOrder) { b.Order.Customs.Incoterm = "DDP" }), ship.Unsupported, "/customs/incoterm"},
		{"no sides", change(func(b *carrier.BuyOrder) { b.Order.Parcels[0].Dimensions = nil }), ship.Invalid, "/parcel/dimensions"},
		{"too heavy", change(func(b *carrier.BuyOrder) { b.Order.Parcels[0].Weight = 71 }), ship.Invalid, "/parcel/weight"},
		{"too large", change(func(b *carrier.BuyOrder) { b.Order.Parcels[0].Dimensions = inches(60, 20, 20) }), ship.Invalid, "/parcel/dimensions"},
		{"too large to fly", change(func(b *carrier.BuyOrder) {
			b.Service = "priority_mail"
			b.Order.Parcels[0].Dimensions = inches(50, 18, 18)
		}), ship.Invalid, "/parcel/dimensions"},
		{"unknown packaging", change(func(b *carrier.BuyOrder) { b.Order.Parcels[0].Packaging = "crate" }), ship.Invalid, "/parcel/packaging"},
		{"packaging of another service", change(func(b *carrier.BuyOrder) { b.Order.Parcels[0].Packaging = "small_flat_rate_box" }), ship.Invalid, ""},
		{"unknown service", change(func(b *carrier.BuyOrder) { b.Service = "media_mail" }), ship.Invalid, "/service"},
		{"service abroad", change(func(b *carrier.BuyOrder) { b.Service = "priority_mail_international" }), ship.Invalid, ""},
		{"insured in euros", change(func(b *carrier.BuyOrder) { b.Order.Options.InsuredValue = ship.Money{Minor: 1, Currency: "EUR"} }), ship.Invalid, "/options/insuredValue"},
		{"too far ahead", change(func(b *carrier.BuyOrder) { b.Order.ShipDate = "2099-01-01" }), ship.Invalid, "/shipDate"},
		{"a city too long", change(func(b *carrier.BuyOrder) { b.Order.Destination.City = strings.Repeat("Llanfair ", 4) }), ship.Invalid, "/destination/city"},
		{"a ZIP of letters", change(func(b *carrier.BuyOrder) { b.Order.Destination.Zip = "ABCDE" }), ship.Invalid, "/destination/zip"},
		{"no customs", there(func(b *carrier.BuyOrder) { b.Order.Customs = nil }), ship.Invalid, "/customs"},
		{"soldiers without customs", change(func(b *carrier.BuyOrder) { b.Order.Destination.State, b.Order.Destination.Zip = "AE", "09008" }), ship.Invalid, "/customs"},
		{"goods in euros", there(func(b *carrier.BuyOrder) { b.Order.Customs.Items[1].Value.Currency = "EUR" }), ship.Invalid, "/customs/items/1/value"},
		{"goods that need a filing", there(func(b *carrier.BuyOrder) {
			b.Order.Destination.Country, b.Order.Destination.Zip, b.Order.Customs.Items[0].Value = "FR", "75001", dollars(130000)
		}), ship.Invalid, "/customs/items/0/value"},
		{"goods heavier than the parcel", there(func(b *carrier.BuyOrder) { b.Order.Customs.Items[0].WeightGrams = 5000 }), ship.Invalid, "/customs/items"},
		{"goods without a name", there(func(b *carrier.BuyOrder) { b.Order.Customs.Items[0].Description = "Gift" }), ship.Invalid, "/customs/items/0/description"},
		{"goods from nowhere", there(func(b *carrier.BuyOrder) { b.Order.Customs.Items[0].OriginCountry = "" }), ship.Invalid, "/customs/items/0/originCountry"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := open(t, nothing{}).Buy(t.Context(), tc.order)
			e, ok := errors.AsType[*ship.Error](err)
			if !ok || e.Kind != tc.kind {
				t.Fatalf("err = %v, want %s", err, tc.kind)
			}
			if tc.field != "" && (len(e.Fields) == 0 || e.Fields[0].Pointer != tc.field) {
				t.Errorf("fields %+v, want %s", e.Fields, tc.field)
			}
		})
	}
}

// An emulator that was killed no longer knows its tokens. The driver fetches
// each of the two once more and continues.
func TestBothTokensAreFetchedAnewAfterARestart(t *testing.T) {
	ledger, err := emulator.OpenLedger("")
	if err != nil {
		t.Fatal(err)
	}
	var serving http.Handler = standin.New(ledger)
	var mu sync.Mutex
	seen := map[string]int{}
	via := carriertest.Server(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.Method+" "+r.URL.Path]++
		now := serving
		mu.Unlock()
		now.ServeHTTP(w, r)
	}))
	c := open(t, via)
	var group sync.WaitGroup
	for i := range 5 {
		group.Go(func() {
			b := home()
			b.Reference += fmt.Sprint(i)
			if _, err := c.Buy(t.Context(), b); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	tokens := func() [2]int {
		return [2]int{seen["POST /oauth2/v3/token"], seen["POST /payments/v3/payment-authorization"]}
	}
	if got := tokens(); got != [2]int{1, 1} {
		t.Errorf("five purchases fetched %v tokens, want one of each", got)
	}
	mu.Lock()
	serving = standin.New(ledger)
	mu.Unlock()
	if _, err := c.Find(t.Context(), home()); ship.KindOf(err) != ship.NotFound {
		t.Errorf("after the restart: %v, want not found", err)
	}
	if got := tokens(); got != [2]int{2, 2} {
		t.Errorf("after the restart %v tokens were fetched, want two of each", got)
	}
}

// The payment authorization spends money, so no error may repeat it.
func TestNoErrorRepeatsThePaymentAuthorization(t *testing.T) {
	s, via := stand(t, nil)
	var token string
	c := open(t, doer(func(r *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(r.URL.Path, "/label") {
			return via.Do(r)
		}
		token = r.Header.Get("X-Payment-Authorization-Token")
		return respond(400, problem(token, "you sent "+token)), nil
	}))
	_, err := c.Buy(t.Context(), home())
	e, ok := errors.AsType[*ship.Error](err)
	if !ok || token == "" || strings.Contains(fmt.Sprintf("%+v", *e), token) {
		t.Errorf("err = %+v repeats %q", e, token)
	}
	if len(s.Ledger.Entries()) != 0 {
		t.Error("it was sold")
	}
}

func TestCheckSaysWhatIsWrong(t *testing.T) {
	for _, tc := range []struct {
		name    string
		change  func(carrier.Credentials)
		message string
	}{
		{"secret", func(c carrier.Credentials) { c["client_secret"] = "not-the-secret" }, "credentials"},
		{"CRID", func(c carrier.Credentials) { c["crid"] = "99999999" }, "enroll the CRID"},
		{"mailer", func(c carrier.Credentials) { c["mid"] = "111111" }, "mailer IDs"},
		{"account", func(c carrier.Credentials) { c["account_number"] = "7" }, "EPS account number"},
	} {
		_, via := stand(t, nil)
		changed := carrier.Credentials{}
		for k, v := range credentials {
			changed[k] = v
		}
		tc.change(changed)
		c, err := carrier.Open(usps.Spec, carrier.Opening{Credentials: changed, BaseURL: usps.Spec.TestURL, Via: via})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Check(t.Context()); ship.KindOf(err) != ship.Forbidden || !strings.Contains(err.Error(), tc.message) {
			t.Errorf("%s: %v, want forbidden with %q", tc.name, err, tc.message)
		}
	}
	_, via := stand(t, nil)
	c := open(t, doer(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/oauth2/v3/token" {
			resp, err := via.Do(r)
			if err != nil {
				return nil, err
			}
			defer resp.Body.Close()
			var notified map[string]any
			if err := json.NewDecoder(resp.Body).Decode(&notified); err != nil {
				return nil, err
			}
			notified["scope"] = "addresses prices payments"
			body, err := json.Marshal(notified)
			return respond(200, string(body)), err
		}
		return via.Do(r)
	}))
	if err := c.Check(t.Context()); ship.KindOf(err) != ship.Forbidden || !strings.Contains(err.Error(), "Labels product") {
		t.Errorf("without the scope: %v", err)
	}
}

// For an account that USPS has not set up the error contains advice, and a
// token is requested again if a response has none.
func TestAnAccountThatIsNotSetUpSaysSo(t *testing.T) {
	for _, tc := range []struct {
		fault, message, words string
		kind                  ship.Kind
	}{
		{"not_enrolled", "enroll the CRID", "isn't enrolled in USPS Ship Outbound", ship.Forbidden},
		{"160305", "enroll the CRID", "", ship.Forbidden},
		{"160173", "company name", "", ship.Forbidden},
		{"160390", "under Carriers", "", ship.Forbidden},
		{"100003", "payment method", "", ship.Forbidden},
		{"100007", "add funds", "", ship.Forbidden},
		{"100005", "right now", "", ship.Unavailable},
	} {
		var files checks
		if tc.fault == "not_enrolled" {
			files = contracts(t, nil)
		}
		s, via := stand(t, files)
		c := open(t, via)
		if err := s.Turn(emulator.Faults{Account: tc.fault}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			_, err := c.Buy(t.Context(), home())
			e, ok := errors.AsType[*ship.Error](err)
			if !ok || e.Kind != tc.kind || !strings.Contains(e.Message, tc.message) || !strings.Contains(e.Refusal.Message, tc.words) {
				t.Errorf("%s: %+v", tc.fault, e)
			}
		}
		if err := s.Turn(emulator.Faults{}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Buy(t.Context(), home()); err != nil {
			t.Errorf("after %s: %v", tc.fault, err)
		}
	}
}

func TestFaultsAreReadInAllThreeShapes(t *testing.T) {
	for _, tc := range []struct {
		status  int
		body    string
		kind    ship.Kind
		code    string
		message string
	}{
		{400, problem("160300", "the words"), ship.Invalid, "160300", "the words"},
		{400, `{"error":"invalid_request","error_description":"The body is not valid."}`, ship.Invalid, "invalid_request", "The body is not valid."},
		{403, `{"fault":{"faultstring":"Access denied","detail":{"errorcode":"steps.oauth.v2.Denied"}}}`, ship.Forbidden, "steps.oauth.v2.Denied", "Access denied"},
		{401, `{"error":{"code":"401","message":"","errors":[]}}`, ship.Forbidden, "401", ""},
		{400, `{"error":{"code":"400","message":"","errors":[{"title":"invalid_oauth_scope","source":"Access Token"}]}}`, ship.Invalid, "400", "invalid_oauth_scope"},
		{401, `{"error":{"code":"401","message":"The client application identifier is invalid.","errors":[]}}`, ship.Forbidden, "401", "The client application identifier is invalid."},
	} {
		_, err := open(t, answering(t, tc.status, tc.body)).Buy(t.Context(), home())
		e, ok := errors.AsType[*ship.Error](err)
		if !ok || e.Kind != tc.kind || e.Refusal.Code != tc.code || e.Refusal.Message != tc.message {
			t.Errorf("%s: %+v", tc.body, e)
		}
	}
}

func TestRefusalsPointIntoOurRequest(t *testing.T) {
	for parameter, want := range map[string]string{
		"toAddress":                                 "/destination",
		"toAddress.ZIPCode":                         "/destination/zip",
		"fromAddress.streetAddress":                 "/origin/address1",
		"packageDescription.weight":                 "/parcel/weight",
		"length, height, width, mailClass":          "/parcel/dimensions /service",
		"packageDescription.mailingDate":            "/shipDate",
		"packageDescription/packageOptions":         "/options/insuredValue",
		"customsForm.importersReference":            "/customs/taxIdentifiers",
		"Header: X-Payment-Authorization-Token":     "",
		"imageInfo.imageType":                       "",
		"packageDescription.extraServices":          "/options",
		"packageDescription.customerReference":      "/orderId",
		"packageDescription.unknownThing, contents": "/customs/items",
	} {
		body := fmt.Sprintf(`{"error":{"code":"400","message":"Bad Request","errors":[{"code":"160999","detail":"the words","source":{"parameter":%q}}]}}`, parameter)
		_, err := open(t, answering(t, 400, body)).Buy(t.Context(), home())
		e, ok := errors.AsType[*ship.Error](err)
		if !ok {
			t.Fatal(err)
		}
		var got []string
		for _, f := range e.Fields {
			got = append(got, f.Pointer)
			if f.Detail != "USPS answered: the words." {
				t.Errorf("%s: %q", parameter, f.Detail)
			}
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s points to %q, want %q", parameter, text, want)
		}
	}
}

// The rate holder is named when prices are the account's own.
func TestContractPricesNameTheRateHolder(t *testing.T) {
	for kind, want := range map[string]bool{"contract": true, "commercial": false} {
		var sent string
		_, via := stand(t, contracts(t, nil))
		changed := maps.Clone(credentials)
		changed["price_type"] = kind
		c, err := carrier.Open(usps.Spec, carrier.Opening{Credentials: changed, BaseURL: usps.Spec.TestURL, Via: doer(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/payment-authorization") {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return nil, err
				}
				sent = string(body)
				r.Body = io.NopCloser(strings.NewReader(sent))
			}
			return via.Do(r)
		})})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Buy(t.Context(), home()); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(sent, "RATE_HOLDER") != want {
			t.Errorf("%s: %s", kind, sent)
		}
	}
}

// A small heavy box is quoted by its volume and bought by the same price.
func TestACubicPriceIsBoughtAsQuoted(t *testing.T) {
	_, via := stand(t, contracts(t, nil))
	c := open(t, via)
	b := home()
	b.Order.Parcels[0].Weight, b.Order.Parcels[0].WeightGrams = 15, 6804
	rates, err := c.Rates(t.Context(), b.Order)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(rates, func(r ship.Rate) bool { return r.Service == b.Service })
	if i < 0 || rates[i].Selection != "CP" {
		t.Fatalf("rates %+v", rates)
	}
	byWeight, err := c.Buy(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	b.Reference += "2"
	b.Selection = rates[i].Selection
	byVolume, err := c.Buy(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if byVolume.Price != rates[i].Price || byWeight.Price.Minor <= byVolume.Price.Minor {
		t.Errorf("quoted %v, bought for %v; without the quote for %v", rates[i].Price, byVolume.Price, byWeight.Price)
	}
	if found, err := c.Find(t.Context(), b); err != nil || found.TrackingNumber != byVolume.TrackingNumber {
		t.Errorf("found %s, %v", found.TrackingNumber, err)
	}
}

// First-Class Package International takes goods of up to 400 dollars.
func TestDearGoodsAreNotOfferedFirstClass(t *testing.T) {
	_, via := stand(t, nil)
	c := open(t, via)
	for cents, want := range map[int64]bool{40000: true, 40001: false} {
		b := abroad()
		b.Service = "first_class_package_international"
		b.Order.Customs.Items = b.Order.Customs.Items[:1]
		b.Order.Customs.Items[0].Quantity, b.Order.Customs.Items[0].Value = 1, dollars(cents)
		rates, err := c.Rates(t.Context(), b.Order)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(rates, func(r ship.Rate) bool { return r.Service == b.Service }); got != want {
			t.Errorf("goods worth %d cents: offered %v", cents, got)
		}
		if _, err := c.Buy(t.Context(), b); (err == nil) != want || err != nil && !strings.Contains(err.Error(), "400 USD") {
			t.Errorf("goods worth %d cents: %v", cents, err)
		}
	}
}

func TestAllProblemsOfAnOrderAreToldAtOnce(t *testing.T) {
	b := home()
	b.Order.Origin.Zip = "ABCDE"
	b.Order.Destination.City = strings.Repeat("x", 40)
	b.Order.Parcels[0] = ship.Parcel{
		Weight: 40, WeightUnit: ship.Kilogram, WeightGrams: 40_000,
		Dimensions: &ship.Dimensions{Length: 200, Width: 60, Height: 60, Unit: ship.Centimetre, LengthMM: 2000, WidthMM: 600, HeightMM: 600},
	}
	b.Order.Options.InsuredValue = ship.Money{Minor: 1, Currency: "EUR"}
	_, err := open(t, nothing{}).Buy(t.Context(), b)
	e, ok := errors.AsType[*ship.Error](err)
	if !ok || e.Kind != ship.Invalid {
		t.Fatalf("err = %v", err)
	}
	var got []string
	for _, f := range e.Fields {
		got = append(got, f.Pointer+" "+f.Detail)
	}
	want := []string{
		"/origin/zip The sender's postal code must be a ZIP code of five digits, such as 94105.",
		"/destination/city The recipient's city is longer than the 28 characters that USPS prints.",
		`/parcel/weight "parcel.weight" must be more than 0 and at most 31.75 kg for USPS.`,
		`/parcel/dimensions "parcel.dimensions" must have a length and girth of at most 330.2 cm together for USPS; girth is twice the two shorter sides.`,
		`/options/insuredValue "options.insuredValue" must be an amount in USD above 0 for USPS.`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestAQuoteNeedsOnlyPlacesAndTheParcel(t *testing.T) {
	_, via := stand(t, nil)
	o := home().Order
	o.Origin = ship.Address{Zip: "20024", Country: "US"}
	o.Destination = ship.Address{Zip: "63104", Country: "US"}
	if rates, err := open(t, via).Rates(t.Context(), o); err != nil || len(rates) == 0 {
		t.Errorf("rates %v, %v", rates, err)
	}
}

func TestOpenRefusesWhatIsNoCredential(t *testing.T) {
	for name, value := range map[string]string{"mid": "12345", "manifest_mid": "1234567890", "price_type": "retail"} {
		changed := carrier.Credentials{}
		for k, v := range credentials {
			changed[k] = v
		}
		changed[name] = value
		if _, err := carrier.Open(usps.Spec, carrier.Opening{Credentials: changed, Via: nothing{}}); ship.KindOf(err) != ship.Invalid {
			t.Errorf("%s = %q: %v, want invalid", name, value, err)
		}
	}
}

// problem returns a refusal as USPS writes it.
func problem(code, detail string) string {
	return fmt.Sprintf(`{"apiVersion":"/labels/v3","error":{"code":"400","message":"Bad Request","errors":[{"title":"Bad Request","detail":%q,"code":%q,"source":"trackingNumber"}]}}`, detail, code)
}

// answering emulates USPS: it issues tokens and gives the same response to
// every other request.
func answering(t *testing.T, status int, body string) carrier.Doer {
	t.Helper()
	_, via := stand(t, nil)
	return doer(func(r *http.Request) (*http.Response, error) {
		if strings.HasPrefix(r.URL.Path, "/labels/") {
			return respond(status, body), nil
		}
		return via.Do(r)
	})
}

func respond(status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

type doer func(*http.Request) (*http.Response, error)

// Do is carrier.Doer.
func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

// nothing is a Doer over which no request may be sent.
type nothing struct{}

// Do is carrier.Doer.
func (nothing) Do(r *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("%s %s was sent", r.Method, r.URL.Path)
}
