//go:build !linux

package store

import (
	"syscall"
	"time"
)

// limitSilence does nothing: the system has no such limit, or another name for it.
func limitSilence(string, syscall.RawConn, time.Duration) error { return nil }
