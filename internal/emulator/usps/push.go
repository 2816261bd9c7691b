package usps

import (
	"bytes"
	"container/heap"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

const (
	pushesAtOnce = 8
	pushTries    = 5           // then the carrier gives an event up
	pushWait     = time.Second // before the second try, twice that before the third
	pushTimeout  = 5 * time.Second
)

// pushes tell subscribers of parcels, each event as it happens, as well as it
// goes. They end with the ledger.
type pushes struct {
	service *service
	client  *http.Client
	started sync.Once
	wake    chan struct{}
	slots   chan struct{}

	mu      sync.Mutex
	subs    map[string]subscription
	parcels map[string]*parcel
	plan    agenda
	era     int             // of the plan: it is made anew when the knobs are turned
	script  []emulator.Scan // that the plan was made by
}

// A parcel is a sale that is followed.
type parcel struct {
	number string
	soldAt time.Time
	kept   kept
}

func newPushes(s *service) *pushes {
	p := &pushes{
		service: s, client: &http.Client{Timeout: pushTimeout}, wake: make(chan struct{}, 1), slots: make(chan struct{}, pushesAtOnce),
		subs: map[string]subscription{}, parcels: map[string]*parcel{}, script: s.Knobs().Tracking,
	}
	for _, e := range s.Ledger.Entries() {
		var sub subscription
		switch e.Kind {
		case "sold":
			p.follow(e)
		case "voided":
			p.forget(e.Number)
		case "subscribed":
			if json.Unmarshal(e.Kept, &sub) == nil {
				p.subs[sub.ID] = sub
			}
		case "unsubscribed":
			delete(p.subs, e.Number)
		}
	}
	p.replan(time.Now())
	if len(p.subs) > 0 {
		p.begin()
	}
	return p
}

func (p *pushes) begin() { p.started.Do(func() { go p.run() }) }

// subscribe adds a subscription, or says which one has its address and mailer.
func (p *pushes) subscribe(sub subscription) (taken string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, other := range p.subs {
		if other.URL == sub.URL && other.Filter.MID == sub.Filter.MID {
			return id, nil
		}
	}
	if err := p.service.note("subscribed", sub); err != nil {
		return "", err
	}
	now := time.Now()
	if !sameScript(p.service.Knobs().Tracking, p.script) {
		p.replan(now) // for the others: what was before is no news to this one
	}
	p.subs[sub.ID] = sub
	for _, parcel := range p.parcels {
		p.add(item{sub: sub.ID, parcel: parcel, next: len(p.service.happened(parcel.soldAt, parcel.kept, now))})
	}
	p.begin()
	p.stir()
	return "", nil
}

func (p *pushes) unsubscribe(sub subscription) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.subs, sub.ID)
	return p.service.note("unsubscribed", sub)
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

// follow tells of a sale from its first event on.
func (p *pushes) follow(e emulator.Entry) {
	var k kept
	if json.Unmarshal(e.Kept, &k) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	one := &parcel{e.Number, e.At, k}
	p.parcels[e.Number] = one
	for id := range p.subs {
		p.add(item{sub: id, parcel: one})
	}
	p.stir()
}

// forget tells no more of a sale.
func (p *pushes) forget(number string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.parcels, number)
}

// add plans an item, if anything is left to tell. The caller holds the lock.
func (p *pushes) add(i item) {
	steps := p.service.steps(i.parcel.soldAt, i.parcel.kept)
	if i.next >= len(steps) {
		return
	}
	i.era = p.era
	i.at = steps[i.next].at
	if i.tries > 0 {
		i.at = time.Now().Add(pushWait << (i.tries - 1))
	}
	heap.Push(&p.plan, i)
}

// replan makes the plan anew. What has happened by now is news only if the
// script is another one. The caller holds the lock, or is alone.
func (p *pushes) replan(now time.Time) {
	script := p.service.Knobs().Tracking
	another := !sameScript(script, p.script)
	p.script, p.plan = script, nil
	p.era++
	for id := range p.subs {
		for _, one := range p.parcels {
			i := item{sub: id, parcel: one}
			if !another {
				i.next = len(p.service.happened(one.soldAt, one.kept, now))
			}
			p.add(i)
		}
	}
}

// sameScript reports whether two scripts are the same one.
func sameScript(a, b []emulator.Scan) bool {
	return len(a) == len(b) && (a == nil) == (b == nil) && (len(a) == 0 || &a[0] == &b[0])
}

// stir wakes run up.
func (p *pushes) stir() {
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
		i, wait := p.take(time.Now())
		if wait == 0 {
			select {
			case <-p.service.Ledger.Done():
				return
			case p.slots <- struct{}{}:
			}
			go func() {
				defer func() { <-p.slots; p.stir() }()
				p.send(ctx, i)
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

// take is the next item that is due, or how long to wait for one: the knobs are
// looked at once in a second.
func (p *pushes) take(now time.Time) (item, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !sameScript(p.service.Knobs().Tracking, p.script) {
		p.replan(now)
	}
	for len(p.plan) > 0 {
		if wait := p.plan[0].at.Sub(now); wait > 0 {
			return item{}, min(wait, time.Second)
		}
		i := heap.Pop(&p.plan).(item)
		if _, ok := p.subs[i.sub]; ok && p.parcels[i.parcel.number] == i.parcel {
			return i, 0
		}
	}
	return item{}, time.Second
}

// send tells a subscriber of one event, and plans what comes next.
func (p *pushes) send(ctx context.Context, i item) {
	sub, ok := p.subscription(i.sub)
	steps := p.service.steps(i.parcel.soldAt, i.parcel.kept)
	if !ok || i.next >= len(steps) {
		return
	}
	body := newer(p.service.tell(i.parcel.number, i.parcel.kept, steps[i.next:i.next+1]))
	if p.post(ctx, sub, body) || i.tries+1 >= pushTries {
		i.next, i.tries = i.next+1, 0
	} else {
		i.tries++
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i.era == p.era {
		p.add(i)
	}
}

// post sends one notification and reports whether it was taken.
func (p *pushes) post(ctx context.Context, sub subscription, result any) bool {
	payload, _ := json.Marshal(result) // of strings
	stamp := time.Now().UTC().Format(time.RFC3339)
	mac := hmac.New(sha256.New, []byte(sub.Secret))
	mac.Write([]byte(stamp + string(payload)))
	body, _ := json.Marshal(map[string]any{ // of strings
		"subscriptionId": sub.ID, "subscriptionType": "TRACKING", "timestamp": stamp, "payload": string(payload),
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, sub.URL, bytes.NewReader(body))
	if err != nil {
		return true // it will never be one
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-HMAC", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	resp, err := p.client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16)) // so that the connection can be used again
	return resp.StatusCode < 300
}
