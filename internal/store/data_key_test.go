package store

import (
	"context"

	"github.com/waybillhq/waybill/internal/ship"
)

// AddDataKey stores what BenchmarkCreation compares with: a key of a shipment, in
// a table of the benchmark.
func AddDataKey(ctx context.Context, tx *Store, t ship.Tenant, id ship.ShipmentID, wrapped []byte) error {
	_, err := tx.exec(ctx, t, "INSERT INTO data_keys (account_id, livemode, shipment_id, wrapped_key) VALUES ($1, $2, $3, $4)", t.Account, t.Livemode, id, wrapped)
	return err
}
