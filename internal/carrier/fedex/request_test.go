package fedex_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/fedex"
	"github.com/waybillhq/waybill/internal/ship"
)

var update = flag.Bool("update", false, "write the golden files")

// overheard passes requests on and keeps their bodies, except for those of
// token requests.
type overheard struct {
	via    carrier.Doer
	bodies [][]byte
}

func (o *overheard) Do(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/oauth/token") {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		o.bodies = append(o.bodies, body)
	}
	return o.via.Do(r)
}

// requests returns orders that show every part of a request.
func requests() map[string]carrier.BuyOrder {
	yes := true
	list := map[string]carrier.BuyOrder{"domestic": buyOrder(), "international": abroad(), "pieces": pieces()}

	options := buyOrder()
	options.Order.Options = ship.Options{Signature: "adult", SaturdayDelivery: true, InsuredValue: ship.Money{Minor: 50000, Currency: "USD"}}
	options.Order.Parcels[0].Packaging = "fedex_pak"
	options.Order.Destination.Residential = &yes
	options.Order.Destination.Phone = ""
	options.Order.Billing = &ship.Billing{Type: "third_party", Account: "123 456 789"}
	options.Order.ShipDate = "2099-11-16"
	list["options"] = options

	held := buyOrder()
	held.Order.Options = ship.Options{ServicePoint: "NQAA", HoldAtLocation: true, Signature: "indirect"}
	list["held"] = held

	flat := buyOrder()
	flat.Order.Parcels[0].Packaging = "one_rate_medium_box"
	list["one-rate"] = flat

	wine := buyOrder()
	wine.Service = "two_day"
	wine.Order.Options = ship.Options{
		Signature:        "adult",
		Alcohol:          true,
		DryIce:           ship.DryIce{Weight: 100, WeightGrams: 100},
		LithiumBatteries: ship.LithiumBatteries{Type: "metal", Packed: "with_equipment"},
		COD:              ship.COD{Amount: ship.Money{Minor: 5000, Currency: "USD"}, Method: "check"},
	}
	list["wine"] = wine

	batteries := abroad()
	batteries.Order.Options = ship.Options{
		DryIce:           ship.DryIce{Weight: 100, WeightGrams: 100},
		LithiumBatteries: ship.LithiumBatteries{Type: "ion", Packed: "alone"},
	}
	list["batteries"] = batteries

	home := buyOrder()
	home.Service, home.Order.IsReturn, home.Order.Options.Signature = "home_delivery", true, "standard"
	home.Order.Reference = "RMA-2026-000123456789-7" // three characters more than FedEx prints
	home.Order.Origin.Phone = ""
	list["return"] = home

	economy := buyOrder()
	economy.Service, economy.Order.Parcels = "ground_economy", []ship.Parcel{parcel(0.5)}
	list["economy"] = economy

	britain := buyOrder()
	britain.Service = "priority"
	britain.Order.Origin = abroad().Order.Destination
	britain.Order.Destination = ship.Address{Name: "Mary Somerville", Address1: "2 Castle Rd", City: "Jedburgh", State: "Roxburghshire", Zip: "TD8 6BD", Country: "GB", Phone: "01835 555 010"}
	list["britain"] = britain

	union := britain
	union.Service = "regional_economy"
	union.Order.Origin = ship.Address{Name: "Emmy Noether", Address1: "Hauptstr. 7", City: "Erlangen", Zip: "91054", Country: "DE", Phone: "+49 9131 555010"}
	union.Order.Destination = ship.Address{Name: "Sophie Germain", Address1: "13 Rue de Savoie", City: "Paris", Zip: "75006", Country: "FR", Phone: "+33 1 55 50 10 10"}
	list["union"] = union

	canada := abroad()
	canada.Service = "ground"
	canada.Order.Destination = ship.Address{Name: "Cathleen Morawetz", Address1: "27 King's College Cir", City: "Toronto", State: "ON", Zip: "M5S 1A1", Country: "CA", Phone: "4165550100"}
	canada.Order.Billing = &ship.Billing{Type: "recipient", Account: "987654321"}
	canada.Order.Customs.Incoterm = "DAP"
	list["canada"] = canada

	maps.Copy(list, farAway())

	island := buyOrder()
	island.Service, island.Order.Customs = "international_economy", abroad().Order.Customs
	island.Order.Destination = ship.Address{Name: "Luis Muñoz", Address1: "1 Calle Fortaleza", City: "San Juan", State: "PR", Zip: "00901", Country: "US", Phone: "7875550100"}
	island.Order.Customs.ContentsType = "documents"
	list["island"] = island
	return list
}

