//go:build chaos

package tracking

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/test/proving"
)

// TestProveDue runs the proof of the query for parcels that are due, among ten
// million. The tests of the store have it with a hundred thousand.
func TestProveDue(t *testing.T) { elsewhere(t, "./internal/store", "TestProveTheDueQuery") }

// TestProveSchedule takes the figures over of thirty days of questions in
// virtual time, which is among the tests of tracking.
func TestProveSchedule(t *testing.T) {
	elsewhere(t, "./internal/tracking", "TestTheScheduleSeesChangesInTime")
}

// elsewhere runs a test of another package, with a cluster of its own, and takes
// over the figures that it logs. The gate runs those tests anyway.
func elsewhere(t *testing.T, pkg, name string) {
	t.Helper()
	if proving.Pick(t, true, false) {
		t.Skip("make test has it, smaller")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "test", pkg, "-run", "^"+name+"$", "-count=1", "-v", "-timeout", "1h")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "DATABASE_URL="+proving.NewCluster(t).URL)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	_, rest, found := strings.Cut(string(out), "figures: ")
	line, _, _ := strings.Cut(rest, "\n")
	figures := map[string]any{}
	if err := json.Unmarshal([]byte(line), &figures); !found || err != nil {
		t.Fatalf("%s tells no figures: %v\n%s", name, err, out)
	}
	report(t, nil, figures)
}
