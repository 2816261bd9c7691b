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

// remote is a simulated carrier behind HTTP: the way of a live carrier, for
// tests that break it.
type remote struct {
	name string
	key  string
	via  carrier.Doer
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
		URL:    origin + r.name + "/" + operation,
		Header: http.Header{"Authorization": {"Bearer " + r.key}},
		Body:   body,
		Effect: effect,
		Refusal: func(body []byte) ship.Refusal {
			var said refusalAnswer
			if json.Unmarshal(body, &said) != nil {
				return ship.Refusal{}
			}
			return ship.Refusal{Code: said.Code, Message: said.Message}
		},
	}.Do(ctx, r.via, answer)
}

// Check asks whether the key is good.
func (r remote) Check(ctx context.Context) error {
	var a checkAnswer
	if err := r.call(ctx, "check", false, struct{}{}, &a); err != nil {
		return err
	}
	if !a.OK {
		return ship.Errorf(ship.Unavailable, "the carrier did not say whether the key is good")
	}
	return nil
}

// Rates quotes over the wire.
func (r remote) Rates(ctx context.Context, o ship.Order) ([]ship.Rate, error) {
	var a ratesAnswer
	err := r.call(ctx, "rates", false, o, &a)
	return a.Rates, err
}

// Buy buys over the wire.
func (r remote) Buy(ctx context.Context, b carrier.BuyOrder) (ship.Purchase, error) {
	var p ship.Purchase
	err := r.call(ctx, "buy", true, b, &p)
	return p, err
}

// Find looks up over the wire.
func (r remote) Find(ctx context.Context, b carrier.BuyOrder) (ship.Purchase, error) {
	var p ship.Purchase
	err := r.call(ctx, "find", false, b, &p)
	return p, err
}

// Void takes back over the wire.
func (r remote) Void(ctx context.Context, d ship.Deal) (carrier.VoidResult, error) {
	var v carrier.VoidResult
	err := r.call(ctx, "void", true, d, &v)
	return v, err
}
