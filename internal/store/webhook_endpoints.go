package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// Webhook endpoints: their settings, and the owners to notify of disabled ones.

// MaxEndpoints is how many webhook endpoints a tenant may have.
const MaxEndpoints = 20

// An Endpoint is a webhook endpoint as stored: its settings, and how it does.
type Endpoint struct {
	ID     ship.EndpointID
	Tenant ship.Tenant
	Slot   int
	EndpointSettings
	Version int // counts the changes of the settings

	Verified      bool // has answered 2xx at its present address
	Failures      int  // in a row
	FailingSince  time.Time
	LastSuccessAt time.Time
	Parked        bool
	Joining       bool     // has yet to catch up with the log's common reader
	Cursor        Position // where its backlog begins while it does not follow the log with the others
	Probe         int
	RecoverSince  time.Time // what it has got since then is not sent again while it catches up
	Born          Snapshot  // what was committed when it was made
}

// EndpointSettings are what the client chooses, and its secrets, sealed.
type EndpointSettings struct {
	URL            string
	Kinds          []ship.EventKind // none means all
	Description    string
	Signature      string // v1, v1a or both
	Headers        []byte // sealed; nil if there are none
	Secret         []byte // sealed
	Previous       []byte // sealed; the secret before, while it is still used
	PreviousUntil  time.Time
	Enabled        bool
	DisabledReason string
}

// Wants reports whether the endpoint gets events of the kind.
func (e *EndpointSettings) Wants(kind ship.EventKind) bool {
	return len(e.Kinds) == 0 || slices.Contains(e.Kinds, kind)
}

// slotOf spreads endpoints evenly: the last bits of an id are random.
func slotOf(id ship.RawID) int { return int(id[len(id)-1]) % WebhookSlots }

const endpointColumns = `e.id, e.account_id, e.livemode, e.slot, e.version, e.url, e.event_kinds, e.description, e.signature_scheme,
  e.encrypted_headers, e.encrypted_secret, e.encrypted_previous_secret, e.previous_secret_until, e.enabled, e.disabled_reason,
  e.verified, e.failures, e.failing_since, e.last_success_at, e.parked, e.catching_up,
  e.cursor_txid::text, e.cursor_id, e.cursor_at, e.probes, e.recover_since, e.created_snapshot::text`

func scanEndpoint(r pgx.CollectableRow) (Endpoint, error) {
	var (
		endpoint                    Endpoint
		kinds                       []string
		previousUntil, failingSince *time.Time
		lastSuccess, recoverSince   *time.Time
		reason                      *string
		cursor                      positionRow
		created                     string
	)
	err := r.Scan(
		&endpoint.ID, &endpoint.Tenant.Account, &endpoint.Tenant.Livemode, &endpoint.Slot, &endpoint.Version,
		&endpoint.URL, &kinds, &endpoint.Description, &endpoint.Signature,
		&endpoint.Headers, &endpoint.Secret, &endpoint.Previous, &previousUntil, &endpoint.Enabled, &reason,
		&endpoint.Verified, &endpoint.Failures, &failingSince, &lastSuccess, &endpoint.Parked, &endpoint.Joining,
		&cursor.tx, &cursor.id, &cursor.at, &endpoint.Probe, &recoverSince, &created,
	)

	endpoint.Kinds = fromStrings[ship.EventKind](kinds)
	endpoint.PreviousUntil = timeOrZero(previousUntil)
	endpoint.DisabledReason = value(reason)
	endpoint.FailingSince = timeOrZero(failingSince)
	endpoint.LastSuccessAt = timeOrZero(lastSuccess)
	endpoint.Cursor = cursor.position()
	endpoint.RecoverSince = timeOrZero(recoverSince)
	endpoint.Born = parseSnapshot(created)
	return endpoint, err
}

// sqlLockEndpoints lets one transaction at a time count the tenant's endpoints
// and add one.
const sqlLockEndpoints = `SELECT pg_advisory_xact_lock(hashtextextended($1, 2))`

// sqlAddEndpoint adds an endpoint if the tenant may have one more. Its backlog
// begins at the horizon: what commits from now on has a transaction above it.
// A crash does not give that number out again, because this transaction's own
// is above it too.
const sqlAddEndpoint = `
INSERT INTO webhook_endpoints AS e (id, account_id, livemode, slot, url, event_kinds, description, signature_scheme,
  encrypted_headers, encrypted_secret, enabled, disabled_reason,
  cursor_txid, cursor_id, cursor_at)
SELECT @id, @account, @livemode, @slot, @url, @kinds, @description, @signature,
  @headers, @secret, @enabled, @reason,
  (log_horizon()::text::bigint - 1)::text::xid8, 'ffffffff-ffff-ffff-ffff-ffffffffffff', now()
WHERE (SELECT count(*) FROM webhook_endpoints WHERE account_id = @account AND livemode = @livemode) < @most
RETURNING ` + endpointColumns

