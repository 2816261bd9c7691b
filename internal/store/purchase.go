package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// An Attempt is one time that a carrier is asked to sell.
type Attempt struct {
	Number     int
	Reference  string
	Carrier    string
	Connection ship.ConnectionID // empty for a simulated carrier
	Service    string
	StartedAt  time.Time
	EndedAt    time.Time // zero while open
	Outcome    string    // one of package purchase's; empty while open
	Code       string
	Message    string
}

// sqlIntend writes a purchase down before the carrier is asked.
const sqlIntend = `
WITH k AS (
  INSERT INTO idempotency_keys (account_id, livemode, key, fingerprint, shipment_id)
  SELECT $2, $3, $4, $5, $1 WHERE $4::text IS NOT NULL
  ON CONFLICT DO NOTHING RETURNING 1
), ok AS (
  SELECT FROM k UNION ALL SELECT WHERE $4::text IS NULL
), s AS (
  INSERT INTO shipments (id, account_id, livemode, version, carrier, duplicate_of, ordered, deal)
  SELECT $1, $2, $3, $6, $7, (
    SELECT id FROM names WHERE account_id = $2 AND livemode = $3 AND kind = 'o' AND name = $8 ORDER BY id DESC LIMIT 1
  ), $9, $10 FROM ok
  RETURNING duplicate_of
), j AS (
  INSERT INTO journeys (id, account_id, livemode, state, status, sequence, pieces, carrier)
  SELECT $1, $2, $3, 'purchasing', 'created', 0, $11, $7 FROM ok
), n AS (
  INSERT INTO names (account_id, livemode, kind, name, id) SELECT $2, $3, 'o', $8, $1 FROM ok
), a AS (
  INSERT INTO purchase_attempts (id, account_id, livemode, attempt, reference, carrier, service, connection)
  SELECT $1, $2, $3, 1, $12, $7, $13, $14 FROM ok
)
SELECT duplicate_of FROM s`

// Intend writes the purchase of sh down, with its first attempt. It is
// ship.Conflict when the idempotency key is taken.
func (s *Store) Intend(ctx context.Context, sh ship.Shipment, a Attempt, key string, fingerprint [32]byte) (duplicateOf ship.ShipmentID, err error) {
	ordered, deal, err := orderJSON(sh)
	if err != nil {
		return "", err
	}
	var duplicate *[16]byte
	err = s.queryRow(ctx, sh.Tenant, func(r pgx.Row) error { return r.Scan(&duplicate) }, sqlIntend,
		[16]byte(sh.ID.Raw()), [16]byte(sh.Tenant.Account.Raw()), sh.Tenant.Livemode, null(key), fingerprint[:],
		BodyVersion, sh.Deal.Carrier, sh.Order.OrderID, ordered, deal, len(sh.Order.Parcels), a.Reference, a.Service, nullConnection(a.Connection))
	if ship.KindOf(err) == ship.NotFound {
		return "", ship.Errorf(ship.Conflict, "the idempotency key is taken")
	}
	if err != nil {
		return "", fmt.Errorf("intend shipment %s: %w", sh.ID, err)
	}
	if duplicate != nil {
		duplicateOf = ship.ShipmentIDOf(*duplicate)
	}
	return duplicateOf, nil
}

const sqlAttempts = `
SELECT attempt, reference, carrier, service, connection, started_at, ended_at, outcome, code, message
FROM purchase_attempts WHERE account_id = $1 AND livemode = $2 AND id = $3 ORDER BY attempt`

// Attempts lists the attempts of a purchase, first to last.
func (s *Store) Attempts(ctx context.Context, t ship.Tenant, id ship.ShipmentID) ([]Attempt, error) {
	var list []Attempt
	err := s.queryRows(ctx, t, func(r pgx.Rows) error {
		var a Attempt
		var ended *time.Time
		var connection *[16]byte
		var outcome, code, message *string
		err := r.Scan(&a.Number, &a.Reference, &a.Carrier, &a.Service, &connection, &a.StartedAt, &ended, &outcome, &code, &message)
		a.EndedAt, a.Outcome, a.Code, a.Message = timeOf(ended), value(outcome), value(code), value(message)
		if connection != nil {
			a.Connection = ship.ConnectionIDOf(*connection)
		}
		list = append(list, a)
		return err
	}, sqlAttempts, [16]byte(t.Account.Raw()), t.Livemode, [16]byte(id.Raw()))
	return list, err
}

