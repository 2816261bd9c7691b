package amazonshipping

import (
	"net/http"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// usual is the life of a parcel, by the time since its sale.
var usual = []emulator.Scan{
	{Code: "ReadyForReceive"},
	{After: emulator.Duration(4 * time.Hour), Code: "PickupDone"},
	{After: emulator.Duration(20 * time.Hour), Code: "ArrivedAtCarrierFacility"},
	{After: emulator.Duration(42 * time.Hour), Code: "OutForDelivery"},
	{After: emulator.Duration(46 * time.Hour), Code: "Delivered"},
}

// track answers GET /shipping/v2/tracking. The code of a scan of the return leg
// ends in "/RETURNS", in the faults.
func (a *amazon) track(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	sale, _, ok := a.Ledger.Sold(query.Get("trackingId"))
	switch {
	case query.Get("trackingId") == "" || query.Get("carrierId") == "":
		refuse(w, http.StatusBadRequest, "InvalidRequest", "trackingId and carrierId are required")
		return
	case !ok || query.Get("carrierId") != CarrierID:
		reply(w, http.StatusNotFound, problem("NotFound", "The tracking number was not found", ""))
		return
	}

	stored := keptOf(sale)
	scans := a.Faults().Tracking
	if len(scans) == 0 {
		scans = usual
	}
	events := []map[string]any{}
	status := "PreTransit"
	for _, scan := range scans {
		at := sale.At.Add(time.Duration(scan.After))
		if at.After(time.Now()) {
			continue
		}
		code, isReturn := strings.CutSuffix(scan.Code, "/RETURNS")
		event := map[string]any{
			"eventCode":    code,
			"eventTime":    at.Format(time.RFC3339),
			"shipmentType": "FORWARD",
			"location":     map[string]string{"city": stored.City, "stateOrRegion": stored.State, "countryCode": "US"},
		}
		if isReturn {
			event["shipmentType"] = "RETURNS"
		}
		events = append(events, event)
		if code == "Delivered" && !isReturn {
			status = "Delivered"
		}
	}
	reply(w, http.StatusOK, map[string]any{"payload": map[string]any{
		"trackingId":             sale.Number,
		"alternateLegTrackingId": "",
		"eventHistory":           events,
		"promisedDeliveryDate":   sale.At.AddDate(0, 0, stored.Days).Format(time.RFC3339),
		"summary":                map[string]any{"status": status, "trackingDetailCodes": map[string]any{"forward": []string{}, "returns": []string{}}},
	}})
}
