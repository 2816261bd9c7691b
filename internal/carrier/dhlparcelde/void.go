package dhlparcelde

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Void deletes a shipment, which DHL allows until it closes the day. DHL answers
// for a shipment that was deleted before as for one that it does not know, so a
// void whose answer was lost can be repeated. DHL does not say that it answers
// otherwise about a shipment that it has closed, which is charged: so an unknown one
// must not be on a manifest either.
func (d *driver) Void(ctx context.Context, purchase ship.Purchase) (carrier.VoidResult, error) {
	if strings.HasPrefix(purchase.CarrierRef, returnRef) {
		return carrier.VoidResult{}, &ship.Error{
			Kind:    ship.Invalid,
			Message: "DHL Parcel DE does not void returns over its API: do not use the label",
			Refusal: ship.Refusal{Code: "not_supported", Message: "returns cannot be deleted"},
		}
	}

	voided := carrier.VoidResult{State: ship.StateVoided}
	query := url.Values{"profile": {d.profile}, "shipment": {purchase.CarrierRef}}

	var answer orderAnswer
	refusal, err := d.exchange(ctx, carrierkit.Call{
		Method: http.MethodDelete,
		URL:    d.address(shippingPath+"/orders", query),
		Effect: true,
	}, &answer)
	if err != nil {
		declined, ok := errors.AsType[*ship.Error](err)
		if items := itemsOf(refusal); ok && declined.Kind == ship.Invalid && len(items) > 0 && items[0].isUnknown() {
			return voided, d.checkNotClosed(ctx, purchase, time.Now())
		}
		return carrier.VoidResult{}, err
	}
	if len(answer.Items) == 0 {
		return carrier.VoidResult{}, ship.Errorf(ship.Uncertain, "DHL Parcel DE did not confirm whether the label was voided")
	}

	deleted := answer.Items[0]
	switch code := deleted.Status.code(); {
	case code >= 200 && code <= 299:
		return voided, nil
	case deleted.isUnknown():
		return voided, d.checkNotClosed(ctx, purchase, time.Now())
	case code >= 400 && code <= 499:
		return carrier.VoidResult{}, closed(deleted.refusal())
	}
	return carrier.VoidResult{}, ship.Errorf(ship.Uncertain, "DHL Parcel DE did not confirm whether the label was voided")
}

// closed is the refusal to void a shipment that DHL has closed.
func closed(refusal ship.Refusal) error {
	return &ship.Error{
		Kind:    ship.Invalid,
		Message: "DHL Parcel DE does not void the label: shipments are closed at the end of their ship date",
		Refusal: refusal,
	}
}

// shipDays is on how many days from its purchase a shipment may be closed: its ship
// date is at most a few days later.
const shipDays = 7

// checkNotClosed returns an error if a shipment that DHL does not know any more was
// closed, or if DHL does not say whether it was.
func (d *driver) checkNotClosed(ctx context.Context, purchase ship.Purchase, now time.Time) error {
	now = now.In(germany())
	day := now
	if bought := purchase.BoughtAt; !bought.IsZero() && bought.Before(now) {
		day = bought.In(germany())
	}

	today := now.Format(time.DateOnly)
	for range shipDays {
		date := day.Format(time.DateOnly)
		if date > today {
			break
		}
		isListed, err := d.isOnManifest(ctx, purchase.CarrierRef, date)
		switch kind := ship.KindOf(err); {
		case isListed:
			return closed(ship.Refusal{Message: "the shipment is on the manifest of " + date})
		case err == nil, kind == ship.NotFound:
		case kind == ship.Invalid && date == today: // the day is not closed yet
		case kind == ship.Unavailable, kind == ship.Limited:
			return ship.Errorf(ship.Uncertain, "DHL Parcel DE did not confirm whether the label was voided: %w", err)
		default:
			return closed(ship.Refusal{Message: "DHL does not have the shipment any more, and does not show the manifest of " + date})
		}
		day = day.AddDate(0, 0, 1)
	}
	return nil
}

// isOnManifest reports whether a shipment is among those that DHL closed on a day.
func (d *driver) isOnManifest(ctx context.Context, number, date string) (bool, error) {
	query := url.Values{"date": {date}, "includeDocs": {"URL"}}
	var answer manifestAnswer
	err := d.call(ctx, carrierkit.Call{
		Method: http.MethodGet,
		URL:    d.address(shippingPath+"/manifests", query),
	}, &answer)
	if err != nil {
		return false, err
	}
	if answer.Items == nil && answer.Date != date {
		return false, ship.Errorf(ship.Unavailable, "DHL Parcel DE did not list the shipments of the day")
	}
	return slices.ContainsFunc(answer.Items, func(item manifestItem) bool { return string(item.ShipmentNo) == number }), nil
}

// unknownShipment are DHL's words for a shipment that it does not have. They must
// speak of the shipment: a group profile or a user can be unknown too, and then the
// label is still valid. "Cannot be deleted" is no such word either.
var unknownShipment = regexp.MustCompile(`(?i)(shipment|sendung)[^.;:]*\b(unknown|not found|does not exist|already deleted|unbekannt|nicht gefunden|bereits gelöscht)` +
	`|\b(unknown|unbekannte) (shipment|sendung)`)

// isUnknown reports whether DHL says that it has no such shipment: a number that
// it gave out itself was then deleted.
func (i item) isUnknown() bool {
	if code := i.Status.code(); code < 400 || code > 499 {
		return false
	}
	return slices.ContainsFunc([]string{i.refusal().Message, i.Status.Title, i.Status.Detail}, unknownShipment.MatchString)
}
