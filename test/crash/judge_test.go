//go:build chaos

package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/test/proving"
)

// lateSalesWithin is how long it may take until a label is voided that the carrier sold
// when nobody waited for it any more: a carrier that is slow to take a request in may
// sell after the process that sent it has died, and after a look-up that found nothing.
var lateSalesWithin = proving.Patiently(10 * time.Second)

// judge compares what the service says with the carrier's ledger. What is wrong has
// to stay wrong.
func (b *bench) judge() {
	b.wrong = append(b.wrong, b.client.complaints...)
	if len(b.running) == 0 || b.conn == nil {
		return
	}
	before := b.wrong
	for until := time.Now().Add(lateSalesWithin); ; time.Sleep(500 * time.Millisecond) {
		b.wrong = slices.Clone(before)
		b.compare()
		if len(b.wrong) == len(before) || time.Now().After(until) {
			return
		}
	}
}

// compare compares what the service says now with the carrier's ledger.
func (b *bench) compare() {
	state, number := b.recorded()
	b.left = state == "needs_review"
	b.judgeSales(state, number)
	b.judgeEvents(state)
	if state == "purchased" && b.client.bought && b.client.key != "" {
		b.judgeRepeat(number)
	}
	found, err := store.Inspect(context.Background(), b.database, time.Now().Add(time.Second))
	if err != nil {
		b.complain("%v", err)
	}
	for _, v := range found.Violations {
		b.complain("%d times not so: %s", v.Count, v.Rule)
	}
	if n := b.spooled(first) + b.spooled(second); n > 0 && b.earlier != "restored" {
		b.complain("%d sales are still on a disk", n)
	}
	if n := found.Vitals.OrphanedLabels[store.OrphanPending] + found.Vitals.OrphanedLabels[store.OrphanVoidDeclined]; n > 0 {
		b.complain("%d stranded labels are not taken back", n)
	}
}

// recorded is what the database says of the purchase; there is one at most.
func (b *bench) recorded() (state, number string) {
	rows, err := b.conn.Query(context.Background(), `SELECT state::text, coalesce(tracking_number, '') FROM shipment_states WHERE NOT id::text = ANY ($1)`, b.world.controls.shipments)
	if err != nil {
		b.complain("%v", err)
		return "", ""
	}
	n := 0
	for ; rows.Next(); n++ {
		if err := rows.Scan(&state, &number); err != nil {
			b.complain("%v", err)
		}
	}
	if n > 1 {
		b.complain("there are %d shipments", n)
	}
	return state, number
}

func (b *bench) judgeSales(state, number string) {
	abandoned, charged := b.list("SELECT tracking_number FROM orphaned_labels WHERE state = 'void_not_needed'"), b.list("SELECT tracking_number FROM charges WHERE kind = 'purchase'")
	var alive []string
	for _, c := range b.stands {
		if c != b.carrier && len(c.sales()) > 0 {
			b.complain("%s was asked too", c.name)
		}
	}
	for _, s := range b.carrier.sales() {
		if s.live && !slices.Contains(abandoned, s.number) {
			alive = append(alive, s.number)
		}
		if s.live && !slices.Contains(charged, s.number) && state != "needs_review" {
			b.complain("%s is paid and not recorded", s.number)
		}
	}
	switch state {
	case "purchased":
		if !slices.Equal(alive, []string{number}) {
			b.complain("recorded is %s, and alive are %v", number, alive)
		}
	case "failed", "voided", "refund_pending", "":
		if len(alive) > 0 {
			b.complain("it is %q, and alive are %v", state, alive)
		}
	case "needs_review":
		if !b.mayReview() || len(alive) > 1 {
			b.complain("a person must decide, and alive are %v", alive)
		}
	}
	switch {
	case b.client.bought && !slices.Contains([]string{"purchased", "voided", "refund_pending"}, state):
		b.complain("the client was told that it is bought, and it is %q", state)
	case b.client.refused != "" && state == "purchased":
		b.complain("the client was told %s, and it is bought", b.client.refused)
	case b.approval == "expired" && len(b.carrier.sales()) > 0:
		b.complain("nobody approved it, and it was bought")
	case b.outcome == "answered" && !b.overLimit && !b.client.bought && b.earlier != "lost" && b.approval != "expired" && state != "needs_review":
		b.complain("a healthy carrier sold nothing: %s", b.client.refused)
	}
}

func (b *bench) list(sql string) (list []string) {
	if err := b.conn.QueryRow(context.Background(), "SELECT coalesce(array_agg(x), '{}') FROM ("+sql+") AS y (x)").Scan(&list); err != nil {
		b.complain("%v", err)
	}
	return list
}

// judgeEvents reads the log: it begins with the creation, misses no number and
// tells of the label once.
func (b *bench) judgeEvents(state string) {
	notified := b.list("SELECT sequence || ' ' || kind FROM events WHERE NOT subject_id::text = ANY ('{" + strings.Join(b.world.controls.shipments, ",") + "}') ORDER BY sequence, id")
	labels, wanted := 0, 0
	if slices.Contains([]string{"purchased", "voided", "refund_pending"}, state) {
		wanted = 1
	}
	ok := len(notified) > 0 || b.client.shipment == ""
	for i, event := range notified {
		number, kind, _ := strings.Cut(event, " ")
		ok = ok && number == fmt.Sprint(i+1) && (kind == "shipment.created") == (i == 0)
		if kind == "label.generated" {
			labels++
		}
	}
	if !ok || labels != wanted {
		b.complain("it is %q, and told is %v", state, notified)
	}
}

// judgeRepeat asks again with the same key.
func (b *bench) judgeRepeat(number string) {
	status, body, err := b.client.call(b.survivor().addr, http.MethodPost, "/v1/shipments", b.client.body)
	var sh shown
	_ = json.Unmarshal(body, &sh)
	said := fmt.Sprintf("a repeat is answered with %d %v %s", status, err, body)
	switch {
	case err != nil || status != http.StatusCreated && status != http.StatusOK || sh.ID != b.client.shipment || sh.TrackingNumber != number:
		b.complain("%s", said)
	case b.client.answer != nil && string(b.client.answer) != string(body):
		b.complain("%s; first it was %s", said, b.client.answer)
	}
}

// survivor is the copy that runs at the end.
func (b *bench) survivor() *process { return b.running[len(b.running)-1] }
