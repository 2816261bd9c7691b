package cell

import (
	"errors"
	"syscall"
)

// canSeeClosed is whether isOpen works.
const canSeeClosed = true

// isOpen reports whether the cell has kept the connection open, and sent nothing.
func (c *connection) isOpen() bool {
	socket, ok := c.Conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}

	isOpen := false
	err = raw.Read(func(fd uintptr) bool {
		var next [1]byte
		_, _, err := syscall.Recvfrom(int(fd), next[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		isOpen = errors.Is(err, syscall.EAGAIN)
		return true // do not wait for it
	})
	return err == nil && isOpen
}
