package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/member"
)

// TestTheFormShowsWhatCarriersSayOfTheAddress: nothing about a valid address, and
// what to use instead of another.
func TestTheFormShowsWhatCarriersSayOfTheAddress(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	f := addressForm()
	for street, want := range map[string][]string{
		"Corrected Street":   {"UPS suggests another address", "1 Corrected Street, Austin", "suggestion=0"},
		"Ambiguous Street":   {"knows several", "The house number is missing.", "2 Ambiguous Street", "suggestion=1"},
		"Invalid Street":     {"UPS does not know this address"},
		"500 Main St":        nil,
		"Unreachable Street": nil,
		"":                   nil,
	} {
		f.Set("address1", street)
		w := b.send(member.Shipper, b.home+"/shipments/address", f, "HX-Request", "true")
		if w.Code != http.StatusOK || want == nil && strings.Contains(w.Body.String(), "notice") {
			t.Errorf("%q: %d %s", street, w.Code, w.Body)
		}
		for _, text := range want {
			if !strings.Contains(w.Body.String(), text) {
				t.Errorf("%q: no %q in %s", street, text, w.Body)
			}
		}
	}
}

func TestASuggestedAddressIsPutIntoTheForm(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	f := addressForm()
	for _, test := range []struct{ street, suggestion, want string }{
		{"Corrected Street", "0", "1 Corrected Street"},
		{"Ambiguous Street", "1", "2 Ambiguous Street"},
		{"500 Main St", "", "500 Main St"},
	} {
		f.Set("address1", test.street)
		w := b.send(member.Shipper, b.home+"/shipments/fields?part=address&suggestion="+test.suggestion, f, "HX-Request", "true")
		if test.suggestion == "" {
			if w.Code != http.StatusNotFound {
				t.Errorf("%s has a suggestion: %d", test.street, w.Code)
			}
			continue
		}
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `value="`+test.want+`"`) || !strings.Contains(w.Body.String(), f.Get("name")) {
			t.Errorf("%s: %d %s", test.street, w.Code, w.Body)
		}
		if w.Header().Get("HX-Trigger-After-Swap") != "filled" {
			t.Errorf("%s: the rates stay as they were", test.street)
		}
	}
}
