package canadapost_test

import (
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/canadapost"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
)

// The check digits are computed here once more, in another way than the driver
// does.
func TestNumbers(t *testing.T) {
	t.Parallel()
	carriertest.Numbers(t, canadapost.Spec, map[string]carriertest.NumberFormat{
		"PIN": {Payload: `[0-9]{15}`, Check: func(digits string) int {
			sum := 0
			for i, char := range digits {
				sum += int(char-'0') * []int{3, 1}[i%2]
			}
			return (1000 - sum) % 10
		}},
		"S10": {Payload: `[A-Z]{2}[0-9]{8}`, After: "CA", Check: func(text string) int {
			sum := 0
			for i, weight := range []int{8, 6, 4, 2, 3, 5, 9, 7} {
				sum += int(text[2+i]-'0') * weight
			}
			return []int{5, 0, 9, 8, 7, 6, 5, 4, 3, 2, 1}[sum%11]
		}},
	})

	for number, isOurs := range map[string]bool{
		"0073938000549297": true, "7035114477138472": true, "4002847016405018": true, "RB123456785CA": true,
		"0073938000549292": false, "RB123456786CA": false, "RB123456785US": false, "007393800054929": false, "RB12345678AC": false,
	} {
		if got := len(carrier.Recognize([]carrier.Spec{canadapost.Spec}, number)) > 0; got != isOurs {
			t.Errorf("%s is recognized: %v", number, got)
		}
	}
}
