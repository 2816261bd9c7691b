//go:build chaos

package crash

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/waybillhq/waybill/internal/failpoint"
	"github.com/waybillhq/waybill/test/proving"
)

// process is a copy of the program.
type process struct {
	name  string
	cmd   *exec.Cmd
	addr  string // empty if it died before it listened
	ended chan struct{}

	mu  sync.Mutex
	log []string
}

// start runs a copy with a disk of its name until it is killed or passes the
// point. It returns when the copy answers or has died.
func (b *bench) start(name, point string) *process {
	p := &process{name: name, ended: make(chan struct{})}
	p.cmd = exec.Command(proving.Binary(), "serve")
	p.cmd.Env = append(os.Environ(), append(b.settings(), "DATABASE_URL="+b.database, "SECRET_KEY="+secretKey, "SPOOL_DIR="+b.spool(name), "LISTEN=127.0.0.1:0", "METRICS_LISTEN=off",
		"BASE_URL=https://waybill.test", "SANDBOX_STEP=0", "DATABASE_CONNECTIONS=4", "CARRIER_URLS="+b.urls, failpoint.Variable+"="+point)...)
	switch {
	case b.scenario.review:
		p.cmd.Env = append(p.cmd.Env, "REVIEW_AFTER=1s")
	case b.mayReview():
		p.cmd.Env = append(p.cmd.Env, "REVIEW_AFTER="+b.compressed(24*time.Hour).String())
	}
	if b.scenario.approval == "expired" {
		p.cmd.Env = append(p.cmd.Env, "APPROVAL_EXPIRES_AFTER=1s")
	}
	out, err := p.cmd.StderrPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		b.complain("start %s: %v", name, err)
		close(p.ended)
		return p
	}
	b.running = append(b.running, p)
	listens := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			p.hear(lines.Text(), listens)
		}
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	select {
	case p.addr = <-listens:
	case <-p.ended:
	case <-b.stopped(p):
	case <-time.After(proving.Patiently(30 * time.Second)):
		b.complain("%s does not start", name)
	}
	return p
}

// stopped tells of a copy that stops before it answers.
func (b *bench) stopped(p *process) <-chan struct{} {
	if b.recovery != paused {
		return nil
	}
	notified := make(chan struct{})
	go func() {
		if p.goesWithin(proving.Patiently(30 * time.Second)) {
			close(notified)
		}
	}()
	return notified
}

// hear keeps a line of the log, and notices the one that tells the address.
func (p *process) hear(line string, listens chan<- string) {
	if strings.Contains(line, `"method":"GET"`) {
		return // the client waits
	}
	p.mu.Lock()
	p.log = append(p.log, line)
	p.mu.Unlock()
	var said struct{ Msg, Listen string }
	if strings.Contains(line, `"started"`) && json.Unmarshal([]byte(line), &said) == nil && said.Msg == "started" {
		listens <- said.Listen
	}
}

// gone reports whether the copy is dead or stopped.
func (p *process) gone() bool {
	select {
	case <-p.ended:
		return true
	default:
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	_, state, _ := strings.Cut(string(status), ") ")
	return err == nil && strings.HasPrefix(state, "T")
}

// goesWithin waits a little for the copy to die or stop.
func (p *process) goesWithin(d time.Duration) bool {
	for deadline := time.Now().Add(d); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if p.gone() {
			return true
		}
	}
	return p.gone()
}

// wake has a stopped copy go on.
func (p *process) wake() { _ = p.cmd.Process.Signal(syscall.SIGCONT) }

func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL) // it may be dead
	<-p.ended
}

// said is what the copy logged.
func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("-- %s said:\n%s", p.name, strings.Join(p.log, "\n"))
}

func (b *bench) spool(name string) string { return filepath.Join(b.dir, name) }

// spooled counts what lies on the disk of a copy.
func (b *bench) spooled(name string) int {
	files, err := filepath.Glob(filepath.Join(b.spool(name), "*.sealed"))
	if err != nil {
		b.complain("%v", err)
	}
	return len(files)
}
