package carrier

import (
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Recognition is how sure a carrier is that a tracking number is its own.
type Recognition int

// The recognitions.
const (
	NotRecognized Recognition = iota
	FitsLoosely               // a row of digits whose check digit fits, as it does by chance once in ten, or a shape without a check digit
	Fits                      // a format of the carrier's own
)

// A Confidence is how likely a tracking number is a carrier's.
type Confidence string

// The confidences.
const (
	// HighConfidence is for a format that no other carrier here has.
	HighConfidence Confidence = "high"
	// MediumConfidence is for a format of several carriers, and for short rows
	// of digits: carriers that are not among the candidates use them too.
	MediumConfidence Confidence = "medium"
	// LowConfidence is for a number that fits by chance about once in ten.
	LowConfidence Confidence = "low"
)

// shortDigits is the length up to which rows of digits without a prefix are in
// use by many carriers.
const shortDigits = 18

// A Candidate is a carrier that a tracking number may belong to.
type Candidate struct {
	Carrier    string
	Confidence Confidence
}

// Recognize returns the carriers that recognize a tracking number, the surest
// first, in the order of the specs. A check digit also fits by chance, so the
// answer is a guess: it may name a carrier to ask, but is never a reason to
// refuse a number.
func Recognize(specs []Spec, number string) []Candidate {
	number = ship.NormalizeTrackingNumber(number)

	var sure, loose []Candidate
	for _, spec := range specs {
		if spec.Recognize == nil {
			continue
		}
		switch spec.Recognize(number) {
		case Fits:
			sure = append(sure, Candidate{spec.Name, HighConfidence})
		case FitsLoosely:
			loose = append(loose, Candidate{spec.Name, LowConfidence})
		}
	}

	isShortRow := len(number) <= shortDigits && strings.Trim(number, "0123456789") == ""
	if len(sure) > 1 || isShortRow {
		for i := range sure {
			sure[i].Confidence = MediumConfidence
		}
	}
	return append(sure, loose...)
}

// Detect returns the names of the candidates for a tracking number, the surest
// first.
func Detect(specs []Spec, number string) []string {
	var names []string
	for _, candidate := range Recognize(specs, number) {
		names = append(names, candidate.Carrier)
	}
	return names
}
