package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// httpCreation creates shipments over HTTP, each with a key of its own.
func (s *stage) httpCreation(name string) func(context.Context, int, time.Duration) (sample, error) {
	return func(ctx context.Context, clients int, lasts time.Duration) (sample, error) {
		return s.load(ctx, clients, lasts, 201, func(buf []byte) []byte {
			n := strconv.FormatInt(atomic.AddInt64(&s.n, 1), 10)
			body := `{"orderId":"order-` + n + `","destination":{"name":"` + name + `","address1":"350 5th Avenue","city":"New York","state":"NY","zip":"10118","country":"US"},"parcel":{"weight":2.5,"dimensions":{"length":10,"width":8,"height":4}}}`
			buf = append(buf, "POST /v1/shipments HTTP/1.1\r\nHost: "...)
			buf = s.headers(buf)
			buf = append(buf, "Content-Type: application/json\r\nIdempotency-Key: bench-"...)
			buf = append(buf, n...)
			buf = append(buf, "\r\nContent-Length: "...)
			buf = strconv.AppendInt(buf, int64(len(body)), 10)
			buf = append(buf, "\r\n\r\n"...)
			return append(buf, body...)
		})
	}
}

// httpTracking looks parcels up by number over HTTP.
func (s *stage) httpTracking(ctx context.Context, clients int, lasts time.Duration) (sample, error) {
	var i atomic.Int64
	return s.load(ctx, clients, lasts, 200, func(buf []byte) []byte {
		buf = append(buf, "GET /v1/tracking/B"...)
		buf = strconv.AppendInt(buf, i.Add(7919)%trackedParcels, 10)
		buf = append(buf, " HTTP/1.1\r\nHost: "...)
		buf = s.headers(buf)
		return append(buf, "\r\n"...)
	})
}

func (s *stage) headers(buf []byte) []byte {
	buf = append(buf, s.addr...)
	buf = append(buf, "\r\nAuthorization: Bearer "...)
	buf = append(buf, s.key...)
	return append(buf, "\r\n"...)
}

// load keeps each of the clients busy with one request after the other. It
// speaks HTTP/1.1 by hand: a full client would take as much CPU as the service
// that is measured, on the same cores.
func (s *stage) load(ctx context.Context, clients int, lasts time.Duration, want int, request func([]byte) []byte) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, lasts)
	defer cancel()
	took := make([][]time.Duration, clients)
	errs := make([]error, clients)
	var wg sync.WaitGroup
	start := time.Now()
	for c := range clients {
		wg.Go(func() { took[c], errs[c] = s.client(ctx, want, request) })
	}
	wg.Wait()
	elapsed := time.Since(start)
	for _, err := range errs {
		if err != nil {
			return sample{}, err
		}
	}
	all := slices.Concat(took...)
	slices.Sort(all)
	if len(all) == 0 {
		return sample{}, fmt.Errorf("nothing was answered")
	}
	ms := func(q float64) float64 { return round(float64(all[int(float64(len(all)-1)*q)].Microseconds()) / 1000) }
	return sample{PerSecond: round(float64(len(all)) / elapsed.Seconds()), P50: ms(0.5), P99: ms(0.99), count: len(all)}, nil
}

func (s *stage) client(ctx context.Context, want int, request func([]byte) []byte) (took []time.Duration, err error) {
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	r := bufio.NewReaderSize(conn, 16<<10)
	var buf []byte
	for ctx.Err() == nil {
		buf = request(buf[:0])
		start := time.Now()
		if _, err := conn.Write(buf); err != nil {
			return took, err
		}
		status, err := readAnswer(r)
		if err != nil {
			return took, err
		}
		if status != want {
			return took, fmt.Errorf("answered %d, want %d", status, want)
		}
		took = append(took, time.Since(start))
	}
	return took, nil
}

// readAnswer reads one answer with a Content-Length and drops its body.
func readAnswer(r *bufio.Reader) (status int, err error) {
	length := -1
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case first:
			if len(line) < 12 {
				return 0, fmt.Errorf("bad answer %q", line)
			}
			status, _ = strconv.Atoi(string(line[9:12]))
		case len(line) == 0:
			if length < 0 {
				return 0, fmt.Errorf("an answer without Content-Length")
			}
			_, err := io.CopyN(io.Discard, r, int64(length))
			return status, err
		case bytes.HasPrefix(bytes.ToLower(line), []byte("content-length:")):
			length, err = strconv.Atoi(string(bytes.TrimSpace(line[len("content-length:"):])))
			if err != nil {
				return 0, err
			}
		}
	}
}
