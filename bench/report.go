package main

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
)

// report is all figures: subject, then what, then the number of clients.
type report map[string]*figures

type figures struct {
	Disk    map[string]float64 `json:"diskBytes,omitempty"` // a shipment, by table
	Ratio   map[string]float64 `json:"ratio,omitempty"`     // service over engine
	Engine  map[string]sample  `json:"engine,omitempty"`
	Service map[string]sample  `json:"service"`
}

func newReport() *report { return &report{} }

func (r report) add(name string, clients int, engine, service sample) {
	f := r[name]
	if f == nil {
		f = &figures{Ratio: map[string]float64{}, Engine: map[string]sample{}, Service: map[string]sample{}}
		r[name] = f
	}
	n := strconv.Itoa(clients)
	f.Service[n] = service
	if engine.PerSecond > 0 {
		f.Engine[n] = engine
		f.Ratio[n] = round(service.PerSecond / engine.PerSecond)
	}
}

func round(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'f', 3, 64), 64)
	return v
}

func (r report) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "work\tclients\tengine/s\tservice/s\tratio\tp50 ms\tp99 ms\tPostgres us (engine)\tPostgres us\tservice us\tWAL bytes\t")
	for _, name := range []string{"creation", "creation_live", "tracking"} {
		f := r[name]
		if f == nil {
			continue
		}
		for _, c := range clients {
			n := strconv.Itoa(c)
			e, s := f.Engine[n], f.Service[n]
			fmt.Fprintf(t, "%s\t%s\t%.0f\t%.0f\t%.2f\t%.2f\t%.2f\t%.0f\t%.0f\t%.0f\t%.0f\t\n",
				name, n, e.PerSecond, s.PerSecond, f.Ratio[n], s.P50, s.P99, e.PostgresCPU, s.PostgresCPU, s.ServiceCPU, s.WAL)
		}
	}
	_ = t.Flush()
}