// farAway returns orders whose destinations have special requirements.
func farAway() map[string]carrier.BuyOrder {
	list := map[string]carrier.BuyOrder{}

	// A shop sells to a consumer in the European Union.
	shop := abroad()
	shop.Order.Reference = "Gift for Sophie"
	shop.Order.Destination = ship.Address{Name: "Sophie Germain", Address1: "13 Rue de Savoie", City: "Paris", Zip: "75006", Country: "FR", Phone: "+33 1 55 50 10 10", Type: "consumer"}
	shop.Order.Customs.TaxIDs = nil
	shop.Order.Customs.TaxIdentifiers = []ship.TaxIdentifier{
		{Type: "ioss", Number: "IM2760000742", Country: "NL"},
		{Type: "ein", Number: "12-3456789", Country: "US"},
		{Type: "vat", Number: "FR40303265045", Party: "recipient"},
		{Type: "eori", Number: "FR12345678901234", Party: "importer"},
	}
	shop.Order.Customs.Items[0].ProductIdentifiers = []ship.ProductIdentifier{{Type: "gtin", Number: "4006381333931"}, {Type: "manufacturer", Number: "SH-7"}}
	shop.Order.Customs.Items[0].SKU = "SHIRT-M"
	shop.Order.Customs.Items[1].ProductIdentifiers = []ship.ProductIdentifier{{Type: "merchant", Number: "CAP-1"}, {Type: "none"}}
	list["europe"] = shop

	brazil := abroad()
	brazil.Order.Destination = ship.Address{Name: "Artur Avila", Address1: "Estrada Dona Castorina 110", City: "Rio de Janeiro", State: "RJ", Zip: "22460-320", Country: "BR", Phone: "+55 21 5555 0100"}
	brazil.Order.Customs.TaxIdentifiers = []ship.TaxIdentifier{{Type: "cpf", Number: "123.456.789-09", Party: "recipient"}}
	brazil.Order.Customs.Incoterm = "DAP"
	brazil.Order.Customs.Paperless = "off"
	list["brazil"] = brazil

	// Ireland has counties and postal codes that FedEx does not need; Vietnam
	// has provinces.
	ireland := abroad()
	ireland.Order.Destination = ship.Address{Name: "William Hamilton", Address1: "Dunsink Lane", City: "Dublin", State: "D", Country: "IE", Phone: "+353 1 555 0100"}
	list["ireland"] = ireland

	vietnam := abroad()
	vietnam.Order.Destination = ship.Address{Name: "Ngo Bao Chau", Address1: "1 Pho Hue", City: "Ha Noi", State: "HN", Zip: "100000", Country: "VN", Phone: "+84 24 5555 0100"}
	list["vietnam"] = vietnam

	virgin := abroad()
	virgin.Service = "international_economy"
	virgin.Order.Destination = ship.Address{Name: "Camille Pissarro", Address1: "14 Dronningens Gade", City: "Charlotte Amalie", State: "VI", Zip: "00802", Country: "US", Phone: "340 555 0100"}
	list["virgin-islands"] = virgin

	canary := abroad()
	canary.Service = "priority"
	canary.Order.Origin = ship.Address{Name: "Almacen", Address1: "Calle Mayor 1", City: "Madrid", Zip: "28013", Country: "ES", Phone: "+34 91 555 01 00"}
	canary.Order.Destination = ship.Address{Name: "Agustin de Betancourt", Address1: "Calle San Telmo 2", City: "Las Palmas", Zip: "35001", Country: "ES", Phone: "+34 928 55 01 00"}
	canary.Order.Customs.Paperless = "off"
	list["canary-islands"] = canary
	return list
}

// TestRequestsAreAsTheyWere sends every kind of order to the emulator and
// checks it against FedEx's files, for a price and for a label.
func TestRequestsAreAsTheyWere(t *testing.T) {
	for _, edition := range []string{"openapi", "openapi-2025-12"} {
		contract := newContract(t, edition)
		for name, b := range requests() {
			t.Run(edition+" "+name, func(t *testing.T) {
				b.Shipment = "shp_01KA5RWZ00G00R40M30E209185"
				wire := &overheard{via: contract.Checked(carriertest.Server(t, newServer(t)))}
				c := open(t, credentials(), wire)
				rates, err := c.Rates(t.Context(), b.Order)
				if err != nil {
					t.Fatal(err)
				}
				p, err := c.Buy(t.Context(), b)
				if err != nil {
					t.Fatal(err)
				}
				quoted := false
				for _, r := range rates {
					quoted = quoted || r.Service == b.Service && r.Price == p.Price
				}
				// An address that is not marked as residential is quoted as a
				// business.
				if !quoted && b.Service != "home_delivery" {
					t.Errorf("bought %s for %v, which is not in %v", b.Service, p.Price, rates)
				}
				golden(t, name, wire.bodies)
			})
		}
	}
}

