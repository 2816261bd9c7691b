package budget

import "sync"

// A busyCounter counts the pieces of work under way, and notifies when the
// first begins and the last ends.
type busyCounter struct {
	notify func(bool)

	mu    sync.Mutex
	count int
}

func (c *busyCounter) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.count++; c.count == 1 && c.notify != nil {
		c.notify(true)
	}
}

func (c *busyCounter) end() {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.count--; c.count == 0 && c.notify != nil {
		c.notify(false)
	}
}
