package trackpage

import (
	"strconv"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
)

// trackViewOf selects what a recipient may see of a shipment. The carrier's own
// words stay out: they can name people, and are in one language.
func trackViewOf(language locale, path string, shipment parts.TrackedShipment, sender string, logo account.Logo) trackView {
	progress := shipment.Progress
	view := trackView{
		locale:  language,
		Path:    path,
		Sender:  sender,
		Logo:    logo,
		Test:    !shipment.Tenant.Livemode,
		To:      cityOf(parts.Place(shipment.Order.Destination)),
		Carrier: parts.CarrierTitle(shipment.Purchase.Carrier),
	}

	switch shipment.State {
	case ship.StateAwaitingApproval, ship.StatePurchasing, ship.StateUncertain, ship.StateNeedsReview:
		// Whether a label was bought is between the sender and the carrier.
		view.Status = string(ship.Created)
		return view
	case ship.StateVoiding, ship.StateRefundPending, ship.StateVoided, ship.StateFailed:
		// No parcel travels with this label, so there is nothing more to show.
		view.Status = "voided"
		return view
	}

	view.Status = string(progress.Status)
	view.Bad = progress.Status == ship.Exception
	view.Reason = language.why(progress.Reason)
	view.Steps = shipment.Milestones()
	view.Numbers = shipment.Purchase.Pieces
	if len(view.Numbers) == 0 && shipment.Purchase.TrackingNumber != "" {
		view.Numbers = []string{shipment.Purchase.TrackingNumber}
	}

	for _, scan := range shipment.Tracked.Scans {
		if isForRecipient(language, scan) {
			view.Scans = append(view.Scans, trackScanOf(language, shipment, scan))
		}
	}

	switch {
	case progress.Status == ship.Delivered && len(shipment.Tracked.Scans) > 0:
		if deliveries := ship.Deliveries(shipment.Tracked.Scans, shipment.Order.IsReturn); len(deliveries) > 0 {
			view.Done = language.when(deliveries[0]).Text
		}
	case !progress.EstimateAt.IsZero():
		// An estimate is a day at the destination, stored as if in UTC.
		view.Estimate = language.day(progress.EstimateAt.UTC())
	}

	if !shipment.Tracked.CheckedAt.IsZero() {
		view.Checked = language.anywhere(shipment.Tracked.CheckedAt)
	}
	return view
}

// isForRecipient reports whether the timeline shows a scan: not one whose status
// has no text, nor an event of the purchase.
func isForRecipient(language locale, scan ship.Scan) bool {
	return language.T(string(scan.Status)) != "" &&
		scan.Reason != ship.ReasonPurchaseFailed &&
		scan.Reason != ship.ReasonPurchaseUnconfirmed
}

// trackScanOf returns the timeline's line of a scan.
func trackScanOf(language locale, shipment parts.TrackedShipment, scan ship.Scan) trackScan {
	status := string(scan.Status)
	line := trackScan{
		Class:  "dot-" + status,
		Status: language.T(status),
		Reason: language.why(scan.Reason),
		Place:  cityOf(scan.Location),
	}

	// Events before the pickup may have no place. Their time is on the sender's
	// clock, but the sender's place is not shown.
	if scan.Location == "" && (scan.Status == ship.Created || scan.Status == ship.LabelGenerated) {
		scan.Location = parts.Place(shipment.Order.Origin)
	}
	line.At = language.when(scan)

	if len(shipment.Order.Parcels) > 1 {
		line.Parcel = language.T("parcel") + " " + strconv.Itoa(scan.Piece+1)
	}
	return line
}

// LogoPath returns the address of the logo.
func (p trackView) LogoPath() string { return p.Path + "/logo/" + p.Logo.Hash }

// Follows reports whether the parcel's status can still change.
func (p trackView) Follows() bool { return p.Status != "voided" && p.Done == "" }
