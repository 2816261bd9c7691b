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
// open them with. It keeps no state; whatever is to go wrong on the way is put
// between it and the driver.
type Service struct{}

// Do answers one request.
func (Service) Do(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		if err := errors.Join(err, r.Body.Close()); err != nil {
			return nil, failed(r, err)
		}
	}
	name, operation, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	m := modelOf(name)
	if m == nil {
		return answer(http.StatusNotFound, refusalAnswer{"unknown_carrier", "no such carrier"}, 0)
	}
	result, err := serve(r.Context(), direct{m}, operation, body)
	if err == nil {
		return answer(http.StatusOK, result, 0)
	}
	e, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return answer(http.StatusBadRequest, refusalAnswer{"bad_request", "the request is not readable"}, 0)
	}
	said := refusalAnswer{e.Refusal.Code, e.Refusal.Message}
	switch e.Kind {
	case ship.Invalid:
		return answer(http.StatusUnprocessableEntity, said, 0)
	case ship.NotFound:
		return answer(http.StatusNotFound, said, 0)
	case ship.Limited:
		return answer(http.StatusTooManyRequests, said, int(e.RetryAfter.Seconds()))
	case ship.Unavailable:
		return nil, failed(r, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED})
	case ship.Uncertain:
		return nil, failed(r, io.ErrUnexpectedEOF)
	}
	return answer(http.StatusInternalServerError, said, 0)
}

// serve does what the request asks for.
func serve(ctx context.Context, d direct, operation string, body []byte) (any, error) {
	switch operation {
	case "check":
		return checkAnswer{OK: true}, nil
	case "rates":
		o, err := read[ship.Order](body)
		if err != nil {
			return nil, err
		}
		rates, err := d.Rates(ctx, o)
		return ratesAnswer{rates}, err
	case "buy", "find":
		b, err := read[carrier.BuyOrder](body)
		if err != nil {
			return nil, err
		}
		if operation == "buy" {
			return d.Buy(ctx, b)
		}
		return d.Find(ctx, b)
	case "void":
		deal, err := read[ship.Deal](body)
		if err != nil {
			return nil, err
		}
		return d.Void(ctx, deal)
	}
	return nil, errors.New("no such operation")
}

func read[T any](body []byte) (T, error) {
	var v T
	err := json.Unmarshal(body, &v)
	return v, err
}

func answer(status int, body any, retryAfter int) (*http.Response, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	h := http.Header{"Content-Type": {"application/json"}}
	if retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(retryAfter))
	}
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(bytes.NewReader(data)), ContentLength: int64(len(data)),
	}, nil
}

// failed is an error in the manner of an http.Client.
func failed(r *http.Request, err error) error {
	return &url.Error{Op: r.Method, URL: r.URL.String(), Err: err}
}
