package ups

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// pushedFor is how long after a subscription the events of a parcel are pushed.
const pushedFor = 14 * 24 * time.Hour

// webhook pushes what happens to the parcels that it follows.
type webhook struct {
	*emulator.Webhook
	stand  *server
	all    bool                 // parcels are followed from their sale on
	open   map[string]*followed // by number
	script []emulator.Scan      // the script that was used for the last check
}

// followed is a parcel that is not delivered or voided yet.
type followed struct {
	sale  emulator.Entry
	due   time.Time // nothing happens before
	since time.Time // events up to this time are not pushed, or already were
	until time.Time
	void  time.Time // zero if it is not voided
}

func newWebhook(s *server) *webhook {
	h := &webhook{stand: s, open: map[string]*followed{}}
	h.Webhook = emulator.NewWebhook(s.Server, h.look, func(status int) bool { return status == http.StatusOK })
	return h
}

// set does what UPS's portal does: it starts pushing to an address, or stops.
func (h *webhook) set(w http.ResponseWriter, r *http.Request) {
	var to struct{ URL, Credential string }
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&to)

	h.Lock()
	defer h.Unlock()
	if err != nil || !h.Direct(to.URL, to.Credential) {
		http.Error(w, "the address and the credential are needed", http.StatusUnprocessableEntity)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (h *webhook) show(w http.ResponseWriter, _ *http.Request) {
	h.Lock()
	defer h.Unlock()
	waiting, pushed, failed := h.Counts()
	answer(w, http.StatusOK, encode(map[string]any{
		"url":     h.URL,
		"parcels": len(h.open),
		"waiting": waiting,
		"pushed":  pushed,
		"failed":  failed,
	}))
}

// follow pushes the events of a parcel from now on.
func (h *webhook) follow(sold emulator.Entry, number string) {
	h.Lock()
	defer h.Unlock()
	h.add(sold, number, time.Now())
}

func (h *webhook) add(sold emulator.Entry, number string, since time.Time) {
	if parcel := h.open[number]; parcel != nil {
		parcel.until = since.Add(pushedFor)
	} else if len(h.open) < emulator.MaxPushed {
		h.open[number] = &followed{sale: sold, since: since, until: since.Add(pushedFor)}
	}
}

// followAll pushes the events of everything that is sold from now on.
func (h *webhook) followAll() {
	h.Lock()
	defer h.Unlock()
	h.all = true
}

// sold follows a new sale, if the account is subscribed.
func (h *webhook) sold(entry emulator.Entry) {
	h.Lock()
	defer h.Unlock()
	if h.all {
		for _, number := range pieces(entry) {
			h.add(entry, number, entry.At.Add(-time.Nanosecond))
		}
	}
}

// voided pushes the void of a sale.
func (h *webhook) voided(entry emulator.Entry) {
	h.Lock()
	defer h.Unlock()
	for _, number := range pieces(entry) {
		if parcel := h.open[number]; parcel != nil && parcel.void.IsZero() {
			parcel.void = time.Now()
			parcel.due = time.Time{}
		}
	}
}

// look enqueues what has happened since the last call, as far as there is room.
func (h *webhook) look(now time.Time) {
	// Under a new script every parcel may have something to push now.
	script := h.stand.Faults().Tracking
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

// enqueue queues pushes for the new steps of one parcel, all or none, and
// computes when the next step is due; the zero time means never. It reports
// whether there was room.
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

	if h.URL != "" {
		if !h.HasRoom(len(due)) {
			return false
		}
		for _, happened := range due {
			h.push(alertOf(parcel.sale, number, happened))
		}
	}
	parcel.since = now
	parcel.due = next
	return true
}

// push sends an alert with the credential that the webhook was given.
func (h *webhook) push(alert []byte) {
	header := map[string]string{
		"User-Agent": "UPSPubSubTrackingService",
		"Credential": h.Secret,
	}
	h.Enqueue(func(int) (map[string]string, []byte) { return header, alert })
}
