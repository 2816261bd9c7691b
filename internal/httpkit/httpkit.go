// Package httpkit is what every HTTP edge needs before a handler runs: request
// ids, the access log, panics, the caller behind a key, limits, strict JSON,
// idempotency keys, and errors as problem documents. It knows no route and no
// resource, and it decides nothing about shipments.
package httpkit

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/ship"
)

// An Exchange is one request and what is known of it so far. It travels in
// the request's context.
type Exchange struct {
	ID        string // of the request, "req_..."
	Route     string // pattern that matched, for the log and the metrics
	Path      string // of the request, as it was escaped
	BaseURL   string // of the service, for the addresses of problems
	Principal account.Principal
	Refused   account.Principal // owner of a key that is known but may not be used; nothing is done in its name
	Holder    ship.Tenant       // whose link the caller holds, once it was accepted
	Body      []byte            // of the request, once read
	JSON      *Document         // the body, once parsed
	List      *ListReader       // the body, if it is a list that the handler reads
	// Idempotency is the client's key for this request, "" if it sent none.
	Idempotency string

	writer  recorder
	start   time.Time
	err     error    // why the answer is an error, for the log
	problem *Problem // the last one that was made, if any
}

type exchangeKey struct{}

// From returns the exchange of a request that came through Wrap.
func From(ctx context.Context) *Exchange {
	ex, ok := ctx.Value(exchangeKey{}).(*Exchange)
	if !ok {
		// The request did not come through Wrap: a test, or a mistake. The zero
		// Principal is denied everything.
		return &Exchange{}
	}
	return ex
}

type vouchedKey struct{}

// WithPrincipal returns a context for a request that is made inside this
// program for somebody who is already signed in: it needs no key.
func WithPrincipal(ctx context.Context, p account.Principal) context.Context {
	return context.WithValue(ctx, vouchedKey{}, p)
}

// VouchedFor returns the principal that a request was given with WithPrincipal.
// Nothing that comes over the network can set it.
func VouchedFor(ctx context.Context) (account.Principal, bool) {
	p, ok := ctx.Value(vouchedKey{}).(account.Principal)
	return p, ok
}

const crockford = "0123456789abcdefghjkmnpqrstvwxyz"

// newRequestID makes an id that sorts by time: 48 bits of milliseconds and 80
// random bits, as 26 characters of five bits each.
func newRequestID(at time.Time) string {
	var id [30]byte
	copy(id[:], "req_")

	high := uint64(at.UnixMilli())<<16 | uint64(rand.Uint32()&0xffff)
	low := rand.Uint64()
	for i := len(id) - 1; i >= 4; i-- {
		id[i] = crockford[low&31]
		low = low>>5 | high<<59
		high >>= 5
	}
	return string(id[:])
}

// recorder remembers what was answered. It has no Unwrap: deadlines belong to
// the server, not to handlers.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
	failed bool // the connection did not take the answer
}

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	w.failed = w.failed || err != nil
	return n, err
}

// Delivered flushes the answer, and reports whether there was one and the
// connection was still open to take it. Until then the answer waits in a buffer
// and is lost if the process dies.
func (ex *Exchange) Delivered(ctx context.Context) bool {
	if ex.writer.status == 0 || ex.writer.failed || ctx.Err() != nil {
		return false
	}
	return http.NewResponseController(ex.writer.ResponseWriter).Flush() == nil
}
