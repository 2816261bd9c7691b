package cli_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/store/storetest"
)

// TestAHangupStopsTheServiceAsOtherSignalsDo closes the terminal of a service: it
// finishes what is under way and ends without an error.
func TestAHangupStopsTheServiceAsOtherSignalsDo(t *testing.T) {
	t.Parallel()
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("SIGHUP is ignored here, as under nohup, and programs inherit that")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "serve")
	cmd.Env = append(os.Environ(), asProgram+"=1", "DATABASE_URL="+storetest.URL(t), "LISTEN=127.0.0.1:0", "METRICS_LISTEN=off", "SPOOL_DIR="+t.TempDir())
	cmd.WaitDelay = 30 * time.Second
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	var log strings.Builder
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		log.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), `"msg":"started"`) {
			if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGHUP: %v\n%s", err, log.String())
	}

	// The link to create the owner is a secret, and this is a log.
	if strings.Contains(log.String(), "setup?token=") {
		t.Error("the log has the link that creates the owner")
	}
}
