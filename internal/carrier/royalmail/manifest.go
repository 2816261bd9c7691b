package royalmail

import (
	"context"
	"errors"
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

	closing := ship.ManifestClosing{Number: strconv.FormatInt(answer.Number, 10)}
	form := answer.Document
	if len(form) == 0 {
		form = d.awaitForm(ctx, closing.Number)
	}
	if carrierkit.IsWholePDF(form) {
		closing.Documents = []ship.Document{{Type: "manifest", Format: "pdf", Data: form}}
	}
	return closing, nil
}

// formWaits are how long to wait before each look for a form that was not ready
// with its number.
var formWaits = []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second}

// awaitForm asks for the form of a manifest that is closed. What goes wrong here
// does not matter: the hand-over sheet is printed instead.
func (d driver) awaitForm(ctx context.Context, number string) []byte {
	for _, wait := range formWaits {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}

		var answer manifestAnswer
		if d.call(http.MethodGet, "/manifests/"+number).Do(ctx, d.via, &answer) != nil {
			continue
		}
		if len(answer.Document) > 0 || answer.Status == "Failed" {
			return answer.Document
		}
	}
	return nil
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
