package carrier

import (
	"slices"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Recognition is how sure a carrier is that a tracking number is its own.
type Recognition int

// The recognitions.
const (
	NotRecognized Recognition = iota
	FitsLoosely               // a row of digits whose check digit fits, as it does by chance once in ten
	Fits                      // a format of the carrier's own
)

// Detect returns the names of the carriers that recognize a tracking number,
// the surest first, in the order of the specs. A check digit also fits by
// chance, so the answer is a guess: it may name a carrier to ask, but is never a
// reason to refuse a number.
func Detect(specs []Spec, number string) []string {
	number = ship.NormalizeTrackingNumber(number)

	var names []string
	for _, wanted := range []Recognition{Fits, FitsLoosely} {
		for _, spec := range specs {
			if spec.Recognize == nil || slices.Contains(names, spec.Name) {
				continue
			}
			if spec.Recognize(number) == wanted {
				names = append(names, spec.Name)
			}
		}
	}
	return names
}
