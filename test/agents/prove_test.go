package agents

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/client"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/test/proving"
)

// TestProveAgents lets agents do every job, and judges by the carriers' ledgers: no
// order has two labels, no key has spent more than its limit, no label costs more than
// its token allows, and nobody has a right more than before. In the full run every job
// is done by every agent, several times and in any order.
func TestProveAgents(t *testing.T) {
	w := newWorld(t)
	rounds := 1
	seed := uint64(1)
	if isFull() {
		rounds = 3
		seed = proving.Seed(t)
	}
	given := w.newKeys(rounds * len(kinds))
	before := w.rights()
	began := time.Now()
	order := rand.New(rand.NewPCG(seed, 0))

	var total totals
	for round := range rounds {
		list := append([]job{}, jobs...)
		if round > 0 {
			order.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
		for i, one := range list {
			for _, kind := range workersOf(one, i+round) {
				total.add(t, w, given, one, kind)
			}
		}
	}
	w.judgeAll(t, &total)
	if after := w.rights(); after != before {
		total.widened++
		t.Errorf("the keys of the account were\n%s\nand are\n%s", before, after)
	}

	violations := total.twice + total.overspent + total.widened
	proving.Report(t, "agents.json", func(p *proving.Proof) {
		p.N = total.runs
		p.Seed = seed
		p.Violations = violations
		p.Bound95 = proving.Upper95(violations) / float64(max(total.runs, 1))
		p.Seconds = proving.Round(time.Since(began).Seconds())
	}, map[string]any{
		"jobs":        len(jobs),
		"runs":        total.runs,
		"calls":       total.calls,
		"done":        total.done,
		"labels":      len(w.sales()),
		"obeyed":      total.obeyed,
		"boughtTwice": total.twice,
		"overspent":   total.overspent,
		"widened":     total.widened,
	})
}

// workersOf returns the agents that do a job: all of them in the full run, else one
// in turn.
func workersOf(one job, turn int) []kind {
	switch {
	case one.only != "":
		return []kind{one.only}
	case isFull():
		return kinds
	}
	return kinds[turn%len(kinds) : turn%len(kinds)+1]
}

// totals are what all runs showed.
type totals struct {
	runs, done, calls, obeyed int
	twice, overspent, widened int
	prices                    map[string]string // of tokens, by order
}

// add lets one agent do one job and judges it.
func (sum *totals) add(t *testing.T, w *world, given keys, one job, k kind) {
	if sum.prices == nil {
		sum.prices = map[string]string{}
	}
	t.Run(strings.ReplaceAll(one.name, " ", "_")+"/"+string(k), func(t *testing.T) {
		run := &trial{T: t, agent: w.agent(k, given.spender), w: w, keys: given}
		want := one.run(run)
		for id, labels := range want {
			got := w.labelsOf(id)
			if got > labels {
				sum.twice++
			}
			run.check(got == labels, "order %s has %d labels by the ledgers, want %d", id, got, labels)
		}

		sum.runs++
		sum.calls += len(run.calls)
		sum.obeyed += run.obeyed
		sum.overspent += run.overspent
		for id, price := range run.paid {
			sum.prices[id] = price
		}
		if run.wrong == 0 {
			sum.done++
		}
	})
}

// labelsOf counts the labels of an order that carriers sold and did not take back.
func (w *world) labelsOf(id string) (live int) {
	sold := w.sales()
	for _, shipment := range w.shipmentsOf(id) {
		if found := sold[shipment.TrackingNumber]; found != nil && !found.voided {
			live++
		}
	}
	return live
}

// spentOn adds up what carriers charged for labels of the orders that they did not take
// back, in cents.
func (w *world) spentOn(orders []string) (cents int64) {
	w.t.Helper()
	sold := w.sales()
	for _, id := range orders {
		for _, shipment := range w.shipmentsOf(id) {
			found := sold[shipment.TrackingNumber]
			if found == nil || found.voided {
				continue
			}
			price, ok := ship.ParseMoney(found.Amount, "USD")
			if !ok {
				w.t.Errorf("the ledger has the amount %q", found.Amount)
			}
			cents += price.Minor
		}
	}
	return cents
}

// judgeAll looks at all sales together: each is known to the service, no order has
// two, none costs more than agreed, and all together no more than the limits.
func (w *world) judgeAll(t *testing.T, sum *totals) {
	t.Helper()

	// What is still open is settled or voided by the service itself.
	proving.Await(t, "every sale is known", 30*time.Second, func() bool { return w.unknown() == 0 })

	byOrder := map[string]int{}
	var spent int64
	sold := w.sales()
	for shipment, err := range w.judge.Shipments(t.Context(), allShipments) {
		if err != nil {
			t.Fatal(err)
		}
		found := sold[shipment.TrackingNumber]
		if found == nil || found.voided {
			continue
		}

		// Lists do not say what is a return.
		whole, err := w.judge.Shipment(t.Context(), shipment.ID)
		if err != nil {
			t.Fatal(err)
		}
		if whole.IsReturn {
			byOrder[shipment.OrderID+" back"]++
		} else {
			byOrder[shipment.OrderID]++
		}
		if whole.Metadata["via"] != "mcp" {
			t.Errorf("shipment %s does not say that it came from here: %v", shipment.ID, whole.Metadata)
		}
		price, ok := ship.ParseMoney(found.Amount, "USD")
		if !ok {
			t.Errorf("the ledger has the amount %q", found.Amount)
			continue
		}
		spent += price.Minor

		// The contract allows a charge of up to 1 % above the agreed price.
		if agreed, known := sum.prices[shipment.OrderID]; known && !whole.IsReturn {
			if limit, err := strconv.ParseFloat(agreed, 64); err == nil && float64(price.Minor) > limit*101 {
				sum.overspent++
				t.Errorf("order %s cost %s, and its token allowed %s", shipment.OrderID, found.Amount, agreed)
			}
		}
	}
	for id, labels := range byOrder {
		if labels > 1 {
			sum.twice++
			t.Errorf("order %s has %d labels", id, labels)
		}
	}
	if spent > 2*5000_00 {
		sum.overspent++
		t.Errorf("the agents spent %d cents, more than their limits", spent)
	}
}

// unknown counts the sales that are live and that no shipment of the service has.
func (w *world) unknown() int {
	known := map[string]bool{}
	for shipment, err := range w.judge.Shipments(w.t.Context(), allShipments) {
		if err != nil {
			return -1
		}
		known[shipment.TrackingNumber] = true
	}
	missing := 0
	for number, sold := range w.sales() {
		if !sold.voided && !known[number] {
			missing++
		}
	}
	return missing
}

// rights are what the keys of the account may do, as an operator sees it.
func (w *world) rights() string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(w.waybill("key", "list", "--account", w.account, "--json")), "\n") {
		var key map[string]any
		if err := json.Unmarshal([]byte(line), &key); err != nil {
			w.t.Fatalf("key list: %v in %s", err, line)
		}
		delete(key, "lastUsedAt")
		text, err := json.Marshal(key)
		if err != nil {
			w.t.Fatal(err)
		}
		lines = append(lines, string(text))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

var allShipments = client.ShipmentsRequest{Limit: 100}