// AddEndpoint stores a new endpoint. It is ship.Conflict when the tenant has
// as many as it may.
func (s *Store) AddEndpoint(ctx context.Context, t ship.Tenant, id ship.EndpointID, set EndpointSettings) (Endpoint, error) {
	args := settingsArgs(t, id, set)
	args["slot"] = slotOf(id.Raw())
	args["most"] = MaxEndpoints

	var endpoint Endpoint
	err := s.changing(ctx, t, func(tx *Store) error {
		batch := tx.newBatch(t)
		batch.Queue(sqlLockEndpoints, uuidText(t.Account.Raw())+boolText(t.Livemode))
		batch.Queue(sqlAddEndpoint, args).Query(collectOneInto(&endpoint, scanEndpoint))
		if err := tx.send(ctx, batch); err != nil {
			return err
		}

		entry := EntryOf(t, "webhook.made", string(id))
		entry.Details = map[string]string{"url": set.URL}
		return tx.AuditChange(ctx, entry)
	})
	// No row came back: the tenant has as many as it may.
	if ship.KindOf(err) == ship.NotFound {
		return endpoint, ship.Coded(ship.Conflict, "webhook_limit", "the account already has %d webhooks in this mode, which is the maximum; delete one first", MaxEndpoints)
	}
	if err != nil {
		return endpoint, fmt.Errorf("add endpoint: %w", err)
	}
	return endpoint, nil
}

func settingsArgs(t ship.Tenant, id ship.EndpointID, set EndpointSettings) pgx.NamedArgs {
	return tenantArgs(t, id, pgx.NamedArgs{
		"url":         set.URL,
		"kinds":       append([]string{}, toStrings(set.Kinds)...), // none is an empty array, not NULL
		"description": set.Description,
		"signature":   set.Signature,
		"headers":     set.Headers,
		"secret":      set.Secret,
		"enabled":     set.Enabled,
		"reason":      null(set.DisabledReason),
	})
}

const sqlEndpoints = `SELECT ` + endpointColumns + ` FROM webhook_endpoints e WHERE e.account_id = $1 AND e.livemode = $2 ORDER BY e.id DESC`

// Endpoints lists the tenant's endpoints, newest first.
func (s *Store) Endpoints(ctx context.Context, t ship.Tenant) ([]Endpoint, error) {
	return queryList(ctx, s, t, scanEndpoint, sqlEndpoints, t.Account, t.Livemode)
}

const sqlEndpoint = `SELECT ` + endpointColumns + ` FROM webhook_endpoints e WHERE e.account_id = $1 AND e.livemode = $2 AND e.id = $3`

// Endpoint returns an endpoint of the tenant; ship.NotFound if there is none.
func (s *Store) Endpoint(ctx context.Context, t ship.Tenant, id ship.EndpointID) (Endpoint, error) {
	return queryOne(ctx, s, t, scanEndpoint, sqlEndpoint, t.Account, t.Livemode, id)
}

// EndpointToSend is Endpoint for the sender, which serves all tenants.
func (s *Store) EndpointToSend(ctx context.Context, t ship.Tenant, id ship.EndpointID) (Endpoint, error) {
	return selectOne(ctx, s.sys, scanEndpoint, sqlEndpoint, t.Account, t.Livemode, id)
}

const sqlLockEndpoint = sqlEndpoint + ` FOR UPDATE`

// sqlChangeEndpoint writes new settings. An endpoint that is switched off keeps
// its backlog from the cursor of its slot. One that is switched on, or moves to
// another address, starts afresh, and reads its backlog before it joins the
// others.
const sqlChangeEndpoint = `
UPDATE webhook_endpoints e SET
  version = e.version + 1,
  changed_at = clock_timestamp(),
  url = @url,
  event_kinds = @kinds,
  description = @description,
  signature_scheme = @signature,
  encrypted_headers = @headers,
  encrypted_secret = @secret,
  encrypted_previous_secret = @previous,
  previous_secret_until = @until,
  enabled = @enabled,
  disabled_reason = @reason,
  verified = e.verified AND NOT c.moved,
  failures = CASE WHEN c.afresh THEN 0 ELSE e.failures END,
  failing_since = CASE WHEN c.afresh THEN NULL ELSE e.failing_since END,
  probes = CASE WHEN c.afresh THEN 0 ELSE e.probes END,
  notified_at = CASE WHEN c.afresh THEN NULL ELSE e.notified_at END,
  parked = e.parked AND NOT c.afresh,
  catching_up = e.catching_up OR c.afresh AND (e.parked OR NOT e.enabled),
  cursor_txid = CASE WHEN c.ended AND e.cursor_txid IS NULL THEN s.cursor_txid ELSE e.cursor_txid END,
  cursor_id = CASE WHEN c.ended AND e.cursor_txid IS NULL THEN s.cursor_id ELSE e.cursor_id END,
  cursor_at = CASE WHEN c.ended AND e.cursor_txid IS NULL THEN s.cursor_at ELSE e.cursor_at END
FROM webhook_slots s, LATERAL (
  SELECT
    url <> @url AS moved,
    enabled AND NOT @enabled AS ended,
    url <> @url OR NOT enabled AND @enabled AS afresh
  FROM webhook_endpoints
  WHERE account_id = @account AND livemode = @livemode AND id = @id) c
WHERE s.slot = e.slot AND e.account_id = @account AND e.livemode = @livemode AND e.id = @id
RETURNING ` + endpointColumns

