package store

import (
	"strings"
	"syscall"
	"time"
)

// tcpUserTimeout is TCP_USER_TIMEOUT, which package syscall does not name.
const tcpUserTimeout = 0x12

// limitSilence ends the connection if what was sent is not acknowledged in time. Keep
// alives do not: they are sent only while nothing waits to be acknowledged.
func limitSilence(network string, conn syscall.RawConn, limit time.Duration) (err error) {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	controlled := conn.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(limit.Milliseconds()))
	})
	if controlled != nil {
		return controlled
	}
	return err
}
