package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Request is one that a program made of the API, as the request log keeps
// it. Its id tells when it began.
type Request struct {
	ID          ship.RequestID
	Tenant      ship.Tenant
	Key         ship.KeyID
	Method      string
	Route       string // pattern that matched
	Path        string // without its query
	Status      int
	Took        time.Duration
	Idempotency string // the client's key, if it sent one
	Code        string // of the problem; empty for none
	Problem     []byte // as it was answered; nil for none, and in lists
}

const sqlAddRequests = `
INSERT INTO api_requests (account_id, livemode, id, api_key_id, method, route, path, response_status, duration_us, idempotency_key, error_code, problem)
SELECT * FROM unnest(@accounts::uuid[], @livemodes::boolean[], @ids::uuid[], @keys::uuid[], @methods::text[], @routes::text[], @paths::text[],
  @statuses::smallint[], @took::int[], @idempotency::text[], @codes::text[], @problems::bytea[])
ON CONFLICT DO NOTHING`

// AddRequests writes requests of any tenants into the log, in one statement.
func (s *Store) AddRequests(ctx context.Context, list []Request) error {
	if len(list) == 0 {
		return nil
	}
	n := len(list)
	ids, keys := make(uuids, n), make(uuids, n)
	methods, routes, paths := make([]string, n), make([]string, n), make([]string, n)
	statuses, took := make([]int, n), make([]int, n)
	idempotency, codes, problems := make([]*string, n), make([]*string, n), make([][]byte, n)
	for i := range list {
		r := &list[i]
		ids[i], keys[i] = uuid(r.ID.Raw()), uuid(r.Key.Raw())
		methods[i], routes[i], paths[i], statuses[i] = r.Method, r.Route, r.Path, r.Status
		took[i] = int(min(r.Took, 30*time.Minute).Microseconds())
		idempotency[i], codes[i], problems[i] = null(r.Idempotency), null(r.Code), r.Problem
	}
	args := tenantsArgs(n, func(i int) ship.Tenant { return list[i].Tenant })
	args["ids"], args["keys"], args["methods"], args["routes"], args["paths"] = ids, keys, methods, routes, paths
	args["statuses"], args["took"], args["idempotency"], args["codes"], args["problems"] = statuses, took, idempotency, codes, problems
	if err := s.lazily(ctx, func(b *pgx.Batch) { b.Queue(sqlAddRequests, args) }); err != nil {
		return fmt.Errorf("request log: %w", err)
	}
	return nil
}

const sqlLazily = `SELECT set_config('synchronous_commit', 'off', true)`

// lazily writes what may be lost if the machine dies: nobody waits for a disk.
func (s *Store) lazily(ctx context.Context, queue func(*pgx.Batch)) error {
	b := &pgx.Batch{}
	b.Queue(sqlLazily)
	queue(b)
	return explain(s.sys.SendBatch(ctx, b).Close())
}

// RequestQuery chooses requests of a tenant, newest first.
type RequestQuery struct {
	Class        int        // 2, 4 or 5 for a hundred of statuses; 0 for all
	Key          ship.KeyID // empty for all
	Route        string     // empty for all
	From, Before time.Time
	Page         ship.Page
}

// Each of the four reads an index of its own from its newest end; what else is
// chosen is looked at row by row.
const (
	requestColumns = `SELECT id, api_key_id, method, route, path, response_status, duration_us, idempotency_key, error_code FROM api_requests
WHERE account_id = @account AND livemode = @livemode AND id < @below AND id >= @from`
	requestMore = ` AND (@key::uuid IS NULL OR api_key_id = @key::uuid) AND (@route = '' OR route = @route)
AND (@class = 0 OR response_status >= @class * 100 AND response_status < @class * 100 + 100) ORDER BY id DESC LIMIT @limit`

	sqlRequests        = requestColumns + requestMore
	sqlRequestsByKey   = requestColumns + ` AND api_key_id = @key::uuid` + requestMore
	sqlRequestsByRoute = requestColumns + ` AND route = @route` + requestMore
	sqlRequestsFailed  = requestColumns + ` AND response_status >= 400` + requestMore
)

// Requests returns a page of the tenant's requests, without their problems.
func (s *Store) Requests(ctx context.Context, t ship.Tenant, q RequestQuery) ([]Request, error) {
	from, below := idBounds(q.From, q.Before, q.Page.Before)
	sql := sqlRequests
	switch {
	case q.Class >= 4:
		sql = sqlRequestsFailed
	case q.Key != "":
		sql = sqlRequestsByKey
	case q.Route != "":
		sql = sqlRequestsByRoute
	}
	var list []Request
	err := s.queryRows(ctx, t, func(r pgx.Rows) error {
		one, err := scanRequest(r, t)
		list = append(list, one)
		return err
	}, sql, pgx.NamedArgs{
		"account": [16]byte(t.Account.Raw()), "livemode": t.Livemode, "below": [16]byte(below), "from": [16]byte(from),
		"key": nullID(q.Key.Raw()), "route": q.Route, "class": q.Class, "limit": q.Page.Limit,
	})
	if err != nil {
		return nil, fmt.Errorf("request log: %w", err)
	}
	return list, nil
}

