package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// A report is all figures of a run.
type report struct {
	clients []int

	IdleCPU float64             `json:"idlePostgresCpuMsPerSecond"`
	Work    map[string]*figures `json:"work"`
}

// figures are those of one kind of work, by the number of clients.
type figures struct {
	Disk    map[string]float64 `json:"diskBytes,omitempty"` // a shipment, by table
	Ratio   map[string]float64 `json:"ratio,omitempty"`     // service over engine
	Gain    map[string]float64 `json:"gain,omitempty"`      // service over that of the earlier commit
	Engine  map[string]sample  `json:"engine,omitempty"`
	Service map[string]sample  `json:"service"`
	Before  map[string]sample  `json:"before,omitempty"`
}

// add keeps the medians of the samples, which are by contender.
func (r *report) add(work string, clients int, samples map[string][]sample) {
	f := r.Work[work]
	if f == nil {
		f = &figures{
			Ratio:   map[string]float64{},
			Gain:    map[string]float64{},
			Engine:  map[string]sample{},
			Service: map[string]sample{},
			Before:  map[string]sample{},
		}
		r.Work[work] = f
	}

	n := strconv.Itoa(clients)
	f.Service[n] = median(samples["service"])
	if engine := samples["engine"]; len(engine) > 0 {
		f.Engine[n] = median(engine)
		f.Ratio[n] = round(f.Service[n].PerSecond / f.Engine[n].PerSecond)
	}
	if before := samples["before"]; len(before) > 0 {
		f.Before[n] = median(before)
		f.Gain[n] = round(f.Service[n].PerSecond / f.Before[n].PerSecond)
	}
}

// line tells the rates of one kind of work.
func (r *report) line(work string, clients int) string {
	f := r.Work[work]
	n := strconv.Itoa(clients)
	var parts []string
	for _, one := range []struct {
		name string
		by   map[string]sample
	}{{"engine", f.Engine}, {"before", f.Before}, {"service", f.Service}} {
		if got, ok := one.by[n]; ok {
			parts = append(parts, fmt.Sprintf("%s %.0f/s", one.name, got.PerSecond))
		}
	}
	return strings.Join(parts, ", ")
}

func round(value float64) float64 {
	value, _ = strconv.ParseFloat(strconv.FormatFloat(value, 'f', 3, 64), 64)
	return value
}

func (r *report) print(w io.Writer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "work\tclients\tby\trate/s\tof engine\tof before\tp50 ms\tp99 ms\tPostgres us\tservice us\tWAL bytes\t")
	for _, subject := range subjects {
		f := r.Work[subject]
		if f == nil {
			continue
		}
		for _, clients := range r.clients {
			n := strconv.Itoa(clients)

			row := func(by string, got sample, ofEngine, ofBefore string) {
				fmt.Fprintf(table, "%s\t%s\t%s\t%.0f\t%s\t%s\t%.2f\t%.2f\t%.0f\t%.0f\t%.0f\t\n",
					subject, n, by, got.PerSecond, ofEngine, ofBefore, got.P50, got.P99, got.PostgresCPU, got.ServiceCPU, got.WAL)
			}

			if got, ok := f.Engine[n]; ok {
				row("engine", got, "", "")
			}
			if got, ok := f.Before[n]; ok {
				row("before", got, "", "")
			}
			row("service", f.Service[n], ratio(f.Ratio, n), ratio(f.Gain, n))
		}
	}
	_ = table.Flush()
	fmt.Fprintf(w, "Postgres while the service is idle: %.0f ms of CPU a second\n", r.IdleCPU)
}

// ratio shows a ratio if there is one.
func ratio(by map[string]float64, clients string) string {
	value, ok := by[clients]
	if !ok {
		return ""
	}
	return strconv.FormatFloat(value, 'f', 2, 64)
}
