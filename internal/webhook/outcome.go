package webhook

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// The outcomes of an attempt.
const (
	OutcomeDelivered  = "delivered"               // answered 2xx
	OutcomeFailed     = "failed"                  // answered something else
	OutcomeNotAllowed = "destination_not_allowed" // sending to the address is not allowed
	OutcomeTimeout    = "timeout"                 // did not answer in time
	OutcomeDNS        = "dns"                     // the host name could not be resolved
	OutcomeConnect    = "connect"                 // nothing listens there
	OutcomeTLS        = "tls"                     // the TLS handshake failed
	OutcomeClosed     = "connection_closed"       // ended before the answer
	OutcomeProtocol   = "protocol"                // the response is not valid HTTP, or its headers are too large
	OutcomeCancelled  = "cancelled"               // abandoned by the service itself; says nothing about the endpoint
)

// Outcomes lists the outcomes.
var Outcomes = []string{
	OutcomeDelivered,
	OutcomeFailed,
	OutcomeNotAllowed,
	OutcomeTimeout,
	OutcomeDNS,
	OutcomeConnect,
	OutcomeTLS,
	OutcomeClosed,
	OutcomeProtocol,
	OutcomeCancelled,
}

// maxRetryAfter bounds how long an endpoint can ask to wait.
const maxRetryAfter = 24 * time.Hour

// recordResponse notes what the endpoint answered.
func (a *Attempt) recordResponse(response *http.Response) {
	a.Status = response.StatusCode
	a.Outcome = OutcomeDelivered
	a.Head = responseHead(response)

	if response.StatusCode < 200 || response.StatusCode > 299 {
		a.Outcome = OutcomeFailed
		a.Error = "responded with " + strconv.Itoa(response.StatusCode)
		if response.StatusCode >= 300 && response.StatusCode <= 399 {
			a.Error += "; redirects are not followed"
		}
		a.RetryAfter = retryAfter(response.Header.Get("Retry-After"), time.Now())
	}

	if response.ContentLength != 0 {
		a.Body = readBody(response.Body)
	}
}

// retryAfter reads the header, in seconds or as a date. A wait is never
// negative and never longer than maxRetryAfter.
func retryAfter(value string, now time.Time) time.Duration {
	if value == "" {
		return 0
	}

	wait := time.Duration(0)
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		wait = time.Duration(min(max(n, 0), int64(maxRetryAfter/time.Second))) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}

// responseHead returns the status line and the header of an answer, sorted and
// truncated.
func responseHead(response *http.Response) string {
	names := make([]string, 0, len(response.Header))
	for name := range response.Header {
		names = append(names, name)
	}
	slices.Sort(names)

	head := make([]byte, 0, 256)
	head = append(head, response.Proto...)
	head = append(head, ' ')
	head = append(head, response.Status...)
	for _, name := range names {
		for _, value := range response.Header[name] {
			if len(head) < maxHead {
				head = append(head, '\n')
				head = append(head, name...)
				head = append(head, ": "...)
				head = append(head, value[:min(len(value), maxHead)]...)
			}
		}
	}
	return plainText(head[:min(len(head), maxHead)])
}

var readBuffers = sync.Pool{New: func() any { return new([maxRead]byte) }}

// readBody reads the rest of an answer, up to a limit, and keeps its beginning.
// An answer that is read to its end leaves its connection open for the next;
// one that is longer is cut off with its connection.
func readBody(r io.Reader) string {
	buffer := readBuffers.Get().(*[maxRead]byte)
	defer readBuffers.Put(buffer)

	length := 0
	for length < len(buffer) {
		n, err := r.Read(buffer[length:])
		length += n
		if err != nil {
			break
		}
	}
	return plainText(buffer[:min(length, maxBody)])
}

// plainText is b as text that the database accepts: Postgres stores neither
// invalid UTF-8 nor NUL.
func plainText(b []byte) string {
	text := strings.ToValidUTF8(string(b), "\uFFFD")
	if strings.IndexByte(text, 0) >= 0 {
		text = strings.ReplaceAll(text, "\x00", "\uFFFD")
	}
	return text
}

