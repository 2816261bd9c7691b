//go:build chaos

package tracking

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/test/proving"
)

// sized is n, or what PROVE_PARCELS says: for a machine that has less time.
func sized(n int) int {
	if given, err := strconv.Atoi(os.Getenv("PROVE_PARCELS")); err == nil {
		return given
	}
	return n
}

// report writes a test's figures down, in the full run. N is of scans that were
// pushed, repeats included.
func report(t *testing.T, change func(*proving.Proof), figures map[string]any) {
	t.Helper()
	figures["load"] = load()
	proving.Report(t, "tracking.json", change, figures)
}

// load is how many processes want to run, of the last minute.
func load() float64 {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	n, _ := strconv.ParseFloat(first, 64)
	return n
}
