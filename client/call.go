package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// call is one operation, over all its attempts.
type call struct {
	method      string
	path        string
	query       url.Values
	body        any
	form        url.Values // instead of body
	effect      bool       // it needs an idempotency key
	idempotency string
	header      http.Header // further ones; may be nil
}

// answer is the service's response, read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// maxAnswer bounds what is read of an answer; a label of 50 pieces is smaller.
const maxAnswer = 64 << 20

// do makes the call and decodes its answer into out, which may be nil.
func (c *Client) do(ctx context.Context, in call, out any, options ...CallOption) (answer, error) {
	for _, option := range options {
		option(&in)
	}
	if in.effect && in.idempotency == "" {
		in.idempotency = NewIdempotencyKey()
	}

	var body []byte
	if in.body != nil {
		var err error
		if body, err = json.Marshal(in.body); err != nil {
			return answer{}, fmt.Errorf("waybill: request: %w", err)
		}
	}

	if in.form != nil {
		body = []byte(in.form.Encode())
	}

	got, err := c.retry(ctx, in, body)
	if err != nil || out == nil || len(got.body) == 0 {
		return got, err
	}
	if err := json.Unmarshal(got.body, out); err != nil {
		return got, &NetworkError{
			IdempotencyKey: in.idempotency,
			Sent:           true,
			Err:            fmt.Errorf("answer of %s %s: %w", in.method, in.path, err),
		}
	}
	return got, nil
}

// retry sends the request until it has a final answer. Every attempt is the
// same request, idempotency key included: what an attempt has done without its
// answer reaching us is not done again.
func (c *Client) retry(ctx context.Context, in call, body []byte) (answer, error) {
	sent := false
	for attempt := 1; ; attempt++ {
		got, err := c.send(ctx, in, body)
		if lost, ok := errors.AsType[*NetworkError](err); ok {
			// An earlier attempt may have arrived even if the last did not.
			lost.Sent = lost.Sent || sent
			sent = lost.Sent
		}
		wait, again := c.retryAfter(ctx, attempt, err)
		if !again {
			return got, err
		}

		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return got, fmt.Errorf("waybill: %s %s: %w (last: %w)", in.method, in.path, context.Cause(ctx), err)
		case <-timer.C:
		}
	}
}

// A file of many labels is prepared in the background. It is asked for until it is
// there, a quarter of an hour at the pace that the service asks for.
const (
	codePreparing = "labels_preparing"
	maxPreparing  = 450
)

// retryAfter returns whether another attempt may help, and after how long.
func (c *Client) retryAfter(ctx context.Context, attempt int, err error) (time.Duration, bool) {
	refused, answered := errors.AsType[*Error](err)
	attempts := c.attempts
	if answered && refused.Code == codePreparing && attempts > 1 {
		attempts = max(attempts, maxPreparing)
	}
	if err == nil || ctx.Err() != nil || attempt >= attempts {
		return 0, false
	}
	if answered && !refused.temporary() || errors.Is(err, errBadRequest) {
		return 0, false
	}

	wait := min(c.wait(attempt), c.longest)
	if answered && refused.Code == codePreparing {
		wait = 0 // the service says how long, and the work goes on meanwhile
	}
	if !answered {
		return wait, true
	}

	// A request that comes before the time that the service asks for would fail
	// again, and only add to its load.
	return max(wait, refused.RetryAfter), refused.RetryAfter <= c.longest
}

// backoff returns 0.1 to 0.2 s after the first attempt and twice as long after
// each further one. The random part spreads out clients that failed together.
func backoff(attempt int) time.Duration {
	shortest := 100 * time.Millisecond << min(attempt-1, 10)
	return shortest + rand.N(shortest)
}

// errBadRequest is an error of a request that cannot be sent at all.
var errBadRequest = errors.New("request cannot be sent")

// send makes one attempt. An answer that is an error is an *Error.
func (c *Client) send(ctx context.Context, in call, body []byte) (answer, error) {
	address := c.base + in.path
	if len(in.query) > 0 {
		address += "?" + in.query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, in.method, address, bytes.NewReader(body))
	if err != nil {
		return answer{}, fmt.Errorf("waybill: %w: %w", errBadRequest, err)
	}

	maps.Copy(request.Header, in.header)
	request.Header.Set("Authorization", "Bearer "+c.key)
	request.Header.Set("User-Agent", c.userAgent)
	switch {
	case in.form != nil:
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	case body != nil:
		request.Header.Set("Content-Type", "application/json")
	}
	if in.idempotency != "" {
		request.Header.Set("Idempotency-Key", in.idempotency)
	}

	response, err := c.http.Do(request)
	if err != nil {
		return answer{}, &NetworkError{IdempotencyKey: in.idempotency, Sent: mayHaveBeenSent(err), Err: err}
	}
	defer response.Body.Close()

	// One byte over the limit is read, to tell an answer that is too long from
	// one that just fits.
	got := answer{status: response.StatusCode, header: response.Header}
	if got.body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1)); err != nil {
		return got, &NetworkError{
			IdempotencyKey: in.idempotency,
			Sent:           true,
			Err:            fmt.Errorf("answer of %s %s was cut off: %w", in.method, in.path, err),
		}
	}
	if len(got.body) > maxAnswer {
		return got, fmt.Errorf("waybill: %w: answer of %s %s is over %d bytes", errBadRequest, in.method, in.path, maxAnswer)
	}

	if got.status < 200 || got.status >= 300 {
		refused := newError(got)
		refused.IdempotencyKey = in.idempotency
		return got, refused
	}
	if c.answered != nil && strings.HasPrefix(got.header.Get("Content-Type"), "application/json") {
		c.answered(got.body)
	}
	return got, nil
}

