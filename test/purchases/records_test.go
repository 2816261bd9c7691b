//go:build chaos

package purchases

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/test/proving"
)

// compareCharges holds the ledger of charges against those of the carriers: a
// line for each label that was recorded or orphaned, and one that takes it
// back where it was voided. Look-ups do not tell the price; then the charge is
// as quoted, and stand-ins charge what they quote.
func (j *judge) compareCharges() {
	charged := map[string]int64{}
	rows, err := j.pool.Query(j.t.Context(), `SELECT carrier, tracking_number, kind, amount_minor, currency FROM charges`)
	if err != nil {
		j.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var carrier, number, kind, currency string
		var minor int64
		if err := rows.Scan(&carrier, &number, &kind, &minor, &currency); err != nil {
			j.t.Fatal(err)
		}
		charged[strings.Join([]string{carrier, number, kind, currency}, " ")] = minor
	}
	if err := rows.Err(); err != nil {
		j.t.Fatal(err)
	}
	for _, s := range j.sales {
		price, ok := ship.ParseMoney(s.Amount, s.Currency)
		if !ok {
			j.t.Fatalf("%s sold for %q %q", s.carrier, s.Amount, s.Currency)
		}
		name := s.carrier + " " + s.Number
		bought, credited := charged[name+" purchase "+s.Currency], charged[name+" void "+s.Currency]
		switch {
		case bought == 0 && !s.live(): // given back before it was written down
		case bought == 0 && (j.reviewed[j.keyOf[s.Reference]] || j.undecided[j.keyOf[s.Reference]]): // a person has to find out that it was sold
		case bought != price.Minor:
			j.add("wrong charge", fmt.Sprintf("%s cost %s, charged is %d: %s", name, s.Amount, bought, j.story(j.keyOf[s.Reference])))
		case !s.live() && credited != -bought:
			j.add("wrong charge", fmt.Sprintf("%s was voided, credited is %d of %d", name, credited, bought))
		case s.live() && credited != 0 && !j.abandoned[s.carrier+s.Number]:
			j.add("wrong charge", fmt.Sprintf("%s is live, credited is %d", name, credited))
		}
	}
}

// notified is what the log of events tells of a shipment.
type notified struct {
	kinds     []string
	reason    string // of the last one
	sequences []int
}

// add adds an event. What a review ended with takes its place: a purchase that needed a
// person may be found after all, or have failed.
func (t *notified) add(kind, reason string) {
	if t.reason == "purchase_unconfirmed" && reason != t.reason {
		t.kinds = t.kinds[:len(t.kinds)-1]
	}
	t.kinds, t.reason = append(t.kinds, kind), reason
}

// of are the places of a kind.
func (t *notified) of(kind string) (list []int) {
	for i, k := range t.kinds {
		if k == kind {
			list = append(list, i)
		}
	}
	return list
}

// readEvents follows the log from its beginning: for each label the creation
// and the label, once each and first, and no gap in the numbers. The log shows an
// event when all transactions before it have ended, also those of a process that was
// killed; on a slow machine this takes a while.
func (j *judge) readEvents() {
	until := time.Now().Add(proving.Patiently(10 * time.Second))
	for {
		wrong := j.compareEvents()
		if len(wrong) == 0 || time.Now().After(until) {
			for _, w := range wrong {
				j.add(w.kind, w.what)
			}
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// A deviation is something that was found wrong.
type deviation struct{ kind, what string }

// compareEvents compares the log as it is now with what clients were answered.
func (j *judge) compareEvents() (wrong []deviation) {
	add := func(kind, what string) { wrong = append(wrong, deviation{kind, what}) }
	log := map[string]*notified{}
	query := "?limit=100"
	for {
		var page struct {
			Data []struct {
				Type     string
				Sequence int
				Data     struct{ Shipment struct{ ID, Reason string } }
			}
			NextCursor string
		}
		if status := j.get("/v1/events"+query, &page); status != http.StatusOK {
			j.t.Fatalf("events: %d", status)
		}
		if len(page.Data) == 0 {
			break
		}
		for _, e := range page.Data {
			t := log[e.Data.Shipment.ID]
			if t == nil {
				t = &notified{}
				log[e.Data.Shipment.ID] = t
			}
			t.add(e.Type, e.Data.Shipment.Reason)
			t.sequences = append(t.sequences, e.Sequence)
		}
		query = "?limit=100&after=" + page.NextCursor
	}
	for _, o := range j.orders {
		t := log[j.shipments[o.key]]
		if t == nil {
			t = &notified{}
		}
		kinds := t.kinds
		if j.reviewed != nil || j.undecided[o.key] {
			// It may have failed before it was tried again, and needed review
			// then, or until a disk was read.
			kinds = slices.Compact(slices.Clone(kinds))
			if o.status == http.StatusCreated {
				kinds = slices.DeleteFunc(kinds, func(kind string) bool { return kind == "shipment.exception" })
			}
		}
		got := strings.Join(kinds, " ")
		if o.status == http.StatusCreated && (!strings.HasPrefix(got, "shipment.created label.generated") || len(t.of("shipment.created"))+len(t.of("label.generated")) != 2) {
			add("missing events", fmt.Sprintf("%s: the log tells %q", o.key, got))
		}
		if o.status != http.StatusCreated && got != "" && got != "shipment.created shipment.exception" {
			add("missing events", fmt.Sprintf("%s was answered %d: the log tells %q", o.key, o.status, got))
		}
		for i, n := range t.sequences {
			if n != i+1 {
				add("gaps in sequences", fmt.Sprintf("%s: %v", o.key, t.sequences))
				break
			}
		}
	}
	return wrong
}

// eachOf does something for orders, a few at once.
func eachOf(orders []*order, atOnce int, do func(*order)) {
	work := make(chan *order)
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for o := range work {
				do(o)
			}
		})
	}
	for _, o := range orders {
		work <- o
	}
	close(work)
	all.Wait()
}

