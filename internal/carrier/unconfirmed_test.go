package carrier_test

import (
	"slices"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// limited is a carrier with all abilities off, and the list of those that were
// confirmed.
func limited(d *driver) (*carrier.Carrier, *[]carrier.Ability) {
	c := carrier.New(carrier.Spec{Name: "acme", Title: "Acme"}, d)
	c.Connection = "con_1"
	c.TurnOff(carrier.GatedAbilities...)

	var confirmed []carrier.Ability
	c.Confirmed = func(ability carrier.Ability) { confirmed = append(confirmed, ability) }
	return c, &confirmed
}

// workingDriver answers everything as a carrier should.
func workingDriver() *driver {
	return &driver{
		purchase: ship.Sale{
			Service:        "ground",
			CarrierRef:     "R1",
			TrackingNumber: "N1",
			Price:          ship.Money{Minor: 500, Currency: "USD"},
			Label:          ship.Label{Format: "pdf", Data: []byte("%PDF")},
		},
		void:  carrier.VoidResult{State: ship.StateVoided},
		heard: []carrier.TrackingUpdate{{TrackingNumber: "N1", Scan: ship.Scan{Code: "1", At: time.Now()}}},
	}
}

func TestWhatIsOffIsNotSent(t *testing.T) {
	c, confirmed := limited(workingDriver())

	_, bought := c.Buy(t.Context(), carrier.BuyOrder{Service: "ground"})
	_, voided := c.Void(t.Context(), ship.Purchase{CarrierRef: "R1"})
	_, tracked := c.Track(t.Context(), []string{"N1"})

	for name, err := range map[string]error{"purchase": bought, "void": voided, "tracking": tracked} {
		if ship.CodeOf(err) != carrier.CodeUnconfirmed {
			t.Errorf("%s: %v, want an error with the code %s", name, err, carrier.CodeUnconfirmed)
		}
	}
	if ship.KindOf(bought) != ship.Invalid || ship.KindOf(voided) != ship.Invalid {
		t.Errorf("a purchase is %s and a void is %s, want refusals", ship.KindOf(bought), ship.KindOf(voided))
	}
	if ship.KindOf(tracked) != ship.Unavailable || ship.ErrorOf(tracked).RetryAfter == 0 {
		t.Errorf("tracking is %v, want an error that postpones it", tracked)
	}
	if len(*confirmed) > 0 {
		t.Errorf("%v are confirmed without a call", *confirmed)
	}
}

func TestAnAbsenceOfALookupThatIsOffIsNotBelieved(t *testing.T) {
	d := workingDriver()
	d.err = ship.Errorf(ship.NotFound, "nothing")
	c, confirmed := limited(d)

	_, absent := c.Find(t.Context(), carrier.BuyOrder{})
	_, asked := c.Find(carrier.Unrestricted(t.Context()), carrier.BuyOrder{})
	if ship.KindOf(absent) != ship.Unavailable || ship.KindOf(asked) != ship.NotFound {
		t.Errorf("an absence is %s, and %s where it is to be confirmed", ship.KindOf(absent), ship.KindOf(asked))
	}
	if len(*confirmed) > 0 {
		t.Errorf("%v are confirmed by an absence", *confirmed)
	}

	d.err = nil
	if _, err := c.Find(t.Context(), carrier.BuyOrder{}); err != nil {
		t.Fatal(err)
	}
	d.err = ship.Errorf(ship.NotFound, "nothing")
	_, absent = c.Find(t.Context(), carrier.BuyOrder{})
	if ship.KindOf(absent) != ship.NotFound || !slices.Equal(*confirmed, []carrier.Ability{carrier.AbilityFind}) {
		t.Errorf("after a purchase was found an absence is %v, and %v are confirmed", absent, *confirmed)
	}
}

func TestWhatWorksIsConfirmedOnce(t *testing.T) {
	c, confirmed := limited(workingDriver())
	certifying := carrier.Unrestricted(t.Context())

	for range 2 {
		_, bought := c.Buy(certifying, carrier.BuyOrder{Service: "ground"})
		_, voided := c.Void(certifying, ship.Purchase{CarrierRef: "R1"})
		_, tracked := c.Track(certifying, []string{"N1"})
		if bought != nil || voided != nil || tracked != nil {
			t.Fatalf("purchase %v, void %v, tracking %v", bought, voided, tracked)
		}
	}

	want := []carrier.Ability{carrier.AbilityBuy, carrier.AbilityVoid, carrier.AbilityTrack}
	if !slices.Equal(*confirmed, want) || !slices.Equal(c.Off(), []carrier.Ability{carrier.AbilityFind}) {
		t.Errorf("%v are confirmed and %v are off, want %v and the look-up", *confirmed, c.Off(), want)
	}
	if _, err := c.Void(t.Context(), ship.Purchase{CarrierRef: "R1"}); err != nil {
		t.Errorf("a void after its confirmation: %v", err)
	}
}

func TestRefusalsAndEmptyAnswersConfirmNothing(t *testing.T) {
	d := workingDriver()
	d.err = ship.Errorf(ship.Invalid, "no")
	d.heard = nil
	c, confirmed := limited(d)
	certifying := carrier.Unrestricted(t.Context())

	_, _ = c.Buy(certifying, carrier.BuyOrder{Service: "ground"})
	_, _ = c.Void(certifying, ship.Purchase{CarrierRef: "R1"})
	d.err = nil
	_, _ = c.Track(certifying, []string{"N1"})

	if len(*confirmed) > 0 {
		t.Errorf("%v are confirmed", *confirmed)
	}
}
