//go:build chaos

package upgrade

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// A parcel is a shipment that a client has created.
type parcel struct {
	key        string
	order      string
	body       string // of the request
	id         string
	number     string // for tracking; empty while the purchase is open
	wasOld     bool   // created before the migration was done
	isVoided   bool
	hasArrived bool
}

// pause is how long a client rests between two requests.
const pause = 15 * time.Millisecond

// load runs clients until stop is closed. Each creates parcels, one after the other,
// and asks the copies in turns for all that is done with them.
func (w *world) load(clients int, seed uint64, stop <-chan struct{}) *sync.WaitGroup {
	var running sync.WaitGroup
	for client := range clients {
		running.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(client)))
			for n := 0; ; n++ {
				for _, step := range w.steps(rng, fmt.Sprintf("%02d-%06d", client, n)) {
					select {
					case <-stop:
						return
					case <-time.After(pause):
					}
					w.inUse.RLock()
					isDone := !step(w.pair(rng))
					w.inUse.RUnlock()
					if isDone {
						break
					}
				}
			}
		})
	}
	return &running
}

// pair returns a copy for a request, and another for the next, if there are two.
func (w *world) pair(rng *rand.Rand) (one, other *server) {
	first := rng.IntN(len(w.active))
	return w.active[first], w.active[(first+1)%len(w.active)]
}

// steps is what is done with one parcel: each step makes requests of one copy, and
// continues at the other. A step that returns false is the last.
func (w *world) steps(rng *rand.Rand, name string) []func(one, other *server) bool {
	p := w.newParcel(rng, name)
	mayVoid := rng.IntN(5) == 0
	get := func(at *server, path string) bool { return w.call(at, http.MethodGet, path, "", "", nil) }
	shipment := func() string { return "/v1/shipments/" + p.id }

	// Clients do one of these with some of their parcels.
	inBackground := func(_, _ *server) bool { return true }
	switch rng.IntN(8) {
	case 0:
		inBackground = w.buysBatch(name)
	case 1, 2:
		inBackground = w.buysRated(name)
	}

	return []func(one, other *server) bool{
		func(one, other *server) bool { return w.create(one, other, p) },
		inBackground,
		func(one, _ *server) bool { return get(one, shipment()) },
		func(one, _ *server) bool { return w.finds(one, p, "orderId="+p.order) },
		func(one, _ *server) bool { return p.number != "" }, // the rest is for labels
		func(one, _ *server) bool { return w.finds(one, p, "query="+p.number[:len(p.number)-1]) },
		func(one, _ *server) bool { return w.finds(one, p, "trackingNumber="+p.number) },
		func(one, _ *server) bool { return get(one, "/v1/shipments?status=label_generated&limit=5") },
		func(one, _ *server) bool { return get(one, "/v1/tracking/"+p.number) },
		w.opensLabel(p),
		func(one, _ *server) bool { return w.page(one, "/shipments/"+p.id) },
		func(one, _ *server) bool { return w.page(one, "/shipments?q="+p.number) },
		func(one, _ *server) bool { return w.page(one, "") },
		func(one, other *server) bool { return !mayVoid || w.void(one, other, p) },
		func(one, _ *server) bool { return w.advance(one, p, "in_transit") },
		func(_, other *server) bool { return w.advance(other, p, "delivered") },
		func(one, _ *server) bool { return get(one, "/v1/events?limit=3") },
		func(one, _ *server) bool { return w.searchOlder(one, rng) },
		w.buysRate(rng, name),
	}
}

const addressee = `{"name":%q,"address1":"350 5th Avenue","city":"New York","state":"NY","zip":"10118","country":"US"}`

func (w *world) newParcel(rng *rand.Rand, name string) *parcel {
	// Some take the way of a live carrier: with an attempt that is refused, or with
	// one that gets no answer and is settled later, by any copy.
	recipient := "Jane Doe"
	switch rng.IntN(25) {
	case 0:
		recipient = "FAULT REFUSE UPS"
	case 1:
		recipient = "FAULT TIMEOUT AFTER PURCHASE"
	}
	order := "order-" + name
	return &parcel{
		key:   "key-" + name,
		order: order,
		body:  fmt.Sprintf(`{"orderId":%q,"destination":%s,"parcel":{"weight":2.5}}`, order, fmt.Sprintf(addressee, recipient)),
	}
}

// create creates a parcel at one copy, and has the other one replay the answer.
func (w *world) create(one, other *server, p *parcel) bool {
	w.mu.Lock()
	p.wasOld = !w.isMigrated
	w.mu.Unlock()

	var created struct{ ID, TrackingNumber string }
	if !w.call(one, http.MethodPost, "/v1/shipments", p.key, p.body, &created) {
		return false
	}
	p.id = created.ID
	p.number = created.TrackingNumber
	w.mu.Lock()
	w.parcels = append(w.parcels, p)
	w.mu.Unlock()

	var replayed struct{ ID string }
	if !w.call(other, http.MethodPost, "/v1/shipments", p.key, p.body, &replayed) {
		return false
	}
	if replayed.ID != p.id {
		w.fail("%s has made %s at %s and %s at %s", p.key, p.id, one.Name, replayed.ID, other.Name)
	}
	return true
}

