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
// copies: it is bought once, and all hear the same.
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
		heard := c.storm(o, seed, each)
		*o = *heard[0]
		mu.Lock()
		defer mu.Unlock()
		for _, h := range heard {
			took = append(took, h.took)
			if h.status != http.StatusCreated || !bytes.Equal(h.answer, o.answer) {
				deviations = append(deviations, fmt.Sprintf("%s: %d %s, another heard %s", h.key, h.status, h.answer, o.answer))
			}
		}
	})
	lasted := time.Since(began)
	j := w.judge(orders)
	j.add("heard otherwise", deviations...)
	if sold := len(j.sales); sold != keys {
		j.add("sold twice", fmt.Sprintf("%d labels for %d keys", sold, keys))
	}
	report(t, nil, map[string]any{
		"keys": keys, "requests": keys * each, "violations": j.total(), "sold": len(j.sales), "p50": proving.Quantile(took, 0.5), "p99": proving.Quantile(took, 0.99),
		"seconds": proving.Round(lasted.Seconds()),
	})
	j.complain(t)
	w.guard(t)
}

// patience is how long a client of the storm sends its request. It is long,
// because a shared machine may stand still for a while, and what is judged here is
// what the clients hear, not when.
const patience = 5 * time.Minute

// storm sends the same request many times at once.
func (c *clients) storm(o *order, seed uint64, n int) []*order {
	heard := make([]*order, n)
	var all sync.WaitGroup
	for i := range heard {
		heard[i] = &order{key: o.key, carrier: o.carrier, body: o.body}
		all.Go(func() {
			c.insist(heard[i], rand.New(rand.NewPCG(seed, uint64(i))), time.Now().Add(patience))
		})
	}
	all.Wait()
	return heard
}
