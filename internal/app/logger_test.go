package app_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

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
