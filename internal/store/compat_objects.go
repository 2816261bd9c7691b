package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// Objects of clients that use the interface of another shipping API.

// A CompatObject is something that such a client created and names by its id.
type CompatObject struct {
	ID        ship.RawID
	Kind      string
	Reference string          // the client's own name; empty for none
	Body      json.RawMessage // as the edge wrote it
	Attempt   int             // of the purchase, from 1
	// KeyVersion is how the purchase of a rated shipment is named.
	KeyVersion int
	Shipment   ship.ShipmentID // that was bought; empty until then
	ExpiresAt  time.Time
}

const compatColumns = `id, kind, coalesce(reference, ''), body, attempt, key_version, shipment_id, expires_at`

func scanCompatObject(r pgx.CollectableRow) (CompatObject, error) {
	var object CompatObject
	err := r.Scan(&object.ID, &object.Kind, &object.Reference, &object.Body, &object.Attempt, &object.KeyVersion, &object.Shipment, &object.ExpiresAt)
	return object, err
}

const sqlAddCompatObject = `
INSERT INTO compat_objects (account_id, livemode, id, kind, reference, body, key_version, expires_at)
VALUES (@account, @livemode, @id, @kind, @reference, @body, @key_version, @expires)`

// AddCompatObjects stores new objects, all or none. It is ship.Limited if the tenant
// has stored too much today.
func (s *Store) AddCompatObjects(ctx context.Context, t ship.Tenant, objects ...CompatObject) error {
	return s.InTx(ctx, t, func(tx *Store) error { return tx.addCompatObjects(ctx, t, objects) })
}

func (s *Store) addCompatObjects(ctx context.Context, t ship.Tenant, objects []CompatObject) error {
	batch := s.newBatch(t)
	size := 0
	for _, object := range objects {
		size += len(object.Body)
		batch.Queue(sqlAddCompatObject, tenantArgs(t, object.ID, pgx.NamedArgs{
			"kind":        object.Kind,
			"reference":   null(object.Reference),
			"body":        object.Body,
			"key_version": object.KeyVersion,
			"expires":     object.ExpiresAt,
		}))
	}
	if err := s.send(ctx, batch); err != nil {
		return fmt.Errorf("store objects: %w", err)
	}
	return s.CountStored(ctx, t, size)
}

const sqlCompatObject = `
SELECT ` + compatColumns + ` FROM compat_objects
WHERE account_id = $1 AND livemode = $2 AND kind = $3 AND id = $4`

// CompatObject returns an object; ship.NotFound if there is none.
func (s *Store) CompatObject(ctx context.Context, t ship.Tenant, kind string, id ship.RawID) (CompatObject, error) {
	return queryOne(ctx, s, t, scanCompatObject, sqlCompatObject, t.Account, t.Livemode, kind, id)
}

const sqlCompatObjectByReference = `
SELECT ` + compatColumns + ` FROM compat_objects
WHERE account_id = $1 AND livemode = $2 AND reference = $4 AND kind = $3
ORDER BY id DESC LIMIT 1`

// CompatObjectByReference returns the newest object with the client's reference;
// ship.NotFound if there is none.
func (s *Store) CompatObjectByReference(ctx context.Context, t ship.Tenant, kind, reference string) (CompatObject, error) {
	return queryOne(ctx, s, t, scanCompatObject, sqlCompatObjectByReference, t.Account, t.Livemode, kind, reference)
}

// A CompatFilter narrows a list of objects.
type CompatFilter struct {
	Kind          string
	Before, After ship.RawID // exclusive; zero for no bound
	From, Until   time.Time  // of the creation; zero for no bound
	Bought        *bool      // of shipments: only those that are bought, or not
	Limit         int
}

const sqlCompatObjects = `
SELECT ` + compatColumns + ` FROM compat_objects
WHERE account_id = @account AND livemode = @livemode AND kind = @kind
  AND id < @before AND id > @after
  AND (@bought::boolean IS NULL OR @bought = (shipment_id IS NOT NULL))
ORDER BY id DESC LIMIT @limit`

// CompatObjects lists objects, newest first.
func (s *Store) CompatObjects(ctx context.Context, t ship.Tenant, f CompatFilter) ([]CompatObject, error) {
	lowest, below := idBounds(f.From, f.Until, f.Before)
	if string(f.After[:]) > string(lowest[:]) {
		lowest = f.After
	}
	return queryList(ctx, s, t, scanCompatObject, sqlCompatObjects, tenantArgs(t, nil, pgx.NamedArgs{
		"kind":   f.Kind,
		"before": below,
		"after":  lowest,
		"bought": f.Bought,
		"limit":  f.Limit,
	}))
}

const sqlSaveCompatObject = `
UPDATE compat_objects SET body = @body
WHERE account_id = @account AND livemode = @livemode AND id = @id AND kind = @kind AND shipment_id IS NULL`

// SaveCompatObject replaces the body of an object that is not bought. It is
// ship.NotFound if there is none.
func (s *Store) SaveCompatObject(ctx context.Context, t ship.Tenant, object CompatObject) error {
	n, err := s.exec(ctx, t, sqlSaveCompatObject, tenantArgs(t, object.ID, pgx.NamedArgs{"kind": object.Kind, "body": object.Body}))
	if err == nil && n == 0 {
		return ship.Errorf(ship.NotFound, "no such object")
	}
	return err
}

