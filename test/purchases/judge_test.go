//go:build chaos

package purchases

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/test/proving"
)

// A judge compares what the service says with what the carriers did. The
// ledgers are right.
type judge struct {
	*world
	orders     []*order
	violations map[string][]string // by kind

	sales     []*sale
	keyOf     map[string]string   // of the reference of an attempt
	attempts  map[string]int      // of a key
	shipments map[string]string   // of a key, seen by the client or not
	abandoned map[string]bool     // carrier and number: recorded as lost, of a carrier that takes nothing back
	reviewed  map[string]bool     // keys of purchases that wait for a person, which no carrier can be asked about
	undecided map[string]bool     // keys of purchases that wait for a person, because no absence can be confirmed before
	raised    map[string]bool     // carriers that showed a purchase so late that no absence is confirmed before the review
	unsettled map[string][]string // purchases that wait for a person although an absence could be confirmed, by carrier
	bought    map[string]int      // orders that ended at a carrier, in any way
	ends      map[string]int      // label statuses
	orphaned  map[string]int      // by what became of them
	slowest   time.Duration       // from the sale of a label that is voided to its void
}

// judge looks at everything, once all is settled.
func (w *world) judge(orders []*order) *judge {
	w.t.Helper()
	j := w.newJudge(orders)
	j.judge()
	return j
}

func (w *world) newJudge(orders []*order) *judge {
	return &judge{
		world: w, orders: orders, violations: map[string][]string{}, sales: w.sales(), keyOf: map[string]string{}, attempts: map[string]int{},
		shipments: map[string]string{}, abandoned: map[string]bool{}, undecided: map[string]bool{},
		unsettled: map[string][]string{}, bought: map[string]int{}, ends: map[string]int{}, orphaned: map[string]int{},
	}
}

func (j *judge) judge() {
	j.readAttempts()
	j.readOrphaned()
	j.readDelays()
	j.compare()
	j.judgeUnsettled()
	j.compareCharges()
	j.readEvents()
	j.repeat()
	j.fetchLabels()
	if out := j.waybill("doctor"); strings.Contains(out, "FAIL") {
		j.add("doctor", out)
	}
}

func (j *judge) add(kind string, list ...string) {
	j.violations[kind] = append(j.violations[kind], list...)
}

func (j *judge) total() (n int) {
	for _, list := range j.violations {
		n += len(list)
	}
	return n
}

// complain fails the test with a few examples of each kind.
func (j *judge) complain(t *testing.T) {
	t.Helper()
	for _, kind := range slices.Sorted(maps.Keys(j.violations)) {
		list := j.violations[kind]
		if len(list) > 0 {
			t.Errorf("%s: %d\n  %s", kind, len(list), strings.Join(list[:min(len(list), 5)], "\n  "))
		}
	}
}

// readAttempts learns which reference belongs to which purchase.
func (j *judge) readAttempts() {
	rows, err := j.pool.Query(j.t.Context(), `SELECT k.key, k.shipment_id, a.reference FROM idempotency_keys k JOIN purchase_attempts a ON a.shipment_id = k.shipment_id`)
	if err != nil {
		j.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var key, reference string
		var id [16]byte
		if err := rows.Scan(&key, &id, &reference); err != nil {
			j.t.Fatal(err)
		}
		j.keyOf[reference] = key
		j.attempts[key]++
		j.shipments[key] = string(ship.ShipmentIDOf(id))
	}
	if err := rows.Err(); err != nil {
		j.t.Fatal(err)
	}
}

