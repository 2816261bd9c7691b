package store

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A WebhookAttempt is one try to deliver an event, as the delivery log keeps
// it. Its id tells when it began.
type WebhookAttempt struct {
	ID       ship.AttemptID
	Tenant   ship.Tenant
	Endpoint ship.EndpointID
	Event    ship.EventID
	Number   int // of the tries for this event, from 1
	Trigger  string
	Outcome  string
	Status   int    // of the answer; zero if there was none
	Error    string // what went wrong, in words
	Timings  AttemptTimings
	Address  netip.Addr // that was connected to; invalid if none was
	Head     string     // of the answer, cut
	Body     string     // of the answer, cut
}

// AttemptTimings is how long the parts of an attempt took. A connection that
// was open already has no dns, connect and tls.
type AttemptTimings struct {
	DNS, Connect, TLS, FirstByte, Total time.Duration
}

// sqlAddAttempts adds many at once: one array a column.
const sqlAddAttempts = `
INSERT INTO webhook_attempts (id, account_id, livemode, endpoint_id, event_id, attempt, trigger, outcome, response_status, error,
  dns_ms, connect_ms, tls_ms, first_byte_ms, total_ms, remote_address, response_headers, response_body)
SELECT * FROM unnest(@ids::uuid[], @accounts::uuid[], @livemodes::boolean[], @endpoints::uuid[], @events::uuid[], @attempts::int[],
  @triggers::text[], @outcomes::text[], @statuses::smallint[], @errors::text[],
  @dns::int[], @connect::int[], @tls::int[], @first_byte::int[], @total::int[],
  @addresses::inet[], @headers::text[], @bodies::text[])
ON CONFLICT DO NOTHING`

// AddAttempts writes attempts of any tenants into the delivery log, in one
// statement. One that is there already stays as it is.
func (s *Store) AddAttempts(ctx context.Context, list []WebhookAttempt) error {
	if len(list) == 0 {
		return nil
	}
	if _, err := s.sys.Exec(ctx, sqlAddAttempts, attemptArgs(list)); err != nil {
		return fmt.Errorf("add attempts: %w", explain(err))
	}
	return nil
}

// attemptArgs are the attempts as one array a column.
func attemptArgs(list []WebhookAttempt) pgx.NamedArgs {
	n := len(list)
	var (
		ids, accounts, endpoints, events = make([][16]byte, n), make([][16]byte, n), make([][16]byte, n), make([][16]byte, n)
		modes                            = make([]bool, n)
		numbers, totals                  = make([]int, n), make([]int, n)
		triggers, outcomes               = make([]string, n), make([]string, n)
		statuses                         = make([]*int, n)
		dns, connects, tls, bytes        = make([]*int, n), make([]*int, n), make([]*int, n), make([]*int, n)
		addresses                        = make([]*netip.Addr, n)
		errors, heads, bodies            = make([]*string, n), make([]*string, n), make([]*string, n)
	)
	for i := range list {
		a := &list[i]
		ids[i], accounts[i], modes[i] = a.ID.Raw(), a.Tenant.Account.Raw(), a.Tenant.Livemode
		endpoints[i], events[i] = a.Endpoint.Raw(), a.Event.Raw()
		numbers[i], triggers[i], outcomes[i], statuses[i] = a.Number, a.Trigger, a.Outcome, null(a.Status)
		dns[i], connects[i], tls[i] = millis(a.Timings.DNS), millis(a.Timings.Connect), millis(a.Timings.TLS)
		bytes[i], totals[i] = millis(a.Timings.FirstByte), int(a.Timings.Total.Milliseconds())
		errors[i], heads[i], bodies[i] = null(a.Error), null(a.Head), null(a.Body)
		if a.Address.IsValid() {
			addresses[i] = &a.Address
		}
	}
	return pgx.NamedArgs{
		"ids":        ids,
		"accounts":   accounts,
		"livemodes":  modes,
		"endpoints":  endpoints,
		"events":     events,
		"attempts":   numbers,
		"triggers":   triggers,
		"outcomes":   outcomes,
		"statuses":   statuses,
		"errors":     errors,
		"dns":        dns,
		"connect":    connects,
		"tls":        tls,
		"first_byte": bytes,
		"total":      totals,
		"addresses":  addresses,
		"headers":    heads,
		"bodies":     bodies,
	}
}

// millis is d in whole milliseconds, or nil for no time at all.
func millis(d time.Duration) *int {
	if d == 0 {
		return nil
	}
	return new(int(d.Milliseconds()))
}

const sqlWebhookAttempts = `
SELECT id, event_id, attempt, trigger, outcome, response_status, error,
  dns_ms, connect_ms, tls_ms, first_byte_ms, total_ms, remote_address, response_headers, response_body
FROM webhook_attempts WHERE account_id = $1 AND livemode = $2 AND endpoint_id = $3 AND id < $4
ORDER BY id DESC LIMIT $5`

// WebhookAttempts lists the attempts to tell an endpoint, newest first.
func (s *Store) WebhookAttempts(ctx context.Context, t ship.Tenant, endpoint ship.EndpointID, p ship.Page) ([]WebhookAttempt, error) {
	_, before := idBounds(time.Time{}, time.Time{}, p.Before)
	var list []WebhookAttempt
	err := s.queryRows(ctx, t, func(r pgx.Rows) error {
		a, err := scanAttempt(r)
		a.Tenant, a.Endpoint = t, endpoint
		list = append(list, a)
		return err
	}, sqlWebhookAttempts, [16]byte(t.Account.Raw()), t.Livemode, [16]byte(endpoint.Raw()), [16]byte(before), p.Limit)
	return list, err
}

func scanAttempt(r pgx.Row) (WebhookAttempt, error) {
	var (
		a                         WebhookAttempt
		id, event                 [16]byte
		status                    *int
		failure, head, body       *string
		dns, connect, tls, byteMs *int
		total                     int
		address                   *netip.Addr
		ms                        = func(n *int) time.Duration { return time.Duration(value(n)) * time.Millisecond }
	)
	err := r.Scan(&id, &event, &a.Number, &a.Trigger, &a.Outcome, &status, &failure, &dns, &connect, &tls, &byteMs, &total, &address, &head, &body)
	a.ID, a.Event, a.Status = ship.AttemptIDOf(id), ship.EventIDOf(event), value(status)
	a.Error, a.Head, a.Body, a.Address = value(failure), value(head), value(body), value(address)
	a.Timings = AttemptTimings{DNS: ms(dns), Connect: ms(connect), TLS: ms(tls), FirstByte: ms(byteMs), Total: ms(&total)}
	return a, err
}
