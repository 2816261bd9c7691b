package carrier

import (
	"context"
	"errors"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

func (c *Carrier) errorf(kind ship.Kind, format string, args ...any) error {
	e := ship.Errorf(kind, format, args...)
	e.Carrier = c.spec.Name
	return e
}

// explain turns any error of the driver into a *ship.Error of this carrier,
// without secrets. lost is the kind of an answer that never came: for an
// effect ship.Uncertain, for a read ship.Unavailable.
func (c *Carrier) explain(err error, lost ship.Kind) error {
	if err == nil {
		return nil
	}
	var e ship.Error
	if known, ok := errors.AsType[*ship.Error](err); ok {
		e = *known // the driver may return the same error to all its callers
	} else {
		e = c.classify(err, lost)
	}
	e.Carrier = c.spec.Name
	e.Message = c.redact(e.Message)
	e.Refusal.Code = c.redact(e.Refusal.Code)
	e.Refusal.Message = c.redact(e.Refusal.Message)
	if e.Err != nil {
		if text := e.Err.Error(); c.redact(text) != text {
			e.Err = errors.New(c.redact(text))
		}
	}
	return &e
}

// classify judges an error that the driver did not understand.
func (c *Carrier) classify(err error, lost ship.Kind) ship.Error {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return ship.Error{Kind: lost, Message: c.spec.Title + " did not answer in time", Err: err}
	case lost == ship.Uncertain:
		// Our bug or not, money may be spent.
		return ship.Error{Kind: ship.Uncertain, Message: c.spec.Title + " answered in a way that was not understood", Err: err}
	}
	return ship.Error{Kind: ship.Internal, Message: "the " + c.spec.Title + " driver failed", Err: err}
}

// redact replaces every secret in text.
func (c *Carrier) redact(text string) string {
	for _, s := range c.secrets {
		text = strings.ReplaceAll(text, s, "[secret]")
	}
	return text
}
