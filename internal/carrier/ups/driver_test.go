package ups_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/ups"
	"github.com/waybillhq/waybill/internal/emulator"
	standin "github.com/waybillhq/waybill/internal/emulator/ups"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

var credentials = carrier.Credentials{
	"client_id": standin.ClientID, "client_secret": standin.ClientSecret, "account_number": standin.Account,
}

// files are UPS's own.
var files = []string{
	"ups/openapi-json/OAuthClientCredentials.json", "ups/openapi-json/Rating.json", "ups/openapi-json/Shipping.json",
	"ups/openapi-json/Tracking.json", "ups/openapi-json/AddressValidation.json", "ups/openapi-json/Pickup.json",
	"ups/openapi-json/Locator.json", "ups/openapi-json/LandedCost.json", "ups/openapi-json/Paperless.json",
}

// Deviations of UPS from its own OpenAPI files.
var (
	declaredValue = carriertest.Departure{
		Operation: "POST /rating/{version}/{requestoption}",
		Contains:  `DeclaredValue/MonetaryValue": minimum string length is 8`,
		Reason:    "the file gives the length that an amount may have as the one it must have; the purchase has the same field with 1 to 19",
	}
	billingWeight = carriertest.Departure{
		Operation: "POST /shipments/{version}/ship",
		Answer:    true,
		Contains:  `BillingWeight/Weight": minimum string length is 8`,
		Reason:    "UPS's own samples answer with weights such as 7.0",
	}
	collectedAmount = carriertest.Departure{
		Operation: "POST /shipments/{version}/ship",
		Contains:  `CODAmount/MonetaryValue": maximum string length is 5`,
		Reason:    "the field's own text allows up to 50000.00",
	}
	recoveryFormat = carriertest.Departure{
		Operation: "POST /labels/{version}/recovery",
		Contains:  `LabelImageFormat/Code": minimum string length is 4`,
		Reason:    "all the formats that the file itself lists have three letters",
	}
	recoveredFormat = carriertest.Departure{
		Operation: "POST /labels/{version}/recovery",
		Answer:    true,
		Contains:  `LabelImageFormat/Code": minimum string length is 4`,
		Reason:    "as in the request",
	}
	roadieNumbers = carriertest.Departure{
		Operation: "POST /labels/{version}/recovery",
		Contains:  `property "TrackingNumbers" is missing`,
		Reason:    "the numbers are those of Roadie, another service; UPS's own samples of other look-ups leave them out",
	}
	recoveryByNumber = carriertest.Departure{
		Operation: "POST /labels/{version}/recovery",
		Contains:  `property "ReferenceValues" is missing`,
		Reason:    "a look-up by tracking number has none: UPS's own sample leaves it out, and the field's text asks for it only without a number",
	}
	pickupDate = carriertest.Departure{
		Operation: "POST /pickupcreation/{version}/pickup",
		Contains:  `PickupDate": maximum string length is 4`,
		Reason:    "the field's own text asks for yyyyMMdd",
	}
	locatorAction = carriertest.Departure{
		Operation: "POST /locations/{version}/search/availabilities/{reqOption}",
		Contains:  `RequestAction": minimum string length is 13`,
		Reason:    "the only value that the field's own text allows has seven letters",
	}
	locatorStreet = carriertest.Departure{
		Operation: "POST /locations/{version}/search/availabilities/{reqOption}",
		Contains:  `property "AddressLine" is missing`,
		Reason:    "a search by postal code or city has no street; the text of the address requires its country only",
	}
	locatorState = carriertest.Departure{
		Operation: "POST /locations/{version}/search/availabilities/{reqOption}",
		Contains:  `property "PoliticalDivision1" is missing`,
		Reason:    "as the street",
	}
	landedNumbers = carriertest.Departure{
		Operation: "POST /landedcost/{version}/quotes",
		Contains:  `number must be at most 1`,
		Reason:    "the file gives how often a field may occur as its largest value; UPS's own samples have larger ones",
	}
	landedAnswer = carriertest.Departure{
		Operation: "POST /landedcost/{version}/quotes",
		Answer:    true,
		Contains:  `number must be at most 1`,
		Reason:    "as in the request",
	}
	pickupAmount = carriertest.Departure{
		Operation: "POST /pickupcreation/{version}/pickup",
		Answer:    true,
		Contains:  `minimum string length is 8`,
		Reason:    "the file gives the length that an amount may have as the one it must have",
	}
)