// readDelays learns at which carriers two visibility delays no longer fit between a
// purchase and its review, less the time that a copy of the service may stand still. A
// machine that stands still for most of a minute shows a purchase hours late in the time
// of a carrier, which raises the delay of its connection, as it must.
func (j *judge) readDelays() {
	left := 24*time.Hour - proving.Times(j.standsStill, 1/j.lookupScale)
	rows, err := j.pool.Query(j.t.Context(), `
		SELECT DISTINCT c.carrier FROM connection_lookups l JOIN connections c ON c.id = l.connection_id
		WHERE l.raised_ms * 2 >= $1`, left.Milliseconds())
	if err != nil {
		j.t.Fatal(err)
	}
	carriers, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		j.t.Fatal(err)
	}

	j.raised = map[string]bool{}
	for _, carrier := range carriers {
		j.raised[carrier] = true
		j.t.Logf("%s showed a purchase so late that no absence is confirmed there before the review", carrier)
	}
}

// readOrphaned learns what was to be voided, and what became of it.
func (j *judge) readOrphaned() {
	rows, err := j.pool.Query(j.t.Context(), `SELECT carrier, tracking_number, state FROM orphaned_labels`)
	if err != nil {
		j.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var carrier, number, state string
		if err := rows.Scan(&carrier, &number, &state); err != nil {
			j.t.Fatal(err)
		}
		j.orphaned[carrier+" "+state]++
		if state == store.OrphanVoidNotNeeded {
			if carrier != "dhl_express" {
				j.add("abandoned", carrier+" takes labels back, and "+number+" was abandoned")
			}
			j.abandoned[carrier+number] = true
		}
	}
	if err := rows.Err(); err != nil {
		j.t.Fatal(err)
	}
}

// compare has each purchase answer for the labels that are live.
func (j *judge) compare() {
	live := map[string][]*sale{}
	for _, s := range j.sales {
		if took := s.voided.Sub(s.At); !s.live() {
			if j.slowest = max(j.slowest, took); took > 10*time.Minute {
				j.add("voided late", fmt.Sprintf("%s %s after %s", s.carrier, s.Number, took))
			}
		}
		key := j.keyOf[s.Reference]
		switch {
		case key == "":
			j.add("paid and unknown", fmt.Sprintf("%s sold %s under %s for %s, of which no attempt is written down", s.carrier, s.Number, s.Reference, s.Second))
		// A carrier has the shipment id, or only the order number that it prints.
		case s.Second != j.shipments[key] && s.Second != "order-"+key:
			j.add("wrong shipment", fmt.Sprintf("%s sold %s for %s, and %s is %s", s.carrier, s.Number, s.Second, key, j.shipments[key]))
		case s.live() && !j.abandoned[s.carrier+s.Number]:
			live[key] = append(live[key], s)
		}
	}
	for _, o := range j.orders {
		j.compareOrder(o, live[o.key])
		delete(live, o.key)
	}
	for key := range live {
		j.add("paid and unknown", key+" is nobody's order")
	}
}

// countLive counts the labels that somebody pays for: those that are neither voided nor
// recorded as not used at a carrier that bills labels when they are scanned.
func (j *judge) countLive() (n int) {
	for _, s := range j.sales {
		if s.live() && !j.abandoned[s.carrier+s.Number] {
			n++
		}
	}
	return n
}

