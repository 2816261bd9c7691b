//go:build linux || darwin

package cli

import (
	"os"
	"syscall"
	"unsafe"
)

// isInteractive reports whether a person at a terminal can be asked through the
// file.
func isInteractive(file *os.File) bool {
	var state syscall.Termios
	return controlTerminal(file, getTerminal, &state) == nil
}

// hideInput stops the terminal from showing what is typed, until restore.
func hideInput(file *os.File) (restore func(), err error) {
	var before syscall.Termios
	if err := controlTerminal(file, getTerminal, &before); err != nil {
		return nil, err
	}

	// Lines and Ctrl-C must work as usual, whatever mode the terminal was in.
	hidden := before
	hidden.Lflag &^= syscall.ECHO
	hidden.Lflag |= syscall.ICANON | syscall.ISIG
	if err := controlTerminal(file, setTerminal, &hidden); err != nil {
		return nil, err
	}
	return func() { _ = controlTerminal(file, setTerminal, &before) }, nil
}

func controlTerminal(file *os.File, request uintptr, state *syscall.Termios) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, file.Fd(), request, uintptr(unsafe.Pointer(state))); errno != 0 {
		return errno
	}
	return nil
}
