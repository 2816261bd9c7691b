package conformance

import (
	"net/http"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
)

// over returns the Doer by which the service reaches a carrier, with service in
// place of the connections: what service answers is unpacked and classified as
// if it came from the carrier.
func over(service carrier.Doer) carrier.Doer {
	options := Patient()
	options.Transport = roundTripper{service}
	return carrierkit.NewTraffic(options).Doer(carrier.Spec{}, "")
}

// Patient returns the options of traffic whose breakers never open and that
// never pauses: a suite of faults would open every breaker.
func Patient() carrierkit.TrafficOptions {
	options := carrierkit.DefaultTrafficOptions()
	options.Breaker.Calls = 1 << 30
	options.Breaker.Timeouts = 1 << 30
	options.LongestHold = time.Nanosecond
	options.UnsaidHold = time.Nanosecond
	options.TokenRate = -1
	return options
}

type roundTripper struct{ service carrier.Doer }

// RoundTrip is http.RoundTripper.
func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return t.service.Do(r) }
