//go:build linux || darwin

package cli

import (
	"os"
	"syscall"
	"unsafe"
)

// isAsked reports whether a person at a terminal can be asked through f.
func isAsked(f *os.File) bool {
	var state syscall.Termios
	return terminal(f, getTerminal, &state) == nil
}

// hideInput has the terminal not show what is typed, until restore.
func hideInput(f *os.File) (restore func(), err error) {
	var before syscall.Termios
	if err := terminal(f, getTerminal, &before); err != nil {
		return nil, err
	}
	hidden := before
	hidden.Lflag &^= syscall.ECHO
	hidden.Lflag |= syscall.ICANON | syscall.ISIG
	if err := terminal(f, setTerminal, &hidden); err != nil {
		return nil, err
	}
	return func() { _ = terminal(f, setTerminal, &before) }, nil
}

func terminal(f *os.File, what uintptr, state *syscall.Termios) error {
	if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), what, uintptr(unsafe.Pointer(state))); e != 0 {
		return e
	}
	return nil
}
