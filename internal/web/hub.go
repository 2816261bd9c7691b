package web

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

// livePath is the stream of what changes in an account.
const livePath = "/app/{mode}/live"

const (
	lookEvery = time.Second      // at the log, while anybody listens
	beatEvery = 20 * time.Second // so that proxies keep the stream open
	streamFor = 30 * time.Minute // then the page signs in again
	perTenant = 100              // streams
)

// A hub tells open pages what changed. It reads the log once a tenant,
// however many pages of it are open, and only while one is.
type hub struct {
	log    *webhook.Service
	states states
	logger *slog.Logger
	ended  chan struct{}
	once   sync.Once

	mu    sync.Mutex
	rooms map[ship.Tenant]*room
}

// states are where the purchases of shipments stand.
type states func(context.Context, ship.Tenant, []ship.ShipmentID) (map[ship.ShipmentID]ship.State, error)

// A room is the open pages of one tenant. A page of one shipment says which:
// not all that happens to it is in the log.
type room struct {
	pages map[chan string]ship.ShipmentID // "" for pages of lists
	leave context.CancelFunc
}

func newHub(log *webhook.Service, states states, logger *slog.Logger) *hub {
	return &hub{log: log, states: states, logger: logger, ended: make(chan struct{}), rooms: map[ship.Tenant]*room{}}
}

func (h *hub) stop() { h.once.Do(func() { close(h.ended) }) }

// join adds a page; false when there are too many.
func (h *hub) join(t ship.Tenant, watched ship.ShipmentID) (chan string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.rooms[t]
	if r == nil {
		ctx, cancel := context.WithCancel(context.Background())
		r = &room{pages: map[chan string]ship.ShipmentID{}, leave: cancel}
		h.rooms[t] = r
		go h.follow(ctx, t)
	}
	if len(r.pages) >= perTenant {
		return nil, false
	}
	page := make(chan string, 64)
	r.pages[page] = watched
	return page, true
}

func (h *hub) part(t ship.Tenant, page chan string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.rooms[t]
	delete(r.pages, page)
	if len(r.pages) == 0 {
		r.leave()
		delete(h.rooms, t)
	}
}

// follow reads the tenant's log behind its end and tells every page.
func (h *hub) follow(ctx context.Context, t ship.Tenant) {
	cursor := ""
	before := map[ship.ShipmentID]ship.State{}
	for {
		next, err := h.read(ctx, t, cursor)
		if err == nil {
			before, err = h.look(ctx, t, before)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			h.logger.WarnContext(ctx, "live pages: read the log", "error", err)
			cursor = ""
		default:
			cursor = next
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEvery):
		}
	}
}

// read tells what is behind the cursor, and returns the next.
func (h *hub) read(ctx context.Context, t ship.Tenant, cursor string) (string, error) {
	if cursor == "" {
		return h.log.End(ctx, t)
	}
	events, err := h.log.Events(ctx, t, cursor, nil, 200)
	if err != nil {
		return "", err
	}
	told := map[string]bool{}
	for _, e := range events.Entries {
		if id := string(e.Event.Shipment); id != "" && !told[id] {
			told[id] = true
			h.tell(t, id)
		}
	}
	return events.Next, nil
}

// look tells of shipments that somebody watches and whose state is another
// than before.
func (h *hub) look(ctx context.Context, t ship.Tenant, before map[ship.ShipmentID]ship.State) (map[ship.ShipmentID]ship.State, error) {
	watched := h.watched(t)
	if len(watched) == 0 {
		return nil, nil
	}
	now, err := h.states(ctx, t, watched)
	if err != nil {
		return before, err
	}
	for id, state := range now {
		if was, known := before[id]; known && was != state {
			h.tell(t, string(id))
		}
	}
	return now, nil
}

// watched are the shipments with an open page.
func (h *hub) watched(t ship.Tenant) []ship.ShipmentID {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []ship.ShipmentID
	if r := h.rooms[t]; r != nil {
		for _, id := range r.pages {
			if id != "" && !slices.Contains(list, id) {
				list = append(list, id)
			}
		}
	}
	return list
}

// tell gives the news to every page that keeps up; one that does not hears the
// next.
func (h *hub) tell(t ship.Tenant, id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.rooms[t]; r != nil {
		for page := range r.pages {
			select {
			case page <- id:
			default:
			}
		}
	}
}

// serveLive handles GET /app/{mode}/live, a stream of server-sent events. It
// says which shipment changed and nothing of it: the page asks for itself.
func (s *Web) serveLive(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	v := &visit{Web: s, w: w, r: r, rt: route{path: livePath, action: member.ViewShipments}}
	if err := v.admit(); err != nil {
		w.WriteHeader(http.StatusNoContent) // ends the stream for good
		return
	}
	watched, _ := ship.ParseShipmentID(v.query("of"))
	page, ok := s.hub.join(v.tenant(), watched)
	if !ok {
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	defer s.hub.part(v.tenant(), page)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	out := http.NewResponseController(w)
	_ = out.SetWriteDeadline(time.Time{}) // without it the stream ends early and the page asks again
	fmt.Fprint(w, "retry: 2000\n\n")
	end := time.After(streamFor)
	for out.Flush() == nil {
		select {
		case <-r.Context().Done():
			return
		case <-s.hub.ended:
			return
		case <-end:
			return
		case id := <-page:
			fmt.Fprintf(w, "event: changed\ndata: %s\n\n", id)
		case <-time.After(beatEvery):
			fmt.Fprint(w, ": \n\n")
		}
	}
}
