package usps

import (
	"container/heap"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

const (
	pushesAtOnce = 8
	pushTries    = 5           // then the carrier drops an event
	pushWait     = time.Second // before the second try, twice that before the third
)

// pushes sends subscribers the events of parcels as they happen, on a
// best-effort basis. It ends when the ledger is closed.
type pushes struct {
	service *service
	started sync.Once
	wake    chan struct{}
	slots   chan struct{}

	mu      sync.Mutex
	subs    map[string]subscription
	parcels map[string]*parcel
	plan    agenda
	era     int             // of the plan: a new one is made when the faults are changed
	script  []emulator.Scan // the script that the plan was made from
}

// A parcel is a sale that is followed.
type parcel struct {
	number string
	soldAt time.Time
	kept   kept
}

func newPushes(s *service) *pushes {
	p := &pushes{
		service: s,
		wake:    make(chan struct{}, 1),
		slots:   make(chan struct{}, pushesAtOnce),
		subs:    map[string]subscription{},
		parcels: map[string]*parcel{},
		script:  s.Faults().Tracking,
	}

	// Sales and subscriptions of an earlier process are in the ledger.
	for _, entry := range s.Ledger.Entries() {
		switch entry.Kind {
		case "sold":
			p.follow(entry)
		case "voided":
			p.forget(entry.Number)
		case "subscribed":
			var sub subscription
			if json.Unmarshal(entry.Kept, &sub) == nil {
				p.subs[sub.ID] = sub
			}
		case "unsubscribed":
			delete(p.subs, entry.Number)
		}
	}

	p.replan(time.Now())
	if len(p.subs) > 0 {
		p.begin()
	}
	return p
}

func (p *pushes) begin() { p.started.Do(func() { go p.run() }) }

// subscribe adds a subscription, or returns the one that has its address and
// mailer.
func (p *pushes) subscribe(sub subscription) (taken string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, other := range p.subs {
		if other.URL == sub.URL && other.Filter.MID == sub.Filter.MID {
			return id, nil
		}
	}
	if err := p.service.record("subscribed", sub); err != nil {
		return "", err
	}

	// Events from before the subscription are not sent to it. If the script has
	// changed, the plan is first renewed for the other subscribers, to whom all
	// of it is new.
	now := time.Now()
	if !isSameScript(p.service.Faults().Tracking, p.script) {
		p.replan(now)
	}
	p.subs[sub.ID] = sub
	for _, parcel := range p.parcels {
		p.add(item{sub: sub.ID, parcel: parcel, next: len(p.service.happened(parcel.soldAt, parcel.kept, now))})
	}
	p.begin()
	p.wakeUp()
	return "", nil
}

func (p *pushes) unsubscribe(sub subscription) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.subs, sub.ID)
	return p.service.record("unsubscribed", sub)
}

func (p *pushes) subscription(id string) (subscription, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sub, ok := p.subs[id]
	return sub, ok
}

func (p *pushes) list(mid string) []subscription {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Collect(maps.Values(p.subs)), func(s subscription) bool { return s.Filter.MID != mid })
}

// follow sends the events of a sale from its first one on.
func (p *pushes) follow(entry emulator.Entry) {
	var sale kept
	if json.Unmarshal(entry.Kept, &sale) != nil {
		return
	}

	p.mu.Lock()
	defer p.mu.Unlock()
	followed := &parcel{entry.Number, entry.At, sale}
	p.parcels[entry.Number] = followed
	for id := range p.subs {
		p.add(item{sub: id, parcel: followed})
	}
	p.wakeUp()
}

// forget sends nothing more about a sale.
func (p *pushes) forget(number string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.parcels, number)
}

// add plans an item, if any event is left. The caller holds the lock.
func (p *pushes) add(planned item) {
	steps := p.service.steps(planned.parcel.soldAt, planned.parcel.kept)
	if planned.next >= len(steps) {
		return
	}

	planned.era = p.era
	planned.at = steps[planned.next].at
	if planned.tries > 0 {
		planned.at = time.Now().Add(pushWait << (planned.tries - 1))
	}
	heap.Push(&p.plan, planned)
}

