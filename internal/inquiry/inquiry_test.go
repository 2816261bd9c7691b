package inquiry_test

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/inquiry"
	"github.com/waybillhq/waybill/internal/ship"
)

// scripted is a carrier that answers as a test wants.
type scripted struct {
	proof  func(ship.Purchase) (ship.Document, error)
	points func(context.Context, ship.PointQuery) ([]ship.ServicePoint, error)
	duties func(ship.Order) (ship.LandedCost, error)
}

func (scripted) Check(context.Context) error { return nil }

func (d scripted) FetchProof(_ context.Context, purchase ship.Purchase) (ship.Document, error) {
	return d.proof(purchase)
}

func (d scripted) FindPoints(ctx context.Context, query ship.PointQuery) ([]ship.ServicePoint, error) {
	return d.points(ctx, query)
}

func (d scripted) EstimateDuties(_ context.Context, order ship.Order) (ship.LandedCost, error) {
	return d.duties(order)
}

// plain is a carrier without any ability.
type plain struct{}

func (plain) Check(context.Context) error { return nil }

// serviceOf is a service whose test mode has the carriers, by name.
func serviceOf(t *testing.T, drivers map[string]carrier.Driver, names ...string) *inquiry.Service {
	t.Helper()
	var list []*carrier.Carrier
	for _, name := range names {
		c, err := carrier.Open(carrier.Spec{
			Name:  name,
			Title: "Carrier " + name,
			Open:  func(carrier.Opening) (carrier.Driver, error) { return drivers[name], nil },
		}, carrier.Opening{})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return inquiry.New(carrier.Accounts{Simulated: list}, func(context.Context, ship.Tenant, *ship.Order) error { return nil })
}

func pointsAt(metres ...int64) func(context.Context, ship.PointQuery) ([]ship.ServicePoint, error) {
	return func(context.Context, ship.PointQuery) ([]ship.ServicePoint, error) {
		var list []ship.ServicePoint
		for _, m := range metres {
			list = append(list, ship.ServicePoint{ID: "p", Address: ship.Address{Country: "US"}, DistanceM: m})
		}
		return list, nil
	}
}

func TestPointsOfAllCarriersComeNearestFirst(t *testing.T) {
	t.Parallel()
	down := func(context.Context, ship.PointQuery) ([]ship.ServicePoint, error) {
		return nil, ship.Errorf(ship.Unavailable, "down")
	}
	s := serviceOf(t, map[string]carrier.Driver{
		"a": scripted{points: pointsAt(300, 900, -1)},
		"b": scripted{points: pointsAt(100, 500)},
		"c": scripted{points: down},
		"d": plain{},
	}, "a", "b", "c", "d")

	found, err := s.Points(t.Context(), inquiry.PointsInput{Query: ship.PointQuery{Country: "us", Zip: "78701", Limit: 20}})
	if err != nil {
		t.Fatal(err)
	}
	var order []int64
	for _, point := range found.Points {
		order = append(order, point.DistanceM)
	}
	want := []int64{100, 300, 500, 900, -1}
	if len(order) != 5 || order[0] != want[0] || order[1] != want[1] || order[2] != want[2] || order[3] != want[3] || order[4] != want[4] {
		t.Errorf("the distances are %v, want %v", order, want)
	}
	if found.Points[0].Carrier != "b" || len(found.Errors) != 1 || found.Errors[0].Carrier != "c" || !found.Errors[0].Retryable {
		t.Errorf("the first is of %s; errors %+v", found.Points[0].Carrier, found.Errors)
	}

	limited, err := s.Points(t.Context(), inquiry.PointsInput{Query: ship.PointQuery{Country: "US", City: "Austin", Limit: 2}})
	if err != nil || len(limited.Points) != 2 || limited.Points[1].DistanceM != 300 {
		t.Errorf("two of them are %+v, %v", limited.Points, err)
	}
	named, err := s.Points(t.Context(), inquiry.PointsInput{Carrier: "a", Query: ship.PointQuery{Country: "US", Zip: "1", Limit: 9}})
	if err != nil || len(named.Points) != 3 {
		t.Errorf("those of one carrier are %+v, %v", named.Points, err)
	}

	for name, in := range map[string]inquiry.PointsInput{
		"carrier_unavailable": {Carrier: "c", Query: ship.PointQuery{Country: "US", Zip: "1", Limit: 9}}, // all failed
		"validation_failed":   {Query: ship.PointQuery{Country: "US", Limit: 9}},
	} {
		if _, err := s.Points(t.Context(), in); ship.CodeOf(err) != name {
			t.Errorf("%v, want %s", err, name)
		}
	}
	for _, unknown := range []string{"d", "e"} {
		in := inquiry.PointsInput{Carrier: unknown, Query: ship.PointQuery{Country: "US", Zip: "1"}}
		if _, err := s.Points(t.Context(), in); ship.CodeOf(err) != "validation_failed" || ship.ErrorOf(err).Fields[0].Pointer != "/carrier" {
			t.Errorf("carrier %s: %v", unknown, err)
		}
	}
	none := serviceOf(t, map[string]carrier.Driver{"d": plain{}}, "d")
	if _, err := none.Points(t.Context(), inquiry.PointsInput{Query: ship.PointQuery{Country: "US", Zip: "1"}}); ship.CodeOf(err) != "no_carrier" {
		t.Errorf("without a carrier that can: %v", err)
	}
}

func TestAProofIsOfADeliveredParcel(t *testing.T) {
	t.Parallel()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 40, 20))); err != nil {
		t.Fatal(err)
	}
	answer := func(format string, data []byte, err error) func(ship.Purchase) (ship.Document, error) {
		return func(ship.Purchase) (ship.Document, error) {
			return ship.Document{Type: "proof_of_delivery", Format: format, Data: data}, err
		}
	}
	s := serviceOf(t, map[string]carrier.Driver{
		"good":    scripted{proof: answer("png", picture.Bytes(), nil)},
		"none":    scripted{proof: answer("", nil, ship.Errorf(ship.NotFound, "nothing"))},
		"down":    scripted{proof: answer("", nil, ship.Errorf(ship.Unavailable, "down"))},
		"hostile": scripted{proof: answer("svg", []byte("<svg><script>alert(1)</script></svg>"), nil)},
		"damaged": scripted{proof: answer("pdf", []byte("no PDF"), nil)},
		"plain":   plain{},
	}, "good", "none", "down", "hostile", "damaged", "plain")

	delivered := ship.Shipment{State: ship.StatePurchased, Progress: ship.Progress{Status: ship.Delivered}}
	for name, want := range map[string]string{
		"good": "", "none": "proof_not_available", "plain": "proof_not_available",
		"down": "carrier_unavailable", "hostile": "label_quarantined", "damaged": "label_quarantined",
	} {
		shipment := delivered
		shipment.Purchase.Carrier = name
		proof, err := s.Proof(t.Context(), shipment)
		if ship.CodeOf(err) != want || err != nil && want == "" {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if want == "" && !bytes.Equal(proof.Data, picture.Bytes()) {
			t.Errorf("%s: another picture", name)
		}
	}

	for _, change := range []func(*ship.Shipment){
		func(s *ship.Shipment) { s.Progress.Status = ship.InTransit },
		func(s *ship.Shipment) { s.State = ship.StateVoided },
		func(s *ship.Shipment) { s.IsErased = true },
	} {
		shipment := delivered
		shipment.Purchase.Carrier = "good"
		change(&shipment)
		if _, err := s.Proof(t.Context(), shipment); ship.CodeOf(err) != "proof_not_available" || ship.KindOf(err) != ship.NotFound {
			t.Errorf("%+v: %v", shipment, err)
		}
	}
}

