//go:build chaos

package tracking

import (
	"context"
	"crypto/sha256"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// engine is Postgres alone: it is given the rows that the service makes of the
// same pushes in the same order, fifty in a statement, by as many clients as are
// best. They are ready before it begins.
type engine struct {
	*world
	store *store.Store
}

const (
	engineClients = 4
	engineBatch   = 50
)

// rows are a batch: the pushes as they came, and what they change.
type rows struct {
	ids, accounts, connections [][16]byte
	headers                    []string
	bodies                     [][]byte
	pushes                     []ship.Subject
	changes                    []store.Change
}

const sqlPushRows = `
WITH p AS (
  INSERT INTO pushes (account_id, livemode, id, connection_id, headers, body)
  SELECT account_id, true, id, connection_id, headers::json, body
  FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::bytea[]) AS v (account_id, id, connection_id, headers, body)
  ON CONFLICT DO NOTHING RETURNING account_id, livemode, id, length(body) AS body_bytes
)
INSERT INTO pending_pushes (account_id, livemode, push_id, due_at, body_bytes) SELECT account_id, livemode, id, now() + interval '1 hour', body_bytes FROM p`

// prepare makes the rows of pushes in the order in which they come, for each
// client those of its own parcels: none waits for another's locks.
func (e *engine) prepare(m model, list []delivery, from, to int) (work [engineClients][]rows) {
	var of [engineClients][]delivery
	for _, one := range list {
		c := int(one.parcel) / len(carrierNames) % engineClients
		of[c] = append(of[c], one)
	}
	subjects, known := e.subjects(from, to), map[int32][]ship.Scan{}
	for c, list := range of {
		for some := range slices.Chunk(list, engineBatch) {
			work[c] = append(work[c], e.rows(m, some, subjects, known))
		}
	}
	return work
}

// rows are what a batch of pushes of one scan each writes.
func (e *engine) rows(m model, some []delivery, trackingStates map[string]*ship.TrackingState, known map[int32][]ship.Scan) (b rows) {
	notified := map[int32][]store.NewScan{}
	for _, one := range some {
		p := m.parcel(int(one.parcel))
		s, push, j := p.chosen(one.scans)[0], e.request(p, one), trackingStates[p.number]
		reason := ""
		if s.status == "" {
			reason = ship.ReasonUnmapped
		}
		notified[one.parcel] = append(notified[one.parcel], store.NewScan{
			Scan: ship.Scan{Code: s.code, At: s.at, Status: s.status, Reason: reason, Description: s.words, Location: "Memphis, TN, US"},
			Raw:  s.raw(p.carrier(), push.body),
		})
		id, sum := ship.RawIDAt(time.Now().UTC().Truncate(24*time.Hour)), sha256.Sum256(push.body)
		copy(id[6:], sum[:10])
		b.pushes = append(b.pushes, ship.Subject{Tenant: j.Tenant, ID: id})
		b.ids, b.accounts = append(b.ids, id), append(b.accounts, j.Tenant.Account.Raw())
		b.connections = append(b.connections, ship.ConnectionID(e.stands[max(0, p.n%4-1)].connection).Raw())
		b.headers = append(b.headers, `{"`+push.proof+`":["`+push.value+`"],"Content-Type":["application/json"],"Content-Length":["700"]}`)
		b.bodies = append(b.bodies, push.body)
	}
	for _, n := range slices.Sorted(maps.Keys(notified)) {
		var scans []ship.Scan
		for _, s := range notified[n] {
			scans = append(scans, s.Scan)
		}
		j := trackingStates[numberOf(int(n))]
		_, events := j.Apply(known[n], scans, ship.EventContext{Now: time.Now().UTC().Truncate(time.Millisecond), BaseURL: "http://" + e.copies[0].Addr})
		known[n] = append(known[n], scans...)
		b.changes = append(b.changes, store.Change{State: *j, Scans: notified[n], Events: events})
	}
	return b
}

// subjects reads the parcels as they are.
func (e *engine) subjects(from, to int) map[string]*ship.TrackingState {
	var numbers []string
	for n := from; n < to; n++ {
		numbers = append(numbers, numberOf(n))
	}
	all := map[string]*ship.TrackingState{}
	var number string
	var account, id [16]byte
	var at time.Time
	e.each(`SELECT st.tracking_number, st.account_id, st.id, st.purchased_at FROM shipment_states st JOIN lookup_keys l ON l.account_id = st.account_id AND l.livemode = st.livemode AND l.subject_id = st.id WHERE l.kind = 't' AND l.value = ANY ($1)`,
		numbers, []any{&number, &account, &id, &at}, func() {
			all[number] = &ship.TrackingState{
				Subject: ship.Subject{Tenant: ship.Tenant{Account: ship.AccountIDOf(account), Livemode: true}, ID: id}, State: ship.StatePurchased,
				Progress: ship.Progress{Status: ship.LabelGenerated}, Sequence: 2, Attempt: 1, Pieces: 1, Number: number, BoughtAt: at.UTC(), NewestAt: at.UTC(),
			}
		})
	return all
}

// run writes the rows and reports how many scans they hold.
func (e *engine) run(work [engineClients][]rows) (scans int) {
	var group sync.WaitGroup
	for _, list := range work {
		for _, b := range list {
			scans += len(b.bodies)
		}
		group.Go(func() {
			for _, b := range list {
				if err := e.writeRows(b); err != nil {
					e.t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	return scans
}

// writeRows does what the carrier and the client must not lose: the push and the
// note that it is to be taken in before the answer, what it tells after it, with
// the note gone.
func (e *engine) writeRows(b rows) error {
	ctx := context.Background()
	if _, err := e.store.System().Exec(ctx, sqlPushRows, b.accounts, b.ids, b.connections, b.headers, b.bodies); err != nil {
		return err
	}
	return e.store.InSystemTx(ctx, func(tx *store.Store) error {
		if err := tx.KeysOnly(ctx); err != nil {
			return err
		}
		if err := tx.Apply(ctx, b.changes); err != nil {
			return err
		}
		return tx.DeletePushes(ctx, b.pushes)
	})
}
