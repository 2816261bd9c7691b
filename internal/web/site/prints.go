package site

import "github.com/waybillhq/waybill/internal/ship"

// RecordPrints counts that the person printed labels. Paper in the printer matters
// more than the count, so one that cannot be written is logged and does not fail
// the request.
func (v *Visit) RecordPrints(ids ...ship.ShipmentID) {
	if err := v.Bulk.RecordPrints(v.Context(), v.Tenant(), ids); err != nil {
		v.Log.ErrorContext(v.Context(), "count of prints", "labels", len(ids), "error", err)
	}
}
