package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Request is a request to the API, as the request log keeps it. Its id tells
// when it began.
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
INSERT INTO api_requests (account_id, livemode, id, api_key_id, method, route, path,
  response_status, duration_us, idempotency_key, error_code, problem)
SELECT * FROM unnest(@accounts::uuid[], @livemodes::boolean[], @ids::uuid[], @keys::uuid[], @methods::text[], @routes::text[], @paths::text[],
  @statuses::smallint[], @took::int[], @idempotency::text[], @codes::text[], @problems::bytea[])
ON CONFLICT DO NOTHING`

// AddRequests writes requests of any tenants into the log, in one statement.
func (s *Store) AddRequests(ctx context.Context, list []Request) error {
	if len(list) == 0 {
		return nil
	}

	n := len(list)
	var (
		ids         = make(idArray, n)
		keys        = make(idArray, n)
		methods     = make([]string, n)
		routes      = make([]string, n)
		paths       = make([]string, n)
		statuses    = make([]int, n)
		took        = make([]int, n)
		idempotency = make([]*string, n)
		codes       = make([]*string, n)
		problems    = make([][]byte, n)
	)
	for i := range list {
		request := &list[i]
		ids[i] = request.ID.Raw()
		keys[i] = request.Key.Raw()
		methods[i] = request.Method
		routes[i] = request.Route
		paths[i] = request.Path
		statuses[i] = request.Status
		took[i] = int(min(request.Took, 30*time.Minute).Microseconds()) // the column has 32 bits
		idempotency[i] = null(request.Idempotency)
		codes[i] = null(request.Code)
		problems[i] = request.Problem
	}

	args := tenantsArgs(n, func(i int) ship.Tenant { return list[i].Tenant })
	args["ids"] = ids
	args["keys"] = keys
	args["methods"] = methods
	args["routes"] = routes
	args["paths"] = paths
	args["statuses"] = statuses
	args["took"] = took
	args["idempotency"] = idempotency
	args["codes"] = codes
	args["problems"] = problems
	if err := s.sendUnsynced(ctx, func(batch *pgx.Batch) { batch.Queue(sqlAddRequests, args) }); err != nil {
		return fmt.Errorf("request log: %w", err)
	}
	return nil
}

// RequestQuery chooses requests of a tenant, newest first.
type RequestQuery struct {
	Class        int        // 2, 4 or 5 for a hundred of statuses; 0 for all
	Key          ship.KeyID // empty for all
	Route        string     // empty for all
	From, Before time.Time
	Page         ship.Page
}

// Each of the four statements reads an index of its own from its newest end;
// the other conditions are checked row by row.
const (
	requestColumns = `
SELECT id, api_key_id, method, route, path, response_status, duration_us, idempotency_key, error_code
FROM api_requests
WHERE account_id = @account AND livemode = @livemode AND id < @below AND id >= @from`
	requestFilters = `
  AND (@key::uuid IS NULL OR api_key_id = @key::uuid)
  AND (@route = '' OR route = @route)
  AND (@class = 0 OR response_status >= @class * 100 AND response_status < @class * 100 + 100)
ORDER BY id DESC LIMIT @limit`

	sqlRequests        = requestColumns + requestFilters
	sqlRequestsByKey   = requestColumns + ` AND api_key_id = @key::uuid` + requestFilters
	sqlRequestsByRoute = requestColumns + ` AND route = @route` + requestFilters
	sqlRequestsFailed  = requestColumns + ` AND response_status >= 400` + requestFilters
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

	scan := func(r pgx.CollectableRow) (Request, error) { return scanRequest(r, t) }
	list, err := queryList(ctx, s, t, scan, sql, pgx.NamedArgs{
		"account":  t.Account,
		"livemode": t.Livemode,
		"below":    below,
		"from":     from,
		"key":      null(q.Key),
		"route":    q.Route,
		"class":    q.Class,
		"limit":    q.Page.Limit,
	})
	if err != nil {
		return nil, fmt.Errorf("request log: %w", err)
	}
	return list, nil
}

// sqlRequestsAfter reads the primary key from the cursor on.
const sqlRequestsAfter = `
SELECT id, api_key_id, method, route, path, response_status, duration_us, idempotency_key, error_code
FROM api_requests
WHERE account_id = @account AND livemode = @livemode AND id > @after
  AND (@class = 0 OR response_status >= @class * 100 AND response_status < @class * 100 + 100)
  AND route <> @except
ORDER BY id LIMIT @limit`

// RequestsAfter returns the tenant's requests behind an id, oldest first, without
// their problems and without those of one route.
func (s *Store) RequestsAfter(ctx context.Context, t ship.Tenant, after ship.RawID, class int, except string, limit int) ([]Request, error) {
	scan := func(r pgx.CollectableRow) (Request, error) { return scanRequest(r, t) }
	list, err := queryList(ctx, s, t, scan, sqlRequestsAfter, pgx.NamedArgs{
		"account":  t.Account,
		"livemode": t.Livemode,
		"after":    after,
		"class":    class,
		"except":   except,
		"limit":    limit,
	})
	if err != nil {
		return nil, fmt.Errorf("request log: %w", err)
	}
	return list, nil
}

// scanRequest reads a request of the tenant. Further columns come after the
// request's.
func scanRequest(r pgx.CollectableRow, t ship.Tenant, further ...any) (Request, error) {
	var (
		request           Request
		took              int
		idempotency, code *string
	)
	targets := []any{
		&request.ID, &request.Key, &request.Method, &request.Route, &request.Path,
		&request.Status, &took, &idempotency, &code,
	}
	err := r.Scan(append(targets, further...)...)

	request.Tenant = t
	request.Took = time.Duration(took) * time.Microsecond
	request.Idempotency = value(idempotency)
	request.Code = value(code)
	return request, err
}

const sqlRequest = `
SELECT id, api_key_id, method, route, path, response_status, duration_us, idempotency_key, error_code, problem
FROM api_requests
WHERE account_id = $1 AND livemode = $2 AND id = $3`

// Request returns one of the tenant's requests, with its problem; ship.NotFound
// if the log does not have it, or no longer.
func (s *Store) Request(ctx context.Context, t ship.Tenant, id ship.RequestID) (Request, error) {
	scan := func(r pgx.CollectableRow) (Request, error) {
		var problem []byte
		request, err := scanRequest(r, t, &problem)
		request.Problem = problem
		return request, err
	}
	return queryOne(ctx, s, t, scan, sqlRequest, t.Account, t.Livemode, id)
}
