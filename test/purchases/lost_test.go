//go:build chaos

package purchases

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/test/proving"
)

// A losing is how many purchases lose the carrier's answer.
type losing struct {
	merchants int // one in ten has bought nothing before
	orders    int // of a merchant at each carrier
}

// A merchant is an account with connections of its own.
type merchant struct {
	id, key    string
	hasControl bool // something was bought over each connection before
}

// A lost purchase is one whose client was notified that the outcome is unknown.
type lostPurchase struct {
	*order
	merchant *merchant
	at       time.Time     // since when its carrier answers look-ups again
	took     time.Duration // until it was settled, or left to a person
	state    string
}

// TestProveLostAnswers loses the carrier's answer to every purchase: most were sold,
// some were not. Look-ups find sales as late as the carriers do, and the service
// believes an absence when the same search finds an earlier purchase of the connection.
// It counts how many end settled and how many are left to a person.
func TestProveLostAnswers(t *testing.T) {
	p := proving.Pick(t, losing{merchants: 10, orders: 2}, losing{merchants: 20, orders: 12})
	proving.Beside(t)
	proveLost(t, p, "")
}

// TestProveLostAnswersOfBlindUPS is the same at UPS alone, where Label Recovery knows no
// labels but those of returns: a sale is found by tracking, without its label.
func TestProveLostAnswersOfBlindUPS(t *testing.T) {
	p := proving.Pick(t, losing{merchants: 10, orders: 2}, losing{merchants: 20, orders: 12})
	proving.Beside(t)
	proveLost(t, p, "never")
}

// proveLost runs at full size only: it waits for the carriers' delays, and a share of
// few purchases says little.
func proveLost(t *testing.T, p losing, recovery string) {
	if os.Getenv("PROVE") != "full" {
		t.Skip("lost answers are proved at full size: make prove WHAT=purchases SIZE=full")
	}
	seed := proving.Seed(t)
	w := newWorld(t)

	// A purchase is bought again as long after its creation as in production,
	// compressed like the rest: where an absence takes an hour to confirm, never.
	w.settings = append(w.settings, "REBUY_FOR="+w.compressed(10*time.Minute).String())
	for _, c := range w.copies {
		c.Stop(t)
		c.Start(t)
	}
	proving.Ready(t, w.copies)

	names := carrierNames
	if recovery != "" {
		names = []string{"ups"}
		w.setRecovery(recovery)
	}
	merchants := w.newMerchants(p.merchants)
	w.buyControls(merchants, names, seed)

	began := time.Now()
	lost := w.loseAnswers(merchants, names, p.orders, seed)
	w.awaitOutcomes(lost)
	_, late := w.settle(2 * time.Minute)
	figures, violations := w.judgeLost(lost)
	violations = append(violations, late...)
	figures["violations"] = len(violations)
	figures["lookupScale"] = w.lookupScale
	figures["seconds"] = proving.Round(time.Since(began).Seconds())
	report(t, nil, figures)
	for _, what := range violations {
		t.Error(what)
	}
	w.guard(t)
}

// setRecovery chooses what UPS's Label Recovery knows.
func (w *world) setRecovery(recovery string) {
	w.t.Helper()
	body := fmt.Sprintf(`{"recovery":%q}`, recovery)
	request, err := http.NewRequest(http.MethodPut, "http://"+w.stand("ups").Addr+"/_emulator/settings", strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	response, err := w.http.Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		w.t.Fatalf("UPS does not take its settings: %d", response.StatusCode)
	}
}

// newMerchants creates accounts. One in ten buys nothing before its answers are lost.
func (w *world) newMerchants(n int) []*merchant {
	list := make([]*merchant, n)
	for i := range list {
		id := strings.Fields(w.waybill("account", "create", "--name", fmt.Sprintf("merchant %d", i)))[0]
		w.connect(id)
		key := strings.TrimSpace(w.waybill("key", "create", "--live", "--account", id, "--name", "lost"))
		w.watch.add(fmt.Sprintf("API key %d", i), key)
		list[i] = &merchant{id: id, key: key, hasControl: i%10 != 9}
	}
	return list
}

