package gls_test

import (
	"testing"

	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/gls"
	standin "github.com/waybillhq/waybill/internal/emulator/gls"
)

func TestAConnectionIsCertified(t *testing.T) {
	t.Parallel()
	certification := carriertest.Certification{
		Spec:        gls.Spec,
		Credentials: credentials(),
		Server:      newStandIn(t),
		Origin:      domesticOrder().Order.Origin,
		Currency:    "EUR",
		Fields:      map[string]string{"contact_id": standin.ContactID},
		Document:    "checklist.md",
		Shows:       standin.ContactID,
		Secret:      standin.ClientSecret,
	}
	for _, purchase := range []string{"domestic", "multi-piece"} {
		certification.Succeeds = append(certification.Succeeds,
			"purchase, "+purchase, "label, "+purchase+", pdf", "look-up, "+purchase, "tracking, "+purchase, "void, "+purchase)
	}
	certification.Run(t)
}
