package ups

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// How the stand-in pushes. UPS does not say how often it tries again.
const (
	pushEvery    = 25 * time.Millisecond // how often parcels are looked at
	pushTimeout  = 5 * time.Second
	pushAgain    = 500 * time.Millisecond
	pushAttempts = 4
	pushSenders  = 8
	pushQueue    = 1024
	mostParcels  = 200_000             // those beyond are not pushed
	pushedFor    = 14 * 24 * time.Hour // after a subscription
)

// webhook pushes what happens to the parcels that it follows, at least once and
// in no order, until the ledger is closed.
type webhook struct {
	stand *server
	queue chan push

	mu              sync.Mutex
	url, credential string
	all             bool // parcels are followed from their sale on
	running         bool
	open            map[string]*followed // by number
	script          []emulator.Scan      // that they were last looked at by
	pushed, failed  int
}

// followed is a parcel whose way is not over.
type followed struct {
	sale  emulator.Entry
	due   time.Time // nothing happens before
	since time.Time // what happened until then is not told, or was
	until time.Time
	void  time.Time // zero: it is not
}

// push is one scan on its way.
type push struct {
	url, credential string
	body            []byte
}

func newWebhook(s *server) *webhook {
	return &webhook{stand: s, queue: make(chan push, pushQueue), open: map[string]*followed{}}
}

// set is what UPS's portal does: it begins to push to an address, or ends it.
func (h *webhook) set(w http.ResponseWriter, r *http.Request) {
	var to struct{ URL, Credential string }
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&to)
	address, bad := url.Parse(to.URL)
	switch {
	case h.stand.Send == nil:
		http.Error(w, "nothing sends for this stand-in", http.StatusNotImplemented)
		return
	case err != nil || bad != nil || to.URL != "" && (address.Host == "" || to.Credential == ""):
		http.Error(w, "the address and the credential are needed", http.StatusUnprocessableEntity)
		return
	}

	h.mu.Lock()
	defer h.mu.Unlock()
	h.url = to.URL
	h.credential = to.Credential
	if h.url != "" && !h.running {
		h.running = true
		h.start()
	}
	w.WriteHeader(http.StatusNoContent)
}

func (h *webhook) show(w http.ResponseWriter, _ *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	answer(w, http.StatusOK, encode(map[string]any{
		"url": h.url, "parcels": len(h.open), "waiting": len(h.queue), "pushed": h.pushed, "failed": h.failed,
	}))
}

// follow has a parcel pushed from now on.
func (h *webhook) follow(sold emulator.Entry, number string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(sold, number, time.Now())
}

func (h *webhook) add(sold emulator.Entry, number string, since time.Time) {
	if parcel := h.open[number]; parcel != nil {
		parcel.until = since.Add(pushedFor)
	} else if len(h.open) < mostParcels {
		h.open[number] = &followed{sale: sold, since: since, until: since.Add(pushedFor)}
	}
}

// followAll has all that is sold from now on pushed.
func (h *webhook) followAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = true
}

// sold has a sale pushed, if all are.
func (h *webhook) sold(entry emulator.Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all {
		for _, number := range pieces(entry) {
			h.add(entry, number, entry.At.Add(-time.Nanosecond))
		}
	}
}

// voided has the end of a sale pushed.
func (h *webhook) voided(entry emulator.Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, number := range pieces(entry) {
		if parcel := h.open[number]; parcel != nil && parcel.void.IsZero() {
			parcel.void = time.Now()
			parcel.due = time.Time{}
		}
	}
}

// start runs the webhook until the ledger is closed.
func (h *webhook) start() {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		<-h.stand.Ledger.Done()
		stop()
	}()

	for range pushSenders {
		go h.deliver(ctx)
	}

	go func() {
		tick := time.NewTicker(pushEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				h.look(now)
			}
		}
	}()
}

// look puts into the queue what happened since it looked last, as far as there
// is room.
func (h *webhook) look(now time.Time) {
	script := h.stand.Faults().Tracking
	h.mu.Lock()
	defer h.mu.Unlock()

	// Under a new script every parcel may have something to push now.
	isNew := !slices.Equal(script, h.script)
	h.script = script
	for _, parcel := range h.open {
		if isNew {
			parcel.due = time.Time{}
		}
	}

	for number, parcel := range h.open {
		if now.Before(parcel.due) {
			continue
		}
		if !h.enqueue(number, parcel, now) {
			return
		}
		if parcel.due.IsZero() || now.After(parcel.until) {
			delete(h.open, number)
		}
	}
}

// enqueue puts the new steps of one parcel into the queue, all or none, and
// finds when there are more: never, if it is the zero time. It reports whether
// there was room.
func (h *webhook) enqueue(number string, parcel *followed, now time.Time) bool {
	plan := h.stand.plan(parcel.sale)
	if !parcel.void.IsZero() {
		plan = []step{voiding(parcel.sale, parcel.void)}
	}

	var due []step
	var next time.Time
	for _, planned := range plan {
		switch {
		case !planned.at.After(parcel.since):
		case !planned.at.After(now):
			due = append(due, planned)
		case next.IsZero() || planned.at.Before(next):
			next = planned.at
		}
	}

	if h.url != "" && cap(h.queue)-len(h.queue) < len(due) {
		return false
	}
	for _, happened := range due {
		if h.url != "" {
			h.queue <- push{h.url, h.credential, alertOf(parcel.sale, number, happened)} // only look fills the queue, so there is room
		}
	}
	parcel.since = now
	parcel.due = next
	return true
}

// deliver sends what is in the queue.
func (h *webhook) deliver(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case due := <-h.queue:
			ok := h.try(ctx, due)
			h.mu.Lock()
			if ok {
				h.pushed++
			} else {
				h.failed++
			}
			h.mu.Unlock()
		}
	}
}

func (h *webhook) try(ctx context.Context, due push) bool {
	for range pushAttempts {
		if h.post(ctx, due) {
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

// post sends a push once, with the credential that the webhook was given.
func (h *webhook) post(ctx context.Context, due push) bool {
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, due.url, bytes.NewReader(due.body))
	if err != nil {
		return false
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "UPSPubSubTrackingService")
	request.Header.Set("Credential", due.credential)
	response, err := h.stand.Send(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<16))
	return response.StatusCode == http.StatusOK
}
