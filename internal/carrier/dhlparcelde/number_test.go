package dhlparcelde_test

import (
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/dhlparcelde"
)

// sumOf returns the sum of the digits, each times the weights in turn.
func sumOf(digits string, weights ...int) int {
	sum := 0
	for i, digit := range digits {
		sum += int(digit-'0') * weights[i%len(weights)]
	}
	return sum
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	mod10 := func(weights ...int) func(string) int {
		return func(digits string) int { return (1000 - sumOf(digits, weights...)) % 10 }
	}
	carriertest.Numbers(t, dhlparcelde.Spec, map[string]carriertest.NumberFormat{
		"shipment number": {Payload: `00340[0-9]{14}`, Check: mod10(3, 1)},
		"identcode":       {Payload: `[0-9]{11}`, Check: mod10(4, 9)},
		"S10": {Payload: `[A-Z]{2}[0-9]{8}`, After: "DE", Check: func(text string) int {
			return []int{5, 0, 9, 8, 7, 6, 5, 4, 3, 2, 1}[sumOf(text[2:], 8, 6, 4, 2, 3, 5, 9, 7)%11]
		}},
	})
}

func TestKnownNumbers(t *testing.T) {
	t.Parallel()
	for number, want := range map[string]carrier.Recognition{
		"00340433836442636597": carrier.Fits,
		"00340433836442636598": carrier.NotRecognized,
		"00340434161094015902": carrier.Fits,
		"201298452277":         carrier.Fits,
		"201298452278":         carrier.NotRecognized,
		"RB123456785DE":        carrier.Fits,
		"RB123456785GB":        carrier.NotRecognized,
		"R1123456785DE":        carrier.NotRecognized,
		"":                     carrier.NotRecognized,
	} {
		if got := dhlparcelde.Spec.Recognize(number); got != want {
			t.Errorf("%q: %v, want %v", number, got, want)
		}
	}
}
