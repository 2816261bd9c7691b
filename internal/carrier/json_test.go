package carrier_test

import (
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
)

func TestJSONThatGrowsWhenItIsDecodedIsRefused(t *testing.T) {
	for text, ok := range map[string]bool{
		"":   true,
		"{}": true,
		"[" + strings.Repeat("{},", 40_000) + "{}]":                       true,
		"[" + strings.Repeat("{},", 60_000) + "{}]":                       false,
		"[" + strings.Repeat("0,", 200_000) + "0]":                        false,
		`["` + strings.Repeat(`,[{\"`, 200_000) + `"]`:                    true,
		strings.Repeat("[", 100) + strings.Repeat("]", 100):               true,
		strings.Repeat("[", 101) + strings.Repeat("]", 101):               false,
		strings.Repeat(`{"a":`, 1_000_000):                                false,
		`"` + strings.Repeat(`\\`, 10) + `",` + strings.Repeat("[", 1000): false,
	} {
		if err := carrier.CheckJSON([]byte(text)); (err == nil) != ok {
			t.Errorf("%.30s with %d bytes: %v", text, len(text), err)
		}
	}
}
