package all_test

import (
	"slices"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/all"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
)

// A misspelled service would silently be unable to do an option.
func TestOptionsNameServicesOfTheCarrier(t *testing.T) {
	for _, spec := range slices.Concat(all.Specs, sandbox.Specs()) {
		if len(spec.Extras) == 0 {
			t.Errorf("%s declares no options", spec.Name)
		}
		for extra, able := range spec.Extras {
			for _, code := range able {
				_, known := spec.Service(code)
				if !known && code != carrier.EveryService[0] {
					t.Errorf("%s does not have the service %s, which can do %s", spec.Name, code, extra)
				}
			}
		}
	}
}
