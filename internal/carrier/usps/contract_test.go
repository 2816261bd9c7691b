package usps_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/usps"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// sold returns orders of every kind that USPS sells, by what is special about
// them.
func sold() map[string]carrier.BuyOrder {
	list := map[string]carrier.BuyOrder{"home": home(), "abroad": abroad()}
	add := func(name string, base carrier.BuyOrder, change func(*carrier.BuyOrder)) {
		change(&base)
		base.Reference = fmt.Sprintf("S%025d", len(list))
		list[name] = base
	}
	for _, service := range []string{"priority_mail", "priority_mail_express"} {
		add(service, home(), func(b *carrier.BuyOrder) { b.Service = service })
		add(service+" envelope", home(), func(b *carrier.BuyOrder) {
			b.Service, b.Order.Parcels[0].Packaging, b.Order.Parcels[0].Dimensions = service, "flat_rate_envelope", nil
		})
		add(service+" adult insured", home(), func(b *carrier.BuyOrder) {
			b.Service, b.Order.Options = service, ship.Options{Signature: "adult", InsuredValue: dollars(75000)}
		})
	}
	add("at a post office", home(), func(b *carrier.BuyOrder) {
		b.Order.Options = ship.Options{ServicePoint: "1368550", HoldAtLocation: true}
		b.Order.Destination.Email, b.Order.Destination.Phone = "ada@example.com", "5125550100"
		b.Order.Origin.Email, b.Order.Origin.Phone = "dock@example.com", "4155550100"
	})
	add("at a locker", home(), func(b *carrier.BuyOrder) {
		b.Order.Options = ship.Options{ServicePoint: "locker-1434185", ReturnServiceRequested: true}
		b.Order.Destination.Email = "ada@example.com"
	})
	add("batteries and ice", home(), func(b *carrier.BuyOrder) {
		b.Order.Options = ship.Options{
			Signature:        "direct",
			DryIce:           ship.DryIce{Weight: 1, WeightGrams: 454},
			LithiumBatteries: ship.LithiumBatteries{Type: "ion", Packed: "with_equipment"},
		}
	})
	add("signed", home(), func(b *carrier.BuyOrder) { b.Order.Options.Signature = "standard" })
	add("insured", home(), func(b *carrier.BuyOrder) { b.Order.Options.InsuredValue = dollars(12000) })
	add("long", home(), func(b *carrier.BuyOrder) { b.Order.Parcels[0].Dimensions = inches(4, 30, 6) })
	add("large", home(), func(b *carrier.BuyOrder) { b.Order.Parcels[0].Dimensions = inches(20, 18, 14) })
	add("cubic", home(), func(b *carrier.BuyOrder) { b.Order.Parcels[0].Weight, b.Order.Parcels[0].WeightGrams = 15, 6804 })
	add("png", home(), func(b *carrier.BuyOrder) { b.Order.LabelFormat = "png" })
	add("one name", home(), func(b *carrier.BuyOrder) { b.Order.Destination.Name = "Madonna" })
	for _, service := range []string{"ground_advantage", "priority_mail", "priority_mail_express"} {
		add("return "+service, home(), func(b *carrier.BuyOrder) {
			b.Service, b.Order.IsReturn = service, true
			b.Order.Origin, b.Order.Destination = b.Order.Destination, b.Order.Origin
		})
	}
	add("return in an envelope as png", home(), func(b *carrier.BuyOrder) {
		b.Service, b.Order.IsReturn, b.Order.LabelFormat = "priority_mail", true, "png"
		b.Order.Parcels[0].Packaging, b.Order.Parcels[0].Dimensions = "flat_rate_envelope", nil
		b.Order.Options.InsuredValue = dollars(12000)
	})
	add("territory", home(), func(b *carrier.BuyOrder) {
		b.Order.Destination = ship.Address{Name: "Ana Ruiz", Address1: "100 Calle Sol", City: "San Juan", Zip: "00901", Country: "PR"}
	})
	add("military", home(), func(b *carrier.BuyOrder) {
		b.Order.Destination = ship.Address{Name: "Pat Doe", Address1: "PSC 123 BOX 1234", City: "APO", State: "AE", Zip: "09008", Country: "US"}
		b.Order.Customs, b.Order.Origin.Company = abroad().Order.Customs, ""
	})
	for _, service := range []string{"first_class_package_international", "priority_mail_express_international"} {
		add(service, abroad(), func(b *carrier.BuyOrder) { b.Service = service })
	}
	add("abroad insured box", abroad(), func(b *carrier.BuyOrder) {
		b.Order.Options.InsuredValue, b.Order.Parcels[0].Packaging = dollars(60000), "medium_flat_rate_box"
		b.Order.Destination = ship.Address{Name: "Jun Ito", Company: "Ito KK", Address1: "1-1 Chiyoda", City: "Tokyo", Zip: "100-0001", Country: "JP"}
		b.Order.Customs.ContentsType, b.Order.Customs.TaxIDs = "spare parts", nil
	})
	add("abroad with tax identifiers", abroad(), func(b *carrier.BuyOrder) {
		b.Order.Destination = ship.Address{Name: "Marie Curie", Address1: "1 Rue Cuvier", City: "Paris", Zip: "75005", Country: "FR"}
		b.Order.Customs.TaxIdentifiers = []ship.TaxIdentifier{
			{Type: "ein", Number: "12-3456789"},
			{Type: "ioss", Number: "IM2760000742", Country: "DE"},
			{Type: "vat", Number: "FR40303265045", Party: "recipient"},
		}
	})
	return list
}

