package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/effect"
	"github.com/waybillhq/waybill/internal/ship"
)

// A Manifest is labels that are handed over to a carrier together.
type Manifest struct {
	ID         ship.ManifestID
	Tenant     ship.Tenant
	Carrier    string
	Connection ship.ConnectionID // empty for a simulated carrier
	Scope      string            // one of the scopes below
	Order      ship.ManifestOrder
	Excluded   []ship.ManifestExclusion
	Count      int          // of shipments on it
	Number     string       // the carrier's
	Name       ship.KeyName // its idempotency key and request; not read
	Documents  []ship.Document
	EffectState
	ClosedAt time.Time
}

// The scopes of manifests.
const (
	ManifestLabels = "labels" // those that are listed
	ManifestDay    = "day"    // all of a day
	ManifestSheet  = "sheet"  // the carrier needs none
)

// sqlClaimShipments puts shipments on a manifest, except those that are on one.
// Two manifests at the same time claim in the same order, so neither waits for
// the other for ever.
const sqlClaimShipments = `
INSERT INTO manifest_shipments (account_id, livemode, shipment_id, manifest_id)
SELECT $1::uuid, $2::boolean, id, $4::uuid FROM unnest($3::uuid[]) AS k (id) ORDER BY id
ON CONFLICT DO NOTHING
RETURNING shipment_id`

const sqlAddManifest = `
INSERT INTO manifests (account_id, livemode, id, carrier, connection_id, scope, ship_date, state, request, location, excluded,
  shipment_count, idempotency_key, fingerprint, closed_at)
VALUES (@account, @livemode, @id, @carrier, @connection, @scope, @day, @state, @request, @location, @excluded,
  @count, @key, @fingerprint, CASE WHEN @state = 'succeeded' THEN now() END)
ON CONFLICT DO NOTHING`

// AddManifest stores a manifest before the carrier is asked, with those of its
// labels that are on no other manifest, and returns it as stored. It is
// ship.NotFound if none is left, and ship.Conflict if another one of the day is
// being closed.
func (s *Store) AddManifest(ctx context.Context, m Manifest) (Manifest, error) {
	ids := make([]ship.ShipmentID, len(m.Order.Labels))
	for i, label := range m.Order.Labels {
		ids[i] = label.Shipment
	}

	err := s.InTx(ctx, m.Tenant, func(tx *Store) error {
		claimed, err := queryList(ctx, tx, m.Tenant, pgx.RowTo[ship.ShipmentID], sqlClaimShipments, m.Tenant.Account, m.Tenant.Livemode, rawIDs(ids), m.ID)
		if err != nil {
			return err
		}
		if len(claimed) == 0 {
			return ship.Errorf(ship.NotFound, "no label is left for the manifest")
		}

		m.keepOnly(claimed)
		return tx.insertManifest(ctx, m)
	})
	return m, err
}

// keepOnly leaves out the labels that were put on another manifest meanwhile.
func (m *Manifest) keepOnly(claimed []ship.ShipmentID) {
	isOurs := make(map[ship.ShipmentID]bool, len(claimed))
	for _, id := range claimed {
		isOurs[id] = true
	}

	m.Order.Labels = slices.DeleteFunc(slices.Clone(m.Order.Labels), func(label ship.ManifestLabel) bool {
		if isOurs[label.Shipment] {
			return false
		}
		m.Excluded = append(m.Excluded, ship.ManifestExclusion{Shipment: label.Shipment, Reason: "It is on another manifest."})
		return true
	})
	m.Count = len(m.Order.Labels)
}

func (s *Store) insertManifest(ctx context.Context, m Manifest) error {
	request, err := json.Marshal(m.Order)
	if err != nil {
		return fmt.Errorf("encode manifest %s: %w", m.ID, err)
	}
	excluded, err := encodeExclusions(m.Excluded)
	if err != nil {
		return err
	}

	var location *ship.OrderLocation // NULL for an address of its own
	if m.Order.Location.ID != "" {
		location = &m.Order.Location
	}

	var fingerprint []byte // NULL without a key
	if m.Name.Key != "" {
		fingerprint = m.Name.Fingerprint[:]
	}

	return s.guarded(ctx, m.Tenant, sqlAddManifest, tenantArgs(m.Tenant, m.ID, pgx.NamedArgs{
		"carrier":     m.Carrier,
		"connection":  null(m.Connection),
		"scope":       m.Scope,
		"day":         m.Order.ShipDate.Time(),
		"state":       string(m.State),
		"request":     request,
		"location":    location,
		"excluded":    excluded,
		"count":       m.Count,
		"key":         null(m.Name.Key),
		"fingerprint": fingerprint,
	}))
}

