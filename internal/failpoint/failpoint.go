// Package failpoint lets a test end or stop the program at a named step. In
// use it costs one comparison: nothing is set. It knows no step itself.
package failpoint

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// Variable is the environment variable that sets a point: "name", or "name#3"
// for its third hit. What follows "!" is done instead of dying: "name!stop"
// stops the process until somebody continues it. "?file" does nothing but
// write the name of every point that is passed to the file, a line each.
const Variable = "WAYBILL_FAILPOINT"

var (
	name, at, stop = parse(os.Getenv(Variable))
	hits           atomic.Int64
)

func parse(s string) (name string, at int64, stop bool) {
	if strings.HasPrefix(s, "?") {
		return s, 0, false
	}
	name, how, _ := strings.Cut(s, "!")
	name, count, _ := strings.Cut(name, "#")
	at, err := strconv.ParseInt(count, 10, 64)
	if err != nil {
		at = 1
	}
	return name, at, how == "stop"
}

// Enabled reports whether any point is set.
func Enabled() bool { return name != "" }

// Around takes a step between two points, "before step" and "after step".
func Around(step string, do func() error) error {
	if name == "" {
		return do()
	}
	Hit("before " + step)
	defer Hit("after " + step)
	return do()
}

// Hit is passed at a step. If it is the one, the process is killed as if by
// somebody else: nothing is cleaned up.
func Hit(step string) {
	switch {
	case name == "":
		return
	case name[0] == '?':
		note(step)
		return
	case step != name || hits.Add(1) != at:
		return
	}
	signal := syscall.SIGKILL
	if stop {
		signal = syscall.SIGSTOP
	}
	_ = syscall.Kill(os.Getpid(), signal)
	if !stop {
		select {} // until the signal arrives
	}
}

// note writes a point down that is passed.
func note(step string) {
	f, err := os.OpenFile(name[1:], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	if _, err := f.WriteString(step + "\n"); err != nil {
		panic(err)
	}
	if err := f.Close(); err != nil {
		panic(err)
	}
}