// sqlBindCompatObject is guarded by the attempt: of two purchases that end at the
// same time, the one that bought is the one whose attempt still counts.
const sqlBindCompatObject = `
UPDATE compat_objects SET shipment_id = @shipment, body = @body, expires_at = @expires
WHERE account_id = @account AND livemode = @livemode AND id = @id AND kind = @kind
  AND attempt = @attempt AND (shipment_id IS NULL OR shipment_id = @shipment)`

// BindCompatObject records the shipment that an object was bought as, and reports
// whether it could.
func (s *Store) BindCompatObject(ctx context.Context, t ship.Tenant, object CompatObject) (bool, error) {
	n, err := s.exec(ctx, t, sqlBindCompatObject, tenantArgs(t, object.ID, pgx.NamedArgs{
		"kind":     object.Kind,
		"shipment": object.Shipment,
		"body":     object.Body,
		"attempt":  object.Attempt,
		"expires":  object.ExpiresAt,
	}))
	return n == 1, err
}

// sqlNextCompatAttempt counts a purchase that was declined once, however many
// requests report it.
const sqlNextCompatAttempt = `
UPDATE compat_objects SET attempt = attempt + 1
WHERE account_id = @account AND livemode = @livemode AND id = @id AND attempt = @attempt AND shipment_id IS NULL`

// NextCompatAttempt lets an object be bought once more after its attempt was
// declined for good.
func (s *Store) NextCompatAttempt(ctx context.Context, t ship.Tenant, id ship.RawID, attempt int) error {
	_, err := s.exec(ctx, t, sqlNextCompatAttempt, tenantArgs(t, id, pgx.NamedArgs{"attempt": attempt}))
	return err
}

const sqlDeleteCompatObject = `
DELETE FROM compat_objects
WHERE account_id = @account AND livemode = @livemode AND id = @id AND kind = @kind`

// DeleteCompatObject deletes an object, if it is there.
func (s *Store) DeleteCompatObject(ctx context.Context, t ship.Tenant, kind string, id ship.RawID) error {
	_, err := s.exec(ctx, t, sqlDeleteCompatObject, tenantArgs(t, id, pgx.NamedArgs{"kind": kind}))
	return err
}

// expiredCompatObjects is how many rows one transaction deletes at most.
const expiredCompatObjects = 5_000

const sqlExpireCompatObjects = `
DELETE FROM compat_objects WHERE ctid IN (
  SELECT ctid FROM compat_objects WHERE expires_at < @now LIMIT @limit)`

// ExpireCompatObjects deletes the objects of all tenants that are past their time.
func (s *Store) ExpireCompatObjects(ctx context.Context, now time.Time) error {
	for {
		deleted, err := s.run(ctx, sqlExpireCompatObjects, pgx.NamedArgs{"now": now, "limit": expiredCompatObjects})
		if err != nil {
			return fmt.Errorf("delete expired objects: %w", err)
		}
		if deleted < expiredCompatObjects {
			return nil
		}
	}
}

// What an erasure does to the objects that mention a person: they are deleted. A
// purchase stays with its shipment.
var compatTexts = textTable{name: "compat_objects", page: sqlCompatTexts, sql: sqlEraseCompatObjects}

const (
	sqlCompatTexts = `
SELECT ARRAY[id::text], ARRAY[convert_to(body::text, 'UTF8'), convert_to(coalesce(reference, ''), 'UTF8')]
FROM compat_objects
WHERE account_id = @account AND livemode = @livemode
  AND id > coalesce((@after::text[])[1], '00000000-0000-0000-0000-000000000000')::uuid
ORDER BY id LIMIT @limit`

	sqlEraseCompatObjects = `
DELETE FROM compat_objects c
USING unnest(@first::text[], @second::text[]) AS v (id, same_id)
WHERE c.account_id = @account AND c.livemode = @livemode AND c.id = v.id::uuid`
)

const sqlCompatTextsOf = `
SELECT ` + compatColumns + ` FROM compat_objects
WHERE account_id = @account AND livemode = @livemode AND id > @after
ORDER BY id LIMIT @limit`

// CompatObjectsMentioning returns the objects that mention one of the terms or the phone
// number, at most limit of them.
func (s *Store) CompatObjectsMentioning(ctx context.Context, t ship.Tenant, terms []string, phone string, limit int) ([]CompatObject, error) {
	folded := foldTerms(terms)
	var found []CompatObject
	var after ship.RawID
	for {
		page, err := selectList(ctx, s.system(), scanCompatObject, sqlCompatTextsOf, tenantArgs(t, nil, pgx.NamedArgs{"after": after, "limit": textWindow}))
		if err != nil {
			return nil, fmt.Errorf("objects of a person: %w", err)
		}
		for _, object := range page {
			after = object.ID
			if mentionsPerson([][]byte{object.Body, []byte(object.Reference)}, folded, phone) && len(found) < limit {
				found = append(found, object)
			}
		}
		if len(page) < textWindow || len(found) == limit {
			return found, nil
		}
	}
}
