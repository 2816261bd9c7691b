package carriertest

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waybillhq/waybill/internal/carrier"
)

// A NumberFormat makes valid tracking numbers of a carrier. A test computes the
// check digit in another way than the driver does.
type NumberFormat struct {
	Payload string           // a regular expression of everything before the check digit
	Check   func(string) int // of the payload; nil for a format without a check digit
	After   string           // what follows the check digit
}

func (f NumberFormat) number(payload string, check int) string {
	if f.Check == nil {
		return payload + f.After
	}
	return fmt.Sprintf("%s%d%s", payload, check, f.After)
}

// Numbers requires that the carrier recognizes every number of the formats,
// however it is written, and none of them with a wrong check digit. A format
// without a check digit may be recognized loosely.
func Numbers(t *testing.T, spec carrier.Spec, formats map[string]NumberFormat) {
	t.Helper()
	recognized := func(number string) carrier.Confidence {
		for _, candidate := range carrier.Recognize([]carrier.Spec{spec}, number) {
			return candidate.Confidence
		}
		return ""
	}

	for name, format := range formats {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				payload := rapid.StringMatching(format.Payload).Draw(t, "payload")
				check := 0
				if format.Check != nil {
					check = format.Check(payload)
				}
				number := format.number(payload, check)
				confidence := recognized(number)
				if confidence == "" || confidence == carrier.LowConfidence && format.Check != nil {
					t.Fatalf("%s is recognized with the confidence %q", number, confidence)
				}

				at := rapid.IntRange(1, len(number)-1).Draw(t, "at")
				space := rapid.SampledFrom([]string{" ", "-", "\u00a0"}).Draw(t, "space")
				if written := strings.ToLower(number[:at]) + space + number[at:]; recognized(written) != confidence {
					t.Fatalf("%q is recognized with the confidence %q, and %s with %q", written, recognized(written), number, confidence)
				}

				if format.Check == nil {
					return
				}
				wrong := (check + rapid.IntRange(1, 9).Draw(t, "off")) % 10
				if damaged := format.number(payload, wrong); recognized(damaged) != "" && recognized(damaged) != carrier.LowConfidence {
					t.Fatalf("%s has the wrong check digit and is recognized", damaged)
				}
			})
		})
	}
}
