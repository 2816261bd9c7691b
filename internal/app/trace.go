package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

// traces sends spans to a collector. Nil traces nothing and costs nothing.
type traces struct{ provider *trace.TracerProvider }

// newTraces returns nil without an endpoint.
func newTraces(ctx context.Context, endpoint string) (*traces, error) {
	if endpoint == "" {
		return nil, nil
	}

	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint+"/v1/traces"))
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	service := resource.NewSchemaless(
		attribute.String("service.name", "waybill"),
		attribute.String("service.version", Version()),
	)
	return &traces{trace.NewTracerProvider(
		trace.WithBatcher(scrubber{exporter}),
		trace.WithResource(service),
	)}, nil
}

// requests traces a handler.
func (t *traces) requests(next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return otelhttp.NewHandler(next, "request",
		otelhttp.WithTracerProvider(t.provider),
		otelhttp.WithMeterProvider(noop.NewMeterProvider()),
		otelhttp.WithPropagators(propagation.TraceContext{}),
		otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string { return r.Method + " " + resourceOf(r.URL.Path) }))
}

// resourceOf returns the part of a path before any id: "/v1/shipments".
func resourceOf(path string) string {
	parts := strings.SplitN(path, "/", 4)
	return strings.Join(parts[:min(len(parts), 3)], "/")
}

// queries traces statements, without their values.
func (t *traces) queries() pgx.QueryTracer {
	if t == nil {
		return nil
	}
	return otelpgx.NewTracer(otelpgx.WithTracerProvider(t.provider), otelpgx.WithMeterProvider(noop.NewMeterProvider()))
}

// close sends the spans that are left.
func (t *traces) close() {
	if t == nil {
		return
	}

	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // a collector that is gone must not hold us up
}

// scrubber removes what could identify a person from spans: where a request
// came from, its user agent, and the path, which may hold a tracking number.
type scrubber struct{ trace.SpanExporter }

var personal = []attribute.Key{"client.address", "network.peer.address", "network.peer.port", "user_agent.original", "url.path", "url.query"}

// ExportSpans passes the spans on, scrubbed.
func (s scrubber) ExportSpans(ctx context.Context, spans []trace.ReadOnlySpan) error {
	clean := make([]trace.ReadOnlySpan, len(spans))
	for i, span := range spans {
		clean[i] = scrubbed{span}
	}
	return s.SpanExporter.ExportSpans(ctx, clean)
}

type scrubbed struct{ trace.ReadOnlySpan }

// Attributes returns those that identify nobody.
func (s scrubbed) Attributes() []attribute.KeyValue {
	return slices.DeleteFunc(slices.Clone(s.ReadOnlySpan.Attributes()), func(a attribute.KeyValue) bool {
		return slices.Contains(personal, a.Key)
	})
}

// tracedLines adds the id of its trace to each line of a request in the log.
type tracedLines struct{ slog.Handler }

// Handle is slog.Handler.
func (h tracedLines) Handle(ctx context.Context, line slog.Record) error {
	if trace := traceOf(ctx); trace != "" {
		line.AddAttrs(slog.String("trace", trace))
	}
	return h.Handler.Handle(ctx, line)
}

// WithAttrs is slog.Handler.
func (h tracedLines) WithAttrs(attrs []slog.Attr) slog.Handler {
	return tracedLines{h.Handler.WithAttrs(attrs)}
}

// WithGroup is slog.Handler.
func (h tracedLines) WithGroup(name string) slog.Handler {
	return tracedLines{h.Handler.WithGroup(name)}
}

// traceOf returns the id of the trace that a request belongs to, as it is passed on in
// the header traceparent: version-trace-span-flags. It is empty outside of traces.
func traceOf(ctx context.Context) string {
	header := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, header)
	parts := strings.Split(header.Get("traceparent"), "-")
	if len(parts) != 4 {
		return ""
	}
	return parts[1]
}