// sqlAgain writes the attempt after the last down, if the last is known not to
// have bought anything. A purchase that had failed gets its claim to the order
// back.
const sqlAgain = `
WITH j AS (
  UPDATE journeys SET state = 'purchasing', attempt = attempt + 1, carrier = @carrier
  WHERE account_id = @account AND livemode = @livemode AND id = @id AND attempt = @attempt - 1 AND state IN ('purchasing', 'uncertain', 'failed')
    AND EXISTS (
      SELECT FROM purchase_attempts a WHERE a.account_id = @account AND a.livemode = @livemode AND a.id = @id AND a.attempt = @attempt - 1
        AND a.outcome IN ('refused', 'not_sent', 'absent', 'stranded'))
  RETURNING 1
), s AS (
  UPDATE shipments SET carrier = @carrier, deal = @deal FROM j WHERE account_id = @account AND livemode = @livemode AND id = @id
), n AS (
  UPDATE names SET kind = 'o' FROM j WHERE account_id = @account AND livemode = @livemode AND kind = 'p' AND name = @order AND id = @id
), c AS (
  INSERT INTO shipment_changes (account_id, livemode, id) SELECT @account, @livemode, @id FROM j
)
INSERT INTO purchase_attempts (id, account_id, livemode, attempt, reference, carrier, service, connection, key_id, reserved)
SELECT @id, @account, @livemode, @attempt, @reference, @carrier, @service, @connection, a.key_id, a.reserved
FROM j, purchase_attempts a WHERE a.account_id = @account AND a.livemode = @livemode AND a.id = @id AND a.attempt = @attempt - 1`

// Again writes a further attempt down before the carrier is asked again, with
// the deal that it is to buy. It is ship.Conflict if the attempt before it is
// not the last, or may have bought something.
func (s *Store) Again(ctx context.Context, sh ship.Shipment, a Attempt) error {
	_, deal, err := orderJSON(sh)
	if err != nil {
		return err
	}
	n, err := s.exec(ctx, sh.Tenant, sqlAgain, tenantArgs(sh.Tenant, sh.ID.Raw(), pgx.NamedArgs{
		"attempt": a.Number, "reference": a.Reference, "carrier": a.Carrier, "service": a.Service, "connection": nullConnection(a.Connection),
		"deal": deal, "order": sh.Order.OrderID,
	}))
	if err != nil {
		return fmt.Errorf("attempt %d of %s: %w", a.Number, sh.ID, err)
	}
	if n == 0 {
		return ship.Errorf(ship.Conflict, "shipment %s cannot be bought again now", sh.ID)
	}
	return nil
}

const sqlEndAttempt = `
UPDATE purchase_attempts SET ended_at = now(), outcome = @outcome, code = @code, message = @message
WHERE account_id = @account AND livemode = @livemode AND id = @id AND attempt = @attempt
  AND (outcome IS NULL OR outcome = 'unknown' OR @outcome = 'stranded' AND outcome = 'absent')`

// EndAttempt writes down what became of an attempt.
func (s *Store) EndAttempt(ctx context.Context, t ship.Tenant, id ship.ShipmentID, a Attempt) error {
	_, err := s.exec(ctx, t, sqlEndAttempt, tenantArgs(t, id.Raw(), pgx.NamedArgs{
		"attempt": a.Number, "outcome": a.Outcome, "code": null(a.Code), "message": null(a.Message),
	}))
	return err
}

// sqlMove writes the shipment down as changed, because no event tells of it.
const sqlMove = `
WITH j AS (
  UPDATE journeys SET state = @to::text::purchase_state
  WHERE account_id = @account AND livemode = @livemode AND id = @id AND state = @from::text::purchase_state
  RETURNING 1
)
INSERT INTO shipment_changes (account_id, livemode, id) SELECT @account, @livemode, @id FROM j`

// Move moves sh to state to, if the life of a purchase allows it and nobody
// has moved it meanwhile.
func (s *Store) Move(ctx context.Context, sh ship.Shipment, to ship.State) error {
	if !sh.State.CanBecome(to) {
		return ship.Errorf(ship.Conflict, "a shipment that is %s cannot become %s", sh.State, to)
	}
	n, err := s.exec(ctx, sh.Tenant, sqlMove, tenantArgs(sh.Tenant, sh.ID.Raw(), pgx.NamedArgs{"from": string(sh.State), "to": string(to)}))
	if err != nil {
		return fmt.Errorf("move shipment %s: %w", sh.ID, err)
	}
	if n == 0 {
		return ship.Errorf(ship.Conflict, "shipment %s is no longer %s", sh.ID, sh.State)
	}
	return nil
}

