package mcp

import (
	"bytes"
	"io"
	"net/http"
	"time"

	"github.com/waybillhq/waybill/client"
)

// longestWait is how long a tool waits before it repeats a request, at most: the
// answer of the tool must come within the time of one request.
const longestWait = 2 * time.Second

// api returns a client of the API in this process that calls with the caller's key,
// from the caller's address. It repeats a request only where the same purchase is
// under way elsewhere.
func (c *call) api(attempts int) *client.Client {
	return client.New(c.key, client.Options{
		BaseURL:   c.BaseURL,
		Transport: inProcess{c},
		Attempts:  attempts,
		MaxWait:   longestWait,
		UserAgent: c.client + " mcp",
	})
}

// inProcess sends requests of a call to the API's own handler.
type inProcess struct{ call *call }

// RoundTrip answers a request of the client. The API sees the address that the
// call came from: its networks and its logs are about the caller.
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	inner := r.Clone(r.Context())
	inner.RemoteAddr = p.call.request.RemoteAddr
	inner.TLS = p.call.request.TLS
	inner.RequestURI = ""
	if inner.Body == nil {
		inner.Body = http.NoBody
	}
	for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Proto"} {
		if values := p.call.request.Header.Values(name); len(values) > 0 {
			inner.Header[name] = values
		}
	}

	recorded := &recorder{header: http.Header{}}
	p.call.API.ServeHTTP(recorded, inner)
	if recorded.status == 0 {
		recorded.status = http.StatusOK
	}
	p.call.replayed = recorded.header.Get("Idempotent-Replayed") == "true"
	return &http.Response{
		StatusCode:    recorded.status,
		Status:        http.StatusText(recorded.status),
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        recorded.header,
		Body:          io.NopCloser(&recorded.body),
		ContentLength: int64(recorded.body.Len()),
		Request:       r,
	}, nil
}

// A recorder keeps what a handler writes.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *recorder) Write(data []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(data)
}

// Flush is there because the API reports an answer as delivered only to a connection
// that takes it; this one has it already.
func (w *recorder) Flush() {}
