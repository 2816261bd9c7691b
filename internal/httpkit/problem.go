package httpkit

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/wire"
)

// ProblemType is the media type of every error.
const ProblemType = "application/problem+json"

// A Problem is an error as clients see it (RFC 9457). It never repeats a
// value of the request.
type Problem struct {
	Type           string         `json:"type" format:"uri" doc:"URL of the documentation for the code."`
	Title          string         `json:"title" doc:"Short summary of the code."`
	Status         int            `json:"status" example:"422" doc:"HTTP status."`
	Detail         string         `json:"detail" doc:"What happened in this request, and what to do next."`
	Instance       string         `json:"instance" format:"uri-reference" doc:"Path of the request."`
	Code           string         `json:"code" example:"validation_failed" doc:"Stable error code for programs to act on."`
	RequestID      string         `json:"requestId" doc:"Identifier of the request, also in the Request-Id header."`
	Source         string         `json:"source" enum:"client,service,carrier" doc:"Where the error must be fixed: in the client, the service or the carrier."`
	Retryable      bool           `json:"retryable" doc:"Whether the same request may succeed if sent again later."`
	Carrier        string         `json:"carrier,omitempty" doc:"The carrier that reported the error."`
	CarrierCode    string         `json:"carrierCode,omitempty" doc:"The carrier's own code."`
	CarrierMessage string         `json:"carrierMessage,omitempty" doc:"The carrier's own message."`
	Errors         []FieldProblem `json:"errors,omitempty" doc:"The problems in the request, one per field or parameter."`

	details map[string]any
	header  http.Header
}

// A FieldProblem is one thing that is wrong with a request.
type FieldProblem struct {
	Pointer    string `json:"pointer,omitempty" example:"/destination/zip" doc:"JSON pointer into the body."`
	Parameter  string `json:"parameter,omitempty" example:"limit" doc:"Name of the path, query or header parameter."`
	Code       string `json:"code" example:"required" doc:"Stable code."`
	Detail     string `json:"detail" doc:"Explanation of the problem."`
	Suggestion string `json:"suggestion,omitempty" doc:"The likely correction."`
	Carrier    string `json:"carrier,omitempty" example:"ups" doc:"The carrier that requires it; omitted if the service itself does."`
}

// ParameterPrefix begins the pointer of a ship.FieldError that speaks of a
// parameter instead of the body.
const ParameterPrefix = "?"

// maxShownErrors bounds the list in one answer.
const maxShownErrors = 50

// Problem returns err as the client of this exchange sees it, and keeps it for
// the log.
func (ex *Exchange) Problem(err error) *Problem {
	e := asError(err)
	code := codeOf(e)
	p := &Problem{
		Type:           ex.BaseURL + "/docs/errors#" + code.Name,
		Title:          code.Title,
		Status:         code.Status,
		Detail:         e.Message,
		Instance:       ex.Path,
		Code:           code.Name,
		RequestID:      ex.ID,
		Source:         sourceOf(e),
		Retryable:      isRetryable(e),
		Carrier:        e.Carrier,
		CarrierCode:    e.Refusal.Code,
		CarrierMessage: e.Refusal.Message,
		Errors:         FieldProblems(e.Fields),
		details:        e.Details,
		header:         http.Header{},
	}

	// The cause of an internal error is for the log alone.
	if e.Kind == ship.Internal {
		p.Detail = "an unexpected error occurred and was logged; if it happens again, report the request id"
		p.details = nil
	}

	if after := retryAfter(e, p.Status); after > 0 {
		p.header.Set("Retry-After", strconv.Itoa(after))
	}
	if p.Status == http.StatusUnauthorized {
		p.header.Set("Www-Authenticate", "Bearer")
	}

	ex.err = err
	ex.problem = p
	return p
}

// RetryAfter returns the header of the same name: the seconds after which the
// request may be sent again, "" for none.
func (p *Problem) RetryAfter() string { return p.header.Get("Retry-After") }

// FieldProblems returns fields as clients see them.
func FieldProblems(fields []ship.FieldError) []FieldProblem {
	var list []FieldProblem
	for _, field := range fields[:min(len(fields), maxShownErrors)] {
		list = append(list, fieldProblem(field))
	}
	return list
}

func fieldProblem(field ship.FieldError) FieldProblem {
	p := FieldProblem{
		Pointer:    field.Pointer,
		Code:       field.Code,
		Detail:     field.Detail,
		Suggestion: field.Suggestion,
		Carrier:    field.Carrier,
	}
	if name, ok := strings.CutPrefix(field.Pointer, ParameterPrefix); ok {
		p.Pointer = ""
		p.Parameter = name
	}
	return p
}

// asError returns err as the one type that crosses packages. Any other error is
// Internal, except for a deadline that passed or a request that was cancelled.
func asError(err error) *ship.Error {
	if e, ok := errors.AsType[*ship.Error](err); ok {
		return e
	}

	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return &ship.Error{
			Kind:    ship.Unavailable,
			Code:    "timeout",
			Message: "the request took too long",
			Err:     err,
		}
	}
	return &ship.Error{Kind: ship.Internal, Err: err}
}

func sourceOf(e *ship.Error) string {
	switch {
	case e.Carrier != "":
		return "carrier"
	case e.Kind == ship.Internal || e.Kind == ship.Unavailable || e.Kind == ship.Uncertain:
		return "service"
	}
	return "client"
}

func isRetryable(e *ship.Error) bool {
	return e.Kind == ship.Limited || e.Kind == ship.Unavailable || e.RetryAfter > 0
}

// retryAfter returns the seconds to wait, rounded up, or 0 for none. 429 and 503
// always have some.
func retryAfter(e *ship.Error, status int) int {
	if e.RetryAfter > 0 {
		return int((e.RetryAfter + time.Second - 1) / time.Second)
	}

	switch status {
	case http.StatusTooManyRequests:
		return 1
	case http.StatusServiceUnavailable:
		return 5
	}
	return 0
}

// Bytes returns the problem as JSON, with the further members of its error
// behind the standard ones.
func (p *Problem) Bytes() []byte {
	body, err := wire.Marshal(p)
	if err != nil {
		panic("httpkit: encode a problem: " + err.Error()) // strings and numbers always do
	}

	// Each further member takes the place of the closing brace, and brings one
	// of its own.
	for _, name := range slices.Sorted(maps.Keys(p.details)) {
		member, err := wire.Marshal(map[string]any{name: p.details[name]})
		if err != nil {
			continue
		}
		body = append(body[:len(body)-1], ',')
		body = append(body, member[1:]...)
	}
	return body
}

// SetHeader sets a header of the answer.
func (p *Problem) SetHeader(name, value string) { p.header.Set(name, value) }

// Write answers with the problem.
func (p *Problem) Write(w http.ResponseWriter) { p.WriteBytes(w, p.Bytes()) }

// WriteBytes answers with the problem as Bytes rendered it.
func (p *Problem) WriteBytes(w http.ResponseWriter, body []byte) {
	header := w.Header()
	maps.Copy(header, p.header)
	header.Set("Content-Type", ProblemType)
	header.Set("Content-Length", strconv.Itoa(len(body)))

	w.WriteHeader(p.Status)
	w.Write(body) // the client may have left
}

// Fail answers with err.
func Fail(w http.ResponseWriter, r *http.Request, err error) {
	From(r.Context()).Problem(err).Write(w)
}