func golden(t *testing.T, name string, bodies [][]byte) {
	t.Helper()
	var got bytes.Buffer
	for _, body := range bodies {
		if err := json.Indent(&got, body, "", "  "); err != nil {
			t.Fatal(err)
		}
		got.WriteByte('\n')
	}
	file := filepath.Join("testdata", name+".json")
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the requests of %s differ from %s:\n%s", name, file, got.Bytes())
	}
}

// silent is used for orders that must not be sent.
type silent struct{}

func (silent) Do(*http.Request) (*http.Response, error) {
	return nil, errors.New("this order was sent")
}

func TestOrdersThatFedExCannotTakeAreNotSent(t *testing.T) {
	yes, no := true, false
	for name, c := range map[string]struct {
		kind    ship.Kind
		pointer string
		change  func(*carrier.BuyOrder)
	}{
		"no such service":        {ship.Invalid, "", func(b *carrier.BuyOrder) { b.Service = "pigeon" }},
		"no phone":               {ship.Invalid, "/origin/phone", func(b *carrier.BuyOrder) { b.Order.Origin.Phone = "" }},
		"short phone":            {ship.Invalid, "/destination/phone", func(b *carrier.BuyOrder) { b.Order.Destination.Phone = "555 0100" }},
		"long city":              {ship.Invalid, "/destination/city", func(b *carrier.BuyOrder) { b.Order.Destination.City = strings.Repeat("Llanfair", 5) }},
		"no parcel":              {ship.Invalid, "/parcels", func(b *carrier.BuyOrder) { b.Order.Parcels = nil }},
		"too many parcels":       {ship.Invalid, "/parcels", func(b *carrier.BuyOrder) { b.Order.Parcels = make([]ship.Parcel, 41) }},
		"another's packaging":    {ship.Invalid, "/parcels/0/packaging", func(b *carrier.BuyOrder) { b.Order.Parcels[0].Packaging = "ups_tube" }},
		"mixed packaging":        {ship.Invalid, "/parcels/1/packaging", func(b *carrier.BuyOrder) { b.Order.Parcels = []ship.Parcel{{}, {Packaging: "fedex_pak"}} }},
		"ground in a FedEx box":  {ship.Invalid, "/parcels/0/packaging", func(b *carrier.BuyOrder) { b.Service, b.Order.Parcels[0].Packaging = "ground", "fedex_box" }},
		"ground to a home":       {ship.Invalid, "/destination/residential", func(b *carrier.BuyOrder) { b.Service, b.Order.Destination.Residential = "ground", &yes }},
		"home delivery to none":  {ship.Invalid, "/destination/residential", func(b *carrier.BuyOrder) { b.Service, b.Order.Destination.Residential = "home_delivery", &no }},
		"abroad undeclared":      {ship.Invalid, "/customs", func(b *carrier.BuyOrder) { *b = abroad(); b.Order.Customs = nil }},
		"two currencies":         {ship.Invalid, "/customs/items/1/value/currency", func(b *carrier.BuyOrder) { *b = abroad(); b.Order.Customs.Items[1].Value.Currency = "EUR" }},
		"return across a border": {ship.Unsupported, "", func(b *carrier.BuyOrder) { *b = abroad(); b.Order.IsReturn = true }},
		"economy in two pieces":  {ship.Invalid, "", func(b *carrier.BuyOrder) { *b = pieces(); b.Service = "ground_economy" }},
		"too much value":         {ship.Invalid, "/options/insuredValue", func(b *carrier.BuyOrder) { b.Order.Options.InsuredValue = ship.Money{Minor: 1e9, Currency: "USD"} }},
	} {
		b := buyOrder()
		c.change(&b)
		_, err := open(t, credentials(), silent{}).Buy(t.Context(), b)
		e, ok := errors.AsType[*ship.Error](err)
		if !ok || e.Kind != c.kind || c.pointer != "" && (len(e.Fields) == 0 || e.Fields[0].Pointer != c.pointer) {
			t.Errorf("%s: %v %+v, want %s %s", name, err, e, c.kind, c.pointer)
		}
	}
	without := credentials()
	delete(without, "ground_economy_hub")
	b := requests()["economy"]
	if _, err := open(t, without, silent{}).Buy(t.Context(), b); ship.KindOf(err) != ship.Unsupported {
		t.Errorf("economy without a hub: %v, want unsupported", err)
	}
}

func TestCredentialsThatCannotBeAreRefused(t *testing.T) {
	for name, change := range map[string]func(carrier.Credentials){
		"short account number":        func(c carrier.Credentials) { c["account_number"] = "12345" },
		"tracking key without secret": func(c carrier.Credentials) { c["track_client_id"] = "l7" },
	} {
		c := credentials()
		change(c)
		if _, err := carrier.Open(fedex.Spec, carrier.Opening{Credentials: c, BaseURL: fedex.Spec.TestURL, Via: silent{}}); ship.KindOf(err) != ship.Invalid {
			t.Errorf("%s: %v, want invalid", name, err)
		}
	}
}