// mayHaveBeenSent reports whether a request that failed may have reached the service:
// one whose connection could not be made has not.
func mayHaveBeenSent(err error) bool {
	operation, ok := errors.AsType[*net.OpError](err)
	return !ok || operation.Op != "dial"
}

// A NetworkError is the error of a call that has no complete answer of the service. A
// call with an effect may have been carried out: repeat it with the same
// IdempotencyKey to learn what became of it.
type NetworkError struct {
	IdempotencyKey string // of the call; empty if it has no effect
	Sent           bool   // whether an attempt may have reached the service
	Err            error
}

func (e *NetworkError) Error() string { return "waybill: " + e.Err.Error() }

func (e *NetworkError) Unwrap() error { return e.Err }

// An Error is an answer that is an error, as the service explains it. Decide
// by Code; the codes are in the service's documentation.
type Error struct {
	Type           string       `json:"type"`
	Title          string       `json:"title"`
	Status         int          `json:"status"`
	Detail         string       `json:"detail"`
	Instance       string       `json:"instance"`
	Code           string       `json:"code"`
	RequestID      string       `json:"requestId"`
	Source         string       `json:"source"` // where the error must be fixed: client, service or carrier
	Retryable      bool         `json:"retryable"`
	Carrier        string       `json:"carrier"`
	CarrierCode    string       `json:"carrierCode"`
	CarrierMessage string       `json:"carrierMessage"`
	Errors         []FieldError `json:"errors"`

	// IdempotencyKey is that of the call, empty if it has no effect: repeat the call
	// with it to learn what became of it.
	IdempotencyKey string `json:"-"`

	RetryAfter time.Duration `json:"-"` // zero when the service did not say
	Body       []byte        `json:"-"` // the answer as it was received, with members that are not above
}

// A FieldError is one thing that is wrong with a request.
type FieldError struct {
	Pointer    string `json:"pointer"`   // JSON pointer into the body, or
	Parameter  string `json:"parameter"` // the name of a parameter
	Code       string `json:"code"`
	Detail     string `json:"detail"`
	Suggestion string `json:"suggestion"`
	Carrier    string `json:"carrier"` // that asks for it; empty for rules of the service
}

func (e *Error) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "waybill: %d %s", e.Status, e.Code)
	if e.Detail != "" {
		text.WriteString(": " + e.Detail)
	}

	separator := ";"
	for _, field := range e.Errors {
		fmt.Fprintf(&text, "%s %s%s %s", separator, field.Pointer, field.Parameter, field.Detail)
		separator = ","
	}

	if e.RequestID != "" {
		text.WriteString(" (" + e.RequestID + ")")
	}
	return text.String()
}

// temporary reports whether the same request may succeed later.
func (e *Error) temporary() bool {
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	case http.StatusConflict:
		return e.Code == "idempotency_in_progress"
	}
	return false
}

// newError reads an answer that is an error. One that is not from the service,
// but from a proxy for example, has only its status.
func newError(got answer) *Error {
	e := &Error{}
	if json.Unmarshal(got.body, e) != nil {
		e = &Error{}
	}

	// The status of the answer counts, whatever the body says.
	e.Status = got.status
	e.Body = got.body
	if e.Code == "" {
		e.Code = "http_" + strconv.Itoa(got.status)
		e.Detail = http.StatusText(got.status)
		if location := got.header.Get("Location"); location != "" && got.status < 400 {
			e.Detail = "the service redirects to " + location + "; set its URL to that address"
		}
	}
	if e.RequestID == "" {
		e.RequestID = got.header.Get("Request-Id")
	}

	e.RetryAfter = parseRetryAfter(got.header)
	return e
}

// parseRetryAfter reads how long to wait: HTTP allows a number of seconds or a
// date.
func parseRetryAfter(header http.Header) time.Duration {
	after := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(after); err == nil && seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(after)
	if err != nil {
		return 0
	}

	// A date is read against the sender's clock, which may differ from ours.
	now := time.Now()
	if sent, err := http.ParseTime(header.Get("Date")); err == nil {
		now = sent
	}
	return max(at.Sub(now), 0)
}