func encodeExclusions(list []ship.ManifestExclusion) ([]byte, error) {
	if len(list) == 0 {
		return []byte("[]"), nil
	}
	data, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("encode exclusions: %w", err)
	}
	return data, nil
}

// The columns of a list leave out the labels, of which there may be thousands.
const (
	manifestFacts = `carrier, connection_id, scope, ship_date, shipment_count, coalesce(number, ''), closed_at, ` + effectColumns

	manifestColumns       = `id, request, excluded, ` + manifestFacts
	listedManifestColumns = `id, json_build_object('location', coalesce(location, '{}'::json)), '[]'::json, ` + manifestFacts
)

const sqlManifest = `
SELECT ` + manifestColumns + ` FROM manifests
WHERE account_id = $1 AND livemode = $2 AND id = $3`

const sqlManifestDocumentTypes = `
SELECT type, format, ''::bytea FROM manifest_documents
WHERE account_id = $1 AND livemode = $2 AND manifest_id = $3 ORDER BY position`

// Manifest returns a manifest, with its documents but without their bytes;
// ship.NotFound if there is none.
func (s *Store) Manifest(ctx context.Context, t ship.Tenant, id ship.ManifestID) (Manifest, error) {
	var manifest Manifest
	batch := s.newBatch(t)
	batch.Queue(sqlManifest, t.Account, t.Livemode, id).Query(collectOneInto(&manifest, manifestScanner(t)))
	var documents []ship.Document
	batch.Queue(sqlManifestDocumentTypes, t.Account, t.Livemode, id).Query(collectInto(&documents, scanManifestDocument))
	err := s.send(ctx, batch)
	manifest.Documents = documents
	return manifest, err
}

const sqlManifests = `
SELECT ` + listedManifestColumns + ` FROM manifests
WHERE account_id = $1 AND livemode = $2 AND id < $3
ORDER BY id DESC LIMIT $4`

// Manifests lists the tenant's manifests, newest first, without their labels and
// documents.
func (s *Store) Manifests(ctx context.Context, t ship.Tenant, p ship.Page) ([]Manifest, error) {
	_, before := idBounds(time.Time{}, time.Time{}, p.Before)
	return queryList(ctx, s, t, manifestScanner(t), sqlManifests, t.Account, t.Livemode, before, p.Limit)
}

const sqlManifestOfKey = `
SELECT id, fingerprint FROM manifests
WHERE account_id = $1 AND livemode = $2 AND idempotency_key = $3 AND state <> 'failed' AND id >= $4
ORDER BY id DESC LIMIT 1`

// ManifestOfKey returns the manifest that was made under an idempotency key since
// a moment and has not failed, with the fingerprint of its request; ship.NotFound if
// there is none. The fingerprint is zero if an earlier release made the manifest.
func (s *Store) ManifestOfKey(ctx context.Context, t ship.Tenant, key string, since time.Time) (id ship.ManifestID, fingerprint [32]byte, err error) {
	scan := func(r pgx.Row) error {
		var stored []byte
		err := r.Scan(&id, &stored)
		copy(fingerprint[:], stored)
		return err
	}
	err = s.queryRow(ctx, t, scan, sqlManifestOfKey, t.Account, t.Livemode, key, ship.RawIDAt(since))
	return id, fingerprint, err
}