// sqlLockPurchase lets one at a time decide what becomes of a label. It is a
// statement of its own: the one after it sees what was decided before.
const sqlLockPurchase = `SELECT FROM journeys WHERE account_id = @account AND livemode = @livemode AND id = @id FOR UPDATE`

// sqlSettle turns an open purchase into a bought one, all at once. It writes
// nothing if the purchase was settled meanwhile, or the label is stranded.
const sqlSettle = `
WITH old AS (
  SELECT sequence FROM journeys
  WHERE account_id = $2 AND livemode = $3 AND id = $1 AND attempt = $4 AND state IN ('purchasing', 'uncertain', 'needs_review')
    AND NOT EXISTS (SELECT FROM stranded_labels x WHERE x.account_id = $2 AND x.livemode = $3 AND x.carrier = $8 AND x.number = $9)
  FOR UPDATE
), j AS (
  UPDATE journeys SET state = 'purchased', status = 'label_generated', reason = NULL, piece_statuses = NULL, sequence = old.sequence + CASE old.sequence WHEN 0 THEN 2 ELSE 1 END,
    bought_at = $5, newest_at = greatest(newest_at, $5), estimate_at = $6, estimate_source = $7, carrier = $8, number = $9
  FROM old WHERE account_id = $2 AND livemode = $3 AND id = $1
  RETURNING journeys.sequence
), s AS (
  UPDATE shipments SET carrier = $8, deal = $10 FROM old WHERE account_id = $2 AND livemode = $3 AND id = $1
), a AS (
  UPDATE purchase_attempts SET ended_at = now(), outcome = 'bought', reserved = CASE WHEN key_id IS NOT NULL THEN coalesce($23, reserved) END FROM old WHERE account_id = $2 AND livemode = $3 AND id = $1 AND attempt = $21
), c AS (
  INSERT INTO charges (id, account_id, livemode, number, kind, attempt, carrier, connection, minor, currency)
  SELECT $1, $2, $3, $9, 'purchase', $21, $8, $22, $23, $24 FROM old WHERE $23::bigint IS NOT NULL
), l AS (
  INSERT INTO labels (id, account_id, livemode, format, data) SELECT $1, $2, $3, $11, $12 FROM old
), n AS (
  INSERT INTO names (account_id, livemode, kind, name, id) SELECT $2, $3, 't', unnest($13::text[]), $1 FROM old
), p AS (
  INSERT INTO polls (id, account_id, livemode, due_at) SELECT $1, $2, $3, $14 FROM old WHERE $14::timestamptz IS NOT NULL AND $22::uuid IS NULL
), w AS (
  INSERT INTO watches (id, account_id, livemode, connection, due_at) SELECT $1, $2, $3, $22, $14 FROM old WHERE $14::timestamptz IS NOT NULL AND $22::uuid IS NOT NULL
), e AS (
  INSERT INTO events (id, account_id, livemode, subject, kind, sequence, version, snapshot)
  SELECT $15::uuid, $2, $3, $1, 'shipment.created'::event_kind, 1, $16::smallint, $17::json FROM old WHERE old.sequence = 0
  UNION ALL SELECT $18, $2, $3, $1, 'label.generated', (SELECT sequence FROM j), $16, $19 FROM old
), k AS (
  UPDATE idempotency_keys SET status = 201 FROM old WHERE account_id = $2 AND livemode = $3 AND key = $20::text AND old.sequence = 0
)
SELECT sequence FROM j`

// Settlement is the outcome of an open purchase: it was bought.
type Settlement struct {
	Creation
	Attempt   int // must still be the last
	BoughtBy  int // the attempt that bought it
	Documents []ship.Document
}

