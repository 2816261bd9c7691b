package dhlparcelde

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Void deletes a shipment, which DHL allows until it closes the day. DHL answers
// for a shipment that was deleted before as for one that it does not know, so a
// void whose answer was lost can be repeated.
func (d *driver) Void(ctx context.Context, purchase ship.Purchase) (carrier.VoidResult, error) {
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
			return voided, nil
		}
		return carrier.VoidResult{}, err
	}
	if len(answer.Items) == 0 {
		return carrier.VoidResult{}, ship.Errorf(ship.Uncertain, "DHL Parcel DE did not confirm whether the label was voided")
	}

	deleted := answer.Items[0]
	switch code := deleted.Status.code(); {
	case code >= 200 && code <= 299, deleted.isUnknown():
		return voided, nil
	case code >= 400 && code <= 499:
		return carrier.VoidResult{}, &ship.Error{
			Kind:    ship.Invalid,
			Message: "DHL Parcel DE does not void the label: shipments are closed at the end of their ship date",
			Refusal: deleted.refusal(),
		}
	}
	return carrier.VoidResult{}, ship.Errorf(ship.Uncertain, "DHL Parcel DE did not confirm whether the label was voided")
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
