//go:build chaos

package tracking

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a program that is started again whenever it ends, as a supervisor
// does.
type process struct {
	name    string
	addr    string
	metrics string // of a copy
	logName string
	command func() *exec.Cmd

	mu    sync.Mutex
	cmd   *exec.Cmd
	ended bool
	done  chan struct{}
}

// start runs the program until end.
func (p *process) start(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(p.logName, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	p.ended, p.done = false, make(chan struct{})
	p.mu.Unlock()
	go func() {
		defer log.Close()
		defer close(p.done)
		p.supervise(t, log)
	}()
}

func (p *process) supervise(t *testing.T, log *os.File) {
	for {
		cmd := p.command()
		cmd.Stdout, cmd.Stderr = log, log
		p.mu.Lock()
		if p.ended {
			p.mu.Unlock()
			return
		}
		err := cmd.Start()
		p.cmd = cmd
		p.mu.Unlock()
		if err != nil {
			t.Errorf("start %s: %v", p.name, err)
			return
		}
		began := time.Now()
		_ = cmd.Wait()
		if time.Since(began) < time.Second {
			time.Sleep(200 * time.Millisecond) // it cannot run now, without a database for example
		}
	}
}

// end kills the program for good.
func (p *process) end() {
	p.mu.Lock()
	running := p.done != nil
	p.ended = true
	p.mu.Unlock()
	if running {
		p.signal(syscall.SIGKILL)
		<-p.done
	}
}

// signal sends a signal to the program as it runs now.
func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil && p.cmd.Process != nil {
		_ = p.cmd.Process.Signal(s) // it may have just ended
	}
}
