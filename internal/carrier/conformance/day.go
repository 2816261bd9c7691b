package conformance

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// What a carrier does besides selling labels: pickups, manifests, documents, proofs
// of delivery, service points, duties.

// dayCases are what a carrier with these abilities must do besides bearing every
// fault.
func dayCases(able []string) []testCase {
	var list []testCase
	add := func(ability, name string, run func(Subject, T) error) {
		if slices.Contains(able, ability) {
			list = append(list, testCase{name: name, run: run, operation: ability})
		}
	}

	add("pickups", "a pickup that is booked twice", Subject.testPickupTwice)
	add("find_pickups", "finds a pickup that was booked and no other", Subject.testFindPickup)
	add("cancel_pickups", "a pickup that is cancelled twice", Subject.testCancelTwice)
	add("manifests", "a manifest that is closed twice", Subject.testManifestTwice)
	add("find_manifests", "finds a manifest that was closed and no other", Subject.testFindManifest)
	add("find_documents", "finds a document that was uploaded and no other", Subject.testFindDocument)
	add("points", "service points are whole", Subject.testPoints)
	add("duties", "duties are whole", Subject.testDuties)
	return list
}

// manifestOf returns the order that hands the purchase over.
func (s Subject) manifestOf(purchase ship.Purchase) ship.ManifestOrder {
	order := s.Manifest
	if order.Address == (ship.Address{}) {
		order.Address = s.Order.Order.Origin
	}
	order.ShipDate = cmp.Or(order.ShipDate, s.Order.Order.ShipDate, ship.DateOf(time.Now()))

	numbers := purchase.Pieces
	if len(numbers) == 0 {
		numbers = []string{purchase.TrackingNumber}
	}
	order.Labels = []ship.ManifestLabel{{
		Shipment: s.Order.Shipment,
		Service:  purchase.Service,
		Numbers:  numbers,
	}}
	return order
}

// documentOf buys an order that is declared to customs, and returns an invoice of
// it.
func (s Subject) documentOf(t T, c *carrier.Carrier) (carrier.DocumentRequest, error) {
	if s.Declared.Service == "" {
		return carrier.DocumentRequest{}, errors.New("the driver takes documents, and the subject has no declared order")
	}
	purchase, err := buyOrder(t, c, s.Declared)
	return carrier.DocumentRequest{
		Order:     s.Declared.Order,
		Purchase:  purchase,
		Document:  ship.Document{Type: "commercial_invoice", Format: "pdf", Data: []byte("%PDF-1.4\n% the invoice\n%%EOF\n")},
		Reference: s.Declared.Reference + "D1",
	}, err
}

func (s Subject) testFindDocument(t T) error {
	c, err := s.openVia(s.Service(t))
	if err != nil {
		return err
	}
	document, err := s.documentOf(t, c)
	if err != nil {
		return err
	}
	if !s.Stateless {
		if _, err := c.FindDocument(t.Context(), document); wantKind(err, ship.NotFound) != nil {
			return fmt.Errorf("before the upload: %w", wantKind(err, ship.NotFound))
		}
	}
	sent, err := c.UploadDocument(t.Context(), document)
	if err != nil {
		return err
	}
	found, err := c.FindDocument(t.Context(), document)
	if err != nil {
		return err
	}
	if found != sent {
		return fmt.Errorf("uploaded %+v, found %+v", sent, found)
	}

	// Another document of the same type must not be taken for this one.
	other := document
	other.Document.Data = []byte("%PDF-1.4\n% another invoice\n%%EOF\n")
	if _, err := c.FindDocument(t.Context(), other); err == nil && !s.Stateless {
		return errors.New("a document that was never uploaded is found")
	}
	return nil
}

// testPickupTwice requires that a carrier which is said to keep one pickup for a
// place does so, and that another makes two, or the claim would be too weak.
func (s Subject) testPickupTwice(t T) error {
	c, err := s.openVia(s.Service(t))
	if err != nil {
		return err
	}
	first, err := c.BookPickup(t.Context(), s.Pickup)
	if err != nil {
		return err
	}
	if first.Existed {
		return errors.New("the first pickup existed before it was booked")
	}

	second, err := c.BookPickup(t.Context(), s.Pickup)
	if err != nil {
		return err
	}
	isOne := second.Existed || second.Confirmation == first.Confirmation
	if s.Stateless && isOne {
		return nil // it cannot count
	}
	if isOne != c.PickupCertainty().CanBookAgain {
		return fmt.Errorf("booked twice: %+v and %+v, although Spec.OnePickupPerPlace is %v",
			first, second, s.Spec.OnePickupPerPlace)
	}
	return nil
}

