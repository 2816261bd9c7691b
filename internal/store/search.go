package store

import (
	"context"

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
