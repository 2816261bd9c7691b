package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// Service is the simulated carriers as a server inside the program: a Doer to
// open them with. It keeps no state; faults of the network are put between it
// and the driver.
type Service struct{}

// Do answers one request.
func (Service) Do(request *http.Request) (*http.Response, error) {
	var body []byte
	if request.Body != nil {
		var err error
		body, err = io.ReadAll(request.Body)
		if err := errors.Join(err, request.Body.Close()); err != nil {
			return nil, failed(request, err)
		}
	}

	name, operation, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, "/"), "/")
	m := modelOf(name)
	if m == nil {
		return answer(http.StatusNotFound, refusalAnswer{"unknown_carrier", "no such carrier"}, 0)
	}
	result, err := serve(request.Context(), direct{m}, operation, body)
	if err == nil {
		return answer(http.StatusOK, result, 0)
	}

	failure, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return answer(http.StatusBadRequest, refusalAnswer{"bad_request", "the request is not readable"}, 0)
	}
	refusal := refusalAnswer{failure.Refusal.Code, failure.Refusal.Message}
	switch failure.Kind {
	case ship.Invalid:
		return answer(http.StatusUnprocessableEntity, refusal, 0)
	case ship.NotFound:
		// The code tells this from the answer of a proxy.
		refusal.Code = "not_found"
		return answer(http.StatusNotFound, refusal, 0)
	case ship.Limited:
		return answer(http.StatusTooManyRequests, refusal, int(failure.RetryAfter.Seconds()))
	case ship.Unavailable:
		// A refused connection tells the driver that nothing was sent.
		return nil, failed(request, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED})
	case ship.Uncertain:
		// An answer that breaks off leaves open what was done.
		return nil, failed(request, io.ErrUnexpectedEOF)
	}
	return answer(http.StatusInternalServerError, refusal, 0)
}

// serve does what the request asks for.
func serve(ctx context.Context, d direct, operation string, body []byte) (any, error) {
	switch operation {
	case "check":
		return checkAnswer{OK: true}, nil

	case "rates":
		order, err := read[ship.Order](body)
		if err != nil {
			return nil, err
		}
		rates, err := d.Rates(ctx, order)
		return ratesAnswer{rates}, err

	case "buy", "find":
		request, err := read[carrier.BuyOrder](body)
		if err != nil {
			return nil, err
		}
		if operation == "buy" {
			return d.Buy(ctx, request)
		}
		return d.Find(ctx, request)

	case "address":
		address, err := read[ship.Address](body)
		if err != nil {
			return nil, err
		}
		return d.CheckAddress(ctx, address)

	case "void":
		purchase, err := read[ship.Purchase](body)
		if err != nil {
			return nil, err
		}
		return d.Void(ctx, purchase)
	}
	return serveDay(ctx, d, operation, body)
}

// serveDay is serve for what a carrier does besides selling labels. The drivers
// ask only for what their carrier can do.
func serveDay(ctx context.Context, d direct, operation string, body []byte) (any, error) {
	switch operation {
	case "pickup", "find_pickup":
		request, err := read[carrier.PickupRequest](body)
		if err != nil {
			return nil, err
		}
		if operation == "pickup" {
			return d.BookPickup(ctx, request)
		}
		return d.findPickup(&request)

	case "cancel_pickup":
		request, err := read[cancelRequest](body)
		if err != nil {
			return nil, err
		}
		return checkAnswer{OK: true}, d.CancelPickup(ctx, request.Pickup, request.Booking)

	case "manifest", "find_manifest":
		order, err := read[ship.ManifestOrder](body)
		if err != nil {
			return nil, err
		}
		if operation == "manifest" {
			return d.closeManifest(&order)
		}
		return d.findManifest(&order)

	case "document", "find_document":
		request, err := read[carrier.DocumentRequest](body)
		if err != nil {
			return nil, err
		}
		if operation == "document" {
			return d.receive(&request)
		}
		return d.findDocument(&request)

	case "proof":
		purchase, err := read[ship.Purchase](body)
		if err != nil {
			return nil, err
		}
		return d.proof(&purchase)

	case "points":
		query, err := read[ship.PointQuery](body)
		if err != nil {
			return nil, err
		}
		points, err := d.FindPoints(ctx, query)
		return pointsAnswer{points}, err

	case "duties":
		order, err := read[ship.Order](body)
		if err != nil {
			return nil, err
		}
		return d.estimateDuties(ctx, &order)
	}
	return nil, errors.New("no such operation")
}

func read[T any](body []byte) (T, error) {
	var value T
	err := json.Unmarshal(body, &value)
	return value, err
}

func answer(status int, body any, retryAfter int) (*http.Response, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}

	header := http.Header{"Content-Type": {"application/json"}}
	if retryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(retryAfter))
	}
	return &http.Response{
		StatusCode:    status,
		Status:        http.StatusText(status),
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        header,
		Body:          io.NopCloser(bytes.NewReader(data)),
		ContentLength: int64(len(data)),
	}, nil
}

// failed is an error in the manner of an http.Client.
func failed(r *http.Request, err error) error {
	return &url.Error{Op: r.Method, URL: r.URL.String(), Err: err}
}
