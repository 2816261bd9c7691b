//go:build chaos

package purchases

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/test/proving"
)

// A moved shipment is one that a client of EasyPost's API buys: it sends no
// idempotency key.
type movedShipment struct {
	id      string
	rates   []movedRate
	carrier string // that it prefers
	code    string // tracking code that it was answered; empty while there is none
	isLeft  bool   // a person has to decide about it
	lost    int    // answers that it lost
	sent    int    // purchases that it sent
}

type movedRate struct{ ID, Carrier string }

// movedCarriers are the carriers' names there.
var movedCarriers = []string{"UPS", "USPS", "FedEx", "DHLExpress"}

const movedBody = `{"shipment":{"from_address":{"name":"Warehouse","company":"Shop","street1":"1 Market St","city":"San Francisco","state":"CA","zip":"94105","country":"US","phone":"+14155550100"},` +
	`"to_address":{"name":"Ada Lovelace","street1":"350 5th Avenue","city":"New York","state":"NY","zip":"10118","country":"US","phone":"+12125550100"},` +
	`"parcel":{"weight":40,"length":10,"width":8,"height":4}}}`

// TestProveMovedClients has clients of EasyPost's API buy while answers are lost on
// both sides: carriers sell and do not say so, clients hang up and ask again, twice
// at once, for the same rate or another one. The ledgers say how many labels were
// sold for each shipment: one live label at most, and it is the one that the client
// was told.
func TestProveMovedClients(t *testing.T) {
	n := proving.Pick(t, 100, 1000)
	proving.Beside(t)
	seed := proving.Seed(t)
	w := newWorld(t)
	w.turnAll(emulator.Faults{
		Latency: emulator.Duration(20 * time.Millisecond), Spread: emulator.Duration(150 * time.Millisecond), HangFor: emulator.Duration(5 * time.Second),
		Refuse: 0.05, Buy: map[string]float64{"reset": 0.1, "hang": 0.03, "500": 0.05, "truncate": 0.05},
	})

	list := make([]*movedShipment, n)
	var next atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for client := range 12 {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(client)))
			for i := next.Add(1) - 1; i < int64(n) && !t.Failed(); i = next.Add(1) - 1 {
				list[i] = w.moveOne(t, rng, movedCarriers[i%4])
			}
		})
	}
	all.Wait()
	lasted := time.Since(began)
	w.turnAll(emulator.Faults{})
	_, violations := w.settle(2 * time.Minute)

	second, differing, sold := w.judgeMoved(t, list)
	lost, sent := 0, 0
	for _, one := range list {
		lost += one.lost
		sent += one.sent
	}
	report(t, nil, map[string]any{
		"purchases": n, "requests": sent, "lost": lost, "sold": sold, "violations": second + differing + len(violations), "seconds": proving.Round(lasted.Seconds()),
	})
	t.Logf("%d shipments, %d purchases sent, %d answers lost, %d labels sold: %d second labels, %d answered otherwise", n, sent, lost, sold, second, differing)
	for _, what := range violations {
		t.Error(what)
	}
}

// moveOne rates a shipment and insists on its purchase, as a client does that knows
// nothing of idempotency: it tries again, whatever happened.
func (w *world) moveOne(t *testing.T, rng *rand.Rand, carrier string) *movedShipment {
	one := &movedShipment{carrier: carrier}
	until := time.Now().Add(proving.Patiently(90 * time.Second))
	for one.id == "" && time.Now().Before(until) {
		status, answer, err := w.call(w.copies[rng.IntN(len(w.copies))], http.MethodPost, "/v2/shipments", "", movedBody)
		var made struct {
			ID    string
			Rates []movedRate
		}
		if err == nil && status == http.StatusCreated && json.Unmarshal(answer, &made) == nil && len(made.Rates) > 0 {
			one.id, one.rates = made.ID, made.Rates
		}
	}
	if one.id == "" {
		t.Errorf("a shipment was never rated")
		return one
	}

	rate := one.rateOf(carrier)
	for time.Now().Before(until) {
		p := w.copies[rng.IntN(len(w.copies))]
		body := `{"rate":{"id":"` + rate + `"}}`
		one.sent++
		switch {
		case rng.Float64() < 0.3:
			one.lost++
			w.hangUpMoved(p, one.id, body, rng)
			continue
		case rng.Float64() < 0.1:
			// A second request on its way at the same time.
			one.sent++
			go w.call(p, http.MethodPost, "/v2/shipments/"+one.id+"/buy", "", body)
		}

		status, answer, err := w.call(p, http.MethodPost, "/v2/shipments/"+one.id+"/buy", "", body)
		var said struct {
			TrackingCode string `json:"tracking_code"`
			Error        struct{ Code string }
		}
		_ = json.Unmarshal(answer, &said)
		switch {
		case status == http.StatusGatewayTimeout && w.isUndecided(one.id):
			one.isLeft = true
			return one
		case err != nil, status >= 500, said.Error.Code == "SHIPMENT.PURCHASE.IN_PROGRESS", status == http.StatusTooManyRequests:
			time.Sleep(time.Duration(50+rng.IntN(300)) * time.Millisecond)
		case status == http.StatusOK:
			one.code = said.TrackingCode
			return one
		case said.Error.Code == "SHIPMENT.POSTAGE.EXISTS":
			// Bought at another rate by a request whose answer was lost.
			if status, answer, err := w.call(p, http.MethodGet, "/v2/shipments/"+one.id, "", ""); err == nil && status == http.StatusOK {
				_ = json.Unmarshal(answer, &said)
				one.code = said.TrackingCode
				return one
			}
		case said.Error.Code == "SHIPMENT.POSTAGE.FAILURE":
			rate = one.rates[rng.IntN(len(one.rates))].ID // the carrier declined: another one
		default:
			t.Errorf("%s: %d %s", one.id, status, answer)
			return one
		}
	}
	return one
}

