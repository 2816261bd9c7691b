package proving

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A Cluster is a Postgres of a test's own, which may be killed.
type Cluster struct {
	URL     string // of its first database
	Data    string // directory
	Crashes atomic.Int64

	t   *testing.T
	env []string
}

// NewCluster starts a cluster that ends with the test. Settings are those of
// scripts/postgres.
func NewCluster(t *testing.T, settings ...string) *Cluster {
	t.Helper()
	c := &Cluster{
		t:   t,
		env: append(append(os.Environ(), "WAYBILL_PG_DIR="+t.TempDir(), "WAYBILL_PG_PORT="), settings...),
	}
	c.Do("start")
	t.Cleanup(func() { c.Do("destroy") })

	_, base, _ := strings.Cut(strings.TrimSpace(c.Do("status")), "data in ")
	c.Data = filepath.Join(base, "data")
	c.URL = strings.TrimSpace(c.Do("url"))

	// A cluster that is started again must listen where the programs look for
	// it, so the port that it chose is fixed from now on.
	address, err := url.Parse(c.URL)
	if err != nil {
		t.Fatal(err)
	}
	c.env = append(c.env, "WAYBILL_PG_PORT="+address.Port())
	return c
}

// Do runs scripts/postgres: start, stop, status.
func (c *Cluster) Do(args ...string) string {
	c.t.Helper()
	cmd := exec.Command("../../scripts/postgres", args...)
	cmd.Env = c.env
	return Output(c.t, cmd)
}

// Postmaster returns the process that the cluster's pid file names.
func (c *Cluster) Postmaster() (pid int, err error) {
	file, err := os.ReadFile(filepath.Join(c.Data, "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscan(string(file), &pid)
	return pid, err
}

// Crash kills the postmaster with all that it has in memory and starts it
// again; the data directory must be enough.
func (c *Cluster) Crash() {
	c.t.Helper()
	pid, err := c.Postmaster()
	if err != nil {
		c.t.Errorf("find the postmaster: %v", err)
		return
	}

	_ = syscall.Kill(pid, syscall.SIGKILL)
	c.Crashes.Add(1)

	// Postgres does not start while the old one still holds its shared memory,
	// which takes a moment.
	for !dead(pid) {
		time.Sleep(20 * time.Millisecond)
	}
	c.Do("start")
}

// dead reports whether a process is gone, or a zombie that nobody has waited
// for.
func dead(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err != nil || strings.Contains(string(status), "State:\tZ")
}

// Output runs a command that must succeed, and returns what it prints.
func Output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", cmd.Args, err, out, stderr.String())
	}
	return string(out)
}
