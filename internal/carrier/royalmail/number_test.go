package royalmail_test

import (
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/royalmail"
)

func TestNumbers(t *testing.T) {
	t.Parallel()
	carriertest.Numbers(t, royalmail.Spec, map[string]carriertest.NumberFormat{
		"S10": {Payload: `[A-Z]{2}[0-9]{8}`, Check: s10, After: "GB"},
	})
	for number, want := range map[string]carrier.Recognition{
		"RB123456785GB": carrier.Fits,
		"RB123456785US": carrier.NotRecognized,
		"RB123456786GB": carrier.NotRecognized,
		"R1123456785GB": carrier.NotRecognized,
		"RB12345678xGB": carrier.NotRecognized,
		"日本日本日本日本日本":    carrier.NotRecognized,
	} {
		if got := royalmail.Spec.Recognize(number); got != want {
			t.Errorf("%s: %v, want %v", number, got, want)
		}
	}
}

// s10 is the check digit as the Universal Postal Union describes it: 11 less the
// remainder, where 10 becomes 0 and 11 becomes 5.
func s10(payload string) int {
	sum := 0
	for i, weight := range []int{8, 6, 4, 2, 3, 5, 9, 7} {
		sum += int(payload[2+i]-'0') * weight
	}
	return []int{5, 0, 9, 8, 7, 6, 5, 4, 3, 2, 1}[sum%11]
}