// departures are those of a quote, a purchase and a look-up by reference.
var departures = []carriertest.Departure{declaredValue, billingWeight, recoveryFormat, recoveredFormat, roadieNumbers}

// dayDepartures are those of the calls of a shipping day.
var dayDepartures = []carriertest.Departure{pickupDate, pickupAmount, locatorAction, locatorStreet, locatorState, landedNumbers, landedAnswer}

// order returns one parcel of 2.5 lb from Los Angeles to New York.
func order() ship.Order {
	home := true
	return ship.Order{
		OrderID: "ORD-1001",
		Origin: ship.Address{
			Name: "Warehouse", Company: "Acme", Address1: "1 Main St", City: "Los Angeles", State: "CA", Zip: "90012", Country: "US", Phone: "+1 213 555 0100",
		},
		Destination: ship.Address{
			Name: "Ada Lovelace", Address1: "350 5th Ave", City: "New York", State: "NY", Zip: "10118-0110", Country: "US", Residential: &home,
		},
		Parcels: []ship.Parcel{parcel()},
	}
}

func parcel() ship.Parcel {
	return ship.Parcel{
		Weight: 2.5, WeightUnit: ship.Pound, WeightGrams: 1134,
		Dimensions: &ship.Dimensions{Length: 8, Width: 10, Height: 4, Unit: ship.Inch, LengthMM: 204, WidthMM: 254, HeightMM: 102},
	}
}

func buyOrder() carrier.BuyOrder {
	return carrier.BuyOrder{Order: order(), Service: "ground", Reference: "SABCDEFGHJKMNPQRSTVWXYZ234", Shipment: "shp_01jd5yq9k2e8b7m3n4p5r6s7t8"}
}

// abroad returns a parcel of goods from Los Angeles to Berlin.
func abroad() carrier.BuyOrder {
	b := buyOrder()
	b.Service = "worldwide_saver"
	b.Order.Destination = ship.Address{
		Name: "Jörg Müller", Company: "Müller GmbH", Address1: "Friedrichstraße 1", City: "Berlin", Zip: "10117", Country: "DE", Phone: "+49 30 1234567",
	}
	b.Order.Customs = &ship.Customs{
		ContentsType: "merchandise", Incoterm: "DAP", InvoiceNumber: "INV-1", TaxIDs: []string{"12-3456789"},
		Items: []ship.CustomsItem{
			{Description: "Cotton shirts for men", Quantity: 3, Value: ship.Money{Minor: 1999, Currency: "USD"}, HSCode: "6105.10", OriginCountry: "US"},
			{Description: "Leather belt", Quantity: 1, Value: ship.Money{Minor: 2500, Currency: "USD"}},
		},
	}
	return b
}

// service returns an emulator with a ledger of its own.
func service(t testing.TB) (*emulator.Server, carrier.Doer) {
	t.Helper()
	s := carriertest.StandIn(t, standin.New, emulator.Faults{})
	return s, carriertest.Server(t, s)
}

