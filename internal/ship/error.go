package ship

import (
	"errors"
	"fmt"
	"time"
)

// A Kind says what the caller can do about an error.
type Kind string

// The kinds of errors.
const (
	Internal    Kind = "internal"    // our bug; the detail is logged, never shown
	Invalid     Kind = "invalid"     // the request is wrong; do not retry it unchanged
	Forbidden   Kind = "forbidden"   // credentials are missing, wrong or too weak
	NotFound    Kind = "not_found"   // no such thing, or not yours
	Conflict    Kind = "conflict"    // the thing is not in a state that allows this
	Gone        Kind = "gone"        // it was there and never will be again
	Unsupported Kind = "unsupported" // the carrier cannot do this at all
	Limited     Kind = "limited"     // too many requests; see RetryAfter
	Unavailable Kind = "unavailable" // it was not done; retrying is safe
	Uncertain   Kind = "uncertain"   // it may have been done; look before retrying
)

// Error is the only error type that crosses a package boundary with meaning.
// Any other error is Internal.
type Error struct {
	Kind       Kind
	Code       string         // stable snake_case code for the API caller; empty means the kind's own
	Message    string         // for the API caller: one lower-case sentence, no secrets, no personal data
	Fields     []FieldError   // what is wrong with the input, if that is the reason
	RetryAfter time.Duration  // zero when unknown
	Carrier    string         // the carrier that said so, if one did
	Refusal    Refusal        // the carrier's own words, if it spoke
	Details    map[string]any // further members of the API's answer, such as both prices
	Err        error          // cause, for the log
}

// A Refusal is what a carrier said, verbatim.
type Refusal struct {
	Code    string
	Message string
}

// A FieldError points at one wrong value of a request.
type FieldError struct {
	Pointer    string // JSON pointer, "/destination/zip"
	Code       string // snake_case: "required", "invalid", "unknown_field"
	Detail     string // one lower-case sentence that does not repeat the value
	Suggestion string // what the caller probably means, if we can tell
	Carrier    string // that asks for it; empty for a rule of the service
}

// InvalidFieldsMessage is the message of an error that lists invalid fields.
const InvalidFieldsMessage = "the request has invalid fields"

// Errorf returns an Error of the given kind. A %w in the format keeps the
// cause for errors.Is; the message shows it too.
func Errorf(kind Kind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Message: err.Error(), Err: errors.Unwrap(err)}
}

// Coded is Errorf with a stable code for the API caller.
func Coded(kind Kind, code, format string, args ...any) *Error {
	e := Errorf(kind, format, args...)
	e.Code = code
	return e
}

// InvalidFields returns an Invalid error that lists the fields, or nil if there
// are none.
func InvalidFields(fields []FieldError) error {
	if len(fields) == 0 {
		return nil
	}
	return &Error{
		Kind:    Invalid,
		Code:    "validation_failed",
		Message: InvalidFieldsMessage,
		Fields:  fields,
	}
}

func (e *Error) Error() string {
	switch {
	case e.Carrier != "" && e.Refusal.Code != "":
		return fmt.Sprintf("%s: %s (%s)", e.Carrier, e.Message, e.Refusal.Code)
	case e.Carrier != "":
		return e.Carrier + ": " + e.Message
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.Err }

// KindOf reports the kind of err: "" for nil, Internal when err carries none.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Internal
}

// ErrorOf is err as an Error: one of kind Internal when err carries none.
func ErrorOf(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Kind: Internal, Message: "an unexpected error occurred", Err: err}
}

// CodeOf reports the stable code of err, or "" if it has none.
func CodeOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}
