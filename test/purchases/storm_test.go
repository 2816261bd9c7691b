//go:build chaos

package purchases

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/test/proving"
)

// TestProveStorm has many clients send the same request at once, to both
// copies: one label is live, and all clients get the same response. On a slow machine
// a response of the carrier may come too late; then the label is found by a look-up,
// voided, and bought again. So what counts is the labels that are live, not how
// many were sold.
func TestProveStorm(t *testing.T) {
	keys, each := proving.Pick(t, 24, 100), 40
	proving.Beside(t)
	seed := proving.Seed(t)
	w := newWorld(t)
	w.turnAll(emulator.Faults{Latency: emulator.Duration(20 * time.Millisecond), Spread: emulator.Duration(200 * time.Millisecond)})
	orders := newOrders(fmt.Sprintf("storm-%x", seed), keys, rand.New(rand.NewPCG(seed, 1)))
	c := w.newClients(160, 0)
	began := time.Now()
	var mu sync.Mutex
	var deviations []string
	var took []time.Duration
	eachOf(orders, 4, func(o *order) {
		responses := c.storm(o, seed, each)
		*o = *responses[0]
		mu.Lock()
		defer mu.Unlock()
		for _, r := range responses {
			took = append(took, r.took)
			if r.status != http.StatusCreated || !bytes.Equal(r.answer, o.answer) {
				deviations = append(deviations, fmt.Sprintf("%s: %d %s, another client got %s", r.key, r.status, r.answer, o.answer))
			}
		}
	})
	lasted := time.Since(began)
	_, late := w.settle(2 * time.Minute)
	j := w.judge(orders)
	j.add("not settled", late...)
	j.add("answered differently", deviations...)
	live := j.countLive()
	if live != keys {
		j.add("live labels", fmt.Sprintf("%d live labels for %d keys", live, keys))
	}
	report(t, nil, map[string]any{
		"keys": keys, "requests": keys * each, "violations": j.total(), "sold": len(j.sales), "live": live,
		"p50": proving.Quantile(took, 0.5), "p99": proving.Quantile(took, 0.99), "seconds": proving.Round(lasted.Seconds()),
	})
	j.complain(t)
	w.guard(t)
}

// storm sends the same request many times at once.
func (c *clients) storm(o *order, seed uint64, n int) []*order {
	responses := make([]*order, n)
	var all sync.WaitGroup
	for i := range responses {
		responses[i] = &order{key: o.key, carrier: o.carrier, body: o.body}
		all.Go(func() {
			c.insist(responses[i], rand.New(rand.NewPCG(seed, uint64(i))), time.Now().Add(proving.Patiently(time.Minute)))
		})
	}
	all.Wait()
	return responses
}