func TestDutiesAreEstimatedForWhatIsDeclared(t *testing.T) {
	t.Parallel()
	var asked ship.Order
	s := serviceOf(t, map[string]carrier.Driver{
		"a": scripted{duties: func(order ship.Order) (ship.LandedCost, error) {
			asked = order
			return ship.LandedCost{Guaranteed: true, Charges: []ship.LandedCharge{{Type: "duty", Item: 0, Amount: ship.Money{Minor: 480, Currency: "USD"}}}}, nil
		}},
		"b": scripted{duties: func(ship.Order) (ship.LandedCost, error) {
			return ship.LandedCost{}, ship.InvalidFields([]ship.FieldError{{Pointer: "/parcels/0/weight", Code: "invalid", Detail: "too heavy"}})
		}},
		"c": plain{},
	}, "a", "b", "c")
	in := inquiry.DutiesInput{OneParcel: true, Account: ship.Account{Units: ship.DefaultUnits}, Order: ship.Order{
		Origin:      ship.Address{Name: "Shop", Address1: "1 Market St", City: "San Francisco", State: "CA", Zip: "94105", Country: "US"},
		Destination: ship.Address{Zip: "10117", Country: "DE"},
		Parcels:     []ship.Parcel{{Weight: 2}},
		Customs:     &ship.Customs{ContentsType: "merchandise", Items: []ship.CustomsItem{{Description: "Shirt", Quantity: 1, Weight: 1, Value: ship.Money{Minor: 2000, Currency: "USD"}}}},
	}}

	got, err := s.Duties(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Estimates) != 1 || got.Estimates[0].Carrier != "a" || !got.Estimates[0].Guaranteed || got.Estimates[0].Charges[0].Amount.Minor != 480 {
		t.Errorf("the estimates are %+v", got.Estimates)
	}
	if asked.Parcels[0].WeightGrams != 908 {
		t.Errorf("the carrier was asked about %+v", asked.Parcels)
	}
	if len(got.Errors) != 1 || got.Errors[0].Carrier != "b" || got.Errors[0].Fields[0].Pointer != "/parcel/weight" {
		t.Errorf("the errors are %+v", got.Errors)
	}

	undeclared := in
	undeclared.Order.Customs = nil
	if _, err := s.Duties(t.Context(), undeclared); ship.CodeOf(err) != "validation_failed" || ship.ErrorOf(err).Fields[0].Pointer != "/customs" {
		t.Errorf("without a declaration: %v", err)
	}
	domestic := in
	domestic.Order.Destination = ship.Address{Zip: "78701", State: "TX", Country: "US"}
	if _, err := s.Duties(t.Context(), domestic); ship.CodeOf(err) != "validation_failed" || ship.ErrorOf(err).Fields[0].Pointer != "/destination/country" {
		t.Errorf("within a country: %v", err)
	}
}
