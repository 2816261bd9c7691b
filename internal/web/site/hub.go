package site

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/webhook"
)

// livePath is the path of the stream of changes in an account.
const livePath = accountPath + "/live"

const (
	pollInterval      = time.Second      // of the log, while a page is open
	heartbeatInterval = 20 * time.Second // so that proxies keep the stream open
	recheckInterval   = 5 * time.Second  // of the session of a stream
	maxStreamTime     = 30 * time.Minute // then the page connects again
	maxStreams        = 100              // of a tenant
)

// A hub notifies open pages of changes. It reads a tenant's log once, however
// many of its pages are open, and only while at least one is.
type hub struct {
	log      *webhook.Service
	states   readStates
	logger   *slog.Logger
	ended    chan struct{}
	stopOnce sync.Once

	mu      sync.Mutex
	tenants map[ship.Tenant]*openPages
}

// readStates reads the purchase states of shipments.
type readStates func(context.Context, ship.Tenant, []ship.ShipmentID) (map[ship.ShipmentID]ship.State, error)

// openPages are the open pages of one tenant. A page of a single shipment names
// it, because not every change of a shipment is in the log.
type openPages struct {
	pages map[chan string]ship.ShipmentID // "" for pages of lists
	stop  context.CancelFunc              // ends the polling for them
}

func newHub(log *webhook.Service, states readStates, logger *slog.Logger) *hub {
	return &hub{
		log:     log,
		states:  states,
		logger:  logger,
		ended:   make(chan struct{}),
		tenants: map[ship.Tenant]*openPages{},
	}
}

func (h *hub) stop() { h.stopOnce.Do(func() { close(h.ended) }) }

// join adds a page. It reports false if the tenant has too many already.
func (h *hub) join(tenant ship.Tenant, watched ship.ShipmentID) (chan string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()

	listeners := h.tenants[tenant]
	if listeners == nil {
		// Polling goes on while any page is open, so it does not depend on the
		// request of the first.
		ctx, cancel := context.WithCancel(context.Background())
		listeners = &openPages{pages: map[chan string]ship.ShipmentID{}, stop: cancel}
		h.tenants[tenant] = listeners
		go h.poll(ctx, tenant)
	}
	if len(listeners.pages) >= maxStreams {
		return nil, false
	}

	page := make(chan string, 64)
	listeners.pages[page] = watched
	return page, true
}

// leave removes a page. With the last page of a tenant its polling ends.
func (h *hub) leave(tenant ship.Tenant, page chan string) {
	h.mu.Lock()
	defer h.mu.Unlock()

	listeners := h.tenants[tenant]
	delete(listeners.pages, page)
	if len(listeners.pages) == 0 {
		listeners.stop()
		delete(h.tenants, tenant)
	}
}

// poll reads what is added to the tenant's log and notifies every page, until
// ctx ends.
func (h *hub) poll(ctx context.Context, tenant ship.Tenant) {
	cursor := ""
	states := map[ship.ShipmentID]ship.State{}
	for {
		next, err := h.notifyEvents(ctx, tenant, cursor)
		if err == nil {
			states, err = h.notifyStateChanges(ctx, tenant, states)
		}

		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			h.logger.WarnContext(ctx, "live pages: could not read the event log", "error", err)
			cursor = "" // continue at the end of the log
		default:
			cursor = next
		}

		select {
		case <-ctx.Done():
			return
		case <-time.After(pollInterval):
		}
	}
}

// notifyEvents notifies the pages of the events after the cursor, and returns
// the next cursor. An empty cursor stands for the end of the log.
func (h *hub) notifyEvents(ctx context.Context, tenant ship.Tenant, cursor string) (string, error) {
	if cursor == "" {
		return h.log.End(ctx, tenant)
	}

	events, err := h.log.Events(ctx, tenant, cursor, nil, 200)
	if err != nil {
		return "", err
	}
	// A page loads the present state, so one notification per shipment is
	// enough, however many events it has.
	notified := map[string]bool{}
	for _, entry := range events.Entries {
		if id := string(entry.Event.Shipment); id != "" && !notified[id] {
			notified[id] = true
			h.tell(tenant, id)
		}
	}
	return events.Next, nil
}

