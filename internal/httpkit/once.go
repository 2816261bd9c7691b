package httpkit

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"strconv"

	"github.com/waybillhq/waybill/internal/ship"
)

// IdempotencyHeader names the header that makes a POST safe to repeat.
const IdempotencyHeader = "Idempotency-Key"

// ReplayedHeader marks an answer that was given before.
const ReplayedHeader = "Idempotent-Replayed"

const maxIdempotencyKey = 255

// IdempotencyKey returns the client's key for the request, "" if it sent none.
func IdempotencyKey(r *http.Request) (string, error) {
	values := r.Header[IdempotencyHeader]
	if len(values) == 0 {
		return "", nil
	}

	key := values[0]
	ok := len(values) == 1 && len(key) >= 1 && len(key) <= maxIdempotencyKey
	for i := 0; ok && i < len(key); i++ {
		ok = key[i] >= ' ' && key[i] <= '~'
	}
	if !ok {
		return "", ship.InvalidFields([]ship.FieldError{{
			Pointer: ParameterPrefix + IdempotencyHeader,
			Code:    "invalid",
			Detail:  "must be sent only once, with 1 to 255 printable ASCII characters",
		}})
	}
	return key, nil
}

// OnceFunc runs do once per key and repeats its answer after that;
// account.Service.Once is one.
type OnceFunc func(ctx context.Context, t ship.Tenant, key string, fingerprint [32]byte, do func(context.Context) ship.Answer) (ship.Answer, bool, error)

// Once answers r with next, or with the answer that next gave to the same
// request under the same key before.
func (ex *Exchange) Once(w http.ResponseWriter, r *http.Request, once OnceFunc, next http.Handler) {
	var (
		held  *buffered
		cause any
	)
	do := func(ctx context.Context) ship.Answer {
		held = &buffered{header: http.Header{}}
		defer func() {
			// The key must be released before the panic goes on, or it would
			// stay in use.
			if cause = recover(); cause != nil {
				held.status = http.StatusInternalServerError
			}
		}()
		next.ServeHTTP(held, r.WithContext(ctx))
		return held.answer()
	}

	fingerprint := Fingerprint(r.Method, r.URL.Path, ex.JSON)
	answer, replayed, err := once(r.Context(), ex.Principal.Tenant, ex.Idempotency, fingerprint, do)
	if cause != nil {
		panic(cause)
	}
	if err != nil {
		ex.Problem(err).Write(w)
		return
	}
	if replayed || held == nil {
		WriteAnswer(w, answer, true)
		return
	}

	// The first answer has headers that are not stored, such as Location.
	maps.Copy(w.Header(), held.header)
	w.WriteHeader(answer.Status)
	w.Write(answer.Body) // the client may have left
}

// WriteAnswer writes a finished JSON answer.
func WriteAnswer(w http.ResponseWriter, a ship.Answer, replayed bool) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	if a.Status >= http.StatusBadRequest {
		header.Set("Content-Type", ProblemType)
	}
	if replayed {
		header.Set(ReplayedHeader, "true")
	}
	header.Set("Content-Length", strconv.Itoa(len(a.Body)))

	w.WriteHeader(a.Status)
	w.Write(a.Body) // the client may have left
}

// buffered is a response writer that holds the answer back.
type buffered struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (b *buffered) Header() http.Header { return b.header }

func (b *buffered) WriteHeader(status int) {
	if b.status == 0 {
		b.status = status
	}
}

func (b *buffered) Write(p []byte) (int, error) {
	b.WriteHeader(http.StatusOK)
	return b.body.Write(p)
}

func (b *buffered) answer() ship.Answer {
	b.WriteHeader(http.StatusOK)
	return ship.Answer{Status: b.status, Body: b.body.Bytes()}
}
