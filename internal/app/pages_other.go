//go:build !linux

package app

// releaseProgram does nothing here: see pages_linux.go.
func releaseProgram() {}
