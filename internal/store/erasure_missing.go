package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// What an erasure changes of purchases that a restore lost. What is known of one is a sealed
// entry of the recovery log, with the order and the label.

// sqlMissingEntries reads missing purchases that still have an entry. The lock keeps a
// decision from being carried out meanwhile.
const sqlMissingEntries = `
SELECT ` + missingColumns + `, encrypted_entry
FROM missing_purchases
WHERE account_id = @account AND livemode = @livemode AND shipment_id > @after AND encrypted_entry IS NOT NULL
ORDER BY shipment_id LIMIT @limit
FOR UPDATE`

const sqlRedactMissing = `
UPDATE missing_purchases SET encrypted_entry = @entry
WHERE account_id = @account AND livemode = @livemode AND shipment_id = @id`

// MissingEntries returns the next missing purchases after an id with their entries.
func (s *Store) MissingEntries(ctx context.Context, t ship.Tenant, after ship.RawID) ([]MissingPurchase, error) {
	list, err := selectList(ctx, s.system(), scanMissingEntry, sqlMissingEntries, tenantArgs(t, nil, pgx.NamedArgs{"after": after, "limit": textWindow}))
	if err != nil {
		return nil, fmt.Errorf("read the entries of missing purchases: %w", err)
	}
	return list, nil
}

// eraseMissing erases the person from missing purchases. One that nobody has decided about,
// or whose decision is not carried out, is counted as open: to record it takes its order.
func eraseMissing(ctx context.Context, w *erasureWork) (finished bool, err error) {
	var after ship.RawID
	if len(w.cursor) == 1 {
		id, _ := ship.ParseShipmentID(w.cursor[0])
		after = id.Raw()
	}
	list, err := w.tx.MissingEntries(ctx, w.Tenant, after)
	if err != nil {
		return false, err
	}

	var erased []ship.ShipmentID
	for _, missing := range list {
		w.cursor = []string{string(missing.Shipment)}
		order, redacted, err := w.tools.RedactMissing(missing)
		if err != nil {
			return false, err
		}
		isTheirs := missing.Shipment == w.Shipment || order.Destination.Is(w.subject.Person) || order.Origin.Is(w.subject.Person)
		switch {
		case !isTheirs || redacted == nil:
			continue
		case missing.State == PurchaseHeld || missing.State == PurchaseVoided:
			w.remember(order)
			if err := w.tx.redactMissing(ctx, missing, redacted); err != nil {
				return false, err
			}
			erased = append(erased, missing.Shipment)
		default:
			w.count(CountOpen, 1)
		}
	}
	w.count("missing_purchases", len(erased))

	// The logs on disks have the same entries.
	_, err = w.tx.run(ctx, sqlNoteErasureShipments, w.args(pgx.NamedArgs{"shipments": rawIDs(erased)}))
	return len(list) < textWindow, err
}

func (s *Store) redactMissing(ctx context.Context, missing MissingPurchase, redacted []byte) error {
	_, err := s.run(ctx, sqlRedactMissing, tenantArgs(missing.Tenant, missing.Shipment, pgx.NamedArgs{"entry": redacted}))
	return err
}

// EraseOlderMissing erases the personal data of missing purchases from before the time that
// a person has decided about. The others wait, as purchases do that are open.
func (s *Store) EraseOlderMissing(ctx context.Context, t ship.Tenant, before time.Time, tools ErasureTools) error {
	var after ship.RawID
	for more := true; more; {
		err := s.InSystemTx(ctx, func(tx *Store) error {
			list, err := tx.MissingEntries(ctx, t, after)
			if err != nil {
				return err
			}
			more = len(list) == textWindow

			for _, missing := range list {
				after = missing.Shipment.Raw()
				isDecided := missing.State == PurchaseHeld || missing.State == PurchaseVoided
				if !isDecided || !missing.RequestedAt.Before(before) {
					continue
				}
				_, redacted, err := tools.RedactMissing(missing)
				if err != nil {
					return err
				}
				if redacted == nil {
					continue
				}
				if err := tx.redactMissing(ctx, missing, redacted); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("erase old missing purchases: %w", err)
		}
	}
	return nil
}
