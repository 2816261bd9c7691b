package sandbox

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// origin is where a Service listens. No such host exists.
const origin = "https://sandbox.invalid/"

// remote is a simulated carrier behind HTTP, like a live carrier, for tests
// that break the exchange: what all of them can do.
type remote struct {
	model *model
	key   string
	via   carrier.Doer
}

// The shapes on the wire.
type (
	checkAnswer struct {
		OK bool `json:"ok"`
	}
	ratesAnswer struct {
		Rates []ship.Rate `json:"rates"`
	}
	refusalAnswer struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
)

func (r remote) call(ctx context.Context, operation string, effect bool, body, answer any) error {
	return carrierkit.Call{
		Method: http.MethodPost,
		URL:    origin + r.model.name + "/" + operation,
		Header: http.Header{"Authorization": {"Bearer " + r.key}},
		Body:   body,
		Effect: effect,
		Refusal: func(body []byte) ship.Refusal {
			var refusal refusalAnswer
			if json.Unmarshal(body, &refusal) != nil {
				return ship.Refusal{}
			}
			return ship.Refusal{Code: refusal.Code, Message: refusal.Message}
		},
	}.Do(ctx, r.via, answer)
}

// Check asks whether the key is valid.
func (r remote) Check(ctx context.Context) error {
	var answer checkAnswer
	if err := r.call(ctx, "check", false, struct{}{}, &answer); err != nil {
		return err
	}
	if !answer.OK {
		return ship.Errorf(ship.Unavailable, "the carrier did not confirm whether the key is valid")
	}
	return nil
}

// Rates quotes over the wire.
func (r remote) Rates(ctx context.Context, order ship.Order) ([]ship.Rate, error) {
	var answer ratesAnswer
	err := r.call(ctx, "rates", false, order, &answer)
	return answer.Rates, err
}

// Buy buys over the wire.
func (r remote) Buy(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	var purchase ship.Sale
	err := r.call(ctx, "buy", true, request, &purchase)
	return purchase, err
}

// Find looks up over the wire.
func (r remote) Find(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	var purchase ship.Sale
	err := r.call(ctx, "find", false, request, &purchase)
	return purchase, err
}

// Void voids over the wire.
func (r remote) Void(ctx context.Context, purchase ship.Purchase) (carrier.VoidResult, error) {
	var result carrier.VoidResult
	err := r.call(ctx, "void", true, purchase, &result)
	return result, err
}
