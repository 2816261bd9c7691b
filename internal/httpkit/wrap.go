package httpkit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"
)

// Options are the settings of Wrap.
type Options struct {
	BaseURL string // of the service, without a slash at its end
	Timeout time.Duration
	Log     *slog.Logger
	Metrics *Metrics // nil counts nothing
	Quiet   []string // routes that are logged only for debugging, such as health checks
	// Finished is called with every request, once it is answered. It must not
	// wait for anything. Nil is not called.
	Finished func(Finished)
}

// Finished is one request that was answered. It holds nothing of its body and
// nothing of its query.
type Finished struct {
	*Exchange
	Method  string
	Status  int
	Took    time.Duration
	Problem *Problem // that was answered; nil for none
}

// Wrap gives every request its exchange: an id, a time limit, a line in the
// log, a count, and an answer even if next panics. The log has neither
// addresses nor queries nor bodies: routes and ids alone.
func Wrap(next http.Handler, o Options) http.Handler {
	quiet := make(map[string]bool, len(o.Quiet))
	for _, route := range o.Quiet {
		quiet[route] = true
	}

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		ex := &Exchange{
			ID:      newRequestID(start),
			Path:    r.URL.EscapedPath(),
			BaseURL: o.BaseURL,
			start:   start,
		}
		ex.writer.ResponseWriter = w
		w.Header()["Request-Id"] = []string{ex.ID}

		ctx, cancel := context.WithTimeout(context.WithValue(r.Context(), exchangeKey{}, ex), o.Timeout)
		defer cancel()
		r = r.WithContext(ctx)

		defer func() {
			if cause := recover(); cause != nil {
				ex.answerPanic(r, cause, o.Log)
			}
			ex.finish(r, o, quiet[ex.Route])
		}()
		next.ServeHTTP(&ex.writer, r)
	})
}

// answerPanic answers for a handler that panicked.
func (ex *Exchange) answerPanic(r *http.Request, cause any, log *slog.Logger) {
	// The handler wants the connection closed; the server understands this
	// panic.
	if cause == http.ErrAbortHandler {
		panic(cause)
	}

	log.LogAttrs(r.Context(), slog.LevelError, "panic",
		slog.String("request", ex.ID),
		slog.Any("cause", cause),
		slog.String("stack", string(debug.Stack())))

	err := fmt.Errorf("panic: %v", cause)
	ex.err = err
	if ex.writer.status == 0 {
		ex.Problem(err).Write(&ex.writer)
	}
}

// finish logs and counts the exchange.
func (ex *Exchange) finish(r *http.Request, o Options, quiet bool) {
	took := time.Since(ex.start)
	if ex.writer.status == 0 {
		ex.writer.status = http.StatusOK
	}
	route := ex.Route
	if route == "" {
		route = "none"
	}

	o.Metrics.observe(route, r.Method, ex.writer.status, took)
	if o.Finished != nil {
		o.Finished(Finished{
			Exchange: ex,
			Method:   r.Method,
			Status:   ex.writer.status,
			Took:     took,
			Problem:  ex.answeredProblem(),
		})
	}

	// A client that left is not an error of ours, whatever status it would have
	// got.
	level := slog.LevelInfo
	switch {
	case ex.writer.status >= http.StatusInternalServerError && !errors.Is(ex.err, context.Canceled):
		level = slog.LevelError
	case quiet:
		level = slog.LevelDebug
	}
	if !o.Log.Enabled(r.Context(), level) {
		return
	}

	attrs := make([]slog.Attr, 0, 12)
	attrs = append(attrs,
		slog.String("request", ex.ID),
		slog.String("method", r.Method),
		slog.String("route", route),
		slog.Int("status", ex.writer.status),
		slog.Int64("bytes", ex.writer.bytes),
		slog.Float64("took_ms", float64(took.Microseconds())/1000))
	if code := ex.FailedWith(); code != "" {
		attrs = append(attrs, slog.String("code", code))
	}
	if sent := r.Header.Get("X-Request-Id"); isRequestName(sent) {
		attrs = append(attrs, slog.String("client_request", sent))
	}
	if caller := ex.Principal; caller.Key != "" {
		attrs = append(attrs,
			slog.String("account", string(caller.Tenant.Account)),
			slog.String("key", string(caller.Key)),
			slog.Bool("livemode", caller.Tenant.Livemode))
	}
	if ex.err != nil && level == slog.LevelError {
		attrs = append(attrs, slog.String("error", ex.err.Error()))
	}
	o.Log.LogAttrs(r.Context(), level, "request", attrs...)
}

// isRequestName reports whether a client's own name of its request can be logged: an
// id, such as those that proxies make, and no text in which a person may be named.
func isRequestName(name string) bool {
	if name == "" || len(name) > 64 {
		return false
	}
	for _, c := range []byte(name) {
		isWord := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !isWord && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// FailedWith returns the code of the problem that the request was answered with;
// empty if it was not.
func (ex *Exchange) FailedWith() string {
	if problem := ex.answeredProblem(); problem != nil {
		return problem.Code
	}
	return ""
}

// answeredProblem returns the problem that was the answer: one that was made on
// the way and not written does not count.
func (ex *Exchange) answeredProblem() *Problem {
	if ex.problem == nil || ex.problem.Status != ex.writer.status {
		return nil
	}
	return ex.problem
}