// ChangeEndpoint has change alter the settings of an endpoint, and stores
// them; action is what the audit log calls it. Nobody else changes the endpoint
// meanwhile. It is ship.NotFound if there is none.
func (s *Store) ChangeEndpoint(ctx context.Context, t ship.Tenant, id ship.EndpointID, action string, change func(*Endpoint) error) (Endpoint, error) {
	var endpoint Endpoint
	err := s.InTx(ctx, t, func(tx *Store) (err error) {
		endpoint, err = selectOne(ctx, tx.tx, scanEndpoint, sqlLockEndpoint, t.Account, t.Livemode, id)
		if err != nil {
			return err
		}
		if err = change(&endpoint); err != nil {
			return err
		}

		args := settingsArgs(t, id, endpoint.EndpointSettings)
		args["previous"] = endpoint.Previous
		args["until"] = nullTime(endpoint.PreviousUntil)
		if endpoint, err = selectOne(ctx, tx.tx, scanEndpoint, sqlChangeEndpoint, args); err != nil {
			return err
		}
		return tx.AuditChange(ctx, EntryOf(t, action, string(id)))
	})
	return endpoint, err
}

const sqlDropEndpoint = `
WITH dropped_retries AS (
  DELETE FROM webhook_retries
  WHERE account_id = $1 AND livemode = $2 AND endpoint_id = $3
)
DELETE FROM webhook_endpoints WHERE account_id = $1 AND livemode = $2 AND id = $3`

// DropEndpoint deletes an endpoint with its scheduled retries; ship.NotFound if
// there is none.
func (s *Store) DropEndpoint(ctx context.Context, t ship.Tenant, id ship.EndpointID) error {
	entry := EntryOf(t, "webhook.deleted", string(id))
	n, err := s.change(ctx, t, entry, sqlDropEndpoint, t.Account, t.Livemode, id)
	if err == nil && n == 0 {
		err = ship.Errorf(ship.NotFound, "no such webhook")
	}
	return err
}

const sqlVerifyEndpoint = `
UPDATE webhook_endpoints SET verified = true, last_success_at = greatest(last_success_at, $4)
WHERE account_id = $1 AND livemode = $2 AND id = $3 AND url = $5`

// VerifyEndpoint records that the endpoint has answered 2xx at the address. If
// it has moved to another address since, that is not verified.
func (s *Store) VerifyEndpoint(ctx context.Context, t ship.Tenant, id ship.EndpointID, url string, at time.Time) error {
	_, err := s.exec(ctx, t, sqlVerifyEndpoint, t.Account, t.Livemode, id, at, url)
	return err
}

// sqlUnnotifiedDisabled finds the few endpoints that were switched off because
// they failed, and whose owners have not been notified. Their order changes: those
// whose owners cannot be reached do not keep the others waiting.
const sqlUnnotifiedDisabled = `
SELECT ` + endpointColumns + ` FROM webhook_endpoints e
WHERE (e.parked OR NOT e.enabled) AND NOT e.enabled AND e.disabled_reason <> 'client' AND e.notified_at IS NULL
ORDER BY random() LIMIT 100`

// FailedEndpointsToNotify lists endpoints that were switched off because they
// failed, and whose owners have not been notified.
func (s *Store) FailedEndpointsToNotify(ctx context.Context) ([]Endpoint, error) {
	list, err := selectList(ctx, s.sys, scanEndpoint, sqlUnnotifiedDisabled)
	if err != nil {
		return nil, fmt.Errorf("read disabled endpoints: %w", err)
	}
	return list, nil
}

const sqlSetNotified = `
UPDATE webhook_endpoints SET notified_at = now()
WHERE account_id = @account AND livemode = @livemode AND id = @id AND version = @version AND NOT enabled`

// MarkNotified records that the endpoint's owners were notified. If the endpoint
// has changed since it was read, they are notified again.
func (s *Store) MarkNotified(ctx context.Context, e Endpoint) error {
	_, err := s.sys.Exec(ctx, sqlSetNotified, tenantArgs(e.Tenant, e.ID, pgx.NamedArgs{"version": e.Version}))
	return explain(err)
}
