//go:build !linux

package cell

// canSeeClosed is whether isOpen works. Without it, all requests take the way of
// http.Transport.
const canSeeClosed = false

func (c *connection) isOpen() bool { return false }
