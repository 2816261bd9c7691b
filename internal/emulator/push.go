package emulator

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// How emulators push to a webhook. The real carriers try again after minutes,
// or do not say when.
const (
	pushEvery    = 20 * time.Millisecond // how often parcels are checked
	pushTimeout  = 5 * time.Second
	pushAgain    = 500 * time.Millisecond
	pushAttempts = 4
	pushSenders  = 8
	pushQueue    = 1024
)

// MaxPushed is how many parcels an emulator pushes for at once. Those beyond
// are not pushed.
const MaxPushed = 200_000

// Push sends a JSON body to a webhook, and returns the status of the response.
func (s *Server) Push(ctx context.Context, to string, header map[string]string, body []byte) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		request.Header.Set(name, value)
	}

	response, err := s.pushes.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<16)) // so that the connection can be reused
	return response.StatusCode, nil
}

// A Webhook pushes what happens to parcels to one address, at least once and in
// no particular order, until the ledger is closed. The carrier's emulator
// decides what is due and how it is formatted.
type Webhook struct {
	// Mutex guards the address, and what the emulator knows about the parcels
	// that it pushes for.
	sync.Mutex
	URL    string // empty: nothing is pushed
	Secret string // proves to the receiver that a push comes from the carrier

	server  *Server
	look    func(now time.Time)
	accepts func(status int) bool
	queue   chan delivery
	running bool
	pushed  int
	failed  int
}

// A delivery is a push on its way to the address that the webhook had when it
// was due.
type delivery struct {
	url    string
	render Render
}

// Render returns a push as it is sent in an attempt, which is counted from 1.
type Render func(attempt int) (header map[string]string, body []byte)

// NewWebhook returns a webhook without an address. Once it has one, it calls
// look repeatedly, with the lock held, to enqueue what is due. accepts reports
// whether a response with that status accepts a push.
func NewWebhook(s *Server, look func(now time.Time), accepts func(status int) bool) *Webhook {
	return &Webhook{
		server:  s,
		look:    look,
		accepts: accepts,
		queue:   make(chan delivery, pushQueue),
	}
}

// Direct sets the address to push to; an empty one stops pushing. It reports
// whether the address and the secret can be used. The caller holds the lock.
func (h *Webhook) Direct(to, secret string) bool {
	address, err := url.Parse(to)
	if err != nil || to != "" && (address.Host == "" || secret == "") {
		return false
	}

	h.URL = to
	h.Secret = secret
	if to != "" && !h.running {
		h.running = true
		h.start()
	}
	return true
}

// Counts returns how many pushes wait, arrived and failed. The caller holds the
// lock.
func (h *Webhook) Counts() (waiting, pushed, failed int) {
	return len(h.queue), h.pushed, h.failed
}

// HasRoom reports whether n more pushes can be enqueued. Only look fills the
// queue, so the room stays until it returns.
func (h *Webhook) HasRoom(n int) bool { return cap(h.queue)-len(h.queue) >= n }

// Enqueue queues a push; there must be room for it. The caller holds the lock.
func (h *Webhook) Enqueue(render Render) { h.queue <- delivery{h.URL, render} }

// start runs the webhook until the ledger is closed.
func (h *Webhook) start() {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		<-h.server.Ledger.Done()
		stop()
	}()

	for range pushSenders {
		go h.send(ctx)
	}
	go h.watch(ctx)
}

// watch looks for what is due.
func (h *Webhook) watch(ctx context.Context) {
	tick := time.NewTicker(pushEvery)
	defer tick.Stop()

	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			h.Lock()
			h.look(now)
			h.Unlock()
		}
	}
}

// send sends what is in the queue.
func (h *Webhook) send(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case due := <-h.queue:
			arrived := h.deliver(ctx, due)
			h.Lock()
			if arrived {
				h.pushed++
			} else {
				h.failed++
			}
			h.Unlock()
		}
	}
}

// deliver tries until a push is accepted, and gives up after some attempts.
func (h *Webhook) deliver(ctx context.Context, due delivery) bool {
	for attempt := 1; attempt <= pushAttempts; attempt++ {
		header, body := due.render(attempt)
		status, err := h.server.Push(ctx, due.url, header, body)
		if err == nil && h.accepts(status) {
			return true
		}

		select {
		case <-ctx.Done():
			return false
		case <-time.After(pushAgain):
		}
	}
	return false
}
