package parts

import (
	"testing"

	"github.com/waybillhq/waybill/internal/purchase"
	"github.com/waybillhq/waybill/internal/shipping"
)

func TestReasonsOfFailedPurchasesAreSentences(t *testing.T) {
	t.Parallel()
	for want, failure := range map[string]shipping.PurchaseFailure{
		"UPS declined the order: The postal code is invalid (120802).":          {Carrier: "ups", Outcome: purchase.WasRefused, Code: "120802", Message: "the postal code is invalid"},
		"FedEx declined the order and gave no reason.":                          {Carrier: "fedex", Outcome: purchase.WasRefused},
		"USPS could not be reached: The carrier's quota is used up for now.":    {Carrier: "usps", Outcome: purchase.WasNotSent, Message: "the carrier's quota is used up for now"},
		"DHL Express did not answer in time and has no record of the purchase.": {Carrier: "dhl_express", Outcome: purchase.WasAbsent},
		"The label was voided: its price is above the limit.":                   {Carrier: "ups", Outcome: purchase.WasRefused, Code: "price_changed", Message: "the label was voided: its price is above the limit"},
		"The label was not bought.":                                             {},
	} {
		if got := FailureReason(failure); got != want {
			t.Errorf("%+v: %q, want %q", failure, got, want)
		}
	}
}
