//go:build linux

package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/waybillhq/waybill/internal/cli"
)

// newTerminal returns both ends of a terminal: the person's and the program's.
func newTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = person.Close() })
	var number, lock uint32
	for what, value := range map[uintptr]*uint32{syscall.TIOCSPTLCK: &lock, syscall.TIOCGPTN: &number} {
		if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, person.Fd(), what, uintptr(unsafe.Pointer(value))); e != 0 {
			t.Skip(e)
		}
	}
	if program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return person, program
}

// screen returns what the program has printed so far.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) waitFor(t *testing.T, text string) {
	t.Helper()
	for range 1000 {
		s.mu.Lock()
		found := strings.Contains(s.text.String(), text)
		s.mu.Unlock()
		if found {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("it does not ask %q:\n%s", text, s.text.String())
}

func echoes(t *testing.T, f *os.File) bool {
	t.Helper()
	var state syscall.Termios
	if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TCGETS, uintptr(unsafe.Pointer(&state))); e != 0 {
		t.Fatal(e)
	}
	return state.Lflag&syscall.ECHO != 0
}

func TestSecretsAreAskedForWithoutShowingThem(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	c.must(t, "account", "create", "--name", "Acme shop")
	person, program := newTerminal(t)
	var said screen
	var out bytes.Buffer
	done := make(chan error, 1)
	go func() {
		done <- cli.Run(t.Context(), []string{"connection", "add", "--carrier", "acme"}, cli.Streams{Env: c.lookup, In: program, Out: &out, Err: &said, Carriers: c.specs})
	}()
	answer := func(prompt, text string, shown bool) {
		t.Helper()
		said.waitFor(t, prompt)
		for range 200 { // the prompt comes before the terminal is asked
			if echoes(t, program) == shown {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		if echoes(t, program) != shown {
			t.Errorf("%s: what is typed is shown: %t", prompt, !shown)
		}
		if _, err := person.WriteString(text + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	answer("Account number (required): ", "A1", true)
	answer("Client secret (required, secret): ", secret, false)
	answer("Hub (optional): ", "", true)
	if err := <-done; err != nil || !strings.HasPrefix(out.String(), "con_") {
		t.Fatalf("%v: %s", err, out.String())
	}
	if !echoes(t, program) {
		t.Error("the terminal is left without echo")
	}
	c.must(t, "connection", "check", strings.TrimSpace(out.String()))
	if strings.Contains(said.text.String(), secret) {
		t.Errorf("the secret is shown: %s", said.text.String())
	}
}
