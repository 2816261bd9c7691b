package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"testing"
	"time"

	"github.com/waybillhq/waybill/client"
)

func TestGo(t *testing.T) { runAll(t, goLibrary{}) }

// goLibrary makes the calls with package client.
type goLibrary struct{}

// A goCall is one step, with its arguments decoded on demand.
type goCall struct {
	*testing.T
	api     *client.Client
	order   order
	options []client.CallOption
}

// goCalls are the calls that the scenarios make.
var goCalls = map[string]func(c goCall) (any, error){
	"rates.quote": func(c goCall) (any, error) {
		return c.api.Rates(c.Context(), arg[client.RatesRequest](c, 0))
	},
	"shipments.create": func(c goCall) (any, error) {
		return c.api.CreateShipment(c.Context(), arg[client.ShipmentRequest](c, 0), c.options...)
	},
	"shipments.createAndWait": func(c goCall) (any, error) {
		return c.api.CreateShipmentAndWait(c.Context(), arg[client.ShipmentRequest](c, 0), milliseconds(c.order.Options["everyMs"]), c.options...)
	},
	"shipments.get": func(c goCall) (any, error) {
		return c.api.Shipment(c.Context(), arg[string](c, 0))
	},
	"shipments.void": func(c goCall) (any, error) {
		return c.api.Void(c.Context(), arg[string](c, 0), c.options...)
	},
	"shipments.list": func(c goCall) (any, error) {
		in := convert[client.ShipmentsRequest](c.T, c.order.Params)
		if c.order.Page {
			return c.api.ShipmentsPage(c.Context(), in)
		}
		return collect(c.api.Shipments(c.Context(), in))
	},
	"labels.get": func(c goCall) (any, error) {
		data, err := c.api.Label(c.Context(), arg[string](c, 0), convert[client.LabelOptions](c.T, c.order.Params))
		return map[string]any{"bytes": string(data[:min(len(data), 8)])}, err
	},
	"tracking.get": func(c goCall) (any, error) {
		return c.api.Track(c.Context(), arg[string](c, 0), "")
	},
	"sandbox.advance": func(c goCall) (any, error) {
		in := arg[struct{ Status, Reason string }](c, 1)
		return c.api.Advance(c.Context(), arg[string](c, 0), in.Status, in.Reason, c.options...)
	},
	"carriers.list": func(c goCall) (any, error) {
		return c.api.Carriers(c.Context())
	},
	"events.list": func(c goCall) (any, error) {
		return collect(c.api.Events(c.Context(), convert[client.EventsRequest](c.T, c.order.Params)))
	},
	"events.follow": func(c goCall) (any, error) {
		take, _ := c.order.Options["take"].(float64)
		out := []any{}
		for event, err := range c.api.FollowEvents(c.Context(), convert[client.EventsRequest](c.T, c.order.Params), time.Second) {
			if err != nil {
				return nil, err
			}
			out = append(out, map[string]any{"id": event.ID, "cursor": event.Cursor})
			if len(out) == int(take) {
				break
			}
		}
		return out, nil
	},
	"webhooks.create": func(c goCall) (any, error) {
		return c.api.CreateWebhook(c.Context(), arg[client.WebhookRequest](c, 0), c.options...)
	},
	"webhooks.rotateSecret": func(c goCall) (any, error) {
		return c.api.RotateWebhookSecret(c.Context(), arg[string](c, 0), c.options...)
	},
	"webhooks.test": func(c goCall) (any, error) {
		kind := ""
		if len(c.order.Args) > 1 {
			kind = arg[struct{ Type string }](c, 1).Type
		}
		return c.api.TestWebhook(c.Context(), arg[string](c, 0), kind, c.options...)
	},
	"webhooks.delete": func(c goCall) (any, error) {
		return nil, c.api.DeleteWebhook(c.Context(), arg[string](c, 0))
	},
	"webhooks.verify": func(c goCall) (any, error) {
		header := http.Header{}
		for name, value := range arg[map[string]string](c, 1) {
			header.Set(name, value)
		}
		return client.VerifyWebhook(arg[string](c, 0), header, []byte(arg[string](c, 2)))
	},
}

func (goLibrary) run(t *testing.T, order order) outcome {
	t.Helper()
	call, ok := goCalls[order.Call]
	if !ok {
		t.Fatalf("the Go driver does not know %s", order.Call)
	}

	timeout := milliseconds(order.Client["timeoutMs"])
	if own := milliseconds(order.Options["timeoutMs"]); own > 0 {
		timeout = own
	}
	if timeout == 0 {
		timeout = 40 * time.Second
	}
	attempts, _ := order.Client["maxAttempts"].(float64)
	settings := client.Options{
		BaseURL:    order.URL,
		Attempts:   int(attempts),
		MaxWait:    milliseconds(order.Client["maxWaitMs"]),
		HTTPClient: &http.Client{Timeout: timeout},
	}
	made := goCall{T: t, api: client.New(order.Key, settings), order: order}
	if key, ok := order.Options["idempotencyKey"].(string); ok {
		made.options = append(made.options, client.IdempotencyKey(key))
	}

	// Calls of the Go library take no headers; the option is the only way.
	if headers, ok := order.Options["headers"].(map[string]any); ok {
		made.options = append(made.options, client.IdempotencyKey(headers["Idempotency-Key"].(string)))
	}

	result, err := call(made)
	if err != nil {
		return outcome{Error: goError(err)}
	}
	out := outcome{Result: convert[any](t, result), Info: map[string]any{}}
	if shipment, ok := result.(client.Shipment); ok {
		out.Info["replayed"] = shipment.Replayed
	}
	return out
}

// goError describes an error as the drivers of other languages do. There is one
// type of errors, so it has no class.
func goError(err error) map[string]any {
	out := map[string]any{"message": err.Error()}
	if problem, ok := errors.AsType[*client.Error](err); ok {
		out["status"] = problem.Status
		out["code"] = problem.Code
		out["detail"] = problem.Detail
		out["requestId"] = problem.RequestID
		out["source"] = problem.Source
		out["carrier"] = problem.Carrier
		out["carrierCode"] = problem.CarrierCode
		out["retryAfterMs"] = problem.RetryAfter.Milliseconds()
		pointers := []any{}
		for _, field := range problem.Errors {
			pointers = append(pointers, field.Pointer)
		}
		out["pointers"] = pointers
	}

	switch {
	case errors.Is(err, client.ErrWebhookHeaders):
		out["reason"] = "headers"
	case errors.Is(err, client.ErrWebhookTimestamp):
		out["reason"] = "timestamp"
	case errors.Is(err, client.ErrWebhookSignature):
		out["reason"] = "signature"
	default:
		out["reason"] = "secret"
	}
	return out
}

// arg decodes an argument of the step.
func arg[T any](c goCall, n int) T { return convert[T](c.T, c.order.Args[n]) }

// convert turns a value into another type by way of JSON.
func convert[T any](t *testing.T, value any) T {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var out T
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&out); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

func collect[T any](list iter.Seq2[T, error]) ([]T, error) {
	out := []T{}
	for element, err := range list {
		if err != nil {
			return nil, err
		}
		out = append(out, element)
	}
	return out, nil
}

func milliseconds(value any) time.Duration {
	number, ok := value.(float64)
	if !ok {
		return 0
	}
	return time.Duration(number) * time.Millisecond
}