// notifyStateChanges notifies the pages of watched shipments whose state is not
// the one before, and returns the present states. It finds what is not in the
// log of events, such as a void.
func (h *hub) notifyStateChanges(ctx context.Context, tenant ship.Tenant, before map[ship.ShipmentID]ship.State) (map[ship.ShipmentID]ship.State, error) {
	watched := h.watchedShipments(tenant)
	if len(watched) == 0 {
		return nil, nil
	}

	now, err := h.states(ctx, tenant, watched)
	if err != nil {
		return before, err
	}
	for id, state := range now {
		if was, known := before[id]; known && was != state {
			h.tell(tenant, string(id))
		}
	}
	return now, nil
}

// watchedShipments returns the shipments that have an open page.
func (h *hub) watchedShipments(tenant ship.Tenant) []ship.ShipmentID {
	h.mu.Lock()
	defer h.mu.Unlock()

	listeners := h.tenants[tenant]
	if listeners == nil {
		return nil
	}
	var list []ship.ShipmentID
	for _, id := range listeners.pages {
		if id != "" && !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list
}

// tell notifies every open page of the tenant that a shipment changed.
func (h *hub) tell(tenant ship.Tenant, id string) {
	h.mu.Lock()
	defer h.mu.Unlock()

	listeners := h.tenants[tenant]
	if listeners == nil {
		return
	}
	for page := range listeners.pages {
		// A page whose buffer is full misses this change: waiting for it would
		// hold up all others.
		select {
		case page <- id:
		default:
		}
	}
}

// Watch returns a channel of the shipments that change in the tenant's account,
// and a function that ends it. It reports false if too many pages watch already.
func (s *Dashboard) Watch(tenant ship.Tenant, watched ship.ShipmentID) (changes <-chan string, leave func(), ok bool) {
	page, ok := s.hub.join(tenant, watched)
	return page, func() { s.hub.leave(tenant, page) }, ok
}

// NotifyPages notifies every open page of the tenant that a shipment changed.
func (v *Visit) NotifyPages(id ship.ShipmentID) { v.hub.tell(v.Tenant(), string(id)) }

// serveLive handles GET /app/{account}/{mode}/live, a stream of server-sent
// events. It names the shipment that changed and nothing else: the page loads
// what it shows, with the rights of its own session. The stream ends with the
// session, or when the person may no longer view shipments of the account.
func (s *Dashboard) serveLive(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	v := &Visit{
		Dashboard: s,
		Writer:    w,
		Request:   r,
		rt:        Route{Path: livePath, Action: member.ViewShipments},
	}
	err := v.admit()
	if isOverLimit(err) {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	if err != nil {
		w.WriteHeader(http.StatusNoContent) // the browser does not connect again
		return
	}

	watched, _ := ship.ParseShipmentID(v.Query("of"))
	changes, leave, ok := s.Watch(v.Tenant(), watched)
	if !ok {
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	defer leave()

	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no")

	// The server's write deadline is for ordinary answers. If it cannot be
	// lifted, the stream ends early and the page connects again.
	stream := http.NewResponseController(w)
	_ = stream.SetWriteDeadline(time.Time{})
	fmt.Fprint(w, "retry: 2000\n\n")

	end := time.After(maxStreamTime)
	heartbeat := time.NewTicker(heartbeatInterval)
	defer heartbeat.Stop()
	recheck := time.NewTicker(recheckInterval)
	defer recheck.Stop()
	for stream.Flush() == nil {
		select {
		case <-r.Context().Done():
			return
		case <-s.hub.ended:
			return
		case <-end:
			return
		case id := <-changes:
			fmt.Fprintf(w, "event: changed\ndata: %s\n\n", id)
		case <-recheck.C:
			// A database that does not answer ends no session, and a page
			// that cannot connect again would stay without updates.
			err := s.Member.Recheck(r.Context(), v.Who.Actor, v.rt.Action)
			if ship.KindOf(err) == ship.Forbidden {
				return
			}
		case <-heartbeat.C:
			fmt.Fprint(w, ": \n\n")
		}
	}
}
