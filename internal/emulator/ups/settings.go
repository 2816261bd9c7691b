package ups

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// settings select variants of UPS. They are not faults: UPS has a test
// environment, and its documentation leaves open how labels are recovered.
type settings struct {
	// TestEnvironment sells like the Customer Integration Environment: every
	// number is the placeholder, nothing is kept, and tracking shows samples.
	TestEnvironment bool `json:"testEnvironment,omitempty"`
	// Recovery is what a look-up by reference returns: "labels" (the usual),
	// "candidates" (tracking numbers alone), or "returns" (nothing of labels
	// that are not for returns). With "never", it knows no label that is not for
	// a return, by its number neither.
	Recovery string `json:"recovery,omitempty"`
	// TrackingLag is how long after its sale tracking does not know a parcel.
	// Label Recovery is not affected.
	TrackingLag emulator.Duration `json:"trackingLag,omitempty"`
	// LeadOnly makes references lead only to the first parcel of a shipment.
	LeadOnly bool `json:"leadOnly,omitempty"`
}

var recoveries = []string{"", "labels", "candidates", "returns", "never"}

// isTracked reports whether tracking knows a sale by now.
func (s *server) isTracked(entry emulator.Entry) bool {
	return time.Since(entry.At) >= time.Duration(s.settings.Load().TrackingLag)
}

// showSettings answers with the settings.
func (s *server) showSettings(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, encode(s.settings.Load()))
}

// changeSettings replaces the settings.
func (s *server) changeSettings(w http.ResponseWriter, r *http.Request) {
	emulator.Change(w, r, func(next settings) error {
		if !slices.Contains(recoveries, next.Recovery) {
			return fmt.Errorf("unknown recovery %q: choose from %s", next.Recovery, strings.Join(recoveries[1:], ", "))
		}
		if next.TrackingLag < 0 {
			return errors.New("trackingLag must not be negative")
		}
		s.settings.Store(&next)
		return nil
	})
}
