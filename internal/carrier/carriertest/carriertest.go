// Package carriertest runs the conformance suite of package conformance as tests
// of a driver, and has what such tests share. It is only for tests; nothing that
// ships imports it.
package carriertest

import (
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/conformance"
	"github.com/waybillhq/waybill/internal/ship"
)

// Subject is a carrier under test: a conformance.Subject whose Service belongs to
// a test. Its fields are described there.
type Subject struct {
	Spec           carrier.Spec
	Credentials    carrier.Credentials
	Service        func(testing.TB) carrier.Doer
	Order          carrier.BuyOrder
	Absent         carrier.BuyOrder
	Refusal        Refusal
	Addresses      []AddressExample
	AddressRefusal Refusal
	Pickup         carrier.PickupRequest
	AbsentPickup   carrier.PickupRequest
	Stateless      bool
	Manifest       ship.ManifestOrder
	Declared       carrier.BuyOrder
	Points         ship.PointQuery
	Duties         ship.Order
	Refusals       map[string]Refusal
	Requests       map[string]int
	NoBody         []string
	ReadsBefore    []string
	ReadsAfter     []string
	TokenPaths     []string
	Tokenless      []string
}

// Refusal is an answer by which the carrier refuses a request.
type Refusal = conformance.Refusal

// An AddressExample is an address and what the carrier finds about it.
type AddressExample = conformance.AddressExample

// Run runs the whole suite, its cases in parallel.
func Run(t *testing.T, subject Subject) {
	whole := subject.whole()
	for _, demand := range whole.Cases() {
		t.Run(demand.Name, func(t *testing.T) {
			t.Parallel()
			if err := demand.Run(whole, t); err != nil {
				t.Error(err)
			}
		})
	}
}

func (s Subject) whole() conformance.Subject {
	return conformance.Subject{
		Spec:           s.Spec,
		Credentials:    s.Credentials,
		Service:        func(t conformance.T) carrier.Doer { return s.Service(t.(testing.TB)) },
		Order:          s.Order,
		Absent:         s.Absent,
		Refusal:        s.Refusal,
		Addresses:      s.Addresses,
		AddressRefusal: s.AddressRefusal,
		Pickup:         s.Pickup,
		AbsentPickup:   s.AbsentPickup,
		Stateless:      s.Stateless,
		Manifest:       s.Manifest,
		Declared:       s.Declared,
		Points:         s.Points,
		Duties:         s.Duties,
		Refusals:       s.Refusals,
		Requests:       s.Requests,
		NoBody:         s.NoBody,
		ReadsBefore:    s.ReadsBefore,
		ReadsAfter:     s.ReadsAfter,
		TokenPaths:     s.TokenPaths,
		Tokenless:      s.Tokenless,
	}
}