// listed asks for a list of shipments, and reports whether the parcel is in it.
func (w *world) listed(at *server, p *parcel, filter string) (isListed, isAnswered bool) {
	var page struct{ Data []struct{ ID string } }
	if !w.call(at, http.MethodGet, "/v1/shipments?limit=100&"+filter, "", "", &page) {
		return false, false
	}
	return slices.ContainsFunc(page.Data, func(found struct{ ID string }) bool { return found.ID == p.id }), true
}

// finds asks for a list that must have the parcel.
func (w *world) finds(at *server, p *parcel, filter string) bool {
	isListed, isAnswered := w.listed(at, p, filter)
	if isAnswered && !isListed {
		w.fail("%s does not find %s of %s by %s", at.Name, p.id, p.order, filter)
	}
	return isAnswered
}

// searchOlder looks for any parcel by a part of its number. From the migration on, a
// copy of the old release need not find those of before by it.
func (w *world) searchOlder(at *server, rng *rand.Rand) bool {
	all := w.all()
	p := all[rng.IntN(len(all))]
	if p.number == "" {
		return true
	}
	w.mu.Lock()
	mayMiss := at.isOld && w.isMigrating && p.wasOld
	w.mu.Unlock()

	filter := "query=" + p.number[1:]
	if !mayMiss {
		return w.finds(at, p, filter)
	}
	isListed, isAnswered := w.listed(at, p, filter)
	if isAnswered && !isListed {
		w.mu.Lock()
		w.notSearched++
		w.mu.Unlock()
	}
	return isAnswered && w.finds(at, p, "query="+p.order)
}

// page asks for a page of the dashboard in test mode.
func (w *world) page(at *server, path string) bool {
	status, answer, err := w.send(at, http.MethodGet, "/app/"+w.account+"/test"+path, "", "")
	if err != nil || status != http.StatusOK || strings.Contains(path, "shp_") && !strings.Contains(string(answer), "order-") {
		w.fail("%s: page %s: %d %v", at.Name, path, status, err)
		return false
	}
	return true
}

// opensLabel returns the step that makes a link to the label at one copy and opens it at
// the other.
func (w *world) opensLabel(p *parcel) func(one, other *server) bool {
	return func(one, other *server) bool {
		var link struct{ URL string }
		if !w.call(one, http.MethodPost, "/v1/shipments/"+p.id+"/label-link", "", "{}", &link) {
			return false
		}
		address, err := url.Parse(link.URL)
		if err != nil {
			w.fail("%s: the link to a label is %q", one.Name, link.URL)
			return false
		}
		return w.call(other, http.MethodGet, address.RequestURI(), "", "", nil)
	}
}

// buysRate returns the step that has one copy quote rates, and buys one of them at the
// other.
func (w *world) buysRate(rng *rand.Rand, name string) func(one, other *server) bool {
	return func(one, other *server) bool {
		p := w.newParcel(rng, name+"-rate")
		destination := fmt.Sprintf(addressee, "Jane Doe")
		var quoted struct{ Rates []struct{ ID string } }
		if !w.call(one, http.MethodPost, "/v1/rates", "", fmt.Sprintf(`{"destination":%s,"parcel":{"weight":2.5}}`, destination), &quoted) {
			return false
		}
		if len(quoted.Rates) == 0 {
			w.fail("%s quotes no rates", one.Name)
			return false
		}
		p.body = fmt.Sprintf(`{"orderId":%q,"destination":%s,"parcel":{"weight":2.5},"rateId":%q}`, p.order, destination, quoted.Rates[0].ID)
		return w.create(other, one, p)
	}
}

// void voids a parcel at one copy, and looks at it at the other. It ends what is done
// with the parcel.
func (w *world) void(one, other *server, p *parcel) bool {
	if !w.call(one, http.MethodPost, "/v1/shipments/"+p.id+"/void", "void-"+p.key, "", nil) {
		return false
	}
	_, answer, err := w.send(other, http.MethodGet, "/v1/shipments/"+p.id, "", "")
	var shipment struct{ LabelStatus string }
	if err == nil {
		err = json.Unmarshal(answer, &shipment)
	}
	if err != nil || shipment.LabelStatus != "voided" && shipment.LabelStatus != "refund_pending" {
		w.fail("%s: %s was voided at %s, and is %q: %v", other.Name, p.id, one.Name, shipment.LabelStatus, err)
	}
	p.isVoided = true
	return false
}

// advance has the sandbox's carrier report a status.
func (w *world) advance(at *server, p *parcel, status string) bool {
	if !w.call(at, http.MethodPost, "/v1/sandbox/shipments/"+p.id+"/advance", "", fmt.Sprintf(`{"status":%q}`, status), nil) {
		return false
	}
	p.hasArrived = status == "delivered"
	return true
}