// manifestScanner returns a function that reads manifests of the tenant.
func manifestScanner(t ship.Tenant) pgx.RowToFunc[Manifest] {
	return func(r pgx.CollectableRow) (Manifest, error) {
		manifest := Manifest{Tenant: t}
		var request, excluded []byte
		var day time.Time
		var closed *time.Time
		common, complete := manifest.targets()
		err := r.Scan(append([]any{
			&manifest.ID, &request, &excluded,
			&manifest.Carrier, &manifest.Connection, &manifest.Scope, &day, &manifest.Count, &manifest.Number, &closed,
		}, common...)...)
		if err != nil {
			return manifest, err
		}

		complete()
		manifest.ClosedAt = timeOrZero(closed)
		if err := json.Unmarshal(request, &manifest.Order); err != nil {
			return manifest, fmt.Errorf("read the labels of %s: %w", manifest.ID, err)
		}
		if err := json.Unmarshal(excluded, &manifest.Excluded); err != nil {
			return manifest, fmt.Errorf("read the exclusions of %s: %w", manifest.ID, err)
		}
		manifest.Order.ShipDate = ship.Date(day.Format(time.DateOnly))
		return manifest, nil
	}
}

func scanManifestDocument(r pgx.CollectableRow) (document ship.Document, err error) {
	err = r.Scan(&document.Type, &document.Format, &document.Data)
	return document, err
}

const sqlManifestDocument = `
SELECT type, format, data FROM manifest_documents
WHERE account_id = $1 AND livemode = $2 AND manifest_id = $3 AND position = $4`

// ManifestDocument returns a document of a manifest, counted from 0;
// ship.NotFound if there is none.
func (s *Store) ManifestDocument(ctx context.Context, t ship.Tenant, id ship.ManifestID, position int) (ship.Document, error) {
	return queryOne(ctx, s, t, scanManifestDocument, sqlManifestDocument, t.Account, t.Livemode, id, position)
}

const sqlManifestsOf = `
SELECT shipment_id, manifest_id FROM manifest_shipments
WHERE account_id = $1 AND livemode = $2 AND shipment_id = ANY ($3::uuid[])`

// ManifestsOf returns which manifest each of the shipments is on; those on none
// are left out.
func (s *Store) ManifestsOf(ctx context.Context, t ship.Tenant, ids []ship.ShipmentID) (map[ship.ShipmentID]ship.ManifestID, error) {
	found := map[ship.ShipmentID]ship.ManifestID{}
	var shipment ship.ShipmentID
	var manifest ship.ManifestID
	err := s.queryEach(ctx, t, []any{&shipment, &manifest}, func() error {
		found[shipment] = manifest
		return nil
	}, sqlManifestsOf, t.Account, t.Livemode, rawIDs(ids))
	return found, err
}

const sqlOtherManifestOfDay = `
SELECT EXISTS (
  SELECT FROM manifests
  WHERE account_id = @account AND livemode = @livemode AND id <> @id AND carrier = @carrier
    AND connection_id IS NOT DISTINCT FROM @connection::uuid AND ship_date = @day AND scope = 'day'
    AND state IN ('succeeded', 'needs_review'))`

// HasOtherOfDay reports whether the carrier account has another manifest of the
// same day that was closed, or may have been.
func (s *Store) HasOtherOfDay(ctx context.Context, m Manifest) (has bool, err error) {
	err = s.queryRow(ctx, m.Tenant, func(r pgx.Row) error { return r.Scan(&has) }, sqlOtherManifestOfDay,
		tenantArgs(m.Tenant, m.ID, pgx.NamedArgs{
			"carrier":    m.Carrier,
			"connection": null(m.Connection),
			"day":        m.Order.ShipDate.Time(),
		}))
	return has, err
}

const sqlTurnManifest = `UPDATE manifests` + turned

const sqlReleaseManifest = `
DELETE FROM manifest_shipments
WHERE account_id = $1 AND livemode = $2 AND manifest_id = $3`

// TurnManifest moves an open manifest on. The labels of one that failed can be
// put on another.
func (s *Store) TurnManifest(ctx context.Context, t ship.Tenant, id ship.ManifestID, turn Turn) error {
	if turn.To.IsOpen() || turn.To == effect.NeedsReview {
		return s.guarded(ctx, t, sqlTurnManifest, turn.args(t, id))
	}

	return s.InTx(ctx, t, func(tx *Store) error {
		if err := tx.guarded(ctx, t, sqlTurnManifest, turn.args(t, id)); err != nil {
			return err
		}
		_, err := tx.exec(ctx, t, sqlReleaseManifest, t.Account, t.Livemode, id)
		return err
	})
}