func scanRequest(r pgx.Row, t ship.Tenant, more ...any) (one Request, err error) {
	var id, key [16]byte
	var took int
	var idempotency, code *string
	err = r.Scan(append([]any{&id, &key, &one.Method, &one.Route, &one.Path, &one.Status, &took, &idempotency, &code}, more...)...)
	one.ID, one.Tenant, one.Key = ship.RequestIDOf(id), t, ship.KeyIDOf(key)
	one.Took, one.Idempotency, one.Code = time.Duration(took)*time.Microsecond, value(idempotency), value(code)
	return one, err
}

const sqlRequest = `
SELECT id, api_key_id, method, route, path, response_status, duration_us, idempotency_key, error_code, problem FROM api_requests
WHERE account_id = $1 AND livemode = $2 AND id = $3`

// Request is one of the tenant's, with its problem; ship.NotFound if the log
// does not have it, or no longer.
func (s *Store) Request(ctx context.Context, t ship.Tenant, id ship.RequestID) (one Request, err error) {
	var problem []byte
	err = s.queryRow(ctx, t, func(r pgx.Row) (err error) {
		one, err = scanRequest(r, t, &problem)
		return err
	}, sqlRequest, [16]byte(t.Account.Raw()), t.Livemode, [16]byte(id.Raw()))
	one.Problem = problem
	return one, err
}

// A CarrierExchange is one thing said to a carrier about a shipment, and its
// answer. Its id tells when.
type CarrierExchange struct {
	ID         ship.RawID
	Tenant     ship.Tenant
	Shipment   ship.ShipmentID
	Connection ship.ConnectionID
	Operation  string
	Method     string
	URL        string
	Status     int // of the answer; zero if there was none
	Took       time.Duration
	Error      string // why there was none
	Said       []byte // heads and bodies, compressed
}

const sqlAddExchanges = `
INSERT INTO carrier_exchanges (account_id, livemode, id, shipment_id, connection_id, operation, method, url, response_status, duration_ms, error, exchange)
SELECT * FROM unnest(@accounts::uuid[], @livemodes::boolean[], @ids::uuid[], @shipments::uuid[], @connections::uuid[], @operations::text[],
  @methods::text[], @urls::text[], @statuses::smallint[], @took::int[], @errors::text[], @exchanges::bytea[])
ON CONFLICT DO NOTHING`

// AddExchanges keeps exchanges of any tenants, in one statement.
func (s *Store) AddExchanges(ctx context.Context, list []CarrierExchange) error {
	if len(list) == 0 {
		return nil
	}
	n := len(list)
	ids, shipments, connections := make(uuids, n), make(uuids, n), make(uuids, n)
	operations, methods, urls := make([]string, n), make([]string, n), make([]string, n)
	statuses, took, errors, said := make([]*int, n), make([]int, n), make([]*string, n), make([][]byte, n)
	for i := range list {
		x := &list[i]
		ids[i], shipments[i], connections[i] = uuid(x.ID), uuid(x.Shipment.Raw()), uuid(x.Connection.Raw())
		operations[i], methods[i], urls[i], said[i] = x.Operation, x.Method, x.URL, x.Said
		statuses[i], took[i], errors[i] = null(x.Status), int(x.Took.Milliseconds()), null(x.Error)
	}
	args := tenantsArgs(n, func(i int) ship.Tenant { return list[i].Tenant })
	args["ids"], args["shipments"], args["connections"], args["operations"], args["methods"], args["urls"] = ids, shipments, connections, operations, methods, urls
	args["statuses"], args["took"], args["errors"], args["exchanges"] = statuses, took, errors, said
	if err := s.lazily(ctx, func(b *pgx.Batch) { b.Queue(sqlAddExchanges, args) }); err != nil {
		return fmt.Errorf("carrier exchanges: %w", err)
	}
	return nil
}

const sqlExchanges = `
SELECT id, connection_id, operation, method, url, response_status, duration_ms, error, exchange FROM carrier_exchanges
WHERE account_id = $1 AND livemode = $2 AND shipment_id = $3 AND id >= $4 ORDER BY id LIMIT $5`

// Exchanges lists what was said to carriers about a shipment, oldest first.
func (s *Store) Exchanges(ctx context.Context, t ship.Tenant, shipment ship.ShipmentID, limit int) ([]CarrierExchange, error) {
	// Nothing is said before the shipment is there, so older partitions are left alone.
	from := ship.RawIDAt(shipment.Raw().Time().Add(-time.Minute))
	var list []CarrierExchange
	err := s.queryRows(ctx, t, func(r pgx.Rows) error {
		x := CarrierExchange{Tenant: t, Shipment: shipment}
		var id, connection [16]byte
		var status *int
		var took int
		var failure *string
		err := r.Scan(&id, &connection, &x.Operation, &x.Method, &x.URL, &status, &took, &failure, &x.Said)
		x.ID, x.Connection, x.Status = id, ship.ConnectionIDOf(connection), value(status)
		x.Took, x.Error = time.Duration(took)*time.Millisecond, value(failure)
		list = append(list, x)
		return err
	}, sqlExchanges, [16]byte(t.Account.Raw()), t.Livemode, [16]byte(shipment.Raw()), [16]byte(from), limit)
	if err != nil {
		return nil, fmt.Errorf("carrier exchanges: %w", err)
	}
	return list, nil
}