// Settle stores what an open purchase bought. It is ship.Conflict if the
// purchase is no longer open, or this attempt is not its last.
func (s *Store) Settle(ctx context.Context, c Settlement) (sequence int, err error) {
	sh := c.Shipment
	_, deal, err := orderJSON(sh)
	if err != nil {
		return 0, err
	}
	var snapshots [2][]byte
	for i, e := range c.Events {
		if snapshots[i], err = json.Marshal(e.Snapshot); err != nil {
			return 0, fmt.Errorf("write a snapshot: %w", err)
		}
	}
	var minor *int64 // a simulated carrier charges nothing
	if !sh.Deal.Simulated {
		minor = &sh.Deal.Price.Minor
	}
	b := s.newBatch(sh.Tenant)
	b.Queue(sqlLockPurchase, tenantArgs(sh.Tenant, sh.ID.Raw(), nil))
	b.Queue(sqlSettle,
		[16]byte(sh.ID.Raw()), [16]byte(sh.Tenant.Account.Raw()), sh.Tenant.Livemode, c.Attempt,
		sh.Deal.BoughtAt, nullTime(sh.Progress.EstimateAt), null(sh.Progress.EstimateSource), sh.Deal.Carrier, sh.Deal.TrackingNumber, deal,
		c.Label.Format, c.Label.Data, numbers(sh.Deal), nullTime(c.PollAt),
		[16]byte(c.Events[0].ID.Raw()), BodyVersion, snapshots[0], [16]byte(c.Events[1].ID.Raw()), snapshots[1], null(c.IdempotencyKey),
		c.BoughtBy, nullConnection(sh.Deal.Connection), minor, sh.Deal.Price.Currency).QueryRow(func(r pgx.Row) error { return r.Scan(&sequence) })
	for i, d := range c.Documents {
		b.Queue(sqlAddDocument, tenantArgs(sh.Tenant, sh.ID.Raw(), pgx.NamedArgs{"place": i, "type": d.Type, "format": d.Format, "data": d.Data}))
	}
	err = s.send(ctx, b)
	if ship.KindOf(err) == ship.NotFound {
		return 0, ship.Errorf(ship.Conflict, "shipment %s is no longer open", sh.ID)
	}
	if err != nil {
		return 0, fmt.Errorf("settle shipment %s: %w", sh.ID, err)
	}
	return sequence, nil
}

// sqlAddDocument runs in the transaction of the settlement, which fails first
// if there is nothing to settle.
const sqlAddDocument = `
INSERT INTO documents (id, account_id, livemode, place, type, format, data) VALUES (@id, @account, @livemode, @place, @type, @format, @data)`

const sqlDocument = `
SELECT type, format, data FROM documents WHERE account_id = $1 AND livemode = $2 AND id = $3 AND place = $4`

// Document returns one of a purchase's further papers, counted from zero.
func (s *Store) Document(ctx context.Context, t ship.Tenant, id ship.ShipmentID, place int) (d ship.Document, err error) {
	err = s.queryRow(ctx, t, func(r pgx.Row) error { return r.Scan(&d.Type, &d.Format, &d.Data) }, sqlDocument,
		[16]byte(t.Account.Raw()), t.Livemode, [16]byte(id.Raw()), place)
	return d, err
}

const sqlOrder = `
SELECT id FROM names WHERE account_id = $1 AND livemode = $2 AND kind = 'o' AND name = $3 ORDER BY id DESC LIMIT 1`

// LockOrder locks the order until the transaction ends, and returns its newest
// shipment that is not failed or voided, if there is one.
func (s *Store) LockOrder(ctx context.Context, t ship.Tenant, order string) (ship.ShipmentID, error) {
	var id [16]byte
	b := &pgx.Batch{}
	b.Queue("SELECT pg_advisory_xact_lock(hashtextextended($1, 1))", uuidText(t.Account.Raw())+boolText(t.Livemode)+order)
	b.Queue(sqlOrder, [16]byte(t.Account.Raw()), t.Livemode, order).QueryRow(func(r pgx.Row) error { return r.Scan(&id) })
	err := explain(s.tx.SendBatch(ctx, b).Close())
	if ship.KindOf(err) == ship.NotFound {
		return "", nil
	}
	return ship.ShipmentIDOf(id), err
}

const sqlPastOrder = `
WITH n AS (
  UPDATE names SET kind = 'p' WHERE account_id = @account AND livemode = @livemode AND kind = 'o' AND name = @order AND id = @id
), w AS (
  DELETE FROM watches WHERE account_id = @account AND livemode = @livemode AND id = @id
)
DELETE FROM polls WHERE account_id = @account AND livemode = @livemode AND id = @id`

// PastOrder ends the shipment's claim to its order: it was not bought, or is
// voided. Nobody asks the carrier about it any more.
func (s *Store) PastOrder(ctx context.Context, sh ship.Shipment) error {
	_, err := s.exec(ctx, sh.Tenant, sqlPastOrder, tenantArgs(sh.Tenant, sh.ID.Raw(), pgx.NamedArgs{"order": sh.Order.OrderID}))
	return err
}

// tenantArgs adds the three names that nearly every statement has.
func tenantArgs(t ship.Tenant, id ship.RawID, more pgx.NamedArgs) pgx.NamedArgs {
	if more == nil {
		more = pgx.NamedArgs{}
	}
	more["account"], more["livemode"], more["id"] = [16]byte(t.Account.Raw()), t.Livemode, [16]byte(id)
	return more
}
