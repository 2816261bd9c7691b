package gls

import (
	"context"
	"errors"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// Find prints a shipment again by our reference: the answer is that to a purchase,
// with the labels.
func (d *driver) Find(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	var answer createdAnswer
	err := d.post(ctx, "/rs/shipments/reprintparcel", reprintRequest{
		Reference: request.Reference,
		Printing:  printingOf(request),
	}, &answer)
	if err != nil {
		return ship.Sale{}, lookupError(err)
	}

	sale, problem := answer.Created.sale(request)
	if problem != "" {
		return ship.Sale{}, ship.Errorf(ship.Unavailable, "%s", problem)
	}
	return sale, nil
}

// lookupError accepts "not found" only as GLS's own words, whichever status they
// come with: a proxy also answers 404, and taking that for GLS's would buy a
// second label. "Not found" alone is not enough: it may be the contact id that
// was not found.
func lookupError(err error) error {
	failure, ok := errors.AsType[*ship.Error](err)
	if !ok || failure.Kind != ship.NotFound && failure.Kind != ship.Invalid {
		return err
	}

	answer := *failure
	words := strings.ToLower(failure.Refusal.Code + " " + failure.Refusal.Message)
	isUnknown := strings.Contains(words, "no_data_found") || strings.Contains(words, "no data found")
	switch {
	case isUnknown:
		answer.Kind = ship.NotFound
		answer.Message = "GLS has nothing under the reference"
	case failure.Kind == ship.NotFound:
		answer.Kind = ship.Unavailable
		answer.Message = "the response did not come from GLS; check the configured URL"
	}
	return &answer
}
