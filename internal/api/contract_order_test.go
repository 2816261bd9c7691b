package api

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

func TestContractEveryFieldOfAnOrderIsTaken(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	day := func(n int) string { return string(ship.DateOf(time.Now().AddDate(0, 0, n))) }
	body := `{"orderId":"ORD-7","reference":"PO 12","labelFormat":"zpl","isReturn":true,"shipDate":"` + day(1) + `","deliverBy":"` + day(30) + `",
		"onDuplicateOrder":"allow","maxAmount":{"amount":"900.00","currency":"USD"},"metadata":{"channel":"web","empty":""},
		"origin":{"name":"Shop","company":"Acme","address1":"1 Market Street","address2":"Floor 2","address3":"Door 3","city":"San Francisco","state":"CA","zip":"94105","country":"US","phone":"+1 415 555 0100","email":"a@example.com","residential":false},
		"destination":{"name":"Jean Dupont","company":"Dupont SA","address1":"1 Rue de Rivoli","address2":"Bat A","address3":"Esc 2","city":"Paris","zip":"75001","country":"FR","phone":"+33 1 23 45 67 89","email":"j@example.com","residential":true},
		"parcel":{"weight":1.5,"weightUnit":"kg","dimensions":{"length":30,"width":20,"height":10,"unit":"cm"},"packaging":"custom"},
		"options":{"signature":"adult","saturdayDelivery":true,"insuredValue":{"amount":"50.00","currency":"USD"}},
		"billing":{"type":"third_party","account":"A1","zip":"94105","country":"US"},
		"customs":{"contentsType":"gift","incoterm":"DAP","signer":"Ada","invoiceNumber":"I-1","taxIds":["IM1"],
			"items":[{"description":"Shirt","quantity":2,"value":{"amount":"10.00","currency":"USD"},"weight":0.5,"hsCode":"610910","originCountry":"pt"}]}}`
	sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", body)
	if sh["orderId"] != "ORD-7" || sh["reference"] != "PO 12" || at(sh, "metadata", "channel") != "web" {
		t.Errorf("shipment = %v", sh)
	}
	if at(sh, "pieces", "parcel", "weightUnit") != "kg" || at(sh, "pieces", "parcel", "dimensions", "unit") != "cm" || at(sh, "pieces", "parcel", "packaging") != "custom" {
		t.Errorf("pieces = %v", sh["pieces"])
	}
	stored, err := c.store.Shipment(t.Context(), c.tenant, ship.ShipmentID(sh["id"].(string)))
	if err != nil {
		t.Fatal(err)
	}
	o := stored.Order
	if o.Parcels[0].WeightGrams != 1500 || o.Parcels[0].Dimensions.LengthMM != 300 {
		t.Errorf("stored as %d g and %d mm", o.Parcels[0].WeightGrams, o.Parcels[0].Dimensions.LengthMM)
	}
	if !o.IsReturn || o.Billing.Account != "A1" || o.Customs.Items[0].OriginCountry != "PT" || o.Options.Signature != "adult" || o.LabelFormat != "zpl" ||
		o.Destination.Address3 != "Esc 2" || o.Origin.Company != "Acme" {
		t.Errorf("stored order %+v", o)
	}
}

