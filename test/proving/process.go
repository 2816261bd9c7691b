package proving

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A Process is a program that is started again whenever it ends, as a
// supervisor does. Command returns what is run; its output goes to the file Log.
type Process struct {
	Name, Addr string
	Metrics    string // address, of a copy of the service
	Spool      string // directory, of a copy of the service
	Log        string
	Command    func() *exec.Cmd
	Frozen     atomic.Bool // somebody has stopped it, and will continue it

	mu    sync.Mutex
	cmd   *exec.Cmd
	ended bool
	done  chan struct{}
}

// NewCopy returns a copy of the service with a name, which has its log and its
// disk in dir. The environment of env overrides where it listens.
func NewCopy(t *testing.T, name, dir string, env func() []string) *Process {
	t.Helper()
	p := &Process{
		Name:    name,
		Addr:    FreeAddr(t),
		Metrics: FreeAddr(t),
		Spool:   filepath.Join(dir, name+".spool"),
		Log:     filepath.Join(dir, name+".log"),
	}
	p.Command = func() *exec.Cmd {
		cmd := exec.Command(Binary(), "serve")
		cmd.Env = append(os.Environ(),
			"LISTEN="+p.Addr,
			"METRICS_LISTEN="+p.Metrics,
			"SPOOL_DIR="+p.Spool,
			"LOG_LEVEL=WARN")
		cmd.Env = append(cmd.Env, env()...)
		return cmd
	}
	return p
}

// Binary returns the program under test: that of WAYBILL, or the checkout's own.
func Binary() string {
	if given := os.Getenv("WAYBILL"); given != "" {
		return given
	}
	return "../../bin/waybill"
}

// FreeAddr returns a free address. Its port is below the ranges that clusters
// of tests listen in and that the kernel uses for outgoing connections: nobody
// takes it while its program is down.
func FreeAddr(t *testing.T) string {
	t.Helper()
	for range 100 {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 12000+rand.IntN(8000)))
		if err == nil {
			defer listener.Close()
			return listener.Addr().String()
		}
	}
	t.Fatal("there is no free port")
	return ""
}

// Start runs the program until End.
func (p *Process) Start(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}

	p.mu.Lock()
	p.ended = false
	p.done = make(chan struct{})
	p.mu.Unlock()

	go func() {
		defer log.Close()
		defer close(p.done)
		p.supervise(t, log)
	}()
}

func (p *Process) supervise(t *testing.T, log *os.File) {
	for {
		cmd := p.Command()
		cmd.Stdout = log
		cmd.Stderr = log

		// End must find either the program that it kills, or none that is
		// still to be started: both are decided under the lock.
		p.mu.Lock()
		if p.ended {
			p.mu.Unlock()
			return
		}
		err := cmd.Start()
		p.cmd = cmd
		p.mu.Unlock()
		if err != nil {
			t.Errorf("start %s: %v", p.Name, err)
			return
		}

		// A program that ends at once cannot run now, without a database for
		// example, and is not started in a tight loop.
		began := time.Now()
		_ = cmd.Wait()
		if time.Since(began) < time.Second {
			time.Sleep(200 * time.Millisecond)
		}
	}
}

// End kills the program for good, and shows its first internal errors, and the end of
// its log in a failed test.
func (p *Process) End(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	isRunning := p.done != nil
	p.ended = true
	p.mu.Unlock()

	if isRunning {
		p.Signal(syscall.SIGKILL)
		<-p.done
	}
	text, err := os.ReadFile(p.Log)
	if err != nil {
		return
	}
	for _, line := range firstLines(text, `"status":500`, 3) {
		t.Logf("%s answered with an internal error: %s", p.Name, line)
	}
	if t.Failed() {
		t.Logf("%s said last: %s", p.Name, text[max(0, len(text)-3000):])
	}
}

// firstLines are the first lines that contain a text, up to a number.
func firstLines(text []byte, part string, limit int) (list []string) {
	for line := range bytes.Lines(text) {
		if len(list) < limit && bytes.Contains(line, []byte(part)) {
			list = append(list, string(bytes.TrimSpace(line)))
		}
	}
	return list
}

// kill ends the program until it is started again.
func (p *Process) kill() {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()

	p.Signal(syscall.SIGKILL)
	<-p.done
}

// Stop ends the program as an operator does, and waits until it has ended. Start
// runs it again.
func (p *Process) Stop(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()

	p.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(Patiently(time.Minute)):
		t.Errorf("%s did not stop within %s", p.Name, Patiently(time.Minute))
	}
}

// Signal sends a signal to the program, and reports whether it runs now.
func (p *Process) Signal(signal syscall.Signal) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd != nil && p.cmd.Process != nil && p.cmd.Process.Signal(signal) == nil
}

// Kill ends the program without warning. One that is being started is waited
// for.
func (p *Process) Kill() {
	for !p.Signal(syscall.SIGKILL) {
		time.Sleep(10 * time.Millisecond)
	}
}

// PID returns the id of the process that runs now.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.Process.Pid
}

// Answers reports whether a GET of the path succeeds.
func (p *Process) Answers(path string) bool {
	response, err := (&http.Client{Timeout: 5 * time.Second}).Get("http://" + p.Addr + path)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// Patiently returns how long to wait for something that takes a given time on a
// quiet machine. Neighbours may take most of the machine, and a wait that is long
// enough for them costs time only in a run that fails.
func Patiently(onAQuietMachine time.Duration) time.Duration { return 8 * onAQuietMachine }

// Ready waits until the copies of the service are ready.
func Ready(t *testing.T, copies []*Process) {
	t.Helper()
	for _, p := range copies {
		Await(t, p.Name+" is ready", time.Minute, func() bool { return p.Answers("/readyz") })
	}
}

// Await waits until ok, and returns how long it took. The limit is that of a quiet
// machine; it is multiplied as Patiently does. A test that promises a time compares
// the result with it.
func Await(t *testing.T, what string, limit time.Duration, ok func() bool) time.Duration {
	t.Helper()
	limit = Patiently(limit)
	start := time.Now()
	for !ok() {
		if time.Since(start) > limit {
			t.Fatalf("%s: not within %s", what, limit)
		}
		time.Sleep(100 * time.Millisecond)
	}
	return time.Since(start)
}
