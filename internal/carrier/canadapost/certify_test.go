package canadapost_test

import (
	"testing"

	"github.com/waybillhq/waybill/internal/carrier/canadapost"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
)

func TestAConnectionIsCertified(t *testing.T) {
	t.Parallel()
	certification := carriertest.Certification{
		Spec:        canadapost.Spec,
		Credentials: credentials,
		Server:      newStandIn(t),
		Origin:      domesticOrder().Order.Origin,
		Currency:    "CAD",
		Fields:      map[string]string{"customer_number": credentials["customer_number"], "contract_id": credentials["contract_id"]},
		Document:    "steps.md",
		Shows:       credentials["contract_id"],
		Secret:      credentials["api_password"],
	}
	for _, lane := range []string{"domestic", "international"} {
		certification.Succeeds = append(certification.Succeeds,
			"purchase, "+lane, "label, "+lane+", pdf", "label, "+lane+", zpl", "look-up, "+lane, "tracking, "+lane)
	}
	certification.Run(t)
}
