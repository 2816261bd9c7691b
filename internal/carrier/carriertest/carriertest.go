// Package carriertest runs the conformance suite of package conformance as tests
// of a driver, and has what such tests share. It is only for tests; nothing that
// ships imports it.
package carriertest

import (
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/conformance"
)

// Subject is a carrier under test. Its fields are described in conformance.
type Subject = conformance.Subject

// Service returns the Service of a subject whose emulator belongs to a test.
func Service(start func(testing.TB) carrier.Doer) func(conformance.T) carrier.Doer {
	return func(t conformance.T) carrier.Doer { return start(t.(testing.TB)) }
}

// Refusal is an answer by which the carrier refuses a request.
type Refusal = conformance.Refusal

// An AddressExample is an address and what the carrier finds about it.
type AddressExample = conformance.AddressExample

// Run runs the whole suite, its cases in parallel, and sends the mutants of the
// carrier's requests.
func Run(t *testing.T, subject Subject) {
	for _, demand := range subject.Cases() {
		t.Run(demand.Name, func(t *testing.T) {
			t.Parallel()
			if err := demand.Run(subject, t); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("mutants", func(t *testing.T) {
		t.Parallel()
		testMutants(t, subject)
	})
}
