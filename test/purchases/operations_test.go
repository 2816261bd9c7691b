//go:build chaos

package purchases

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/test/proving"
)

// A shippingDay is how much is collected, handed over and returned while how much
// dies.
type shippingDay struct {
	pickups int
	labels  int // that are handed over, a few a manifest
	returns int // each asked for twice at once, under two keys
	killing killing
	perForm int // labels on a manifest of USPS
}

// TestOperationsUnderKills books pickups, closes manifests and buys returns while copies of
// the service, carriers and Postgres are killed, and carriers do what they are asked
// without answering.
func TestOperationsUnderKills(t *testing.T) {
	p := proving.Pick(t,
		shippingDay{pickups: 160, labels: 80, returns: 24, perForm: 5, killing: killing{kills: 12, crashes: 1, lasts: 30 * time.Second, settles: 3 * time.Minute}},
		shippingDay{pickups: 5000, labels: 4000, returns: 1000, perForm: 2, killing: killing{kills: 300, crashes: 10, lasts: 12 * time.Minute, settles: 10 * time.Minute}})
	seed := proving.Seed(t)
	w := newWorld(t)
	start := time.Now()
	d := &day{world: w, clients: w.newClients(48, 0), seed: seed, violations: map[string][]string{}}
	d.buyLabels(p)
	t.Logf("%d labels bought after %.1f s", len(d.handed)+len(d.returned), time.Since(start).Seconds())

	for _, s := range w.carriers {
		w.turn(s, badOperations(s.Name))
	}
	var killers, work sync.WaitGroup
	killers.Go(func() { w.kill(seed, p.killing.kills, p.killing.lasts) })
	killers.Go(func() { w.crash(p.killing.crashes, p.killing.lasts) })
	work.Go(func() { d.bookAll(p) })
	work.Go(func() { d.closeAll(p) })
	work.Go(func() { d.returnAll(p) })
	work.Wait()
	killers.Wait()
	t.Logf("all clients have their answer after %.1f s", time.Since(start).Seconds())

	w.turnAll(emulator.Faults{})
	w.handedOver = d.onManifests
	tail, late := w.settle(p.killing.settles)
	d.add("not settled", late...)
	d.settleDay(p.killing.settles)
	ledger := d.readLedgers()
	d.judgePickups(ledger)
	d.judgeManifests(ledger)
	d.judgeReturns()

	n := p.pickups + p.labels + p.returns
	violations := 0
	for kind, list := range d.violations {
		violations += len(list)
		t.Errorf("%s: %d\n  %s", kind, len(list), strings.Join(list[:min(len(list), 5)], "\n  "))
	}
	proving.Report(t, "operations.json", func(out *proving.Proof) {
		out.N, out.Seed, out.Settings = n, seed, w.settings
		out.Kills, out.Crashes = w.kills.Load(), w.postgres.Crashes.Load()
		out.Violations, out.Bound95 = violations, proving.Upper95(violations)/float64(n)
		out.Seconds = proving.Round(time.Since(start).Seconds())
	}, map[string]any{
		"violations": violations,
		"pickups":    p.pickups, "labels": p.labels, "returns": p.returns, "answers": d.clients.answers,
		"pickupStates": d.states("pickups"), "manifestStates": d.states("manifests"), "needReview": d.reviews,
		"settledAfterSeconds": proving.Round(tail.Seconds()),
		"lostOnManifests":     w.count(`SELECT count(*) FROM orphaned_labels WHERE tracking_number = ANY ($1)`, d.onManifests()),
	})
	t.Logf("%d pickups, %d labels handed over, %d returns, %d kills, %d crashes of Postgres: %d violations",
		p.pickups, p.labels, p.returns, w.kills.Load(), w.postgres.Crashes.Load(), violations)
}

// badOperations is how a carrier misbehaves besides on a bad day: a twelfth of what it
// does is not answered for.
func badOperations(name string) emulator.Faults {
	k := badDay()
	k.Limit = 0
	k.Day = map[string]float64{"refuse": 0.01, "hang": 0.02, "reset": 0.02, "500": 0.015, "502": 0.01, "truncate": 0.015}
	return k
}

// day is the operations of a run.
type day struct {
	*world
	clients *clients
	seed    uint64

	handed   []*order // labels of USPS and FedEx, to be handed over
	returned []*order // labels of UPS and FedEx, to be returned

	violations map[string][]string
	reviews    map[string]int // what a person must decide, by carrier
}

