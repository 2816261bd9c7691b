package carrierkit

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// newTransport returns the connections of one carrier: shared and kept alive
// for reads, or a fresh one for each effect. Both speak only HTTP/1.1: a
// transport sends an HTTP/2 request again by itself, and one HTTP/2 connection
// that stalls takes every call with it. Neither asks the environment for a
// proxy. Neither asks for compression; answers that come compressed are
// unpacked.
func newTransport(options TrafficOptions, carrier string, effects bool) http.RoundTripper {
	connections := options.Transport
	if connections == nil {
		connections = newConnections(options, carrier, effects)
	}

	var transport http.RoundTripper = unpacking{connections}
	if options.Wrap != nil {
		transport = options.Wrap(transport)
	}
	return transport
}

func newConnections(options TrafficOptions, carrier string, effects bool) http.RoundTripper {
	var protocols http.Protocols
	protocols.SetHTTP1(true)

	dial := DialContext((&net.Dialer{Timeout: options.Connect}).DialContext)
	if options.Dial != nil {
		if own := options.Dial(carrier); own != nil {
			dial = own
		}
	}
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: options.RootCAs},
		TLSHandshakeTimeout:    options.Handshake,
		ResponseHeaderTimeout:  options.FirstByte,
		MaxResponseHeaderBytes: 64 << 10,
		Protocols:              &protocols,
		DisableCompression:     true,
		// A transport resends a request that a reused connection lost. If
		// connections are never reused, it has nothing to resend.
		DisableKeepAlives:   effects,
		MaxIdleConns:        options.IdleConns,
		MaxIdleConnsPerHost: options.IdleConns,
		IdleConnTimeout:     options.IdleFor,
	}
}

// NewTransport returns connections to a service that is no carrier, with the
// same limits on how long each step takes, except that the answer is due within
// half a minute.
func NewTransport() http.RoundTripper {
	return newTransport(TrafficOptions{FirstByte: 30 * time.Second}.withDefaults(), "", false)
}

// once returns the request in a form that can be sent only once.
func once(request *http.Request) *http.Request {
	single := request.WithContext(request.Context())
	single.GetBody = nil
	return single
}

// An outcome is what a call that was sent says about its carrier.
type outcome int

const (
	answered     outcome = iota // with whatever status, but a 5xx
	failed                      // no answer, or a 5xx
	timedOut                    // no answer in time
	inconclusive                // the caller gave up too early to tell
)

// outcomeOf returns the outcome of a call that ended with err after a time on
// the wire.
func (t *Traffic) outcomeOf(ctx context.Context, err error, waited, onWire time.Duration) outcome {
	ended := ctx.Err()
	switch {
	case errors.Is(ended, context.Canceled):
		if onWire < t.o.Breaker.Patience {
			return inconclusive
		}
		return timedOut
	case ended != nil:
		if onWire < waited {
			return inconclusive // the time went by in our own queues
		}
		return timedOut
	}

	if network, ok := errors.AsType[net.Error](err); ok && network.Timeout() {
		return timedOut
	}
	return failed
}

// watched is the body of an answer. The call ends when the body has been read,
// fails, or is closed.
type watched struct {
	io.ReadCloser
	done func(err error)
	once sync.Once
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		w.end(nil)
	} else if err != nil {
		w.end(err)
	}
	return n, err
}

func (w *watched) Close() error {
	err := w.ReadCloser.Close()
	w.end(nil)
	return err
}

func (w *watched) end(err error) { w.once.Do(func() { w.done(err) }) }
