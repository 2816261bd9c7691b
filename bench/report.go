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
	if r[name] == nil {
		r[name] = &figures{Ratio: map[string]float64{}, Engine: map[string]sample{}, Service: map[string]sample{}}
	}

	n := strconv.Itoa(clients)
	r[name].Service[n] = service
	if engine.PerSecond > 0 {
		r[name].Engine[n] = engine
		r[name].Ratio[n] = round(service.PerSecond / engine.PerSecond)
	}
}

func round(value float64) float64 {
	value, _ = strconv.ParseFloat(strconv.FormatFloat(value, 'f', 3, 64), 64)
	return value
}

func (r report) print(w io.Writer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "work\tclients\tengine/s\tservice/s\tratio\tp50 ms\tp99 ms\tPostgres us (engine)\tPostgres us\tservice us\tWAL bytes\t")
	for _, name := range []string{"creation", "creation_live", "tracking"} {
		measured := r[name]
		if measured == nil {
			continue
		}

		for _, count := range clients {
			n := strconv.Itoa(count)
			engine := measured.Engine[n]
			service := measured.Service[n]
			fmt.Fprintf(table, "%s\t%s\t%.0f\t%.0f\t%.2f\t%.2f\t%.2f\t%.0f\t%.0f\t%.0f\t%.0f\t\n",
				name, n, engine.PerSecond, service.PerSecond, measured.Ratio[n], service.P50, service.P99,
				engine.PostgresCPU, service.PostgresCPU, service.ServiceCPU, service.WAL)
		}
	}
	_ = table.Flush()
}