func (d *day) add(kind string, list ...string) {
	if len(list) > 0 {
		d.violations[kind] = append(d.violations[kind], list...)
	}
}

// buyLabels buys what is handed over and returned, while everybody behaves.
func (d *day) buyLabels(p shippingDay) {
	for i := range p.labels {
		carrier, service := "usps", "ground_advantage"
		if i%2 == 1 {
			carrier, service = "fedex", "ground"
		}
		d.handed = append(d.handed, newOrder(fmt.Sprintf("hand-%x-%d", d.seed, i), carrier, `"service":"`+service+`"`))
	}
	for i := range p.returns {
		carrier := []string{"ups", "fedex"}[i%2]
		d.returned = append(d.returned, newOrder(fmt.Sprintf("return-%x-%d", d.seed, i), carrier, `"service":"ground"`))
	}
	all := append(append([]*order{}, d.handed...), d.returned...)
	d.clients.buyAll(all, d.seed, time.Second, 3*time.Minute)
	for _, o := range all {
		if o.status != http.StatusCreated {
			d.t.Fatalf("%s was not bought: %d %s", o.key, o.status, o.code)
		}
	}
}

// spread does n things over the time of the run, each at its moment.
func spread(n int, lasts time.Duration, do func(i int)) {
	began := time.Now()
	var all sync.WaitGroup
	for i := range n {
		time.Sleep(time.Until(began.Add(lasts * time.Duration(i) / time.Duration(n))))
		all.Go(func() { do(i) })
	}
	all.Wait()
}

// insist sends the same request to any copy until it is answered for good, and
// returns the answer.
func (d *day) insist(path, key, body string, i int) (status int, answer []byte) {
	rng := rand.New(rand.NewPCG(d.seed, uint64(i)+7))
	until := time.Now().Add(5 * time.Minute)
	for wait := 50 * time.Millisecond; time.Now().Before(until); wait = min(2*wait, time.Second) {
		d.clients.slots <- struct{}{}
		status, answer, err := d.call(d.copies[rng.IntN(len(d.copies))], http.MethodPost, path, key, body)
		<-d.clients.slots
		d.clients.count(status, answer)
		isBusy := strings.Contains(string(answer), "in_progress")
		if err == nil && status != http.StatusTooManyRequests && status < 500 && !isBusy {
			return status, answer
		}
		time.Sleep(wait/2 + time.Duration(rng.Int64N(int64(wait))))
	}
	return 0, nil
}

// street is where the i-th pickup is: each has a place of its own.
func street(i int) string { return strconv.Itoa(10_000+i) + " Market St" }

// bookAll books the pickups, a quarter at each carrier, each by two requests.
func (d *day) bookAll(p shippingDay) {
	zone := time.FixedZone("", -8*3600)
	tomorrow := time.Now().In(zone).AddDate(0, 0, 1)
	ready := time.Date(tomorrow.Year(), tomorrow.Month(), tomorrow.Day(), 12, 0, 0, 0, zone)
	spread(p.pickups, p.killing.lasts, func(i int) {
		carrier := carrierNames[i%len(carrierNames)]
		body := fmt.Sprintf(`{"carrier":%q,"address":{"name":"Ann Lee","company":"Shop","address1":%q,"city":"San Francisco","state":"CA","zip":"94105",`+
			`"country":"US","phone":"+14155550100","email":"ann@example.com"},"readyAt":%q,"closeAt":%q,"shipmentIds":[%q]}`,
			carrier, street(i), ready.Format(time.RFC3339), ready.Add(4*time.Hour).Format(time.RFC3339), d.shipmentOf(carrier))
		if carrier != "usps" && carrier != "fedex" {
			body = strings.Replace(body, `"shipmentIds":["`+d.shipmentOf(carrier)+`"]`, `"parcels":2,"weight":5,"weightUnit":"lb"`, 1)
		}
		for _, half := range []string{"a", "b"} {
			d.insist("/v1/pickups", fmt.Sprintf("pickup-%x-%d-%s", d.seed, i, half), body, i)
		}
	})
}

// shipmentOf is a shipment that the carrier would collect; any will do.
func (d *day) shipmentOf(carrier string) string {
	for _, o := range d.handed {
		if o.carrier == carrier {
			return o.shipment.ID
		}
	}
	return ""
}