// replan makes a new plan. Events that have happened by now are sent only if
// the script has changed. The caller holds the lock, or is the only user.
func (p *pushes) replan(now time.Time) {
	script := p.service.Faults().Tracking
	isNew := !isSameScript(script, p.script)
	p.script = script
	p.plan = nil
	p.era++

	for id := range p.subs {
		for _, followed := range p.parcels {
			planned := item{sub: id, parcel: followed}
			if !isNew {
				planned.next = len(p.service.happened(followed.soldAt, followed.kept, now))
			}
			p.add(planned)
		}
	}
}

// isSameScript reports whether two scripts are the same one.
func isSameScript(a, b []emulator.Scan) bool {
	return len(a) == len(b) && (a == nil) == (b == nil) && (len(a) == 0 || &a[0] == &b[0])
}

// wakeUp makes run look at the plan.
func (p *pushes) wakeUp() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run sends what is due until the ledger is closed.
func (p *pushes) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	timer := time.NewTimer(0)
	defer timer.Stop()

	for {
		due, wait := p.take(time.Now())
		if wait == 0 {
			select {
			case <-p.service.Ledger.Done():
				return
			case p.slots <- struct{}{}:
			}
			go func() {
				defer func() { <-p.slots; p.wakeUp() }()
				p.send(ctx, due)
			}()
			continue
		}

		timer.Reset(wait)
		select {
		case <-p.service.Ledger.Done():
			return
		case <-p.wake:
		case <-timer.C:
		}
	}
}

// take returns the next item that is due, or how long to wait for one: the
// faults are read once a second.
func (p *pushes) take(now time.Time) (item, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !isSameScript(p.service.Faults().Tracking, p.script) {
		p.replan(now)
	}

	for len(p.plan) > 0 {
		if wait := p.plan[0].at.Sub(now); wait > 0 {
			return item{}, min(wait, time.Second)
		}
		due := heap.Pop(&p.plan).(item)
		if _, ok := p.subs[due.sub]; ok && p.parcels[due.parcel.number] == due.parcel {
			return due, 0
		}
	}
	return item{}, time.Second
}

// send sends a subscriber one event, and plans the next.
func (p *pushes) send(ctx context.Context, due item) {
	sub, ok := p.subscription(due.sub)
	steps := p.service.steps(due.parcel.soldAt, due.parcel.kept)
	if !ok || due.next >= len(steps) {
		return
	}

	body := newer(p.service.trackingDetails(due.parcel.number, due.parcel.kept, steps[due.next:due.next+1]))
	if p.post(ctx, sub, body) || due.tries+1 >= pushTries {
		due.next++
		due.tries = 0
	} else {
		due.tries++
	}

	// The plan may have been replaced meanwhile: it has the event already.
	p.mu.Lock()
	defer p.mu.Unlock()
	if due.era == p.era {
		p.add(due)
	}
}

// post sends one notification and reports whether it was accepted.
func (p *pushes) post(ctx context.Context, sub subscription, result any) bool {
	payload, _ := json.Marshal(result) // of strings
	stamp := time.Now().UTC().Format(time.RFC3339)
	mac := hmac.New(sha256.New, []byte(sub.Secret))
	mac.Write([]byte(stamp + string(payload)))
	body, _ := json.Marshal(map[string]any{ // of strings
		"subscriptionId":   sub.ID,
		"subscriptionType": "TRACKING",
		"timestamp":        stamp,
		"payload":          string(payload),
	})

	header := map[string]string{"X-HMAC": base64.StdEncoding.EncodeToString(mac.Sum(nil))}
	status, err := p.service.Push(ctx, sub.URL, header, body)
	return err == nil && status < http.StatusMultipleChoices
}