// TestEveryMessageKeepsToTheCarriersOwnFiles drives every operation with every
// kind of order, and the refusals.
func TestEveryMessageKeepsToTheCarriersOwnFiles(t *testing.T) {
	s, via := stand(t, contracts(t, departures))
	c := open(t, via)
	if err := c.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, b := range sold() {
		t.Run(name, func(t *testing.T) {
			whole(t, c, b)
			follow(t, via, s, b.Reference)
			if b.Order.IsReturn {
				keep(t, c, b)
				return
			}
			void(t, c, b)
		})
	}
	t.Run("day", func(t *testing.T) { day(t, c) })
	t.Run("refusals", func(t *testing.T) { refusals(t, s, c) })
}

// whole quotes an order, buys it, and finds it again.
func whole(t *testing.T, c *carrier.Carrier, b carrier.BuyOrder) {
	t.Helper()
	rates, err := c.Rates(t.Context(), b.Order)
	if err != nil {
		t.Fatal(err)
	}
	var quoted ship.Money
	for _, r := range rates {
		if r.Service != b.Service {
			continue
		}
		quoted = r.Price
		b.Selection = r.Selection
		var sum int64
		for _, c := range r.Charges {
			sum += c.Amount.Minor
		}
		if sum != r.Price.Minor || r.BillableWeightGrams == 0 && b.Order.Parcels[0].Packaging == "" {
			t.Errorf("the rate is %+v", r)
		}
	}
	if _, err := c.Find(t.Context(), b); ship.KindOf(err) != ship.NotFound {
		t.Errorf("before the purchase Find says %v, want not found", err)
	}
	p, err := c.Buy(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if p.Price != quoted {
		t.Errorf("quoted %v, charged %v", quoted, p.Price)
	}
	found, err := c.Find(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if found.TrackingNumber != p.TrackingNumber || found.Price != p.Price || !bytes.Equal(found.Label.Data, p.Label.Data) || found.Label.Format != p.Label.Format {
		t.Errorf("bought %s for %v, found %s for %v", p.TrackingNumber, p.Price, found.TrackingNumber, found.Price)
	}
	if err := label.Lint(p.Label.Format, p.Label.Data); err != nil {
		t.Errorf("the %s label: %v", p.Label.Format, err)
	}
	if usps.Spec.Recognize(p.TrackingNumber) != carrier.Fits {
		t.Errorf("%s is no number of USPS", p.TrackingNumber)
	}
}

// void voids an order, twice.
func void(t *testing.T, c *carrier.Carrier, b carrier.BuyOrder) {
	t.Helper()
	p, err := c.Find(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	purchase := ship.Purchase{Carrier: p.Carrier, Service: p.Service, CarrierRef: p.CarrierRef, TrackingNumber: p.TrackingNumber}
	for range 2 {
		v, err := c.Void(t.Context(), purchase)
		if err != nil || v.State != ship.StateVoided {
			t.Errorf("Void = %v, %v", v, err)
		}
	}
	if _, err := c.Find(t.Context(), b); ship.KindOf(err) != ship.NotFound {
		t.Errorf("after the void Find says %v, want not found", err)
	}
}

// keep is void for a return, which USPS does not cancel.
func keep(t *testing.T, c *carrier.Carrier, b carrier.BuyOrder) {
	t.Helper()
	p, err := c.Find(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Void(t.Context(), ship.Purchase{Service: p.Service, CarrierRef: p.CarrierRef, TrackingNumber: p.TrackingNumber})
	if ship.KindOf(err) != ship.Invalid || ship.ErrorOf(err).Refusal.Code != "160187" {
		t.Errorf("Void: %v, want a refusal", err)
	}
	if _, err := c.Find(t.Context(), b); err != nil {
		t.Errorf("after the refusal Find says %v", err)
	}
}

// follow asks where the parcel is in the older API, which has a file. The
// driver asks the newer one: see TestResultsKeepToTheCarriersOwnFile.
func follow(t *testing.T, via carrier.Doer, s *emulator.Server, reference string) {
	t.Helper()
	token, _ := s.NewToken()
	sales := s.Find(reference)
	if len(sales) != 1 {
		t.Fatalf("%d sales under %s, want 1", len(sales), reference)
	}
	for _, query := range []string{"", "?expand=DETAIL"} {
		get(t, via, token, "/tracking/v3/tracking/"+sales[0].Number+query)
	}
	get(t, via, token, "/tracking/v3/tracking/9400100000000000000000")
}

func get(t *testing.T, via carrier.Doer, token, path string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, usps.Spec.TestURL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := via.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
}

// refusals makes the carrier refuse in its various ways.
func refusals(t *testing.T, s *emulator.Server, c *carrier.Carrier) {
	gone := ship.Purchase{CarrierRef: "9400100000000000000000", TrackingNumber: "9400100000000000000000", Service: "ground_advantage"}
	tries := map[string]func(context.Context, carrier.BuyOrder) error{
		"rates": func(ctx context.Context, b carrier.BuyOrder) error { _, err := c.Rates(ctx, b.Order); return err },
		"buy":   func(ctx context.Context, b carrier.BuyOrder) error { _, err := c.Buy(ctx, b); return err },
		"find":  func(ctx context.Context, b carrier.BuyOrder) error { _, err := c.Find(ctx, b); return err },
		"void":  func(ctx context.Context, _ carrier.BuyOrder) error { _, err := c.Void(ctx, gone); return err },
	}
	for _, tc := range []struct {
		name   string
		faults emulator.Faults
		want   map[string]ship.Kind
	}{
		{"a purchase is refused", emulator.Faults{Refuse: 1}, map[string]ship.Kind{"buy": ship.Invalid}},
		{"an unknown label", emulator.Faults{}, map[string]ship.Kind{"void": ship.Invalid}},
		{"too many", emulator.Faults{Limit: 1}, map[string]ship.Kind{"rates": ship.Limited, "buy": ship.Limited, "find": ship.Limited, "void": ship.Limited}},
		{"down", emulator.Faults{Down: 1}, map[string]ship.Kind{"rates": ship.Unavailable, "buy": ship.Uncertain, "find": ship.Unavailable, "void": ship.Uncertain}},
		{"not let in", emulator.Faults{Expired: 1}, map[string]ship.Kind{"rates": ship.Forbidden, "buy": ship.Forbidden, "find": ship.Forbidden, "void": ship.Forbidden}},
		{"not let in by the gateway", emulator.Faults{Expired: 1, Gateway: true}, map[string]ship.Kind{"rates": ship.Forbidden, "buy": ship.Forbidden}},
		{"too many for the gateway", emulator.Faults{Limit: 1, Gateway: true}, map[string]ship.Kind{"rates": ship.Limited, "buy": ship.Limited}},
	} {
		if err := s.Turn(tc.faults); err != nil {
			t.Fatal(err)
		}
		for op, want := range tc.want {
			for name, b := range map[string]carrier.BuyOrder{"home": home(), "abroad": abroad()} {
				b.Reference = "SREFUSED"
				if err := tries[op](t.Context(), b); ship.KindOf(err) != want {
					t.Errorf("%s %s %s: %v, want %s", tc.name, op, name, err, want)
				}
			}
		}
	}
}

const (
	oneOfContacts = `Error at "/contact/0": input matches more than one oneOf schemas`
	contactReason = "an e-mail address and a phone number require nothing and allow everything, so that each of them is the other too"
)

// departures are the places where either the files or the checker are wrong.
var departures = map[string][]carriertest.Departure{
	"/international-labels/v3": {
		{
			Operation: "POST /international-label", Contains: `Error at "/packageDescription": doesn't match schema due to: property "dimensionsUOM" is unsupported`,
			Reason: "the file allows no member but its own in the second half of an allOf, and declares weight and sides, which it requires, in the first",
		},
		{
			Operation: "POST /international-label", Contains: `Error at "/customsForm": doesn't match schema due to: Error at "/contents/0": property "HSTariffNumber" is unsupported`,
			Reason: "the same in the customs form and its items: what they hold is declared in one half of an allOf and forbidden by the other",
		},
	},
	"/pickup/v3": {
		{Operation: "POST /carrier-pickup", Contains: oneOfContacts, Reason: contactReason},
		{Operation: "POST /carrier-pickup", Answer: true, Contains: oneOfContacts, Reason: contactReason},
		{Operation: "GET /carrier-pickup/{confirmationNumber}", Answer: true, Contains: oneOfContacts, Reason: contactReason},
	},
	"/tracking/v3": {{
		Operation: "GET /tracking/{trackingNumber}", Answer: true, Contains: "input matches more than one oneOf schemas",
		Reason: "details require nothing and allow everything, so that every summary is details too",
	}},
}
