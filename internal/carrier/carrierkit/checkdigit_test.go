package carrierkit_test

import (
	"testing"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
)

func weighted317(digits string) byte {
	return carrierkit.WeightedCheckDigit(digits, [3]int{3, 1, 7})
}

func TestCheckDigitsOfKnownNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		check  func(string) byte
		name   string
		number string
	}{
		{carrierkit.AlphanumericCheckDigit, "UPS", "5R89390357567127"},
		{carrierkit.AlphanumericCheckDigit, "UPS", "999AA10123456784"},
		{carrierkit.AlphanumericCheckDigit, "UPS waybill", "1506235620"},
		{carrierkit.GS1CheckDigit, "USPS 22", "9400111206206406260787"},
		{carrierkit.GS1CheckDigit, "USPS 26", "92748931507708513018050063"},
		{carrierkit.GS1CheckDigit, "USPS with routing", "9200190132607600833457"},
		{carrierkit.GS1CheckDigit, "USPS 20", "03071790000523483741"},
		{carrierkit.GS1CheckDigit, "FedEx Ground", "041441760228964"},
		{carrierkit.GS1CheckDigit, "FedEx Ground Economy", "9261292700768711948021"},
		{weighted317, "FedEx", "986578788855"},
		{weighted317, "FedEx", "799531274483"},
		{carrierkit.Mod7CheckDigit, "DHL Express", "3318810025"},
		{carrierkit.S10CheckDigit, "S10", "123456785"},
		{carrierkit.S10CheckDigit, "S10", "473124829"},
	} {
		if !carrierkit.EndsWithCheckDigit(c.number, c.check) {
			t.Errorf("%s %s: the check digit does not fit", c.name, c.number)
		}
	}
}

func TestACheckDigitOfNonsenseIsNoDigit(t *testing.T) {
	t.Parallel()
	for _, check := range []func(string) byte{
		carrierkit.AlphanumericCheckDigit, carrierkit.GS1CheckDigit, carrierkit.Mod7CheckDigit, carrierkit.S10CheckDigit, weighted317,
	} {
		if got := check("12é4"); got != 0 {
			t.Errorf("got %q, want none", got)
		}
	}
}
