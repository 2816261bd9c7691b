package api

import (
	"net/http"
	"testing"
)

func BenchmarkCreateShipment(b *testing.B) {
	bench := newBench(b)
	b.ReportAllocs()
	for b.Loop() {
		if w := send(bench.handler, "POST", "/v1/shipments", bench.key, specBody); w.Code != http.StatusCreated {
			b.Fatalf("%d %s", w.Code, w.Body)
		}
	}
}

func BenchmarkTrack(b *testing.B) {
	bench := newBench(b)
	path := "/v1/tracking/" + bench.ship()
	b.ReportAllocs()
	for b.Loop() {
		if w := send(bench.handler, "GET", path, bench.key, ""); w.Code != http.StatusOK {
			b.Fatalf("%d %s", w.Code, w.Body)
		}
	}
}
