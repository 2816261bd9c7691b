package webhook

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// hostile are endpoints that try to block the sender or exhaust its memory, by
// the outcome of an attempt.
func hostile(t testing.TB) map[string]struct {
	url     string
	outcome string
} {
	t.Helper()
	ok := []byte("HTTP/1.1 200 OK\r\n")
	var bomb bytes.Buffer
	zip, err := gzip.NewWriterLevel(&bomb, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 1<<20)
	for range 128 {
		_, _ = zip.Write(zeros)
	}
	_ = zip.Close()
	pour := func(c net.Conn, b []byte) {
		for {
			if _, err := c.Write(b); err != nil {
				return
			}
		}
	}
	drip := func(c net.Conn, b string) {
		for i := 0; ; i++ {
			if _, err := c.Write([]byte{b[i%len(b)]}); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	line := []byte("X-Filler: " + strings.Repeat("x", 8000) + "\r\n")
	type one = struct{ url, outcome string }
	return map[string]struct{ url, outcome string }{
		"never reads":         one{rawSink(t, func(net.Conn) { time.Sleep(5 * time.Second) }), OutcomeTimeout},
		"never answers":       one{rawSink(t, func(c net.Conn) { readRequest(c); time.Sleep(5 * time.Second) }), OutcomeTimeout},
		"drips its header":    one{rawSink(t, func(c net.Conn) { readRequest(c); drip(c, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("y", 1<<16)) }), OutcomeTimeout},
		"endless header":      one{rawSink(t, func(c net.Conn) { readRequest(c); _, _ = c.Write(ok); pour(c, line) }), OutcomeProtocol},
		"endless header line": one{rawSink(t, func(c net.Conn) { readRequest(c); _, _ = c.Write(ok); pour(c, bytes.Repeat([]byte("z"), 8000)) }), OutcomeProtocol},
		"endless 1xx":         one{rawSink(t, func(c net.Conn) { readRequest(c); pour(c, []byte("HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n")) }), OutcomeProtocol},
		"endless status":      one{rawSink(t, func(c net.Conn) { readRequest(c); pour(c, []byte("HTTP/1.1 200 ")) }), OutcomeProtocol},
		"endless body": one{rawSink(t, func(c net.Conn) {
			readRequest(c)
			_, _ = c.Write(append(ok, "\r\n"...))
			pour(c, zeros)
		}), OutcomeDelivered},
		"500 MB body": one{rawSink(t, func(c net.Conn) {
			readRequest(c)
			_, _ = fmt.Fprintf(c, "%sContent-Length: %d\r\n\r\n", ok, 500<<20)
			pour(c, zeros)
		}), OutcomeDelivered},
		"gzip bomb": one{rawSink(t, func(c net.Conn) {
			readRequest(c)
			_, _ = fmt.Fprintf(c, "%sContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n", ok, bomb.Len())
			_, _ = c.Write(bomb.Bytes())
		}), OutcomeDelivered},
		"drips its body": one{rawSink(t, func(c net.Conn) {
			readRequest(c)
			_, _ = c.Write(append(ok, "Content-Length: 100000\r\n\r\n"...))
			drip(c, "z")
		}), OutcomeDelivered},
		"endless chunks": one{rawSink(t, func(c net.Conn) {
			readRequest(c)
			_, _ = c.Write(append(ok, "Transfer-Encoding: chunked\r\n\r\n"...))
			pour(c, []byte("1;"+strings.Repeat("e", 200)+"\r\nz\r\n"))
		}), OutcomeDelivered},
		"cuts its body":       one{rawSink(t, func(c net.Conn) { readRequest(c); _, _ = c.Write(append(ok, "Content-Length: 10\r\n\r\nabc"...)) }), OutcomeDelivered},
		"closes at once":      one{rawSink(t, func(net.Conn) {}), OutcomeClosed},
		"drips 500 with body": one{rawSink(t, func(c net.Conn) { readRequest(c); drip(c, "HTTP/1.1 500 No\r\nContent-Length: 9\r\n\r\n123456789") }), OutcomeFailed},
		"answers before asked": one{rawSink(t, func(c net.Conn) {
			_, _ = c.Write(append(ok, "Content-Length: 2\r\n\r\nok"...))
			time.Sleep(time.Second)
		}), ""},
	}
}

func TestHostileEndpointsCostLittle(t *testing.T) {
	s := localSender(t, func(o *SenderOptions) { o.Timeout = 2 * time.Second })
	endpoints := hostile(t)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var all sync.WaitGroup
	for name, e := range endpoints {
		for range 2 {
			all.Go(func() {
				target, _ := testTarget(t, e.url)
				start := time.Now()
				a := s.Send(t.Context(), testDelivery(target, "{}"))
				if took := time.Since(start); took > 3*time.Second {
					t.Errorf("%s: took %s", name, took)
				}
				if e.outcome != "" && a.Outcome != e.outcome {
					t.Errorf("%s: %s %q, want %s", name, a.Outcome, a.Error, e.outcome)
				}
				if len(a.Body) > 3*maxBody || len(a.Head) > 3*maxHead {
					t.Errorf("%s: keeps %d bytes of head and %d of body", name, len(a.Head), len(a.Body))
				}
			})
		}
	}
	all.Wait()
	runtime.ReadMemStats(&after)
	// The sinks of the test allocate too, but a response of 500 MB, of 128 MB
	// once inflated, or without an end must not show up.
	if grown := int64(after.TotalAlloc-before.TotalAlloc) >> 20; grown > 32 {
		t.Errorf("%d MB were allocated for %d attempts", grown, 2*len(endpoints))
	}
}

func TestAttemptsLeaveNothingRunning(t *testing.T) {
	s := NewSender(SenderOptions{Policy: Policy{Loopback: true}, Timeout: 300 * time.Millisecond})
	before := runtime.NumGoroutine()
	var all sync.WaitGroup
	address := rawSink(t, func(c net.Conn) { readRequest(c); time.Sleep(500 * time.Millisecond) })
	for range 100 {
		all.Go(func() {
			target, _ := testTarget(t, address)
			s.Send(t.Context(), testDelivery(target, "{}"))
		})
	}
	all.Wait()
	s.Close()
	for range 100 {
		if runtime.NumGoroutine() <= before+5 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}