// eachMerchant does something for each merchant, a few at once.
func eachMerchant(list []*merchant, do func(n int, m *merchant)) {
	next := make(chan int)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for n := range next {
				do(n, list[n])
			}
		})
	}
	for n := range list {
		next <- n
	}
	close(next)
	all.Wait()
}

// buyControls buys a label over each connection, and waits until the look-ups of the
// carriers find it.
func (w *world) buyControls(merchants []*merchant, names []string, seed uint64) {
	w.t.Helper()
	eachMerchant(merchants, func(n int, m *merchant) {
		if !m.hasControl {
			return
		}
		for _, name := range names {
			o := newOrder(fmt.Sprintf("control-%x-%d-%s", seed, n, name), name)
			until := time.Now().Add(proving.Patiently(time.Minute))
			for status := 0; status != http.StatusCreated; time.Sleep(100 * time.Millisecond) {
				var answer []byte
				status, answer, _ = w.callWith(m.key, w.copies[n%len(w.copies)], http.MethodPost, "/v1/shipments", o.key, o.body)
				if time.Now().After(until) {
					w.t.Errorf("%s was not bought: %d %s", o.key, status, answer)
					return
				}
			}
		}
	})
	if w.t.Failed() {
		w.t.FailNow()
	}
	time.Sleep(w.compressed(time.Hour + 10*time.Minute))
}

// loseAnswers buys from carriers that do not answer: three in four requests are taken,
// and of those that buy every answer is lost. Then the carriers are healthy again.
func (w *world) loseAnswers(merchants []*merchant, names []string, orders int, seed uint64) (lost []*lostPurchase) {
	w.t.Helper()
	for _, name := range names {
		faults := emulator.Faults{
			HangFor: emulator.Duration(10 * time.Second),
			Stall:   0.25,
			Buy:     map[string]float64{"hang": 0.25, "reset": 0.25, "500": 0.25, "truncate": 0.25},
		}
		w.turn(w.stand(name), faults)
	}
	var mu sync.Mutex
	eachMerchant(merchants, func(n int, m *merchant) {
		rng := rand.New(rand.NewPCG(seed, uint64(n)))
		for _, name := range names {
			for i := range orders {
				one := &lostPurchase{order: newOrder(fmt.Sprintf("lost-%x-%d-%s-%d", seed, n, name, i), name), merchant: m}
				if w.lose(one, rng) {
					mu.Lock()
					lost = append(lost, one)
					mu.Unlock()
				}
			}
		}
	})
	for _, name := range names {
		w.turn(w.stand(name), emulator.Faults{})
	}

	// Look-ups failed until now like everything else, for as long as it took to lose all
	// answers.
	now := time.Now()
	for _, one := range lost {
		one.at = now
	}
	return lost
}

// lose buys an order once, and reports whether the outcome is unknown.
func (w *world) lose(one *lostPurchase, rng *rand.Rand) bool {
	for until := time.Now().Add(proving.Patiently(time.Minute)); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		status, answer, err := w.callWith(one.merchant.key, w.copies[rng.IntN(len(w.copies))], http.MethodPost, "/v1/shipments", one.key, one.body)
		var problem struct{ Code string }
		_ = json.Unmarshal(answer, &problem)
		switch {
		case err != nil: // asked again under its key
		case status == http.StatusCreated:
			return false
		case status == http.StatusAccepted, problem.Code == "outcome_unknown":
			return true
		case status >= 500, status == http.StatusConflict, status == http.StatusTooManyRequests:
		default:
			w.t.Errorf("%s: %d %s", one.key, status, answer)
			return false
		}
	}
	w.t.Errorf("%s was never answered", one.key)
	return false
}

// outcomes are the states of all purchases, by key.
func (w *world) outcomes() map[string]lostOutcome {
	w.t.Helper()
	rows, err := w.pool.Query(w.t.Context(), `SELECT k.key, s.state::text, coalesce(s.tracking_number, '') FROM idempotency_keys k JOIN shipment_states s ON s.id = k.shipment_id`)
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	all := map[string]lostOutcome{}
	for rows.Next() {
		var key string
		var one lostOutcome
		if err := rows.Scan(&key, &one.state, &one.number); err != nil {
			w.t.Fatal(err)
		}
		all[key] = one
	}
	if err := rows.Err(); err != nil {
		w.t.Fatal(err)
	}
	return all
}

