package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// The ledger: what carriers charge for labels and give back.

// sqlCharge writes a line of the ledger once.
const sqlCharge = `
INSERT INTO charges (shipment_id, account_id, livemode, tracking_number, kind, attempt, carrier, connection_id, amount_minor, currency)
VALUES (@id, @account, @livemode, @number, @kind, @attempt, @carrier, @connection, @minor, @currency)
ON CONFLICT DO NOTHING`

// charge writes a line of the ledger; a simulated carrier charges nothing.
func (s *Store) charge(ctx context.Context, t ship.Tenant, id ship.ShipmentID, attempt int, purchase ship.Purchase, kind string, minor int64) error {
	if purchase.Simulated {
		return nil
	}
	_, err := s.exec(ctx, t, sqlCharge, tenantArgs(t, id, pgx.NamedArgs{
		"number":     purchase.TrackingNumber,
		"kind":       kind,
		"attempt":    attempt,
		"carrier":    purchase.Carrier,
		"connection": null(purchase.Connection),
		"minor":      minor,
		"currency":   purchase.Price.Currency,
	}))
	return err
}

// Credit records that the carrier gives the price of a label back.
func (s *Store) Credit(ctx context.Context, shipment ship.Shipment) error {
	return s.charge(ctx, shipment.Tenant, shipment.ID, 0, shipment.Purchase, "void", -shipment.Purchase.Price.Minor)
}
