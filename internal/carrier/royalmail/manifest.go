package royalmail

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// CloseManifest puts all labels of the account on a manifest that are on none.
// If there are none left, a manifest with these labels was closed before.
func (d driver) CloseManifest(ctx context.Context, _ ship.ManifestOrder) (ship.ManifestClosing, error) {
	call := d.call(http.MethodPost, "/manifests")
	call.Body = manifestRequest{CarrierName: d.carrierName}
	call.Effect = true

	var answer manifestAnswer
	err := call.Do(ctx, d.via, &answer)
	if refused, ok := errors.AsType[*ship.Error](err); ok && refused.Kind == ship.Invalid && saysNothingLeft(refused.Refusal) {
		return ship.ManifestClosing{Existed: true}, nil
	}
	if err != nil {
		return ship.ManifestClosing{}, explainManifest(err)
	}
	if answer.Number == 0 {
		return ship.ManifestClosing{}, uncertain("Royal Mail did not confirm whether the manifest was closed")
	}

	if len(answer.Document) == 0 {
		answer, err = d.awaitManifest(ctx, answer)
		if err != nil {
			return ship.ManifestClosing{}, err
		}
	}

	closing := ship.ManifestClosing{Number: strconv.FormatInt(answer.Number, 10)}
	if carrierkit.IsWholePDF(answer.Document) {
		closing.Documents = []ship.Document{{Type: "manifest", Format: "pdf", Data: answer.Document}}
	}
	return closing, nil
}

// The states of a manifest.
const (
	manifestCompleted = "Completed"
	manifestFailed    = "Failed"
)

// awaitManifest waits for the form of a manifest that has a number. One that
// Royal Mail could not process is retried once.
func (d driver) awaitManifest(ctx context.Context, created manifestAnswer) (manifestAnswer, error) {
	shown := d.awaitForm(ctx, created)
	if shown.Status != manifestFailed {
		return shown, nil
	}

	call := d.call(http.MethodPost, "/manifests/retry/"+strconv.FormatInt(created.Number, 10))
	call.Effect = true
	var retried manifestAnswer
	err := call.Do(ctx, d.via, &retried)
	switch {
	case err != nil && ship.KindOf(err) != ship.Uncertain:
		return manifestAnswer{}, manifestNotClosed(created.Number, ship.ErrorOf(err).Refusal)

	case err != nil || retried.Number == 0:
		// Only Royal Mail's word that it is complete makes up for the lost answer.
		shown = d.awaitForm(ctx, created)
		if shown.Status != manifestCompleted {
			return manifestAnswer{}, manifestNotClosed(created.Number, ship.Refusal{})
		}
		return shown, nil

	case len(retried.Document) > 0:
		return retried, nil
	}

	shown = d.awaitForm(ctx, retried)
	if shown.Status == manifestFailed {
		return manifestAnswer{}, manifestNotClosed(retried.Number, ship.Refusal{})
	}
	return shown, nil
}

// manifestNotClosed is the error of a manifest that Royal Mail reported as failed
// and that a retry did not help.
//
// It is a refusal and not uncertain, even if the answer to the retry was lost: an
// uncertain manifest is closed again, and Royal Mail may then say that nothing is
// left because the labels are on the failed one. That would count as closed.
func manifestNotClosed(number int64, refusal ship.Refusal) error {
	if refusal == (ship.Refusal{}) {
		refusal = ship.Refusal{Code: manifestFailed, Message: "the status of the manifest is " + manifestFailed}
	}
	return &ship.Error{
		Kind: ship.Invalid,
		Message: fmt.Sprintf("Royal Mail could not process manifest %d, and a retry did not complete it; look at it in Click & Drop before you close another",
			number),
		Refusal: refusal,
	}
}

// formWaits are how long to wait before each look for a form that was not ready
// with its number.
var formWaits = []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second}

// awaitForm returns a manifest as Royal Mail shows it once it has its form or has
// failed; as it was created if neither is known in time. A form that is missing
// does not matter: the hand-over sheet is printed instead.
func (d driver) awaitForm(ctx context.Context, created manifestAnswer) manifestAnswer {
	last := created
	for _, wait := range formWaits {
		select {
		case <-ctx.Done():
			return last
		case <-time.After(wait):
		}

		var shown manifestAnswer
		err := d.call(http.MethodGet, "/manifests/"+strconv.FormatInt(created.Number, 10)).Do(ctx, d.via, &shown)
		if err != nil || shown.Number != created.Number {
			continue
		}
		last = shown
		if len(shown.Document) > 0 || shown.Status == manifestFailed {
			return last
		}
	}
	return last
}

// saysNothingLeft recognizes a refusal because no label is left for a manifest.
// Royal Mail does not publish its codes.
func saysNothingLeft(refusal ship.Refusal) bool {
	text := strings.ToLower(refusal.Code + " " + refusal.Message)
	return strings.Contains(text, "no eligible") || strings.Contains(text, "noeligible") || strings.Contains(text, "no orders")
}

// explainManifest says what a refused manifest means.
func explainManifest(err error) error {
	failed, ok := errors.AsType[*ship.Error](err)
	if !ok || failed.Kind != ship.Invalid && failed.Kind != ship.Forbidden {
		return err
	}
	refused := *failed
	refused.Message = "Royal Mail declined to close the manifest"
	if refused.Kind == ship.Forbidden && isStatus(err, http.StatusForbidden) {
		refused.Message = accountMessage
	}
	return &refused
}