type lostOutcome struct{ state, number string }

// awaitOutcomes waits until every purchase is settled or left to a person, and notes how
// long that took.
func (w *world) awaitOutcomes(lost []*lostPurchase) {
	w.t.Helper()
	for until := time.Now().Add(proving.Patiently(3 * time.Minute)); time.Now().Before(until); time.Sleep(250 * time.Millisecond) {
		all, open := w.outcomes(), 0
		for _, one := range lost {
			switch state := all[one.key].state; {
			case one.state != "":
			case state == "purchasing", state == "uncertain", state == "":
				open++
			default:
				one.state = state
				one.took = time.Since(one.at)
			}
		}
		if open == 0 {
			return
		}
	}
}

// leastSettled is the share of lost answers that must end settled, if something was
// bought over the connection before.
const leastSettled = 0.8

// judgeLost compares the outcomes with the ledgers of the carriers, and counts them.
func (w *world) judgeLost(lost []*lostPurchase) (figures map[string]any, violations []string) {
	w.t.Helper()
	add := func(format string, args ...any) { violations = append(violations, fmt.Sprintf(format, args...)) }
	j := w.newJudge(nil)
	j.readAttempts()
	j.readOrphaned()
	live := map[string][]string{}
	for _, s := range j.sales {
		key := j.keyOf[s.Reference]
		if key == "" {
			add("%s sold %s, of which no attempt is recorded", s.carrier, s.Number)
		}
		if s.live() && !j.abandoned[s.carrier+s.Number] {
			live[key] = append(live[key], s.Number)
		}
	}

	ends := w.outcomes()
	with, without := map[string]*lostCount{}, map[string]*lostCount{}
	var all lostCount
	for _, one := range lost {
		end := ends[one.key]
		numbers := live[one.key]
		switch {
		case len(numbers) > 1:
			add("%s has %d live labels: %s", one.key, len(numbers), j.story(one.key))
		case end.state == "purchased" && (len(numbers) == 0 || numbers[0] != end.number):
			add("%s is %s, and live is %v: %s", one.key, end.number, numbers, j.story(one.key))
		case end.state == "failed" && len(numbers) > 0:
			add("%s failed, and live is %v: %s", one.key, numbers, j.story(one.key))
		case one.state == "":
			add("%s is still %s: %s", one.key, end.state, j.story(one.key))
		}
		if one.merchant.hasControl {
			count(with, one.carrier).add(one)
			all.add(one)
		} else {
			count(without, one.carrier).add(one)
		}
	}
	if share := 1 - all.reviewShare(); share < leastSettled {
		add("%.2f of the lost answers with a control are settled, want %.2f", share, leastSettled)
	}
	figures = map[string]any{"lost": len(lost), "settledShare": round2(1 - all.reviewShare()), "carriers": w.tell(with), "withoutControl": w.tell(without)}
	return figures, violations
}

// lostCount counts lost answers of a carrier.
type lostCount struct {
	n, reviews int
	took       []time.Duration // of those that were settled
}

func count(of map[string]*lostCount, name string) *lostCount {
	if of[name] == nil {
		of[name] = &lostCount{}
	}
	return of[name]
}

func (c *lostCount) add(one *lostPurchase) {
	c.n++
	if one.state == "needs_review" {
		c.reviews++
		return
	}
	c.took = append(c.took, one.took)
}

func (c *lostCount) reviewShare() float64 { return float64(c.reviews) / float64(max(1, c.n)) }

func round2(x float64) float64 { return float64(int(x*100+0.5)) / 100 }

// tell returns the figures of each carrier. The minutes are those that would pass at the
// real carrier.
func (w *world) tell(of map[string]*lostCount) map[string]any {
	out := map[string]any{}
	for name, c := range of {
		seconds := proving.Quantile(c.took, 0.5) / 1000
		out[name] = map[string]any{
			"lost":                c.n,
			"reviewShare":         round2(c.reviewShare()),
			"settledSecondsP50":   proving.Round(seconds),
			"settledSecondsP99":   proving.Round(proving.Quantile(c.took, 0.99) / 1000),
			"settledAsMinutesP50": proving.Round(seconds / w.lookupScale / 60),
		}
	}
	return out
}
