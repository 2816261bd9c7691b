package cell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// How connections to cells are kept. Copies of the service keep them for longer, so
// they do not close one that is about to be used.
const (
	dialTimeout = 2 * time.Second
	idleAtMost  = 256 // connections of a cell
	idleTimeout = 60 * time.Second

	// directBody is the largest body that is written before the answer is read. It
	// fits into the buffers of a connection, so a cell that answers early stops nobody.
	directBody = 64 << 10

	// headAtMost is the size of the largest head of an answer, with those of
	// interim answers before it.
	headAtMost = 1 << 20
)

// errSent is in the error of a request that a cell may have got, and whose answer was not
// read.
var errSent = errors.New("the cell may have got the request")

// A transport sends requests to cells. It is http.Transport with a shorter way for
// most requests: HTTP/1.1 without TLS, and a body that is small and can be sent again.
//
// http.Transport has two goroutines for each connection. Passing a request to them and
// its answer back takes more CPU time than the rest of what a router does; here the
// goroutine of the request writes and reads itself.
type transport struct {
	any           http.RoundTripper // for all other requests
	answerTimeout time.Duration     // until the head of an answer has come; 0 for no limit

	mu   sync.Mutex
	idle map[string][]*connection // by address; the last one was used last
}

func newTransport(answerTimeout time.Duration) *transport {
	return &transport{
		any: &http.Transport{
			DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
			MaxIdleConnsPerHost:    idleAtMost,
			IdleConnTimeout:        90 * time.Second,
			ResponseHeaderTimeout:  answerTimeout,
			MaxResponseHeaderBytes: headAtMost,
			DisableCompression:     true,
		},
		answerTimeout: answerTimeout,
		idle:          map[string][]*connection{},
	}
}

// A connection to a cell is used by one request at a time.
type connection struct {
	net.Conn
	reader *bufio.Reader
	writer *bufio.Writer
	mayBe  int64 // bytes that may still be read: few until the head of an answer has come
	usedAt time.Time
}

func (t *transport) dial(ctx context.Context, address string) (*connection, error) {
	dialed, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	conn := &connection{Conn: dialed, writer: bufio.NewWriter(dialed)}
	conn.reader = bufio.NewReader(conn)
	return conn, nil
}

// Read reads from the cell, for the reader.
func (c *connection) Read(p []byte) (int, error) {
	if c.mayBe <= 0 {
		return 0, errors.New("the head of the answer is too large")
	}
	n, err := c.Conn.Read(p[:min(int64(len(p)), c.mayBe)])
	c.mayBe -= int64(n)
	return n, err
}

// isDirect reports whether a request can take the shorter way.
func isDirect(r *http.Request) bool {
	hasBody := r.Body != nil && r.Body != http.NoBody
	return canSeeClosed && r.URL.Scheme == "http" && r.URL.Port() != "" && r.Header.Get("Upgrade") == "" &&
		(!hasBody || r.GetBody != nil && r.ContentLength > 0 && r.ContentLength <= directBody)
}

// isReplayable reports whether a request may be sent again although the cell may have
// got it, by the rules of http.Transport.
func isReplayable(r *http.Request) bool { return isSafe(r) || r.Header.Get("Idempotency-Key") != "" }