func (j *judge) compareOrder(o *order, live []*sale) {
	if len(live) > 1 {
		j.add("two live labels", o.key+": "+j.story(o.key))
	}
	now := shipment{}
	if id := j.shipments[o.key]; id != "" {
		// A purchase that failed inside its request is seen by nobody.
		if status := j.get("/v1/shipments/"+id, &now); status == http.StatusNotFound && o.status != http.StatusCreated {
			now.LabelStatus = "unseen"
		}
	}
	j.ends[now.LabelStatus]++
	j.bought[now.Carrier]++
	switch now.LabelStatus {
	case "ready":
		if len(live) == 0 {
			j.add("ready and not live", o.key+": "+j.story(o.key))
		}
		for _, s := range live {
			if s.Number != now.TrackingNumber || s.carrier != now.Carrier {
				j.add("paid and unrecorded", fmt.Sprintf("%s: %s of %s is live, recorded is %s of %s: %s", o.key, s.Number, s.carrier, now.TrackingNumber, now.Carrier, j.story(o.key)))
			}
		}
		if o.status != http.StatusCreated {
			j.add("bought and not told", fmt.Sprintf("%s was answered %d %s: %s", o.key, o.status, o.code, j.story(o.key)))
		}
	case "failed", "unseen":
		if len(live) > 0 {
			j.add("failed and live", o.key+": "+j.story(o.key))
		}
		if o.status == http.StatusCreated {
			j.add("told and not bought", o.key+": "+j.story(o.key))
		}
	case "needs_review":
		// No absence is believed at FedEx before a person decides, nor where the
		// delay was raised too far for two looks.
		if j.reviewed == nil && (now.Carrier == "fedex" || j.raised[now.Carrier]) {
			j.undecided[o.key] = true
			break
		}
		if j.reviewed == nil {
			j.undecided[o.key] = true
			j.unsettled[now.Carrier] = append(j.unsettled[now.Carrier], fmt.Sprintf("%s needs review, answered %d: %s", o.key, o.status, j.story(o.key)))
			break
		}
		j.reviewed[o.key] = true
		if o.status != http.StatusAccepted {
			j.add("answered otherwise", fmt.Sprintf("%s needs review, answered %d: %s", o.key, o.status, j.story(o.key)))
		}
	default:
		j.add("not settled", fmt.Sprintf("%s is %q, answered %d: %s", o.key, now.LabelStatus, o.status, j.story(o.key)))
	}
	if o.status == http.StatusCreated && (o.shipment.ID != j.shipments[o.key] || o.shipment.TrackingNumber != now.TrackingNumber) {
		j.add("answered otherwise", fmt.Sprintf("%s was answered %+v, it is %+v", o.key, o.shipment, now))
	}
}

// reviewShare is how many of the lost answers may be left to a person, where an absence
// can be confirmed.
const reviewShare = 0.2

// judgeUnsettled judges the purchases that wait for a person. Where copies are frozen and
// killed, a day in the time of a carrier passes within a minute without a look-up.
func (j *judge) judgeUnsettled() {
	for carrier, list := range j.unsettled {
		lost := j.lostAnswers * float64(j.bought[carrier])
		if float64(len(list)) > reviewShare*lost {
			j.add("not settled", list...)
			continue
		}
		j.t.Logf("%s: %d of about %.0f lost answers wait for a person, such as %s", carrier, len(list), lost, list[0])
	}
}

// story is all that is known of a purchase.
func (j *judge) story(key string) string {
	var b strings.Builder
	rows, err := j.pool.Query(j.t.Context(), `
SELECT a.attempt, a.carrier, a.reference, coalesce(a.outcome, 'open'), a.started_at, a.ended_at, st.state::text, coalesce(st.tracking_number, '')
FROM idempotency_keys k JOIN purchase_attempts a ON a.shipment_id = k.shipment_id JOIN shipment_states st ON st.id = k.shipment_id WHERE k.key = $1 ORDER BY 1`, key)
	if err != nil {
		return err.Error()
	}
	defer rows.Close()
	for rows.Next() {
		var n int
		var carrier, reference, outcome, state, number string
		var began time.Time
		var ended *time.Time
		if err := rows.Scan(&n, &carrier, &reference, &outcome, &began, &ended, &state, &number); err != nil {
			return err.Error()
		}
		fmt.Fprintf(&b, "\n    %s %s: attempt %d at %s from %s to %s ended %s;", state, number, n, carrier, clock(&began), clock(ended), outcome)
		for _, s := range j.sales {
			if s.Reference == reference {
				fmt.Fprintf(&b, " sold %s at %s, voided %s;", s.Number, clock(&s.At), clock(&s.voided))
			}
		}
	}
	return j.shipments[key] + b.String()
}

func clock(t *time.Time) string {
	if t == nil || t.IsZero() {
		return "never"
	}
	return t.UTC().Format("15:04:05.000")
}
