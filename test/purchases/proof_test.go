//go:build chaos

package purchases

import (
	"testing"

	"github.com/waybillhq/waybill/test/proving"
)

// report writes a test's figures down, in the full run. N is of purchases.
func report(t *testing.T, change func(*proving.Proof), figures map[string]any) {
	t.Helper()
	proving.Report(t, "purchase.json", change, figures)
}
