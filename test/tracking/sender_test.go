//go:build chaos

package tracking

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waybillhq/waybill/test/proving"
)

// sender pushes as a carrier does: again and again until it is answered 200.
// It speaks HTTP/1.1 by hand: a full client would take as much CPU as the
// service that is measured, on the same cores.
type sender struct {
	*world
	sent  atomic.Int64 // pushes that were answered
	tries atomic.Int64
	mu    sync.Mutex
	took  []time.Duration
	other map[int]int // answers that are not 200
}

// line is one connection to a copy.
type line struct {
	conn net.Conn
	r    *bufio.Reader
}

// source sends pushes in the order given, some at once, to any copy.
func (s *sender) source(seed uint64, atOnce int, list []delivery, write func(delivery) []byte) {
	var next atomic.Int64
	var group sync.WaitGroup
	for c := range atOnce {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(c)))
			lines := make([]line, len(s.copies))
			var took []time.Duration
			for n := next.Add(1) - 1; n < int64(len(list)) && !s.t.Failed(); n = next.Add(1) - 1 {
				took = append(took, s.insist(rng, lines, write(list[n])))
				s.sent.Add(1)
			}
			for _, l := range lines {
				l.close()
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.took = append(s.took, took...)
		})
	}
	group.Wait()
}

// insist pushes until it is answered 200, and reports how long that answer
// took.
func (s *sender) insist(rng *rand.Rand, lines []line, text []byte) time.Duration {
	for deadline := time.Now().Add(proving.Patiently(3 * time.Minute)); time.Now().Before(deadline); {
		i := rng.IntN(len(lines))
		start := time.Now()
		s.tries.Add(1)
		status, err := lines[i].post(s.copies[i].Addr, text)
		if err == nil && status == 200 {
			return time.Since(start)
		}
		if err != nil {
			lines[i].close()
		}
		s.mu.Lock()
		s.other[status]++
		s.mu.Unlock()
		if err == nil && status < 500 {
			s.t.Errorf("a push was answered %d", status)
			return 0
		}
		time.Sleep(time.Duration(10+rng.IntN(90)) * time.Millisecond)
	}
	s.t.Error("a push was never answered")
	return 0
}

func (l *line) close() {
	if l.conn != nil {
		_ = l.conn.Close()
	}
	l.conn = nil
}

// post sends a push and reads the answer.
func (l *line) post(addr string, text []byte) (status int, err error) {
	if l.conn == nil {
		if l.conn, err = net.DialTimeout("tcp", addr, time.Second); err != nil {
			return 0, err
		}
		l.r = bufio.NewReaderSize(l.conn, 4<<10)
	}
	_ = l.conn.SetDeadline(time.Now().Add(15 * time.Second))
	if _, err := l.conn.Write(text); err != nil {
		return 0, err
	}
	return l.read()
}

// read reads one answer with a Content-Length and drops its body.
func (l *line) read() (status int, err error) {
	length := -1
	for first := true; ; first = false {
		line, err := l.r.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		switch name, value, _ := bytes.Cut(line, []byte(":")); {
		case first && len(line) >= 12:
			status, _ = strconv.Atoi(string(line[9:12]))
		case len(line) == 0:
			if length < 0 {
				return status, fmt.Errorf("an answer without a length")
			}
			_, err := io.CopyN(io.Discard, l.r, int64(length))
			return status, err
		case bytes.EqualFold(name, []byte("content-length")):
			length, _ = strconv.Atoi(string(bytes.TrimSpace(value)))
		}
	}
}