// closeAll closes manifests: of USPS a few labels each, of FedEx whatever is open.
func (d *day) closeAll(p shippingDay) {
	var usps []string
	for _, o := range d.handed {
		if o.carrier == "usps" {
			usps = append(usps, `"`+o.shipment.ID+`"`)
		}
	}
	forms := (len(usps) + p.perForm - 1) / p.perForm
	spread(forms+20, p.killing.lasts, func(i int) {
		if i >= forms {
			d.insist("/v1/manifests", fmt.Sprintf("fedex-%x-%d", d.seed, i), `{"carrier":"fedex"}`, i)
			return
		}
		list := usps[i*p.perForm : min(len(usps), (i+1)*p.perForm)]
		for _, half := range []string{"a", "b"} { // the second asks for labels that are taken
			d.insist("/v1/manifests", fmt.Sprintf("usps-%x-%d-%s", d.seed, i, half), `{"carrier":"usps","shipmentIds":[`+strings.Join(list, ",")+`]}`, i)
		}
	})
}

// returnAll asks for each return under two keys at the same time.
func (d *day) returnAll(p shippingDay) {
	spread(len(d.returned), p.killing.lasts, func(i int) {
		o := d.returned[i]
		var both sync.WaitGroup
		for _, half := range []string{"a", "b"} {
			both.Go(func() {
				d.insist("/v1/shipments/"+o.shipment.ID+"/return", o.key+half, `{"carrier":"`+o.carrier+`","service":"ground"}`, i)
			})
		}
		both.Wait()
	})
}