func (m *movedShipment) rateOf(carrier string) string {
	for _, rate := range m.rates {
		if rate.Carrier == carrier {
			return rate.ID
		}
	}
	return m.rates[0].ID
}

// hangUpMoved sends a purchase and is gone before the answer.
func (w *world) hangUpMoved(p *proving.Process, id, body string, rng *rand.Rand) {
	conn, err := net.DialTimeout("tcp", p.Addr, time.Second)
	if err != nil {
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	fmt.Fprintf(conn, "POST /v2/shipments/%s/buy HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", id, p.Addr, w.key, len(body), body)
	time.Sleep(time.Duration(rng.IntN(250)) * time.Millisecond)
}

// judgeMoved counts, by the carriers' ledgers, the shipments with a second live
// label, and those whose client was answered something else than what was sold.
func (w *world) judgeMoved(t *testing.T, list []*movedShipment) (second, differing, sold int) {
	rows, err := w.pool.Query(t.Context(), `SELECT k.key, a.reference FROM idempotency_keys k JOIN purchase_attempts a ON a.shipment_id = k.shipment_id WHERE starts_with(k.key, $1)`, ship.KeyOfRatedShipment)
	if err != nil {
		t.Fatal(err)
	}
	shipmentOf := map[string]string{}
	for rows.Next() {
		var key, reference string
		if err := rows.Scan(&key, &reference); err != nil {
			t.Fatal(err)
		}
		shipmentOf[reference], _, _ = strings.Cut(strings.TrimPrefix(key, string(ship.KeyOfRatedShipment)), "/")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}

	live := map[string][]string{}
	for _, sale := range w.sales() {
		sold++
		id := shipmentOf[sale.Reference]
		if id == "" {
			t.Errorf("%s sold %s, of which no attempt is written down", sale.carrier, sale.Number)
		}
		// A carrier that takes no labels back leaves those that are not used.
		isAbandoned := w.count(`SELECT count(*) FROM orphaned_labels WHERE state = 'void_not_needed' AND carrier = $1 AND tracking_number = $2`, sale.carrier, sale.Number) > 0
		if sale.live() && !isAbandoned {
			live[id] = append(live[id], sale.Number)
		}
	}
	for _, one := range list {
		numbers := live[one.id]
		if len(numbers) > 1 {
			second++
			t.Errorf("%s has %d live labels: %v", one.id, len(numbers), numbers)
		}

		if one.code == "" && (one.isLeft || w.isUndecided(one.id)) {
			continue
		}
		if one.code == "" {
			t.Errorf("%s was never answered", one.id)
			continue
		}
		if len(numbers) == 0 || !containsText(numbers, one.code) {
			differing++
			t.Errorf("%s was answered %s, live are %v", one.id, one.code, numbers)
		}
	}
	return second, differing, sold
}

// isUndecided reports whether the purchase of a rated shipment waits for a person. No
// absence is believed at FedEx before one decides.
func (w *world) isUndecided(id string) bool {
	return w.count(`SELECT count(*) FROM idempotency_keys k JOIN purchase_attempts a ON a.shipment_id = k.shipment_id JOIN shipment_states s ON s.id = k.shipment_id
		WHERE starts_with(k.key, $1) AND s.state = 'needs_review' AND a.carrier = 'fedex'`, ship.ServiceKey(ship.KeyOfRatedShipment, id, "")) > 0
}

func containsText(list []string, text string) bool {
	for _, one := range list {
		if one == text {
			return true
		}
	}
	return false
}
