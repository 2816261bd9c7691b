package cell_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/cell"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// BenchmarkHop measures the CPU time of a creation whose answer comes at once: straight
// from the cell, through a bare reverse proxy of the standard library, and through
// the router. What a hop costs is the difference from the first.
func BenchmarkHop(b *testing.B) {
	answer := []byte(`{"id":"shp_1","label":"` + strings.Repeat("x", 2000) + `"}`)
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(answer)
	}))
	b.Cleanup(backend.Close)
	target, err := url.Parse(backend.URL)
	if err != nil {
		b.Fatal(err)
	}

	main := &directory{}
	for i := range main.places.Shards {
		main.places.Shards[i].Cell = "one"
	}
	main.places.Cells = []store.Cell{{Name: "one", URL: backend.URL, AddedAt: time.Unix(1, 0)}}
	places, err := cell.NewMap(b.Context(), main, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	router := cell.NewRouter(cell.RouterConfig{Places: places, Shards: shards, MaxBody: 1 << 20, Log: slog.New(slog.DiscardHandler)})

	bare := httputil.NewSingleHostReverseProxy(target)
	bare.Transport = &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}
	for _, clients := range []int{1, 16} {
		for _, way := range []struct {
			name  string
			front http.Handler
		}{{"straight", nil}, {"bare", bare}, {"router", router}} {
			b.Run(fmt.Sprintf("%s/clients=%d", way.name, clients), func(b *testing.B) {
				address := target.Host
				if way.front != nil {
					front := httptest.NewServer(way.front)
					defer front.Close()
					address = front.Listener.Addr().String()
				}
				measureHop(b, address, clients)
			})
		}
	}
}

// measureHop sends creations over as many connections. The client is as plain as it
// can be, since its CPU time is measured too.
func measureHop(b *testing.B, address string, clients int) {
	b.Helper()
	body := `{"orderId":"1","destination":{"name":"B","address1":"350 5th Avenue","city":"New York","state":"NY","zip":"10118","country":"US"},"parcel":{"weight":2.5}}`
	request := []byte(fmt.Sprintf("POST /v1/shipments HTTP/1.1\r\nHost: waybill.example\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nIdempotency-Key: 1\r\nUser-Agent: shop\r\nContent-Length: %d\r\n\r\n%s",
		ship.NewKey(5, false), len(body), body))

	var left atomic.Int64
	left.Store(int64(b.N))
	began := cpuTime(b)
	b.ResetTimer()
	var sending sync.WaitGroup
	for range clients {
		sending.Go(func() {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			answers := bufio.NewReader(conn)
			for left.Add(-1) >= 0 {
				_, _ = conn.Write(request) // a failure shows in the answer
				response, err := http.ReadResponse(answers, nil)
				if err != nil || response.StatusCode != http.StatusCreated {
					b.Error(response, err)
					return
				}
				_, _ = io.Copy(io.Discard, response.Body)
			}
		})
	}
	sending.Wait()
	b.ReportMetric(float64((cpuTime(b)-began).Microseconds())/float64(b.N), "cpu-µs/op")
}

// cpuTime is what the process has used so far.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
