package sandbox_test

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// abroad returns an order to London: two shirts and a book.
func abroad() ship.Order {
	sent := order()
	sent.Destination = ship.Address{Name: "Ada Lovelace", Address1: "12 St James's Square", City: "London", Zip: "SW1Y 4JH", Country: "GB"}
	sent.Customs = &ship.Customs{
		ContentsType: "merchandise",
		Items: []ship.CustomsItem{
			{Description: "Shirt", Quantity: 2, Value: ship.Money{Minor: 5000, Currency: "EUR"}, HSCode: "6105.10"},
			{Description: "Book", Quantity: 1, Value: ship.Money{Minor: 2000, Currency: "EUR"}, HSCode: "490199"},
			{Description: "Candle", Quantity: 1, Value: ship.Money{Minor: 1000, Currency: "EUR"}},
		},
	}
	return sent
}

func TestAProofShowsItsParcel(t *testing.T) {
	purchase := ship.Purchase{
		ServiceName:    "Any Service",
		TrackingNumber: "1Z999AA10123456784",
		Pieces:         []string{"1Z999AA10123456784", "1Z999AA10123456785"},
	}
	for _, name := range []string{"ups", "fedex", "dhl_express"} {
		var proofs [][]byte
		for via, c := range both(t, name) {
			proof, err := c.FetchProof(t.Context(), purchase)
			if err != nil || proof.Type != "proof_of_delivery" || label.Check(proof.Format, proof.Data) != nil {
				t.Fatalf("%s %s: %s, %v", name, via, proof.Type, err)
			}
			for _, text := range []string{"SAMPLE", "Any Service", "Delivered", "1Z999AA10123456784", "1Z999AA10123456785"} {
				if !bytes.Contains(proof.Data, []byte(text)) {
					t.Errorf("%s %s: the proof does not show %q", name, via, text)
				}
			}
			proofs = append(proofs, proof.Data)

			if _, err := c.FetchProof(t.Context(), ship.Purchase{}); ship.KindOf(err) != ship.NotFound {
				t.Errorf("%s %s: without a number: %v", name, via, err)
			}
		}
		if !bytes.Equal(proofs[0], proofs[1]) {
			t.Errorf("%s: the proofs differ", name)
		}
	}
}

// TestPointsAreTheSameEveryTime checks the points near a place, and the places
// without any.
func TestPointsAreTheSameEveryTime(t *testing.T) {
	query := ship.PointQuery{Country: "US", Zip: "10118", City: "New York", Limit: 5}
	seen := map[string]bool{}
	for _, spec := range []string{"ups", "usps", "fedex", "dhl_express"} {
		var lists [][]ship.ServicePoint
		for _, c := range both(t, spec) {
			points, err := c.FindPoints(t.Context(), query)
			if err != nil || len(points) != 3 {
				t.Fatalf("%s: %+v, %v", spec, points, err)
			}
			lists = append(lists, points)
		}
		if !reflect.DeepEqual(lists[0], lists[1]) {
			t.Errorf("%s: %+v direct and over HTTP %+v", spec, lists[0], lists[1])
		}

		nearest := int64(0)
		for i, point := range lists[0] {
			if point.DistanceM <= nearest {
				t.Errorf("%s: %d m comes after %d m", spec, point.DistanceM, nearest)
			}
			nearest = point.DistanceM
			if seen[point.ID] || len(point.Hours) < 5 || len(point.Abilities) == 0 || point.IsLocker != (i == 2) || point.Latitude == 0 {
				t.Errorf("%s: %+v", spec, point)
			}
			seen[point.ID] = true
		}
	}

	for name, empty := range map[string]ship.PointQuery{
		"ups":         {Country: "US", Zip: "00001"},
		"usps":        {Country: "DE", Zip: "10115", City: "Berlin"},
		"fedex":       {Country: "KP", City: "Pyongyang"},
		"dhl_express": {Country: "US", Zip: "00001"},
	} {
		for via, c := range both(t, name) {
			if points, err := c.FindPoints(t.Context(), empty); err != nil || len(points) != 0 {
				t.Errorf("%s %s: %+v, %v", name, via, points, err)
			}
			unreachable := ship.PointQuery{Country: "US", Zip: "00003"}
			if _, err := c.FindPoints(t.Context(), unreachable); ship.KindOf(err) != ship.Unavailable {
				t.Errorf("%s %s: unreachable: %v", name, via, err)
			}
		}
	}
}

func TestDutiesFollowTheDeclaration(t *testing.T) {
	want := []ship.LandedCharge{
		{Type: "duty", Name: "Duty", Item: 0, Amount: ship.Money{Minor: 1200, Currency: "EUR"}},
		{Type: "tax", Name: "VAT", Item: 0, Amount: ship.Money{Minor: 2240, Currency: "EUR"}},
		{Type: "tax", Name: "VAT", Item: 1, Amount: ship.Money{Minor: 400, Currency: "EUR"}},
		{Type: "duty", Name: "Duty", Item: 2, Amount: ship.Money{Minor: 50, Currency: "EUR"}},
		{Type: "tax", Name: "VAT", Item: 2, Amount: ship.Money{Minor: 210, Currency: "EUR"}},
		{Type: "fee", Name: "Clearance fee", Item: -1, Amount: ship.Money{Minor: 1250, Currency: "USD"}},
	}
	for _, name := range []string{"ups", "dhl_express"} {
		for via, c := range both(t, name) {
			cost, err := c.EstimateDuties(t.Context(), abroad())
			if err != nil || !slices.Equal(cost.Charges, want) || cost.Guaranteed || len(cost.Messages) != 1 {
				t.Errorf("%s %s: %+v, %v", name, via, cost, err)
			}

			unreachable := abroad()
			unreachable.Destination.Name = "FAULT QUOTE"
			if _, err := c.EstimateDuties(t.Context(), unreachable); ship.KindOf(err) != ship.Unavailable {
				t.Errorf("%s %s: unreachable: %v", name, via, err)
			}
			if _, err := c.EstimateDuties(t.Context(), order()); ship.KindOf(err) != ship.Invalid {
				t.Errorf("%s %s: an order at home: %v", name, via, err)
			}
		}
	}
}
