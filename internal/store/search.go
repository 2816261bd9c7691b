package store

import (
	"context"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// sqlShipmentsNamed finds shipments by a whole order or tracking number.
const sqlShipmentsNamed = `
SELECT ` + shipmentColumns + `
FROM (
  SELECT DISTINCT n.id FROM names n
  WHERE n.account_id = $1 AND n.livemode = $2
    AND (n.kind IN ('o', 'p') AND n.name = $3 OR n.kind = 't' AND n.name = $4)
  ORDER BY n.id DESC LIMIT $5
) n
JOIN shipments s ON s.account_id = $1 AND s.livemode = $2 AND s.id = n.id
JOIN journeys j ON j.account_id = $1 AND j.livemode = $2 AND j.id = n.id
WHERE j.sequence > 0
ORDER BY s.id DESC`

// ShipmentsNamed lists the shipments of an order number or a tracking number,
// newest first.
func (s *Store) ShipmentsNamed(ctx context.Context, t ship.Tenant, order, number string, limit int) ([]ship.Shipment, error) {
	return s.shipmentList(ctx, t, sqlShipmentsNamed, [16]byte(t.Account.Raw()), t.Livemode, order, number, limit)
}

// sqlShipmentsTo looks for a recipient among the newest shipments alone, so
// that it costs the same in an account of any size.
const sqlShipmentsTo = `
SELECT ` + shipmentColumns + `
FROM (
  SELECT * FROM shipments WHERE account_id = $1 AND livemode = $2 ORDER BY id DESC LIMIT $4
) s
JOIN journeys j ON j.account_id = $1 AND j.livemode = $2 AND j.id = s.id
WHERE (s.ordered -> 'destination' ->> 'name' ILIKE $3 OR s.ordered -> 'destination' ->> 'company' ILIKE $3) AND j.sequence > 0
ORDER BY s.id DESC LIMIT $5`

var likeEscape = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// ShipmentsTo lists those of the newest shipments whose recipient's name or
// company has the text in it.
func (s *Store) ShipmentsTo(ctx context.Context, t ship.Tenant, text string, reach, limit int) ([]ship.Shipment, error) {
	return s.shipmentList(ctx, t, sqlShipmentsTo, [16]byte(t.Account.Raw()), t.Livemode, "%"+likeEscape.Replace(text)+"%", reach, limit)
}
