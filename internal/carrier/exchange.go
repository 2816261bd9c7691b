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

// WithExchanges has keep told of the exchanges that are made under ctx by
// carriers that a Recorder watches. It is told before the operation ends, so it
// must not wait for anything.
func WithExchanges(ctx context.Context, keep func(Exchange)) context.Context {
	if keep == nil {
		return ctx
	}
	return context.WithValue(ctx, exchangeKey{}, keep)
}

// ExchangesOf is who is told of the exchanges made under ctx; nil for nobody.
func ExchangesOf(ctx context.Context) func(Exchange) {
	keep, _ := ctx.Value(exchangeKey{}).(func(Exchange))
	return keep
}

// cleaned is ctx whose exchanges are told without the carrier's secrets.
func (c *Carrier) cleaned(ctx context.Context) context.Context {
	keep := ExchangesOf(ctx)
	if keep == nil {
		return ctx
	}
	return WithExchanges(ctx, func(x Exchange) {
		x.URL, x.Body, x.Answered, x.Error = c.redact(x.URL), c.redact(x.Body), c.redact(x.Answered), c.redact(x.Error)
		x.Header, x.Answer = c.redactHeader(x.Header), c.redactHeader(x.Answer)
		keep(x)
	})
}

func (c *Carrier) redactHeader(h http.Header) http.Header {
	clean := make(http.Header, len(h))
	for name, values := range h {
		values = slices.Clone(values)
		for i := range values {
			values[i] = c.redact(values[i])
		}
		clean[strings.Clone(name)] = values
	}
	return clean
}