func TestContractWhatIsRequiredIsAskedFor(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	for name, tc := range map[string]struct{ old, new, pointer, code string }{
		"orderId":                {`"orderId":"ORD-1001",`, ``, "/orderId", "required"},
		"an empty orderId":       {`"ORD-1001"`, `" "`, "/orderId", "required"},
		"an orderId of 101":      {`ORD-1001`, strings.Repeat("x", 101), "/orderId", "too_long"},
		"destination":            {`"destination"`, `"origin"`, "/destination", "required"},
		"name":                   {`"name":"Ada Lovelace",`, ``, "/destination/name", "required"},
		"address1":               {`"address1":"500 Main St",`, ``, "/destination/address1", "required"},
		"city":                   {`"city":"Austin",`, ``, "/destination/city", "required"},
		"country":                {`,"country":"US"`, ``, "/destination/country", "required"},
		"state in the US":        {`"state":"TX",`, ``, "/destination/state", "required"},
		"state in Canada":        {`"state":"TX","zip":"78701","country":"US"`, `"zip":"K1A 0B1","country":"CA"`, "/destination/state", "required"},
		"state in Australia":     {`"state":"TX","zip":"78701","country":"US"`, `"zip":"2000","country":"AU"`, "/destination/state", "required"},
		"state in India":         {`"state":"TX","zip":"78701","country":"US"`, `"zip":"110001","country":"IN"`, "/destination/state", "required"},
		"state in Brazil":        {`"state":"TX","zip":"78701","country":"US"`, `"zip":"01310-100","country":"BR"`, "/destination/state", "required"},
		"state in Mexico":        {`"state":"TX","zip":"78701","country":"US"`, `"zip":"06000","country":"MX"`, "/destination/state", "required"},
		"zip":                    {`"zip":"78701",`, ``, "/destination/zip", "required"},
		"a zip of another place": {`78701`, `7870`, "/destination/zip", "invalid_zip"},
		"a country of three":     {`"US"`, `"USA"`, "/destination/country", "unknown_country"},
		"no such state":          {`"TX"`, `"ZZ"`, "/destination/state", "unknown_state"},
		"weight":                 {`"weight":4.2,`, ``, "/parcel/weight", "required"},
		"a weight of nothing":    {`4.2`, `0`, "/parcel/weight", "too_small"},
		"a side":                 {`"length":12,`, ``, "/parcel/dimensions/length", "required"},
		"a side of nothing":      {`"height":4`, `"height":0`, "/parcel/dimensions/height", "too_small"},
	} {
		if !strings.Contains(specBody, tc.old) {
			t.Fatalf("%s: the body has no %s", name, tc.old)
		}
		p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", strings.Replace(specBody, tc.old, tc.new, 1))
		if p["code"] != "validation_failed" || wrongAt(p)[tc.pointer] != tc.code {
			t.Errorf("%s: %v, want %s at %s", name, p["errors"], tc.code, tc.pointer)
		}
	}
	for name, address := range map[string]string{
		"a zip of Hong Kong": `"city":"Hong Kong","country":"HK"`, "a state of Germany": `"city":"Berlin","zip":"10117","country":"DE"`,
		"100 characters of order": `"city":"Austin","state":"TX","zip":"78701","country":"US"`, "no dimensions": `"city":"Austin","state":"TX","zip":"78701","country":"US"`,
	} {
		body := `{"orderId":"` + strings.Repeat("é", 100) + `","destination":{"name":"A","address1":"1 Road",` + address + `},"parcel":{"weight":0.5}}`
		if w := send(c.handler, "POST", "/v1/shipments", c.key, body); w.Code != http.StatusCreated {
			t.Errorf("%s is asked for: %s", name, w.Body)
		}
	}
}

func TestContractAddressesAreWrittenInOneWay(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	for _, spelling := range []string{
		`"state":"CA","zip":"94105","country":"US"`, `"state":"US-CA","zip":" 94105 ","country":"us"`, `"state":"california","zip":"94105","country":"Us"`,
	} {
		body := strings.Replace(specBody, `"state":"TX","zip":"78701","country":"US"`, spelling, 1)
		sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", body)
		stored, err := c.store.Shipment(t.Context(), c.tenant, ship.ShipmentID(sh["id"].(string)))
		if d := stored.Order.Destination; err != nil || d.State != "CA" || d.Zip != "94105" || d.Country != "US" {
			t.Errorf("%s is stored as %q %q %q, %v", spelling, d.State, d.Zip, d.Country, err)
		}
	}
	body := strings.Replace(specBody, `"state":"TX","zip":"78701","country":"US"`, `"state":"Ontario","zip":"k1a 0b1","country":"ca"`, 1)
	sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", body)
	stored, err := c.store.Shipment(t.Context(), c.tenant, ship.ShipmentID(sh["id"].(string)))
	if d := stored.Order.Destination; err != nil || d.State != "ON" || d.Zip != "K1A 0B1" || d.Country != "CA" {
		t.Errorf("stored as %q %q %q, %v", d.State, d.Zip, d.Country, err)
	}
}

func TestContractUnitsAreTheAccountsUntilTheOrderSaysOthers(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	units := func(body string) (any, any) {
		t.Helper()
		sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", body)
		read, _ := c.do(http.StatusOK, "GET", "/v1/shipments/"+sh["id"].(string), "")
		return at(sh, "pieces", "parcel", "weightUnit"), at(read, "pieces", "parcel", "dimensions", "unit")
	}
	if w, l := units(specBody); w != "lb" || l != "in" {
		t.Errorf("a new account has %v and %v", w, l)
	}
	if _, err := c.account.Update(t.Context(), c.owner, account.Settings{Units: &ship.Units{Weight: ship.Kilogram, Length: ship.Centimetre}}); err != nil {
		t.Fatal(err)
	}
	c.key = c.newKey(false) // a key that is known is believed for some seconds
	if w, l := units(specBody); w != "kg" || l != "cm" {
		t.Errorf("the account's are %v and %v", w, l)
	}
	own := strings.NewReplacer(`"weight":4.2`, `"weight":67,"weightUnit":"oz"`, `"height":4`, `"height":4,"unit":"mm"`).Replace(specBody)
	if w, l := units(own); w != "oz" || l != "mm" {
		t.Errorf("the order's are %v and %v", w, l)
	}
}

