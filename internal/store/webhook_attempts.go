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

// sqlAddAttempts adds many attempts at once, one array a column. An attempt
// that is recorded already is skipped, so a repeat does no harm.
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

// attemptArgs returns the attempts as one array a column. Each array has its own
// type and is allocated once, because the dispatcher records all the time.
func attemptArgs(list []WebhookAttempt) pgx.NamedArgs {
	n := len(list)
	var (
		ids        = make(idArray, n)
		accounts   = make(idArray, n)
		livemodes  = make([]bool, n)
		endpoints  = make(idArray, n)
		events     = make(idArray, n)
		numbers    = make([]int, n)
		triggers   = make([]string, n)
		outcomes   = make([]string, n)
		statuses   = make([]*int, n)
		errors     = make([]*string, n)
		dns        = make([]*int, n)
		connects   = make([]*int, n)
		tls        = make([]*int, n)
		firstBytes = make([]*int, n)
		totals     = make([]int, n)
		addresses  = make([]*netip.Addr, n)
		heads      = make([]*string, n)
		bodies     = make([]*string, n)
	)

	for i := range list {
		attempt := &list[i]
		ids[i] = attempt.ID.Raw()
		accounts[i] = attempt.Tenant.Account.Raw()
		livemodes[i] = attempt.Tenant.Livemode
		endpoints[i] = attempt.Endpoint.Raw()
		events[i] = attempt.Event.Raw()

		numbers[i] = attempt.Number
		triggers[i] = attempt.Trigger
		outcomes[i] = attempt.Outcome
		statuses[i] = null(attempt.Status)
		errors[i] = null(attempt.Error)

		dns[i] = millis(attempt.Timings.DNS)
		connects[i] = millis(attempt.Timings.Connect)
		tls[i] = millis(attempt.Timings.TLS)
		firstBytes[i] = millis(attempt.Timings.FirstByte)
		totals[i] = int(attempt.Timings.Total.Milliseconds())

		if attempt.Address.IsValid() {
			addresses[i] = &attempt.Address
		}
		heads[i] = null(attempt.Head)
		bodies[i] = null(attempt.Body)
	}

	return pgx.NamedArgs{
		"ids":        ids,
		"accounts":   accounts,
		"livemodes":  livemodes,
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
		"first_byte": firstBytes,
		"total":      totals,
		"addresses":  addresses,
		"headers":    heads,
		"bodies":     bodies,
	}
}

// millis returns d in whole milliseconds, or nil for no time at all.
func millis(d time.Duration) *int {
	if d == 0 {
		return nil
	}
	return new(int(d.Milliseconds()))
}

const sqlWebhookAttempts = `
SELECT id, event_id, attempt, trigger, outcome, response_status, error,
  dns_ms, connect_ms, tls_ms, first_byte_ms, total_ms, remote_address, response_headers, response_body
FROM webhook_attempts
WHERE account_id = $1 AND livemode = $2 AND endpoint_id = $3 AND id < $4
ORDER BY id DESC LIMIT $5`

// WebhookAttempts lists the attempts to deliver to an endpoint, newest first.
func (s *Store) WebhookAttempts(ctx context.Context, t ship.Tenant, endpoint ship.EndpointID, p ship.Page) ([]WebhookAttempt, error) {
	_, before := idBounds(time.Time{}, time.Time{}, p.Before)
	scan := func(r pgx.CollectableRow) (WebhookAttempt, error) {
		attempt, err := scanAttempt(r)
		attempt.Tenant = t
		attempt.Endpoint = endpoint
		return attempt, err
	}
	return queryList(ctx, s, t, scan, sqlWebhookAttempts,
		t.Account, t.Livemode, endpoint, before, p.Limit)
}

func scanAttempt(r pgx.CollectableRow) (WebhookAttempt, error) {
	var (
		attempt                      WebhookAttempt
		status                       *int
		failure, head, body          *string
		dns, connect, tls, firstByte *int
		total                        int
		address                      *netip.Addr
	)
	err := r.Scan(
		&attempt.ID, &attempt.Event, &attempt.Number, &attempt.Trigger, &attempt.Outcome, &status, &failure,
		&dns, &connect, &tls, &firstByte, &total, &address, &head, &body,
	)

	attempt.Status = value(status)
	attempt.Error = value(failure)
	attempt.Address = value(address)
	attempt.Head = value(head)
	attempt.Body = value(body)

	duration := func(ms *int) time.Duration { return time.Duration(value(ms)) * time.Millisecond }
	attempt.Timings = AttemptTimings{
		DNS:       duration(dns),
		Connect:   duration(connect),
		TLS:       duration(tls),
		FirstByte: duration(firstByte),
		Total:     duration(&total),
	}
	return attempt, err
}

// An EndpointPace is how quickly an endpoint took its newest deliveries.
type EndpointPace struct {
	Endpoint  ship.EndpointID
	URL       string
	Attempts  int
	Failed    int
	Typical   time.Duration // half of them took no longer
	Slow      time.Duration // 95 of 100 took no longer
	NewestTry time.Time
}

// sqlPaces looks at the newest attempts of each endpoint.
const sqlPaces = `
SELECT e.id, e.url,
  count(*),
  count(*) FILTER (WHERE a.outcome <> 'delivered'),
  percentile_disc(0.5) WITHIN GROUP (ORDER BY a.total_ms),
  percentile_disc(0.95) WITHIN GROUP (ORDER BY a.total_ms),
  max(a.id::text)::uuid
FROM webhook_endpoints e, LATERAL (
  SELECT a.id, a.outcome, a.total_ms FROM webhook_attempts a
  WHERE a.account_id = $1 AND a.livemode = $2 AND a.endpoint_id = e.id
  ORDER BY a.id DESC LIMIT 200) a
WHERE e.account_id = $1 AND e.livemode = $2
GROUP BY e.id, e.url ORDER BY 6 DESC, e.id LIMIT $3`

// EndpointPaces lists the endpoints by how slow they are, the slowest first.
func (s *Store) EndpointPaces(ctx context.Context, t ship.Tenant, limit int) (list []EndpointPace, err error) {
	return queryList(ctx, s, t, scanPace, sqlPaces, t.Account, t.Livemode, limit)
}

func scanPace(r pgx.CollectableRow) (EndpointPace, error) {
	var pace EndpointPace
	var newest ship.RawID
	var typical, slow int
	err := r.Scan(&pace.Endpoint, &pace.URL, &pace.Attempts, &pace.Failed, &typical, &slow, &newest)

	pace.Typical = time.Duration(typical) * time.Millisecond
	pace.Slow = time.Duration(slow) * time.Millisecond
	pace.NewestTry = newest.Time()
	return pace, err
}