func open(t testing.TB, via carrier.Doer) *carrier.Carrier {
	t.Helper()
	c, err := carrier.Open(ups.Spec, carrier.Opening{Credentials: credentials, BaseURL: ups.Spec.TestURL, Via: via})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCarrier(t *testing.T) {
	for name, b := range map[string]carrier.BuyOrder{"one parcel": buyOrder(), "two parcels abroad": severalAbroad()} {
		b.Order.Options.InsuredValue = ship.Money{Minor: 25000, Currency: "USD"}
		t.Run(name, func(t *testing.T) {
			contract := carriertest.NewContract(t, ups.Spec.TestURL, slices.Concat(departures, dayDepartures, []carriertest.Departure{recoveryByNumber}), files...)
			carriertest.Run(t, carriertest.Subject{
				Spec:        ups.Spec,
				Credentials: credentials,
				Service: carriertest.Service(func(t testing.TB) carrier.Doer {
					server, via := service(t)
					if err := server.Turn(delivered()); err != nil {
						t.Fatal(err)
					}
					return contract.Checked(via)
				}),
				Order:      b,
				Addresses:  addresses(),
				Pickup:     pickup(),
				Duties:     abroad().Order,
				Declared:   abroad(),
				Requests:   map[string]int{"documents": 2}, // into the Forms History, and to the shipment
				Points:     ship.PointQuery{Country: "US", Zip: "10118", City: "New York", Limit: 3},
				Refusal:    carriertest.Refusal{Status: 400, Body: `{"response":{"errors":[{"code":"120802","message":"%s"}]}}`, Code: "120802"},
				TokenPaths: []string{"/security/v1/oauth/token"},
			})
		})
	}
}

// addresses are one of each verdict. In UPS's test environment all of them must be
// in New York or California.
func addresses() []carriertest.AddressExample {
	tower := ship.Address{Address1: "350 5th Avenue", Address2: "Suite 2110", City: "New York", State: "NY", Zip: "10118", Country: "US"}
	moved := tower
	moved.City = "Brooklyn"
	moved.Zip = "10018"
	found := tower
	found.City = "NEW YORK"
	found.Zip = "10118-0110"
	at := func(line string) ship.Address {
		return ship.Address{Address1: line, City: "Albany", State: "NY", Zip: "12207-1000", Country: "US"}
	}
	return []carriertest.AddressExample{
		{Address: tower, Verdict: ship.AddressValid, Kind: "business"},
		{Address: at("5 Any St"), Verdict: ship.AddressValid, Kind: "home"},
		{Address: moved, Verdict: ship.AddressCorrected, Becomes: found, Kind: "business"},
		{Address: at("1 Twin St"), Verdict: ship.AddressAmbiguous, Candidates: 2},
		{Address: at("1 Nowhere St"), Verdict: ship.AddressInvalid},
		{
			Address: ship.Address{Address1: "5 Any St", City: "Austin", State: "TX", Zip: "78701", Country: "US"},
			Verdict: ship.AddressUnknown,
		},
		{
			Address: ship.Address{Address1: "5 Any St", City: "Hagatna", State: "GU", Zip: "96910", Country: "US"},
			Verdict: ship.AddressUnknown,
		},
	}
}

// delivered makes parcels arrive at once: a proof of delivery comes after it.
func delivered() emulator.Faults {
	return emulator.Faults{Tracking: []emulator.Scan{{Code: "MP"}, {Code: "F4"}}}
}

// pickup returns a pickup in Los Angeles tomorrow, which UPS lists.
func pickup() carrier.PickupRequest {
	zone := time.FixedZone("", -8*60*60)
	day := time.Now().In(zone).AddDate(0, 0, 1)
	at := func(hour int) time.Time { return time.Date(day.Year(), day.Month(), day.Day(), hour, 30, 0, 0, zone) }
	return carrier.PickupRequest{
		Reference: "pik_01jd5yq9k2e8b7m3n4p5r6s7t8",
		Order: ship.PickupOrder{
			Address:         order().Origin,
			Window:          ship.TimeWindow{ReadyAt: at(9), CloseAt: at(17)},
			Parcels:         []ship.PickupParcels{{Service: "ground", Country: "US", Count: 4}, {Service: "worldwide_saver", Country: "DE", Count: 1}},
			WeightGrams:     5670,
			Instructions:    "Ring at the dock",
			TrackingNumbers: []string{"1ZA1B2C30300001011"},
		},
	}
}

func severalAbroad() carrier.BuyOrder {
	b := abroad()
	b.Order.Parcels = []ship.Parcel{parcel(), parcel()}
	return b
}

// purchase returns what the service keeps of a purchase.
func purchase(p ship.Sale) ship.Purchase {
	return ship.Purchase{Carrier: p.Carrier, Service: p.Service, CarrierRef: p.CarrierRef, TrackingNumber: p.TrackingNumber, Pieces: p.Pieces}
}

// exchanges returns orders that between them use every part of the protocol.
func exchanges() map[string]carrier.BuyOrder {
	all := map[string]carrier.BuyOrder{"domestic": buyOrder(), "abroad": abroad(), "several abroad": severalAbroad()}
	with := func(name string, b carrier.BuyOrder, change func(*carrier.BuyOrder)) {
		change(&b)
		all[name] = b
	}
	with("several", buyOrder(), func(b *carrier.BuyOrder) { b.Order.Parcels = []ship.Parcel{parcel(), parcel()} })
	with("options", buyOrder(), func(b *carrier.BuyOrder) {
		b.Service = "next_day_air"
		b.Order.Options = ship.Options{Signature: "adult", SaturdayDelivery: true, InsuredValue: ship.Money{Minor: 25000, Currency: "USD"}}
	})
	with("to an Access Point", buyOrder(), func(b *carrier.BuyOrder) {
		b.Order.Options = ship.Options{ServicePoint: "U11111111", HoldAtLocation: true, CarbonNeutral: true}
	})
	with("alcohol on ice", buyOrder(), func(b *carrier.BuyOrder) {
		b.Order.Options = ship.Options{Signature: "adult", Alcohol: true, DryIce: ship.DryIce{Weight: 100, WeightGrams: 100}}
	})
	with("collected on delivery", buyOrder(), func(b *carrier.BuyOrder) {
		b.Order.Options = ship.Options{Signature: "direct", COD: ship.COD{Amount: ship.Money{Minor: 1000000, Currency: "USD"}, Method: "guaranteed_funds"}}
	})
	with("letter", buyOrder(), func(b *carrier.BuyOrder) { b.Order.Parcels[0] = ship.Parcel{WeightGrams: 200, Packaging: "ups_letter"} })
	with("recipient pays", buyOrder(), func(b *carrier.BuyOrder) {
		b.Order.Billing = &ship.Billing{Type: "recipient", Account: "X1Y2Z3", Zip: "10118"}
	})
	with("third party pays", buyOrder(), func(b *carrier.BuyOrder) {
		b.Order.Billing = &ship.Billing{Type: "third_party", Account: "X1Y2Z3", Zip: "60601", Country: "US"}
	})
	with("return", buyOrder(), func(b *carrier.BuyOrder) {
		b.Order.IsReturn = true
		b.Order.Origin, b.Order.Destination = b.Order.Destination, b.Order.Origin
	})
	with("to Puerto Rico", buyOrder(), func(b *carrier.BuyOrder) {
		b.Service = "second_day_air"
		b.Order.Destination = ship.Address{
			Name: "Luis", Address1: "1 Calle Sol", City: "San Juan", State: "PR", Zip: "00901", Country: "US", Phone: "787 555 0100",
		}
		b.Order.Options.InsuredValue = ship.Money{Minor: 1, Currency: "USD"}
	})
	with("duties paid to Canada", abroad(), func(b *carrier.BuyOrder) {
		b.Service = "standard"
		b.Order.Customs.Incoterm = "DDP"
		b.Order.Options.Signature = "standard"
		b.Order.Destination = ship.Address{
			Name: "Anne", Address1: "34 Queen St", City: "Toronto", State: "ON", Zip: "M5C 2M6", Country: "CA", Phone: "4165550100",
		}
	})
	with("documents", abroad(), func(b *carrier.BuyOrder) { b.Order.Customs.ContentsType = "documents" })
	with("from Berlin to Paris", abroad(), func(b *carrier.BuyOrder) {
		b.Service = "standard"
		b.Order.Customs = nil
		b.Order.Origin = b.Order.Destination
		b.Order.Destination = ship.Address{Name: "Zoé", Address1: "1 Rue de Rivoli", City: "Paris", Zip: "75001", Country: "FR", Phone: "+33 1 42 00 00 00"}
	})
	with("a sale to a consumer in the EU", abroad(), func(b *carrier.BuyOrder) {
		b.Order.Destination.Company = ""
		b.Order.Destination.Type = "consumer"
		b.Order.Origin.Type = "business"
		b.Order.Customs.Items[0].ProductIdentifiers = []ship.ProductIdentifier{
			{Type: "merchant", Number: "SHIRT-M"},
			{Type: "manufacturer", Number: "MPN-7"},
			{Type: "gtin", Number: "4006381333931"},
		}
		b.Order.Customs.Items[1].SKU = "BELT"
		b.Order.Customs.Items[1].ProductIdentifiers = []ship.ProductIdentifier{{Type: "none"}}
		b.Order.Customs.TaxIdentifiers = []ship.TaxIdentifier{
			{Type: "ioss", Number: "IM2760000742", Country: "DE", Party: "sender"},
			{Type: "ein", Number: "12-3456789", Country: "US", Party: "sender"},
			{Type: "eori", Number: "DE123456789012345", Country: "DE", Party: "importer"},
			{Type: "national_id", Number: "L01X00T47", Country: "DE", Party: "recipient"},
		}
	})
	with("expensive goods in euros", abroad(), func(b *carrier.BuyOrder) {
		for i := range b.Order.Customs.Items {
			b.Order.Customs.Items[i].Value.Currency = "EUR"
		}
		b.Order.Customs.Items[1].Value.Minor = 9004 // 150.01 EUR together
	})
	with("an invoice on paper", abroad(), func(b *carrier.BuyOrder) { b.Order.Customs.Paperless = "off" })
	with("to Oslo with VOEC", abroad(), func(b *carrier.BuyOrder) {
		b.Order.Destination = ship.Address{Name: "Kari", Address1: "Karl Johans gate 1", City: "Oslo", Zip: "0154", Country: "NO", Phone: "+47 22 00 00 00"}
		b.Order.Customs.TaxIdentifiers = []ship.TaxIdentifier{{Type: "voec", Number: "VOEC2026001", Country: "NO", Party: "sender"}}
	})
	with("from Madrid to Las Palmas", abroad(), func(b *carrier.BuyOrder) {
		b.Service = "standard"
		b.Order.Origin = ship.Address{Name: "Tienda", Address1: "Calle Mayor 1", City: "Madrid", Zip: "28013", Country: "ES", Phone: "+34 910 000 000"}
		b.Order.Destination = ship.Address{Name: "Luz", Address1: "Calle Triana 1", City: "Las Palmas", State: "GC", Zip: "35002", Country: "ES", Phone: "+34 928 000 000"}
	})
	with("from Madrid to Ceuta", abroad(), func(b *carrier.BuyOrder) {
		b.Service = "standard"
		b.Order.Origin = ship.Address{Name: "Tienda", Address1: "Calle Mayor 1", City: "Madrid", Zip: "28013", Country: "ES", Phone: "+34 910 000 000"}
		b.Order.Destination = ship.Address{Name: "Luz", Address1: "Calle Real 1", City: "Ceuta", State: "CE", Zip: "51001", Country: "ES", Phone: "+34 956 000 000"}
	})
	with("to Hanoi", abroad(), func(b *carrier.BuyOrder) {
		b.Order.Destination = ship.Address{Name: "Nguyen An", Address1: "1 Trang Tien", City: "Hanoi", State: "HN", Zip: "100000", Country: "VN", Phone: "+84 24 0000 0000"}
	})
	with("to Dublin", abroad(), func(b *carrier.BuyOrder) {
		b.Order.Destination = ship.Address{Name: "Aoife", Address1: "1 Dame Street", City: "Dublin", State: "D", Zip: "D02 X285", Country: "IE", Phone: "+353 1 000 0000"}
	})
	with("to the US Virgin Islands", abroad(), func(b *carrier.BuyOrder) {
		b.Order.Destination = ship.Address{Name: "Ann", Address1: "1 Main St", City: "Charlotte Amalie", State: "VI", Zip: "00802", Country: "US", Phone: "340 555 0100"}
	})
	with("inside Canada", buyOrder(), func(b *carrier.BuyOrder) {
		b.Service = "express_saver"
		b.Order.Origin = ship.Address{Name: "A", Address1: "34 Queen St", City: "Toronto", State: "ON", Zip: "M5C 2M6", Country: "CA"}
		b.Order.Destination = ship.Address{Name: "B", Address1: "1 Rue Sainte", City: "Montréal", State: "QC", Zip: "H2Y 1C6", Country: "CA"}
	})
	return all
}

// Every kind of order is quoted, bought, found as it was bought, and voided;
// every request and every answer keeps to UPS's own files.
func TestEveryExchangeKeepsToTheContract(t *testing.T) {
	contract := carriertest.NewContract(t, ups.Spec.TestURL, append([]carriertest.Departure{collectedAmount, locatorAction, locatorStreet, locatorState}, departures...), files...)
	t.Run("refusals", func(t *testing.T) { testRefusals(t, contract) })
	for name, b := range exchanges() {
		t.Run(name, func(t *testing.T) {
			server, via := service(t)
			c := open(t, contract.Checked(via))
			rates, err := c.Rates(t.Context(), b.Order)
			if err != nil {
				t.Fatal(err)
			}
			offered := map[string]ship.Rate{}
			for _, r := range rates {
				offered[r.Service] = r
			}
			p, err := c.Buy(t.Context(), b)
			if err != nil {
				t.Fatal(err, fields(err))
			}
			if r := offered[b.Service]; r.Price != p.Price || r.DeliveryAt.IsZero() && b.Order.Origin.Country != "DE" {
				t.Errorf("quoted %+v, bought for %v", r, p.Price)
			}
			sold, _, ok := server.Ledger.Sold(p.TrackingNumber)
			if !ok || sold.Reference != b.Reference || sold.Second != string(b.Shipment) || sold.Amount != p.Price.Amount() || sold.Account != standin.Account {
				t.Errorf("the ledger says %+v", sold)
			}
			if pages, err := label.Split(p.Label.Data); err != nil || len(pages) != len(b.Order.Parcels) || p.Label.Format != "gif" {
				t.Errorf("%d pages of %s: %v", len(pages), p.Label.Format, err)
			}
			found, err := c.Find(t.Context(), b)
			if err != nil || string(found.Label.Data) != string(p.Label.Data) || found.TrackingNumber != p.TrackingNumber || len(found.Pieces) != len(p.Pieces) || len(found.Documents) != len(p.Documents) {
				t.Errorf("found %s, %v", found.TrackingNumber, err)
			}
			for range 2 {
				if v, err := c.Void(t.Context(), purchase(p)); err != nil || v.State != ship.StateVoided {
					t.Errorf("void = %v, %v", v, err)
				}
			}
			if _, err := c.Find(t.Context(), b); ship.KindOf(err) != ship.NotFound {
				t.Errorf("after the void: %v, want not found", err)
			}
		})
	}
}

func fields(err error) []ship.FieldError {
	if e, ok := errors.AsType[*ship.Error](err); ok {
		return e.Fields
	}
	return nil
}

func testRefusals(t *testing.T, contract *carriertest.Contract) {
	server, via := service(t)
	via = contract.Checked(via)
	if _, err := open(t, via).Void(t.Context(), ship.Purchase{CarrierRef: "1ZA1B2C30300001016"}); ship.KindOf(err) != ship.Invalid || code(err) != "190102" {
		t.Errorf("void of what was never sold: %v", err)
	}
	if err := server.Turn(emulator.Faults{Refuse: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, via).Buy(t.Context(), buyOrder()); ship.KindOf(err) != ship.Invalid || code(err) != "120802" {
		t.Errorf("purchase: %v", err)
	}
	other := carrier.Credentials{"client_id": standin.ClientID, "client_secret": standin.ClientSecret, "account_number": "999999"}
	c, err := carrier.Open(ups.Spec, carrier.Opening{Credentials: other, BaseURL: ups.Spec.TestURL, Via: via})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(t.Context()); ship.KindOf(err) != ship.Forbidden {
		t.Errorf("check of another's account: %v, want forbidden", err)
	}
	if _, err := c.Rates(t.Context(), order()); ship.KindOf(err) != ship.Forbidden || code(err) != "120100" {
		t.Errorf("rates of another's account: %v", err)
	}
	wrong := carrier.Credentials{"client_id": standin.ClientID, "client_secret": "wrong-wrong", "account_number": standin.Account}
	c, err = carrier.Open(ups.Spec, carrier.Opening{Credentials: wrong, BaseURL: ups.Spec.TestURL, Via: via})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(t.Context()); ship.KindOf(err) != ship.Forbidden {
		t.Errorf("check with a wrong secret: %v, want forbidden", err)
	}
}

func code(err error) string {
	if e, ok := errors.AsType[*ship.Error](err); ok {
		return e.Refusal.Code
	}
	return ""
}

func TestSpecIsWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range ups.Spec.Services {
		if s.Code == "" || s.Name == "" || seen[s.Code] || strings.ToLower(s.Code) != s.Code {
			t.Errorf("bad service %+v", s)
		}
		seen[s.Code] = true
	}
	if _, err := json.Marshal(ups.Spec.Limits); err != nil || len(ups.Spec.Limits) == 0 || !ups.Spec.LookupMayHaveLabel {
		t.Error("UPS gives most labels again, and has limits")
	}
}
