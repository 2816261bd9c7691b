package purchase

import (
	"slices"
	"time"
)

// Visibility is what is known of how late the look-up of a carrier account shows a
// purchase.
type Visibility struct {
	Default  time.Duration   // of the carrier
	Raised   time.Duration   // since a purchase was found later than expected; zero if none was
	Measured []time.Duration // by live purchases since then, newest last
	Least    time.Duration   // whatever is known, by the operator's setting
}

// A DelaySource says where a visibility delay comes from.
type DelaySource string

// The sources of a visibility delay.
const (
	DelayOfCarrier  DelaySource = "default"
	DelayRaised     DelaySource = "raised"
	DelayMeasured   DelaySource = "measured"
	DelayOfOperator DelaySource = "setting"
)

// NeededMeasurements is how many live measurements lower a delay: to twice the
// largest of them, and never below leastMeasured.
const (
	NeededMeasurements = 3
	leastMeasured      = 5 * time.Minute
)

// Delay returns the visibility delay, and where it comes from.
func (v Visibility) Delay() (time.Duration, DelaySource) {
	delay, source := v.Default, DelayOfCarrier
	if v.Raised > delay {
		delay, source = v.Raised, DelayRaised
	}

	if n := len(v.Measured); n >= NeededMeasurements {
		measured := max(2*slices.Max(v.Measured[n-NeededMeasurements:]), leastMeasured)
		if measured < delay {
			delay, source = measured, DelayMeasured
		}
	}

	if v.Least > delay {
		delay, source = v.Least, DelayOfOperator
	}
	return delay, source
}

// RaisedDelay is the visibility delay after a purchase was found at an age at which
// it should have been visible long before.
func RaisedDelay(age time.Duration) time.Duration { return 2 * age }
