package webhook

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary act as the sink of a benchmark, so that the
// cost of the sink is not measured.
func TestMain(m *testing.M) {
	if os.Getenv("WEBHOOK_SINK") == "" {
		os.Exit(m.Run())
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		os.Exit(1)
	}
	_, _ = os.Stdout.WriteString("http://" + l.Addr().String() + "\n")
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the benchmark
		os.Exit(0)
	}()
	_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write([]byte("ok"))
	}))
}

// otherProcess starts a sink apart from this process.
func otherProcess(b *testing.B) string {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "WEBHOOK_SINK=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func processTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// together runs do from eight goroutines, b.N times in all, and reports the
// processor time per call.
func together(b *testing.B, do func() bool) {
	b.Helper()
	b.ReportAllocs()
	for range 64 {
		do() // opens the connections
	}
	b.ResetTimer()
	start := processTime()
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := g; i < b.N; i += 8 {
				if !do() {
					b.Error("not delivered")
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64((processTime()-start).Microseconds())/float64(b.N), "cpu-us/op")
}

var benchBody = []byte(`{"id":"` + testEventID + `","data":"` + strings.Repeat("x", 1500) + `"}`)

func BenchmarkSend(b *testing.B) {
	address := otherProcess(b)
	b.Run("sender", func(b *testing.B) {
		s := localSender(b, nil)
		target, _ := testTarget(b, address)
		d := testDelivery(target, string(benchBody))
		together(b, func() bool {
			a := s.Send(b.Context(), d)
			return a.Delivered()
		})
	})
	b.Run("plain client", func(b *testing.B) {
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 10 * time.Second}
		together(b, func() bool {
			resp, err := client.Post(address, "application/json", bytes.NewReader(benchBody))
			if err != nil {
				return false
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			return resp.StatusCode == http.StatusOK
		})
	})
}
