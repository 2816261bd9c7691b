package fedex

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// How FedEx pushes, only faster: the real one tries again after five minutes.
const (
	pushEvery    = 20 * time.Millisecond // how often parcels are looked at
	pushTimeout  = 5 * time.Second
	pushAgain    = 500 * time.Millisecond
	pushAttempts = 4
	pushSenders  = 8
	pushQueue    = 1024
	mostParcels  = 200_000 // those beyond are not pushed
	mostSteps    = 62      // of a script
)

// webhook pushes what becomes of parcels to one address, at least once and in
// no order, until the ledger is closed.
type webhook struct {
	stand *fedex
	queue chan push

	mu             sync.Mutex
	url, token     string
	running        bool
	open           map[int]*followed // by line of the ledger
	pushed, failed int
}

// followed is a parcel whose way is not over.
type followed struct {
	sale      emulator.Entry
	told      uint64 // steps of the script that were pushed, a bit each
	cancelled bool
}

// push is one scan of one piece, on its way.
type push struct {
	url, token string
	sale       emulator.Entry
	piece      int
	scan       emulator.Scan
}

func newWebhook(f *fedex) *webhook {
	return &webhook{stand: f, queue: make(chan push, pushQueue), open: map[int]*followed{}}
}

// set begins to push to an address, what happened before too, or ends it.
func (h *webhook) set(w http.ResponseWriter, r *http.Request) {
	var to struct{ URL, Token string }
	err := json.NewDecoder(r.Body).Decode(&to)
	address, bad := url.Parse(to.URL)
	switch {
	case h.stand.Send == nil:
		http.Error(w, "nothing sends for this stand-in", http.StatusNotImplemented)
		return
	case err != nil || bad != nil || to.URL != "" && (address.Host == "" || to.Token == ""):
		http.Error(w, "the address and the token that signs are needed", http.StatusUnprocessableEntity)
		return
	}
	sales := h.stand.Ledger.Entries()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.url, h.token = to.URL, to.Token
	clear(h.open)
	for _, e := range sales {
		switch e.Kind {
		case "sold":
			h.add(e)
		case "voided":
			h.cancel(e.Number)
		}
	}
	if h.url != "" && !h.running {
		h.running = true
		h.start()
	}
	w.WriteHeader(http.StatusNoContent)
}

func (h *webhook) show(w http.ResponseWriter, _ *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	send(w, http.StatusOK, object{"url": h.url, "parcels": len(h.open), "waiting": len(h.queue), "pushed": h.pushed, "failed": h.failed})
}

// follow has a sale pushed.
func (h *webhook) follow(e emulator.Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(e)
}

func (h *webhook) add(e emulator.Entry) {
	if h.url != "" && len(h.open) < mostParcels {
		h.open[e.Line] = &followed{sale: e}
	}
}

// cancelled has the end of a sale pushed.
func (h *webhook) cancelled(e emulator.Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cancel(e.Number)
}

func (h *webhook) cancel(number string) {
	for _, p := range h.open {
		if p.sale.Number == number {
			p.cancelled = true
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
			case <-tick.C:
				h.look()
			}
		}
	}()
}

// look puts into the queue what happened since it looked last, as far as there
// is room.
func (h *webhook) look() {
	script := h.stand.script()
	script = script[:min(len(script), mostSteps)]
	h.mu.Lock()
	defer h.mu.Unlock()
	for line, p := range h.open {
		age := time.Since(p.sale.At)
		for i, s := range script {
			if bit := uint64(1) << i; p.told&bit == 0 && age >= time.Duration(s.After) {
				if !h.enqueue(p.sale, s) {
					return
				}
				p.told |= bit
			}
		}
		over := p.told == 1<<len(script)-1
		if p.cancelled {
			if !h.enqueue(p.sale, cancellation) {
				return
			}
			over = true
		}
		if over {
			delete(h.open, line)
		}
	}
}

// enqueue puts a scan of every piece into the queue, if all of them fit.
func (h *webhook) enqueue(e emulator.Entry, s emulator.Scan) bool {
	if cap(h.queue)-len(h.queue) < len(e.Pieces) {
		return false
	}
	for i := range e.Pieces {
		h.queue <- push{h.url, h.token, e, i, s} // look alone fills the queue: it has room
	}
	return true
}

// deliver sends what is in the queue.
func (h *webhook) deliver(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case p := <-h.queue:
			ok := h.try(ctx, p)
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

func (h *webhook) try(ctx context.Context, p push) bool {
	for attempt := 1; attempt <= pushAttempts; attempt++ {
		if h.post(ctx, p, attempt) {
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

// post sends a push once, signed; 200 and 202 take it.
func (h *webhook) post(ctx context.Context, p push, attempt int) bool {
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	body := marshal(object{
		"transactionId":  transaction,
		"outputMetaData": object{"attemptNumber": attempt, "attemptTime": time.Now().UTC().Format(time.RFC3339)},
		"output": object{"completeTrackResults": []object{{
			"trackingNumber": p.sale.Pieces[p.piece], "trackResults": []object{story(p.sale, p.piece, []emulator.Scan{p.scan}, true)},
		}}},
	})
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return false
	}
	mac := hmac.New(sha256.New, []byte(p.token))
	_, _ = mac.Write(body) // never fails
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Fdx-Signature", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	resp, err := h.stand.Send(r)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16))
	return resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusAccepted
}
