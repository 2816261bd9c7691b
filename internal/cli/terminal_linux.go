package cli

import "syscall"

const (
	getTerminal = syscall.TCGETS
	setTerminal = syscall.TCSETS
)