func (s Subject) testFindPickup(t T) error {
	c, err := s.openVia(s.Service(t))
	if err != nil {
		return err
	}
	booked, err := c.BookPickup(t.Context(), s.Pickup)
	if err != nil {
		return err
	}
	found, err := c.FindPickup(t.Context(), s.Pickup)
	if err != nil {
		return err
	}
	if found.Confirmation != booked.Confirmation {
		return fmt.Errorf("booked %q, found %q", booked.Confirmation, found.Confirmation)
	}

	absent := s.AbsentPickup
	if absent.Reference == "" {
		absent = s.Pickup
		absent.Reference += "X"
	}
	_, err = c.FindPickup(t.Context(), absent)
	return wantKind(err, ship.NotFound)
}

func (s Subject) testCancelTwice(t T) error {
	c, err := s.openVia(s.Service(t))
	if err != nil {
		return err
	}
	booked, err := c.BookPickup(t.Context(), s.Pickup)
	if err != nil {
		return err
	}
	for range 2 {
		if err := c.CancelPickup(t.Context(), s.Pickup, booked); err != nil {
			return err
		}
	}

	// A cancelled pickup is not one that a lost answer may be settled with.
	if c.PickupCertainty().CanFind && !s.Stateless {
		_, err := c.FindPickup(t.Context(), s.Pickup)
		return wantKind(err, ship.NotFound)
	}
	return nil
}

// testManifestTwice requires that closing again shows that the labels were
// closed, where there is no look-up that would.
func (s Subject) testManifestTwice(t T) error {
	c, err := s.openVia(s.Service(t))
	if err != nil {
		return err
	}
	if c.ManifestScope() == carrier.NoManifest {
		return errors.New("the driver closes manifests, and Spec.Manifest is not set")
	}
	purchase, err := s.buy(t, c)
	if err != nil {
		return err
	}

	order := s.manifestOf(purchase)
	first, err := c.CloseManifest(t.Context(), order)
	if err != nil {
		return err
	}
	if first.Existed || len(first.Documents) == 0 {
		return fmt.Errorf("the first closing is %+v", first)
	}
	if c.CanFindManifest() {
		return nil
	}
	second, err := c.CloseManifest(t.Context(), order)
	if err != nil {
		return err
	}
	// A carrier may say that nothing is left to close without saying where it is.
	isSame := second.Number == first.Number || second.Existed && second.Number == ""
	if !second.Existed && !s.Stateless || !isSame {
		return fmt.Errorf("closed as %q, and again as %q (existed: %v)", first.Number, second.Number, second.Existed)
	}
	return nil
}

func (s Subject) testFindManifest(t T) error {
	c, err := s.openVia(s.Service(t))
	if err != nil {
		return err
	}
	purchase, err := s.buy(t, c)
	if err != nil {
		return err
	}

	order := s.manifestOf(purchase)
	if !s.Stateless {
		if _, err := c.FindManifest(t.Context(), order); wantKind(err, ship.NotFound) != nil {
			return fmt.Errorf("before the closing: %w", wantKind(err, ship.NotFound))
		}
	}
	if _, err := c.CloseManifest(t.Context(), order); err != nil {
		return err
	}
	found, err := c.FindManifest(t.Context(), order)
	if err != nil {
		return err
	}
	if len(found.Documents) == 0 {
		return errors.New("the manifest was found without its document")
	}
	return nil
}

func (s Subject) testPoints(t T) error {
	c, err := s.openVia(s.Service(t))
	if err != nil {
		return err
	}

	points, err := c.FindPoints(t.Context(), s.Points)
	if err != nil {
		return err
	}
	if len(points) < 2 {
		return fmt.Errorf("%d points, want at least 2", len(points))
	}

	for i, point := range points {
		switch {
		case point.Name == "" || point.Address.Address1 == "" || point.Address.City == "":
			return fmt.Errorf("%+v lacks a name or an address", point)
		case point.DistanceM >= 0 && i > 0 && point.DistanceM < points[i-1].DistanceM:
			return errors.New("the nearest point does not come first")
		}
		for _, ability := range point.Abilities {
			if !slices.Contains(ship.PointAbilities, ability) {
				return fmt.Errorf("%q is no ability of a service point", ability)
			}
		}
	}
	return nil
}

func (s Subject) testDuties(t T) error {
	c, err := s.openVia(s.Service(t))
	if err != nil {
		return err
	}
	cost, err := c.EstimateDuties(t.Context(), s.Duties)
	if err != nil {
		return err
	}
	if len(cost.Charges) == 0 {
		return errors.New("there are no charges")
	}
	for _, charge := range cost.Charges {
		isKnown := charge.Type == "duty" || charge.Type == "tax" || charge.Type == "fee"
		if !isKnown || len(charge.Amount.Currency) != 3 || charge.Item >= len(s.Duties.Customs.Items) {
			return fmt.Errorf("the charge %+v is not whole", charge)
		}
	}
	return nil
}