// recordError notes why there is no answer. parent is the context in which the
// attempt was requested.
func (a *Attempt) recordError(err error, parent context.Context) {
	a.Outcome, a.Error = classify(err)

	// A cancelled exchange was ended by its own clock, unless the parent has
	// ended too.
	switch {
	case a.Outcome == OutcomeNotAllowed:
	case parent.Err() != nil:
		a.Outcome = OutcomeCancelled
		a.Error = "abandoned by the service"
	case errors.Is(err, context.Canceled):
		a.Outcome = OutcomeTimeout
		a.Error = "no response in time"
	}
}

// classify returns the outcome of an exchange that failed, with a sentence.
func classify(err error) (outcome, detail string) {
	var (
		dns      *net.DNSError
		timeout  net.Error
		verify   *tls.CertificateVerificationError
		record   tls.RecordHeaderError
		alert    tls.AlertError
		hostname x509.HostnameError
	)

	switch {
	case errors.Is(err, errNotAllowed):
		return OutcomeNotAllowed, errNotAllowed.Error()
	case errors.As(err, &dns) && !dns.IsTimeout:
		return OutcomeDNS, "the host name could not be resolved"
	case errors.As(err, &verify):
		return OutcomeTLS, "the certificate is not trusted: " + truncate(verify.Err.Error(), 200)
	case errors.As(err, &hostname):
		return OutcomeTLS, "the certificate is for another host name"
	case errors.As(err, &record), errors.As(err, &alert), strings.Contains(err.Error(), "tls: "):
		return OutcomeTLS, "the TLS handshake failed"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return OutcomeTimeout, "could not connect in time"
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return OutcomeConnect, "could not connect"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		strings.Contains(err.Error(), "server closed idle connection"):
		return OutcomeClosed, "the connection was closed before a response"
	}

	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return OutcomeConnect, "could not connect"
	}
	return OutcomeProtocol, "the response is not valid HTTP, or its headers are too large"
}

func truncate(s string, n int) string { return plainText([]byte(s[:min(len(s), n)])) }

// exchange is the clock of an attempt. Its marks are set from the goroutines
// of the connection, which can outlive the attempt.
type exchange struct {
	start          time.Time
	tlsFrom, tlsTo atomic.Int64
	firstByte      atomic.Int64
	conn           atomic.Pointer[conn]
	reused         atomic.Bool
}

func (x *exchange) mark(m *atomic.Int64) { m.Store(int64(time.Since(x.start))) }

func (x *exchange) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn:              x.gotConn,
		TLSHandshakeStart:    func() { x.mark(&x.tlsFrom) },
		TLSHandshakeDone:     func(tls.ConnectionState, error) { x.mark(&x.tlsTo) },
		GotFirstResponseByte: func() { x.mark(&x.firstByte) },
	}
}

func (x *exchange) gotConn(info httptrace.GotConnInfo) {
	inner := info.Conn
	if secure, ok := inner.(*tls.Conn); ok {
		inner = secure.NetConn()
	}
	if c, ok := inner.(*conn); ok {
		x.reused.Store(info.Reused)
		x.conn.Store(c)
	}
}

// addTimings writes the marks into the attempt, except for a refused address:
// how long that took would reveal something about it.
func (x *exchange) addTimings(a *Attempt) {
	connection := x.conn.Load()
	if connection == nil || a.Outcome == OutcomeNotAllowed {
		return
	}

	a.Address = connection.address
	a.Timings.FirstByte = time.Duration(x.firstByte.Load())
	if !x.reused.Load() {
		a.Timings.DNS = cmp.Or(connection.dns, 1)
		a.Timings.Connect = connection.connect
		a.Timings.TLS = time.Duration(max(x.tlsTo.Load()-x.tlsFrom.Load(), 0))
	}
}
