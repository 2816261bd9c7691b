package gls

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Void cancels each parcel of a shipment by itself. A void whose answer was lost is
// repeated from the start, and GLS may refuse to cancel a parcel a second time. So a
// refusal does not keep the parcels after it from being cancelled, unless it is that
// the parcel was scanned: the shipment is on its way then.
func (d *driver) Void(ctx context.Context, purchase ship.Purchase) (carrier.VoidResult, error) {
	ids := strings.Split(purchase.CarrierRef, ",")
	numbers := purchase.Pieces
	if len(numbers) != len(ids) {
		numbers = ids
	}

	var cancelled []string // numbers
	var before []string    // ids that an earlier request cancelled
	var refused *ship.Error
	isLookedUp := false
	for i, id := range ids {
		err := d.cancel(ctx, id)
		failure, _ := errors.AsType[*ship.Error](err)
		if failure != nil && failure.Refusal.Code == resultError && !isLookedUp {
			var lookup error
			if before, lookup = d.cancelledAmong(ctx, ids); lookup != nil {
				return carrier.VoidResult{}, lookup
			}
			isLookedUp = true
		}

		switch {
		case err == nil, slices.Contains(before, id):
			cancelled = append(cancelled, numbers[i])
			continue
		case failure == nil || failure.Kind != ship.Invalid:
			return carrier.VoidResult{}, err
		case refused == nil:
			refused = failure
		}
		if failure.Refusal.Code == resultScanned {
			break
		}
	}
	if refused != nil {
		return carrier.VoidResult{}, partlyVoided(refused, cancelled)
	}
	return carrier.VoidResult{State: ship.StateVoided}, nil
}

// partlyVoided is the refusal to void a shipment some of whose parcels are
// cancelled: their labels must not be used.
func partlyVoided(refused *ship.Error, cancelled []string) error {
	if len(cancelled) == 0 {
		return refused
	}
	partly := *refused
	partly.Message += "; it cancelled only " + strings.Join(cancelled, ", ") + ", whose labels must not be used"
	return &partly
}

// Results of a cancellation. fact: cancel-results
const (
	resultScanned = "SCANNED"
	resultError   = "ERROR"
)

// cancelTime is how long the cancellation of one parcel may take: a void of many has
// more time, which a client must not wait for if GLS does not answer at all.
const cancelTime = 20 * time.Second

// cancel cancels one parcel. GLS answers 200 also if it refuses.
func (d *driver) cancel(ctx context.Context, id string) error {
	ctx, done := context.WithTimeout(ctx, cancelTime)
	defer done()

	header := shipItHeader()
	header.Del("Content-Type") // there is no body
	var answer cancelAnswer
	err := d.call(ctx, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + shippingPath + "/rs/shipments/cancel/" + url.PathEscape(id),
		Header: header,
		Effect: true,
	}, &answer)
	if err != nil {
		return err
	}

	switch result := strings.ToUpper(answer.Result); result {
	case "CANCELLED", "CANCELED", "CANCELLATION_PENDING":
		return nil
	case "":
		return ship.Errorf(ship.Uncertain, "GLS did not confirm whether the label was voided")
	case resultScanned:
		return &ship.Error{
			Kind:    ship.Invalid,
			Message: "GLS does not void the label: the parcel was scanned",
			Refusal: ship.Refusal{Code: result, Message: "the parcel was scanned"},
		}
	default:
		return &ship.Error{
			Kind:    ship.Invalid,
			Message: "GLS does not void the label",
			Refusal: ship.Refusal{Code: result, Message: answer.Result},
		}
	}
}

// cancelledAmong returns which parcels GLS shows as cancelled. It is uncertain if
// GLS cannot tell now; an account without tracking has none.
func (d *driver) cancelledAmong(ctx context.Context, ids []string) ([]string, error) {
	var list []string
	for batch := range slices.Chunk(ids, trackBatch) {
		parcels, err := d.fetchParcels(ctx, batch)
		switch ship.KindOf(err) {
		case "":
		case ship.Unavailable, ship.Limited:
			return nil, ship.Errorf(ship.Uncertain, "GLS did not confirm whether the label was voided: %w", err)
		default:
			return nil, nil
		}
		for _, parcel := range parcels {
			if parcel.ErrorCode == "" && cleanCode(parcel.Status) == "CANCELED" {
				list = append(list, parcel.Requested)
			}
		}
	}
	return list, nil
}
