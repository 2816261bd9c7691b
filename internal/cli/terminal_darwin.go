package cli

import "syscall"

const (
	getTerminal = syscall.TIOCGETA
	setTerminal = syscall.TIOCSETA
)
