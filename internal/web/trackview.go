package web

import (
	"strconv"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/ship"
)

// trackViewOf chooses what a recipient may see of a shipment. The carrier's
// own words stay out: they can name people, and are in one language.
func trackViewOf(l tongue, path string, p shipmentView, sender string, logo account.Logo) trackView {
	out := trackView{
		tongue: l, Path: path, Sender: sender, Logo: logo, Test: !p.Tenant.Livemode,
		Status: string(p.Progress.Status), Bad: p.Progress.Status == ship.Exception, Reason: l.why(p.Progress.Reason),
		To: cityOf(place(p.Order.Destination)), Carrier: carrierTitle(p.Deal.Carrier), Steps: p.Milestones(),
	}
	switch p.State {
	case ship.StatePurchasing, ship.StateUncertain, ship.StateNeedsReview:
		// Whether a label was bought is between the sender and the carrier.
		out.Status, out.Steps, out.Reason, out.Bad = string(ship.Created), nil, "", false
		return out
	case ship.StateVoiding, ship.StateRefundPending, ship.StateVoided, ship.StateFailed:
		out.Status, out.Steps, out.Reason, out.Bad = "voided", nil, "", false
		return out // the rest is about a parcel that does not travel
	}
	out.Numbers = p.Deal.Pieces
	if len(out.Numbers) == 0 && p.Deal.TrackingNumber != "" {
		out.Numbers = []string{p.Deal.TrackingNumber}
	}
	for _, sc := range p.Tracked.Scans {
		if l.T(string(sc.Status)) == "" || sc.Reason == ship.ReasonPurchaseFailed || sc.Reason == ship.ReasonPurchaseUnconfirmed {
			continue // a code without a meaning, or an event of the purchase
		}
		line := trackScan{Class: "dot-" + string(sc.Status), Status: l.T(string(sc.Status)), Reason: l.why(sc.Reason), Place: cityOf(sc.Location)}
		if sc.Location == "" && (sc.Status == ship.Created || sc.Status == ship.LabelGenerated) {
			sc.Location = place(p.Order.Origin) // the sender's clock, and not the place itself
		}
		line.At = l.when(sc)
		if len(p.Order.Parcels) > 1 {
			line.Parcel = l.T("parcel") + " " + strconv.Itoa(sc.Piece+1)
		}
		out.Scans = append(out.Scans, line)
	}
	switch {
	case p.Progress.Status == ship.Delivered && len(p.Tracked.Scans) > 0:
		for _, sc := range p.Tracked.Scans {
			if sc.Status == ship.Delivered {
				out.Done = l.when(sc).Text
				break
			}
		}
	case !p.Progress.EstimateAt.IsZero():
		// An estimate is a day where the parcel goes, kept as if in UTC.
		out.Estimate = l.day(p.Progress.EstimateAt.UTC())
	}
	if !p.Tracked.CheckedAt.IsZero() {
		out.Checked = l.anywhere(p.Tracked.CheckedAt)
	}
	return out
}

// LogoPath is the address of the logo.
func (p trackView) LogoPath() string { return p.Path + "/logo/" + p.Logo.Hash }

// Follows reports whether anything more can happen.
func (p trackView) Follows() bool { return p.Status != "voided" && p.Done == "" }