const sqlResolveManifest = `
UPDATE manifests SET
  state = @to,
  number = @number,
  closed_at = CASE WHEN @to = 'succeeded' THEN now() END,
  error_code = @code,
  error_message = @message
WHERE account_id = @account AND livemode = @livemode AND id = @id AND state = 'needs_review'`

// ResolveManifest ends the review of a manifest; ship.Conflict if it is not in
// review. The labels of one that was not closed can be put on another.
func (s *Store) ResolveManifest(ctx context.Context, t ship.Tenant, id ship.ManifestID, resolution Resolution) error {
	return s.InTx(ctx, t, func(tx *Store) error {
		if err := tx.guarded(ctx, t, sqlResolveManifest, resolution.args(t, id)); err != nil {
			return err
		}
		if resolution.To == effect.Failed {
			if _, err := tx.exec(ctx, t, sqlReleaseManifest, t.Account, t.Livemode, id); err != nil {
				return err
			}
		}
		return tx.AuditChange(ctx, resolution.entry(t, "manifest.resolved", string(id)))
	})
}

const sqlTryManifestAgain = `UPDATE manifests` + attemptedAgain

// TryManifestAgain writes the attempt after this one down.
func (s *Store) TryManifestAgain(ctx context.Context, t ship.Tenant, id ship.ManifestID, attempt int) error {
	return s.guarded(ctx, t, sqlTryManifestAgain, tenantArgs(t, id, pgx.NamedArgs{"attempt": attempt}))
}

const sqlRecordManifest = `
UPDATE manifests SET
  state = 'succeeded',
  number = @number,
  excluded = @excluded,
  shipment_count = @count,
  closed_at = now(),
  error_code = NULL,
  error_message = NULL
WHERE account_id = @account AND livemode = @livemode AND id = @id AND state IN ('pending', 'uncertain', 'needs_review')`

const sqlReleaseShipments = `
DELETE FROM manifest_shipments
WHERE account_id = $1 AND livemode = $2 AND manifest_id = $3 AND shipment_id = ANY ($4::uuid[])`

const sqlAddManifestDocument = `
INSERT INTO manifest_documents (account_id, livemode, manifest_id, position, type, format, data)
VALUES (@account, @livemode, @id, @position, @type, @format, @data)`

// RecordManifest stores what the carrier answered. The labels that it left out
// can be put on another manifest.
func (s *Store) RecordManifest(ctx context.Context, m Manifest, closing ship.ManifestClosing) error {
	left := make([]ship.ShipmentID, len(closing.Excluded))
	for i, exclusion := range closing.Excluded {
		left[i] = exclusion.Shipment
	}
	excluded, err := encodeExclusions(append(slices.Clone(m.Excluded), closing.Excluded...))
	if err != nil {
		return err
	}
	args := tenantArgs(m.Tenant, m.ID, pgx.NamedArgs{
		"number":   null(closing.Number),
		"excluded": excluded,
		"count":    len(m.Order.Labels) - len(left),
	})

	return s.InTx(ctx, m.Tenant, func(tx *Store) error {
		if err := tx.guarded(ctx, m.Tenant, sqlRecordManifest, args); err != nil {
			return err
		}
		if _, err := tx.exec(ctx, m.Tenant, sqlReleaseShipments, m.Tenant.Account, m.Tenant.Livemode, m.ID, rawIDs(left)); err != nil {
			return err
		}
		for i, document := range closing.Documents {
			_, err := tx.exec(ctx, m.Tenant, sqlAddManifestDocument, tenantArgs(m.Tenant, m.ID, pgx.NamedArgs{
				"position": i,
				"type":     document.Type,
				"format":   document.Format,
				"data":     document.Data,
			}))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

const sqlOpenManifests = `
SELECT account_id, livemode, id FROM manifests
WHERE state IN ('pending', 'uncertain') AND attempt_started_at < $1
ORDER BY id`

// OpenManifests lists the manifests that wait for an outcome since before the
// moment.
func (s *Store) OpenManifests(ctx context.Context, before time.Time) ([]OpenEffect[ship.ManifestID], error) {
	return openEffects[ship.ManifestID](ctx, s, sqlOpenManifests, before)
}
