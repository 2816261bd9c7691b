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

// webhook pushes the scans of parcels to one address, at least once and in no
// order, until the ledger is closed.
type webhook struct {
	stand *fedex
	queue chan push

	mu             sync.Mutex
	url, token     string
	running        bool
	open           map[int]*followed // by line of the ledger
	pushed, failed int
}

// followed is a parcel whose tracking state is not over.
type followed struct {
	sale      emulator.Entry
	sent      uint64 // steps of the script that were pushed, a bit each
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
	return &webhook{
		stand: f,
		queue: make(chan push, pushQueue),
		open:  map[int]*followed{},
	}
}

// set begins to push to an address, what happened before too, or ends it.
func (h *webhook) set(w http.ResponseWriter, r *http.Request) {
	var to struct{ URL, Token string }
	err := json.NewDecoder(r.Body).Decode(&to)
	address, invalid := url.Parse(to.URL)
	switch {
	case h.stand.Send == nil:
		http.Error(w, "nothing sends for this stand-in", http.StatusNotImplemented)
		return
	case err != nil || invalid != nil || to.URL != "" && (address.Host == "" || to.Token == ""):
		http.Error(w, "the address and the token that signs are needed", http.StatusUnprocessableEntity)
		return
	}

	sales := h.stand.Ledger.Entries()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.url = to.URL
	h.token = to.Token
	clear(h.open)
	for _, entry := range sales {
		switch entry.Kind {
		case "sold":
			h.add(entry)
		case "voided":
			h.cancel(entry.Number)
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
	send(w, http.StatusOK, object{
		"url":     h.url,
		"parcels": len(h.open),
		"waiting": len(h.queue),
		"pushed":  h.pushed,
		"failed":  h.failed,
	})
}

// follow has a sale pushed.
func (h *webhook) follow(sold emulator.Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(sold)
}

func (h *webhook) add(sold emulator.Entry) {
	if h.url != "" && len(h.open) < mostParcels {
		h.open[sold.Line] = &followed{sale: sold}
	}
}

// cancelled has the end of a sale pushed.
func (h *webhook) cancelled(sold emulator.Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cancel(sold.Number)
}

func (h *webhook) cancel(number string) {
	for _, parcel := range h.open {
		if parcel.sale.Number == number {
			parcel.cancelled = true
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
	for line, parcel := range h.open {
		age := time.Since(parcel.sale.At)
		for i, scan := range script {
			bit := uint64(1) << i
			if parcel.sent&bit != 0 || age < time.Duration(scan.After) {
				continue
			}
			if !h.enqueue(parcel.sale, scan) {
				return
			}
			parcel.sent |= bit
		}

		isOver := parcel.sent == 1<<len(script)-1
		if parcel.cancelled {
			if !h.enqueue(parcel.sale, cancellation) {
				return
			}
			isOver = true
		}
		if isOver {
			delete(h.open, line)
		}
	}
}

// enqueue puts a scan of every piece into the queue, if all of them fit.
func (h *webhook) enqueue(sold emulator.Entry, scan emulator.Scan) bool {
	if cap(h.queue)-len(h.queue) < len(sold.Pieces) {
		return false
	}
	for i := range sold.Pieces {
		h.queue <- push{h.url, h.token, sold, i, scan} // only look fills the queue, so there is room
	}
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
	for attempt := 1; attempt <= pushAttempts; attempt++ {
		if h.post(ctx, due, attempt) {
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

// post sends a push once, signed; 200 and 202 accept it.
func (h *webhook) post(ctx context.Context, due push, attempt int) bool {
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	body := marshal(object{
		"transactionId":  transaction,
		"outputMetaData": object{"attemptNumber": attempt, "attemptTime": time.Now().UTC().Format(time.RFC3339)},
		"output": object{"completeTrackResults": []object{{
			"trackingNumber": due.sale.Pieces[due.piece],
			"trackResults":   []object{history(due.sale, due.piece, []emulator.Scan{due.scan}, true)},
		}}},
	})

	request, err := http.NewRequestWithContext(ctx, http.MethodPost, due.url, bytes.NewReader(body))
	if err != nil {
		return false
	}
	mac := hmac.New(sha256.New, []byte(due.token))
	_, _ = mac.Write(body) // never fails
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Fdx-Signature", base64.StdEncoding.EncodeToString(mac.Sum(nil)))

	response, err := h.stand.Send(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<16))
	return response.StatusCode == http.StatusOK || response.StatusCode == http.StatusAccepted
}
