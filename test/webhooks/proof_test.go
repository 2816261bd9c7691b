//go:build chaos

package webhooks

import (
	"testing"

	"github.com/waybillhq/waybill/test/proving"
)

// report writes a test's figures down, in the full run. N is of deliveries that
// had to arrive.
func report(t *testing.T, change func(*proving.Proof), figures map[string]any) {
	t.Helper()
	proving.Report(t, "webhooks.json", change, figures)
}
