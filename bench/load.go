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
	"time"
)

// order returns requests that create shipments, each with a key of its own. The
// rest is appended to the fields of the order.
func (s *service) order(key, name, rest string) func([]byte) []byte {
	return func(buffer []byte) []byte {
		n := strconv.FormatInt(s.orders.Add(1), 10)
		body := `{"orderId":"order-` + n + `","destination":{"name":"` + name + `","address1":"350 5th Avenue","city":"New York","state":"NY","zip":"10118","country":"US"},"parcel":{"weight":2.5,"dimensions":{"length":10,"width":8,"height":4}}` + rest + `}`

		buffer = append(buffer, "POST /v1/shipments HTTP/1.1\r\nHost: "...)
		buffer = s.appendHeaders(buffer, key)
		buffer = append(buffer, "Content-Type: application/json\r\nIdempotency-Key: bench-"...)
		buffer = append(buffer, n...)
		buffer = append(buffer, "\r\nContent-Length: "...)
		buffer = strconv.AppendInt(buffer, int64(len(body)), 10)
		buffer = append(buffer, "\r\n\r\n"...)
		return append(buffer, body...)
	}
}

// appendLookup appends a request for a parcel by its number.
func (s *service) appendLookup(buffer []byte, number int64) []byte {
	buffer = append(buffer, "GET /v1/tracking/B"...)
	buffer = strconv.AppendInt(buffer, number, 10)
	buffer = append(buffer, " HTTP/1.1\r\nHost: "...)
	buffer = s.appendHeaders(buffer, s.testKey)
	return append(buffer, "\r\n"...)
}

func (s *service) appendHeaders(buffer []byte, key string) []byte {
	buffer = append(buffer, s.addr...)
	buffer = append(buffer, "\r\nAuthorization: Bearer "...)
	buffer = append(buffer, key...)
	return append(buffer, "\r\n"...)
}

// load keeps each of the clients busy with one request after the other. It
// speaks HTTP/1.1 by hand: a full client would take as much CPU as the service
// that is measured, on the same cores.
func (s *service) load(ctx context.Context, clients int, lasts time.Duration, want int, request func([]byte) []byte) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, lasts)
	defer cancel()

	times := make([][]time.Duration, clients)
	errs := make([]error, clients)
	var running sync.WaitGroup
	start := time.Now()
	for i := range clients {
		running.Go(func() { times[i], errs[i] = s.client(ctx, want, request) })
	}
	running.Wait()
	elapsed := time.Since(start)

	for _, err := range errs {
		if err != nil {
			return sample{}, err
		}
	}
	all := slices.Concat(times...)
	slices.Sort(all)
	if len(all) == 0 {
		return sample{}, fmt.Errorf("nothing was answered")
	}

	quantile := func(q float64) float64 {
		return round(float64(all[int(float64(len(all)-1)*q)].Microseconds()) / 1000)
	}
	return sample{
		PerSecond: round(float64(len(all)) / elapsed.Seconds()),
		P50:       quantile(0.5),
		P99:       quantile(0.99),
		count:     len(all),
	}, nil
}

// client sends requests over one connection until ctx ends.
func (s *service) client(ctx context.Context, want int, request func([]byte) []byte) (times []time.Duration, err error) {
	connection, err := net.Dial("tcp", s.addr)
	if err != nil {
		return nil, err
	}
	defer func() { _ = connection.Close() }()

	reader := bufio.NewReaderSize(connection, 16<<10)
	var buffer []byte
	for ctx.Err() == nil {
		buffer = request(buffer[:0])
		start := time.Now()
		if _, err := connection.Write(buffer); err != nil {
			return times, err
		}
		status, err := readAnswer(reader)
		if err != nil {
			return times, err
		}
		if status != want {
			return times, fmt.Errorf("answered %d, want %d", status, want)
		}
		times = append(times, time.Since(start))
	}
	return times, nil
}

// readAnswer reads one answer with a Content-Length and drops its body.
func readAnswer(reader *bufio.Reader) (status int, err error) {
	length := -1
	for first := true; ; first = false {
		line, err := reader.ReadSlice('\n')
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
			_, err := io.CopyN(io.Discard, reader, int64(length))
			return status, err

		case bytes.HasPrefix(bytes.ToLower(line), []byte("content-length:")):
			length, err = strconv.Atoi(string(bytes.TrimSpace(line[len("content-length:"):])))
			if err != nil {
				return 0, err
			}
		}
	}
}