// settleDay waits until no pickup and no manifest is open.
func (d *day) settleDay(limit time.Duration) {
	d.t.Helper()
	began := time.Now()
	for {
		left := d.count(`SELECT (SELECT count(*) FROM pickups WHERE state IN ('pending', 'uncertain', 'cancelling')) +
			(SELECT count(*) FROM manifests WHERE state IN ('pending', 'uncertain'))`)
		if left == 0 {
			return
		}
		if time.Since(began) > limit {
			d.add("not settled", fmt.Sprintf("%d pickups and manifests after %s", left, limit))
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// done is something that a carrier did, as its ledger has it.
type done struct {
	emulator.Entry
	carrier string
}

func (d *day) readLedgers() (all []done) {
	d.t.Helper()
	for _, s := range d.carriers {
		file, err := os.Open(s.ledger)
		if err != nil {
			d.t.Fatal(err)
		}
		lines := bufio.NewReader(file)
		for {
			text, err := lines.ReadBytes('\n')
			if errors.Is(err, io.EOF) {
				break // a line that is not whole was not answered for
			}
			if err != nil {
				d.t.Fatal(err)
			}
			one := done{carrier: s.Name}
			if err := json.Unmarshal(text, &one.Entry); err != nil {
				d.t.Fatalf("ledger of %s: %v", s.Name, err)
			}
			all = append(all, one)
		}
		file.Close()
	}
	return all
}

// onManifests lists the labels on the manifests of carriers.
func (d *day) onManifests() []string {
	numbers := []string{}
	for _, line := range d.readLedgers() {
		if line.Kind == emulator.ManifestClosed {
			numbers = append(numbers, line.Pieces...)
		}
	}
	return numbers
}

// judgePickups compares the pickups with the ledgers: each was booked once at
// most, and what was booked is recorded.
func (d *day) judgePickups(ledger []done) {
	type booked struct {
		id, carrier, state, street string
		lines                      []string
	}
	var all []*booked
	rows, err := d.pool.Query(d.t.Context(), `SELECT id, carrier, state, request->'address'->>'address1' FROM pickups ORDER BY id`)
	if err != nil {
		d.t.Fatal(err)
	}
	for rows.Next() {
		one := &booked{}
		var id [16]byte
		if err := rows.Scan(&id, &one.carrier, &one.state, &one.street); err != nil {
			d.t.Fatal(err)
		}
		one.id = string(ship.PickupIDOf(id))
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		d.t.Fatal(err)
	}

	byID := map[string]*booked{}
	byStreet := map[string][]*booked{}
	for _, one := range all {
		byID[one.id] = one
		at := one.carrier + strings.ToUpper(one.street)
		byStreet[at] = append(byStreet[at], one)
	}
	for _, line := range ledger {
		if line.Kind != emulator.PickupBooked {
			continue
		}
		owner := byID[line.Reference]
		if owner == nil { // USPS keeps no reference
			for at, list := range byStreet {
				if rest, ok := strings.CutPrefix(at, line.carrier); ok && strings.Contains(strings.ToUpper(string(line.Kept)), `"`+rest+`"`) {
					owner = list[len(list)-1]
				}
			}
		}
		if owner == nil {
			d.add("booked and not written down", fmt.Sprintf("%s %s %s %s", line.carrier, line.Number, line.Reference, line.Kept))
			continue
		}
		owner.lines = append(owner.lines, line.Number)
	}

	d.reviews = map[string]int{}
	for _, one := range all {
		story := fmt.Sprintf("%s %s at %s is %s, the carrier has %v", one.carrier, one.id, one.street, one.state, one.lines)
		switch {
		case len(one.lines) > 1:
			d.add("booked twice", story)
		case one.state == "succeeded" && len(one.lines) == 0:
			d.add("recorded and not booked", story)
		case one.state == "failed" && len(one.lines) > 0:
			d.add("booked and recorded as failed", story)
		case one.state == "needs_review":
			d.reviews["pickup "+one.carrier]++
		}
	}
	for at, list := range byStreet {
		n := 0
		for _, one := range list {
			n += len(one.lines)
		}
		if n > 1 {
			d.add("two pickups at a place", fmt.Sprintf("%s: %d", at, n))
		}
	}
}

// judgeManifests compares the manifests with the ledgers: a label is on one at most,
// and what was closed is recorded.
func (d *day) judgeManifests(ledger []done) {
	closed := map[string]int{}
	for _, line := range ledger {
		if line.Kind == emulator.ManifestClosed {
			for _, number := range line.Pieces {
				closed[line.carrier+" "+number]++
			}
		}
	}

	states := map[string]string{} // of the manifest that a shipment is on
	rows, err := d.pool.Query(d.t.Context(), `SELECT s.shipment_id, m.state FROM manifest_shipments s JOIN manifests m ON m.id = s.manifest_id`)
	if err != nil {
		d.t.Fatal(err)
	}
	for rows.Next() {
		var id [16]byte
		var state string
		if err := rows.Scan(&id, &state); err != nil {
			d.t.Fatal(err)
		}
		states[string(ship.ShipmentIDOf(id))] = state
	}
	if err := rows.Err(); err != nil {
		d.t.Fatal(err)
	}

	for _, o := range append(append([]*order{}, d.handed...), d.returned...) {
		n := closed[o.carrier+" "+o.shipment.TrackingNumber]
		state := states[o.shipment.ID]
		story := fmt.Sprintf("%s %s: on %d manifests of the carrier, ours is %q", o.carrier, o.shipment.ID, n, state)
		switch {
		case n > 1:
			d.add("on two manifests", story)
		case n == 1 && state == "":
			d.add("closed and not recorded", story)
		case n == 0 && state == "succeeded":
			d.add("recorded and not closed", story)
		case state == "needs_review":
			d.reviews["label on a manifest of "+o.carrier]++
		}
	}
}

// judgeReturns counts the live labels of each return.
func (d *day) judgeReturns() {
	returnOf := map[string]string{} // by the reference of an attempt
	rows, err := d.pool.Query(d.t.Context(), `SELECT l.value, a.reference FROM lookup_keys l JOIN purchase_attempts a ON a.shipment_id = l.subject_id WHERE l.kind = 'r'`)
	if err != nil {
		d.t.Fatal(err)
	}
	for rows.Next() {
		var returned, reference string
		if err := rows.Scan(&returned, &reference); err != nil {
			d.t.Fatal(err)
		}
		returnOf[reference] = returned
	}
	if err := rows.Err(); err != nil {
		d.t.Fatal(err)
	}

	live := map[string]int{}
	for _, s := range d.sales() {
		if returned := returnOf[s.Reference]; returned != "" && s.live() {
			live[returned]++
		}
	}
	bought := 0
	for returned, n := range live {
		bought++
		if n > 1 {
			d.add("returned twice", fmt.Sprintf("%s has %d live labels", returned, n))
		}
	}
	if bought == 0 {
		d.add("no return was bought", "the run shows nothing about returns")
	}
}

// states counts the rows of a table by their state.
func (d *day) states(table string) map[string]int {
	counts := map[string]int{}
	rows, err := d.pool.Query(d.t.Context(), `SELECT carrier || ' ' || state, count(*) FROM `+table+` GROUP BY 1`)
	if err != nil {
		d.t.Fatal(err)
	}
	for rows.Next() {
		var state string
		var n int
		if err := rows.Scan(&state, &n); err != nil {
			d.t.Fatal(err)
		}
		counts[state] = n
	}
	return counts
}