// repeat sends requests once more: the bytes of the answer are the same.
func (j *judge) repeat() {
	var mu sync.Mutex
	eachOf(j.orders, 4, func(o *order) {
		if o.status != http.StatusCreated {
			return
		}
		status, answer, err := j.ask(http.MethodPost, "/v1/shipments", o.key, o.body)
		if err != nil || status != http.StatusCreated || !bytes.Equal(answer, o.answer) {
			mu.Lock()
			defer mu.Unlock()
			j.add("another answer", fmt.Sprintf("%s: %d %v %s\n    before %s\n    %s", o.key, status, err, answer, o.answer, j.story(o.key)))
		}
	})
}

// fetchLabels fetches the PDF of labels that are ready. The plug-in sells ZPL, which
// is not made into another format.
func (j *judge) fetchLabels() {
	format, begins := "pdf", "%PDF"
	if j.carriers[0].isPlugin() {
		format, begins = "zpl", "^XA"
	}
	var mu sync.Mutex
	eachOf(j.orders, 4, func(o *order) {
		if o.status != http.StatusCreated {
			return
		}
		status, label, err := j.ask(http.MethodGet, "/v1/labels/"+o.shipment.ID+"."+format, "", "")
		if err != nil || status != http.StatusOK || !bytes.HasPrefix(label, []byte(begins)) {
			mu.Lock()
			defer mu.Unlock()
			j.add("ready without a label", fmt.Sprintf("%s: %d %v, %d bytes: %s", o.key, status, err, len(label), j.story(o.key)))
		}
	})
}

// figures are what the run counted.
func (j *judge) figures(c *clients, tail time.Duration) map[string]any {
	sold, voided, requests, again := 0, 0, 0, 0
	for _, s := range j.sales {
		sold++
		if !s.live() {
			voided++
		}
	}
	var took []time.Duration
	for _, o := range j.orders {
		requests += o.requests
		again += max(0, j.attempts[o.key]-1)
		if o.status == http.StatusCreated {
			took = append(took, o.took)
		}
	}
	kinds := map[string]int{}
	for kind, list := range j.violations {
		kinds[kind] = len(list)
	}
	unsettled := map[string]int{}
	for carrier, list := range j.unsettled {
		unsettled[carrier] = len(list)
	}
	return map[string]any{
		"unsettled": unsettled, "requests": requests, "answers": c.answers, "clientsGone": c.gone.Load(), "sold": sold, "voided": voided, "abandoned": len(j.abandoned), "furtherAttempts": again,
		"leftToAPerson": len(j.undecided), "labelStatus": j.ends, "stranded": j.orphaned, "slowestFromSaleToVoidSeconds": proving.Round(j.slowest.Seconds()), "settledAfterSeconds": proving.Round(tail.Seconds()),
		"boughtP50": proving.Quantile(took, 0.5), "boughtP99": proving.Quantile(took, 0.99), "violations": kinds,
	}
}
