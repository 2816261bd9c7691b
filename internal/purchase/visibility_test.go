package purchase

import (
	"testing"
	"time"
)

func TestTheVisibilityDelayIsLoweredByThreeMeasurementsOnly(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	for _, test := range []struct {
		name       string
		visibility Visibility
		want       time.Duration
		source     DelaySource
	}{
		{"nothing is known", Visibility{Default: 60 * minute}, 60 * minute, DelayOfCarrier},
		{"found late", Visibility{Default: 60 * minute, Raised: 150 * minute}, 150 * minute, DelayRaised},
		{"two measurements", Visibility{Default: 60 * minute, Measured: []time.Duration{minute, minute}}, 60 * minute, DelayOfCarrier},
		{"three measurements", Visibility{Default: 60 * minute, Measured: []time.Duration{minute, 5 * minute, minute}}, 10 * minute, DelayMeasured},
		{"three immediate ones", Visibility{Default: 60 * minute, Measured: []time.Duration{0, 0, 0}}, 5 * minute, DelayMeasured},
		{"the newest three count", Visibility{Default: 60 * minute, Measured: []time.Duration{30 * minute, minute, minute, minute}}, 5 * minute, DelayMeasured},
		{"a short delay is not lowered", Visibility{Default: minute, Measured: []time.Duration{0, 0, 0}}, minute, DelayOfCarrier},
		{"measurements never raise", Visibility{Default: 60 * minute, Measured: []time.Duration{60 * minute, 0, 0}}, 60 * minute, DelayOfCarrier},
		{"the setting is a minimum", Visibility{Default: 60 * minute, Measured: []time.Duration{0, 0, 0}, Least: 20 * minute}, 20 * minute, DelayOfOperator},
		{"and not a maximum", Visibility{Default: 60 * minute, Least: 20 * minute}, 60 * minute, DelayOfCarrier},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			got, source := test.visibility.Delay()

			if got != test.want || source != test.source {
				t.Errorf("Delay() = %v, %q; want %v, %q", got, source, test.want, test.source)
			}
		})
	}
}
