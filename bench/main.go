// Command bench measures the service beside bare Postgres, and beside the
// service of an earlier commit if it is given one. It prints a table and writes
// bench/latest.json.
//
// Bare Postgres is the anchor: statements and tables of its own in
// bench/anchor, which stay as they are when the product's change. All figures
// of one run share its machine and its noise: read the ratios.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// options are what a run measures.
type options struct {
	lasts      time.Duration
	repeats    int
	clients    []int
	before     string // binary of an earlier commit; empty for none
	months     int    // age of the database in partitions
	everything bool   // all roles, an emulated carrier and webhooks
	out        string
}

func main() {
	var o options
	seconds := flag.Int("seconds", 4, "duration of each measurement")
	clients := flag.String("clients", "1,8,32", "numbers of connections to measure with")
	flag.IntVar(&o.repeats, "repeats", 3, "repetitions of each measurement; the median counts")
	flag.StringVar(&o.before, "before", "", "binary of an earlier commit to measure in the same run")
	flag.IntVar(&o.months, "months", 0, "age of the database: that many months of partitions")
	flag.BoolVar(&o.everything, "everything", false, "run all roles, buy from the emulated UPS, deliver webhooks")
	flag.StringVar(&o.out, "out", "bench/latest.json", "file for the figures; empty for none")
	flag.Parse()

	o.lasts = time.Duration(*seconds) * time.Second
	for text := range strings.SplitSeq(*clients, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			log.Fatalf("-clients: %q is not a number of connections", text)
		}
		o.clients = append(o.clients, n)
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		log.Fatal(err)
	}
}

// A contender does the work that is measured: the anchor, or a service.
type contender struct {
	name string
	pid  int // of its process besides Postgres; 0 for none
	work map[string]work
	conn *pgx.Conn // to its database
}

// work is done by so many clients for so long.
type work func(ctx context.Context, clients int, lasts time.Duration) (sample, error)

// subjects are the kinds of work that are measured. A live creation takes the
// way of a carrier that costs money, which bare Postgres has no counterpart of.
var subjects = []string{"creation", "creation_live", "tracking"}

// A sample is one measurement.
type sample struct {
	PerSecond   float64 `json:"perSecond"`
	P50         float64 `json:"p50Ms"`
	P99         float64 `json:"p99Ms,omitempty"`
	PostgresCPU float64 `json:"postgresCpuUs"`
	ServiceCPU  float64 `json:"serviceCpuUs,omitempty"`
	WAL         float64 `json:"walBytes"`

	count int // operations
}

func run(ctx context.Context, o options) error {
	measured, err := openService(ctx, "service", "bin/waybill", o)
	if measured != nil {
		defer measured.close()
	}
	if err != nil {
		return err
	}
	anchor, err := openAnchor(ctx)
	if err != nil {
		return err
	}
	defer anchor.close()

	meter, err := newMeter(ctx, anchor.conn)
	if err != nil {
		return err
	}
	report := report{clients: o.clients, Work: map[string]*figures{}}
	if report.IdleCPU, err = meter.idle(ctx); err != nil {
		return err
	}

	contenders := []contender{anchor.contender(), measured.contender()}
	if o.before != "" {
		before, err := openService(ctx, "before", o.before, o)
		if before != nil {
			defer before.close()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", o.before, err)
		}
		contenders = append(contenders, before.contender())
	}

	for _, subject := range subjects {
		// Look-ups are for the shipments that were created, and change them:
		// their size is read before.
		if subject == "tracking" {
			if report.Work["creation"].Disk, err = measured.disk(ctx); err != nil {
				return err
			}
			for _, c := range contenders {
				if err := seedLookups(ctx, c.conn, c.work["creation"]); err != nil {
					return fmt.Errorf("seed look-ups of the %s: %w", c.name, err)
				}
			}
		}

		for _, n := range o.clients {
			samples := map[string][]sample{}
			for range o.repeats {
				for _, c := range contenders { // in turns, so that all meet the same noise
					do := c.work[subject]
					if do == nil {
						continue
					}
					got, err := meter.measure(ctx, c.pid, func() (sample, error) { return do(ctx, n, o.lasts) })
					if err != nil {
						return fmt.Errorf("%s by the %s with %d clients: %w", subject, c.name, n, err)
					}
					samples[c.name] = append(samples[c.name], got)
				}
			}
			report.add(subject, n, samples)
			log.Printf("%s, %d clients: %s", subject, n, report.line(subject, n))
		}
	}

	report.print(os.Stdout)
	if o.out == "" {
		return nil
	}
	data, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(o.out, append(data, '\n'), 0o644)
}

// median returns the sample in the middle by rate.
func median(list []sample) sample {
	if len(list) == 0 {
		return sample{}
	}
	slices.SortFunc(list, func(a, b sample) int { return cmp.Compare(a.PerSecond, b.PerSecond) })
	return list[len(list)/2]
}
