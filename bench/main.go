// Command bench measures the service beside the bare engine: the very
// statements of a creation and of a tracking look-up, run by pgbench, and the
// same work over HTTP. It prints a table and writes bench/latest.json.
//
// All figures of one run share its machine and its noise: read the ratios.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"slices"
	"time"
)

func main() {
	seconds := flag.Int("seconds", 4, "how long each measurement lasts")
	repeats := flag.Int("repeats", 3, "how often each is repeated; the median counts")
	out := flag.String("out", "bench/latest.json", "where the figures go; empty for nowhere")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, time.Duration(*seconds)*time.Second, *repeats, *out); err != nil {
		log.Fatal(err)
	}
}

// clients are the numbers of connections that are tried.
var clients = []int{1, 8, 32}

// A subject is one kind of work, done by the engine alone, by the service, or
// both.
type subject struct {
	name    string
	engine  func(ctx context.Context, clients int, lasts time.Duration) (sample, error) // nil: only the service
	service func(ctx context.Context, clients int, lasts time.Duration) (sample, error)
}

// A sample is one measurement.
type sample struct {
	PerSecond   float64 `json:"perSecond"`
	P50         float64 `json:"p50Ms"`
	P99         float64 `json:"p99Ms,omitempty"` // pgbench tells it only with a log
	PostgresCPU float64 `json:"postgresCpuUs"`
	ServiceCPU  float64 `json:"serviceCpuUs,omitempty"`
	WAL         float64 `json:"walBytes"`

	count int // operations, where they are known exactly
}

func run(ctx context.Context, lasts time.Duration, repeats int, out string) error {
	s, err := newStage(ctx)
	if err != nil {
		return err
	}
	defer s.close()

	subjects := []subject{
		{"creation", s.pgbenchCreation, s.httpCreation("Jane Doe")},
		{"creation_live", nil, s.httpCreation("FAULT EXCEPTION")}, // sells at once, but takes the way of a live carrier
		{"tracking", s.pgbenchTracking, s.httpTracking},
	}
	report := newReport()
	for _, measured := range subjects {
		// Tracking looks for the shipments that were created, and changes
		// them: their size is read before.
		if measured.name == "tracking" {
			if (*report)["creation"].Disk, err = s.disk(ctx); err != nil {
				return err
			}
			if err := s.seedTracking(ctx); err != nil {
				return err
			}
		}
		for _, n := range clients {
			if err := measure(ctx, s, report, measured, n, lasts, repeats); err != nil {
				return err
			}
		}
	}

	report.print(os.Stdout)
	if out == "" {
		return nil
	}
	data, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(data, '\n'), 0o644)
}

// measure interleaves engine and service: both meet the same noise.
func measure(ctx context.Context, s *stage, report *report, measured subject, clients int, lasts time.Duration, repeats int) error {
	var engine, service []sample
	for range repeats {
		if measured.engine != nil {
			got, err := s.metered(ctx, func() (sample, error) { return measured.engine(ctx, clients, lasts) })
			if err != nil {
				return fmt.Errorf("%s by pgbench with %d clients: %w", measured.name, clients, err)
			}
			engine = append(engine, got)
		}

		got, err := s.metered(ctx, func() (sample, error) { return measured.service(ctx, clients, lasts) })
		if err != nil {
			return fmt.Errorf("%s by the service with %d clients: %w", measured.name, clients, err)
		}
		service = append(service, got)
	}

	report.add(measured.name, clients, median(engine), median(service))
	log.Printf("%s, %d clients: engine %.0f/s, service %.0f/s", measured.name, clients, median(engine).PerSecond, median(service).PerSecond)
	return nil
}

// median returns the sample in the middle by rate.
func median(list []sample) sample {
	if len(list) == 0 {
		return sample{}
	}
	slices.SortFunc(list, func(a, b sample) int { return int(a.PerSecond - b.PerSecond) })
	return list[len(list)/2]
}
