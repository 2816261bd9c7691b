package fedex

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/emulator"
)

// settings are how this FedEx differs from production. They are not faults:
// FedEx's test environment is virtualized and answers only recorded requests.
type settings struct {
	// Unanswered are the interfaces that answer every request with
	// REQUEST.MISMATCH, as those of the test environment do to a request that
	// was not recorded.
	Unanswered []string `json:"unanswered,omitempty"`

	// ReferenceType is the only name under which tracking knows the reference of
	// a purchase: CUSTOMER_REFERENCE or SHIPPER_REFERENCE. Empty for both.
	ReferenceType string `json:"referenceType,omitempty"`
}

var interfaces = []string{"rates", "ship", "cancel", "track", "address", "pickup", "close", "locations", "documents"}

// answered returns the handler of an interface, unless the settings leave its
// requests unanswered.
func (f *fedex) answered(name string, handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(f.settings.Load().Unanswered, name) {
			refuse(w, r, http.StatusBadRequest, "REQUEST.MISMATCH", "Response is unavailable for the request payload sent to this virtualized sandbox instance.")
			return
		}
		handler(w, r)
	}
}

// showSettings answers with the settings.
func (f *fedex) showSettings(w http.ResponseWriter, _ *http.Request) {
	current := f.settings.Load()
	send(w, http.StatusOK, object{"unanswered": current.Unanswered, "referenceType": current.ReferenceType})
}

// changeSettings replaces the settings.
func (f *fedex) changeSettings(w http.ResponseWriter, r *http.Request) {
	emulator.Change(w, r, func(next settings) error {
		for _, name := range next.Unanswered {
			if !slices.Contains(interfaces, name) {
				return fmt.Errorf("unknown interface %q: choose from %s", name, strings.Join(interfaces, ", "))
			}
		}
		if names := []string{"", "CUSTOMER_REFERENCE", "SHIPPER_REFERENCE"}; !slices.Contains(names, next.ReferenceType) {
			return fmt.Errorf("unknown reference type %q: choose CUSTOMER_REFERENCE or SHIPPER_REFERENCE", next.ReferenceType)
		}
		f.settings.Store(&next)
		return nil
	})
}
