package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A CarrierExchange is one request to a carrier about a shipment, and its
// answer. Its id tells when.
type CarrierExchange struct {
	ID          ship.RawID
	Tenant      ship.Tenant
	Shipment    ship.ShipmentID
	Connection  ship.ConnectionID
	Operation   string
	Method      string
	URL         string
	Status      int // of the answer; zero if there was none
	Took        time.Duration
	Error       string // why there was none
	CarrierCode []byte // heads and bodies, compressed
}

const sqlAddExchanges = `
INSERT INTO carrier_exchanges (account_id, livemode, id, shipment_id, connection_id, operation,
  method, url, response_status, duration_ms, error, exchange)
SELECT v.* FROM unnest(@accounts::uuid[], @livemodes::boolean[], @ids::uuid[], @shipments::uuid[], @connections::uuid[], @operations::text[],
  @methods::text[], @urls::text[], @statuses::smallint[], @took::int[], @errors::text[], @exchanges::bytea[])
  AS v (account_id, livemode, id, shipment_id, connection_id, operation, method, url, response_status, duration_ms, error, exchange)
WHERE NOT EXISTS (
  SELECT FROM shipment_states st
  WHERE st.account_id = v.account_id AND st.livemode = v.livemode AND st.id = v.shipment_id AND st.erased_at IS NOT NULL)
ON CONFLICT DO NOTHING`

// AddExchanges stores exchanges of any tenants, in one statement. Those about
// shipments whose personal data was erased are left out.
func (s *Store) AddExchanges(ctx context.Context, list []CarrierExchange) error {
	if len(list) == 0 {
		return nil
	}

	n := len(list)
	var (
		ids         = make(idArray, n)
		shipments   = make(idArray, n)
		connections = make(idArray, n)
		operations  = make([]string, n)
		methods     = make([]string, n)
		urls        = make([]string, n)
		statuses    = make([]*int, n)
		took        = make([]int, n)
		errors      = make([]*string, n)
		contents    = make([][]byte, n)
	)
	for i := range list {
		exchange := &list[i]
		ids[i] = exchange.ID
		shipments[i] = exchange.Shipment.Raw()
		connections[i] = exchange.Connection.Raw()
		operations[i] = exchange.Operation
		methods[i] = exchange.Method
		urls[i] = exchange.URL
		statuses[i] = null(exchange.Status)
		took[i] = int(exchange.Took.Milliseconds())
		errors[i] = null(exchange.Error)
		contents[i] = exchange.CarrierCode
	}

	args := tenantsArgs(n, func(i int) ship.Tenant { return list[i].Tenant })
	args["ids"] = ids
	args["shipments"] = shipments
	args["connections"] = connections
	args["operations"] = operations
	args["methods"] = methods
	args["urls"] = urls
	args["statuses"] = statuses
	args["took"] = took
	args["errors"] = errors
	args["exchanges"] = contents
	if err := s.sendUnsynced(ctx, func(batch *pgx.Batch) { batch.Queue(sqlAddExchanges, args) }); err != nil {
		return fmt.Errorf("carrier exchanges: %w", err)
	}
	return nil
}

const sqlExchanges = `
SELECT id, connection_id, operation, method, url, response_status, duration_ms, error, exchange
FROM carrier_exchanges
WHERE account_id = $1 AND livemode = $2 AND shipment_id = $3 AND id >= $4
ORDER BY id LIMIT $5`

// Exchanges lists what was said to carriers about a shipment, oldest first.
func (s *Store) Exchanges(ctx context.Context, t ship.Tenant, shipment ship.ShipmentID, limit int) ([]CarrierExchange, error) {
	// Nothing is said before the shipment is there, so older partitions need
	// not be read.
	from := ship.RawIDAt(shipment.Raw().Time().Add(-time.Minute))

	scan := func(r pgx.CollectableRow) (CarrierExchange, error) {
		exchange, err := scanExchange(r)
		exchange.Tenant = t
		exchange.Shipment = shipment
		return exchange, err
	}
	list, err := queryList(ctx, s, t, scan, sqlExchanges,
		t.Account, t.Livemode, shipment, from, limit)
	if err != nil {
		return nil, fmt.Errorf("carrier exchanges: %w", err)
	}
	return list, nil
}

func scanExchange(r pgx.CollectableRow) (CarrierExchange, error) {
	var exchange CarrierExchange
	var status *int
	var took int
	var failure *string
	err := r.Scan(
		&exchange.ID, &exchange.Connection, &exchange.Operation, &exchange.Method, &exchange.URL,
		&status, &took, &failure, &exchange.CarrierCode,
	)

	exchange.Status = value(status)
	exchange.Took = time.Duration(took) * time.Millisecond
	exchange.Error = value(failure)
	return exchange, err
}
