package amazonshipping_test

import (
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier/amazonshipping"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
)

func TestAConnectionIsCertified(t *testing.T) {
	t.Parallel()
	carriertest.Certification{
		Spec:        amazonshipping.Spec,
		Credentials: credentials,
		Server:      newStandIn(t),
		Origin:      order().Order.Origin,
		Currency:    "USD",
		Fields:      map[string]string{"client_id": credentials["client_id"], "business_id": credentials["business_id"]},
		Succeeds:    []string{"purchase, domestic", "label, domestic, pdf", "label, domestic, zpl", "tracking, domestic"},
		Untestable:  func(check string) bool { return strings.HasSuffix(check, ", international") }, // which Amazon does not serve
		Document:    "steps.md",
		Shows:       credentials["business_id"],
		Secret:      credentials["refresh_token"],
	}.Run(t)
}
