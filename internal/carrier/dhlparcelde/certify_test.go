package dhlparcelde_test

import (
	"testing"

	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/dhlparcelde"
)

func TestAConnectionIsCertified(t *testing.T) {
	t.Parallel()
	server := newStandIn(t)
	certification := carriertest.Certification{
		Spec:        dhlparcelde.Spec,
		Credentials: credentials(),
		Server:      server,
		Origin:      domesticOrder().Order.Origin,
		Currency:    "EUR",
		Fields:      map[string]string{"username": "shop-system"},
		Document:    "checklist.md",
		Shows:       "shop-system",
		Secret:      credentials()["password"],
	}
	for _, lane := range []string{"domestic", "international"} {
		certification.Succeeds = append(certification.Succeeds,
			"purchase, "+lane, "label, "+lane+", pdf", "label, "+lane+", zpl", "look-up, "+lane, "tracking, "+lane, "void, "+lane)
	}
	certification.Run(t)
	if lines := len(server.Ledger.Entries()); lines != 4 {
		t.Errorf("%d lines in the ledger, want two sales and two voids", lines)
	}
}
