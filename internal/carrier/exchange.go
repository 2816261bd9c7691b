package carrier

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
)

// An Exchange is one HTTP request to a carrier and its answer, as far as they
// are kept.
type Exchange struct {
	Operation Operation
	At        time.Time
	Took      time.Duration
	Method    string
	URL       string
	Header    http.Header
	Body      string
	Status    int // of the answer; zero if there was none
	Answer    http.Header
	Answered  string
	Error     string // why there was no answer, or not all of it
}

type exchangeKey struct{}

// WithExchanges returns a context under which keep is called with every
// exchange that a Recorder observes. It is called before the operation ends, so
// it must not wait for anything.
func WithExchanges(ctx context.Context, keep func(Exchange)) context.Context {
	if keep == nil {
		return ctx
	}
	return context.WithValue(ctx, exchangeKey{}, keep)
}

// ExchangesOf returns the function that is called with the exchanges made under
// ctx; nil if there is none.
func ExchangesOf(ctx context.Context) func(Exchange) {
	keep, _ := ctx.Value(exchangeKey{}).(func(Exchange))
	return keep
}

// redactExchanges returns a ctx whose exchanges are kept without the carrier's
// secrets.
func (c *Carrier) redactExchanges(ctx context.Context) context.Context {
	keep := ExchangesOf(ctx)
	if keep == nil {
		return ctx
	}

	return WithExchanges(ctx, func(exchange Exchange) {
		exchange.URL = c.redact(exchange.URL)
		exchange.Header = c.redactHeader(exchange.Header)
		exchange.Body = c.redact(exchange.Body)
		exchange.Answer = c.redactHeader(exchange.Answer)
		exchange.Answered = c.redact(exchange.Answered)
		exchange.Error = c.redact(exchange.Error)
		keep(exchange)
	})
}

func (c *Carrier) redactHeader(header http.Header) http.Header {
	clean := make(http.Header, len(header))
	for name, values := range header {
		values = slices.Clone(values)
		for i := range values {
			values[i] = c.redact(values[i])
		}
		clean[strings.Clone(name)] = values
	}
	return clean
}