// TestContractDeclaredWeightsHaveTheUnitOfTheParcel, whatever the account's is.
func TestContractDeclaredWeightsHaveTheUnitOfTheParcel(t *testing.T) {
	t.Parallel()
	var declared int64
	c := newContract(t, func(w *wiring) {
		w.hands = &hands{buy: func(o carrier.BuyOrder) { declared = o.Order.Customs.Items[0].WeightGrams }}
	}).opened()
	customs := `"customs":{"contentsType":"merchandise","items":[{"description":"Cotton shirt","quantity":2,` +
		`"value":{"amount":"20.00","currency":"USD"},"weight":0.5,"hsCode":"610910","originCountry":"US"}]}`

	// The account's unit is the pound.
	for unit, grams := range map[string]int64{"": 227, "lb": 227, "kg": 500, "oz": 15} {
		body := to("Ada", customs)
		if unit != "" {
			body = strings.Replace(body, `"weight":4.2`, `"weight":4.2,"weightUnit":"`+unit+`"`, 1)
		}
		sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", body)
		if declared != grams {
			t.Errorf("a weight of 0.5 in a parcel in %q is declared as %d g, want %d", unit, declared, grams)
		}
		if got := at(sh, "customs", "items", "weight"); got != 0.5 {
			t.Errorf("the answer shows %v, want 0.5", got)
		}
	}
}

func TestContractSeveralParcelsArePiecesWithAPageEach(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	_, before, _ := strings.Cut(specBody, `{`)
	before, _, _ = strings.Cut(before, `"parcel"`)
	sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", `{`+before+`"parcels":[{"weight":1},{"weight":2,"weightUnit":"kg"},{"weight":3}]}`)
	pieces := sh["pieces"].([]any)
	if len(pieces) != 3 || at(pieces[0], "trackingNumber") != sh["trackingNumber"] || at(pieces[1], "parcel", "weightUnit") != "kg" {
		t.Fatalf("pieces = %v", pieces)
	}
	id := sh["id"].(string)
	for _, piece := range pieces {
		tr, _ := c.do(http.StatusOK, "GET", "/v1/tracking/"+at(piece, "trackingNumber").(string), "")
		if tr["shipmentId"] != id || at(piece, "status") != "created" {
			t.Errorf("piece %v is tracked as %v", piece, tr["shipmentId"])
		}
	}
	_, w := c.do(http.StatusOK, "GET", "/v1/labels/"+id+".pdf", "")
	if n := bytes.Count(w.Body.Bytes(), []byte("/Type/Page/")); n != 3 {
		t.Errorf("the PDF has %d pages", n)
	}
	both, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", `{"parcels":[{"weight":1}],`+specBody[1:])
	none, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", `{`+strings.TrimSuffix(before, ",")+`}`)
	if wrongAt(both)["/parcels"] != "exclusive" || wrongAt(none)["/parcel"] != "required" {
		t.Errorf("both: %v, none: %v", both["errors"], none["errors"])
	}
}

// TestContractAShipmentIsAsFarAsItsLastPiece moves one piece ahead of the
// other.
func TestContractAShipmentIsAsFarAsItsLastPiece(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	_, before, _ := strings.Cut(specBody, `{`)
	before, _, _ = strings.Cut(before, `"parcel"`)
	sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", `{`+before+`"parcels":[{"weight":1},{"weight":2}]}`)
	id := sh["id"].(string)
	for _, tc := range []struct {
		piece  int
		code   string
		status ship.Status
		want   string
	}{
		{0, "OR", ship.PickedUp, "label_generated"},
		{0, "D", ship.Delivered, "label_generated"},
		{1, "X1", ship.Exception, "exception"},
		{1, "DP", ship.InTransit, "in_transit"},
		{1, "D", ship.Delivered, "delivered"},
	} {
		c.hear(id, ship.Scan{Piece: tc.piece, Code: tc.code, Status: tc.status})
		if got, _ := c.do(http.StatusOK, "GET", "/v1/shipments/"+id, ""); got["status"] != tc.want {
			t.Errorf("after %s of piece %d: %v, want %s", tc.status, tc.piece, got["status"], tc.want)
		}
	}
}
