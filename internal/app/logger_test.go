package app_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/propagation"

	"github.com/waybillhq/waybill/internal/app"
	"github.com/waybillhq/waybill/internal/config"
)

// TestErrorsHaveOneNameInTheLog: the library of the job queue says "err".
func TestErrorsHaveOneNameInTheLog(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{"json": `"error":"gone"`, "text": "error=gone"} {
		var out bytes.Buffer
		log := app.NewLogger(config.Config{LogFormat: format}, &out)
		log.Error("job failed", "err", errors.New("gone"))
		if said := out.String(); !strings.Contains(said, want) {
			t.Errorf("%s: %s", format, said)
		}
	}
}

func TestLinesOfARequestNameItsTrace(t *testing.T) {
	t.Parallel()
	const trace = "0af7651916cd43dd8448eb211c80319c"
	header := propagation.MapCarrier{"traceparent": "00-" + trace + "-b7ad6b7169203331-01"}
	traced := propagation.TraceContext{}.Extract(t.Context(), header)

	for endpoint, isNamed := range map[string]bool{"http://collector:4318": true, "": false} {
		var out bytes.Buffer
		log := app.NewLogger(config.Config{TraceEndpoint: endpoint}, &out).With("copy", "a")
		log.InfoContext(traced, "request")
		log.InfoContext(t.Context(), "started")

		want := 0
		if isNamed {
			want = 1
		}
		if got := strings.Count(out.String(), `"trace":"`+trace+`"`); got != want {
			t.Errorf("with the collector %q, %d lines name the trace, want %d: %s", endpoint, got, want, out.String())
		}
	}
}