// isSafe reports whether a request changes nothing.
func isSafe(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

// RoundTrip sends a request. If the cell may have got it and no answer was read, the
// error is errSent.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !isDirect(r) {
		response, err := t.any.RoundTrip(r)
		if failure, ok := errors.AsType[*net.OpError](err); err == nil || ok && failure.Op == "dial" {
			return response, err
		}
		return nil, fmt.Errorf("%w: %w", errSent, err)
	}

	for {
		conn := t.take(r.URL.Host)
		isKept := conn != nil
		if !isKept {
			var err error
			if conn, err = t.dial(r.Context(), r.URL.Host); err != nil {
				return nil, err
			}
		}

		response, isAnswered, err := t.exchange(r, conn)
		if err == nil {
			return response, nil
		}
		_ = conn.Close()

		// A connection that was kept can have been closed by the cell just now.
		mayReplay := isKept && !isAnswered && isReplayable(r) && !errors.Is(err, os.ErrDeadlineExceeded)
		if !mayReplay || r.Context().Err() != nil {
			return nil, fmt.Errorf("%w: %w", errSent, err)
		}
		if r.GetBody != nil {
			if r.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// exchange writes a request and reads the head of its answer. The body of the answer
// gives the connection back. If it fails, isAnswered is whether an answer had begun.
func (t *transport) exchange(r *http.Request, conn *connection) (response *http.Response, isAnswered bool, err error) {
	ctx := r.Context()
	if t.answerTimeout > 0 {
		_ = conn.SetDeadline(time.Now().Add(t.answerTimeout)) // a connection that is closed fails below
	}
	release := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	response, isAnswered, err = conn.send(r)

	// The body may take its time. If the request has ended meanwhile, its deadline
	// may be the one that is lifted here.
	if err == nil && t.answerTimeout > 0 {
		err = errors.Join(conn.SetDeadline(time.Time{}), ctx.Err())
	}
	if err != nil {
		release()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, isAnswered, err
	}

	response.Body = &answer{
		ReadCloser: response.Body,
		transport:  t,
		conn:       conn,
		address:    r.URL.Host,
		mayKeep:    !response.Close,
		release:    release,
	}
	return response, true, nil
}

func (c *connection) send(r *http.Request) (response *http.Response, isAnswered bool, err error) {
	if err := r.Write(c.writer); err != nil {
		return nil, false, err
	}
	if err := c.writer.Flush(); err != nil {
		return nil, false, err
	}

	c.mayBe = headAtMost
	if _, err := c.reader.Peek(1); err != nil {
		return nil, false, err
	}
	for {
		response, err := http.ReadResponse(c.reader, r)
		if err != nil {
			return nil, true, err
		}
		if response.StatusCode >= http.StatusOK {
			c.mayBe = math.MaxInt64
			return response, true, nil
		}
	}
}

// An answer is the body of a response, which owns the connection until it was read.
type answer struct {
	io.ReadCloser
	transport *transport
	conn      *connection
	address   string
	mayKeep   bool
	release   func() bool // is false if the request has ended meanwhile
}

func (a *answer) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err != nil {
		a.end(errors.Is(err, io.EOF))
	}
	return n, err
}

// Close ends an answer. What was not read of it would be in the way of the next.
func (a *answer) Close() error {
	a.end(false)
	return nil
}

func (a *answer) end(isRead bool) {
	if a.conn == nil {
		return
	}
	conn := a.conn
	a.conn = nil

	isOurs := a.release()
	if isRead && isOurs && a.mayKeep && conn.reader.Buffered() == 0 {
		a.transport.keep(a.address, conn)
		return
	}
	_ = conn.Close()
}

// take returns a kept connection that is still open; nil if there is none.
func (t *transport) take(address string) *connection {
	for {
		t.mu.Lock()
		list := t.idle[address]
		if len(list) == 0 {
			t.mu.Unlock()
			return nil
		}
		conn := list[len(list)-1]
		t.idle[address] = list[:len(list)-1]
		t.mu.Unlock()

		if time.Since(conn.usedAt) < idleTimeout && conn.isOpen() {
			return conn
		}
		_ = conn.Close()
	}
}

// keep keeps a connection for the next request, and closes one that was not used for
// long.
func (t *transport) keep(address string, conn *connection) {
	conn.usedAt = time.Now()
	var old *connection
	t.mu.Lock()
	list := append(t.idle[address], conn)
	if len(list) > idleAtMost || time.Since(list[0].usedAt) >= idleTimeout {
		old = list[0]
		list = append(list[:0], list[1:]...)
	}
	t.idle[address] = list
	t.mu.Unlock()

	if old != nil {
		_ = old.Close()
	}
}
