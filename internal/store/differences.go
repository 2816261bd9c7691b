package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// maxDifferences is how many differences are kept of a connection.
const maxDifferences = 50

// A Difference is something that a carrier answered and its driver does not
// know.
type Difference struct {
	Tenant     ship.Tenant
	Connection ship.ConnectionID
	Carrier    string
	Kind       string
	Operation  string
	Code       string
	Detail     string
	Count      int
	FirstAt    time.Time
	LastAt     time.Time
}

// Key returns the same text for differences that are the same. A carrier's
// words vary, so a code is known by itself.
func (d Difference) Key() string {
	parts := []string{d.Kind, d.Operation, d.Code}
	if d.Code == "" {
		parts = append(parts, d.Detail)
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:8])
}

const sqlAddDifference = `
UPDATE connections c SET differences = c.differences || jsonb_build_object(@key::text, jsonb_build_object(
  'kind', @kind::text, 'operation', @operation::text, 'code', @code::text, 'detail', @detail::text,
  'count', coalesce((c.differences->@key::text->>'count')::bigint, 0) + @count::bigint,
  'firstAt', coalesce(c.differences->@key::text->>'firstAt', @first::text),
  'lastAt', @last::text))
WHERE c.account_id = @account AND c.livemode = @livemode AND c.id = @id
  AND (c.differences ? @key::text OR (SELECT count(*) FROM jsonb_object_keys(c.differences)) < @most)`

// AddDifference adds to the differences of its connection. A connection that has
// as many as are kept gets no new ones.
func (s *Store) AddDifference(ctx context.Context, d Difference) error {
	_, err := s.exec(ctx, d.Tenant, sqlAddDifference, tenantArgs(d.Tenant, d.Connection, pgx.NamedArgs{
		"key":       d.Key(),
		"kind":      d.Kind,
		"operation": d.Operation,
		"code":      d.Code,
		"detail":    d.Detail,
		"count":     d.Count,
		"first":     d.FirstAt.UTC().Format(time.RFC3339),
		"last":      d.LastAt.UTC().Format(time.RFC3339),
		"most":      maxDifferences,
	}))
	if err != nil {
		return fmt.Errorf("add a carrier's difference: %w", err)
	}
	return nil
}

const (
	sqlDifferenceColumns = `
SELECT c.account_id, c.livemode, c.id, c.carrier, d->>'kind', d->>'operation', d->>'code', d->>'detail',
  (d->>'count')::bigint, (d->>'firstAt')::timestamptz, (d->>'lastAt')::timestamptz
FROM connections c, jsonb_each(c.differences) AS e (key, d)`

	sqlDifferences    = sqlDifferenceColumns + ` WHERE c.account_id = $1 AND c.livemode = $2 AND c.removed_at IS NULL ORDER BY d->>'lastAt' DESC, e.key`
	sqlAllDifferences = sqlDifferenceColumns + ` WHERE c.removed_at IS NULL ORDER BY d->>'lastAt' DESC, e.key, c.id LIMIT $1`
)

func scanDifference(r pgx.CollectableRow) (d Difference, err error) {
	err = r.Scan(&d.Tenant.Account, &d.Tenant.Livemode, &d.Connection, &d.Carrier,
		&d.Kind, &d.Operation, &d.Code, &d.Detail, &d.Count, &d.FirstAt, &d.LastAt)
	d.FirstAt = d.FirstAt.UTC()
	d.LastAt = d.LastAt.UTC()
	return d, err
}

// Differences returns those of the tenant's connections, newest first.
func (s *Store) Differences(ctx context.Context, t ship.Tenant) ([]Difference, error) {
	return queryList(ctx, s, t, scanDifference, sqlDifferences, t.Account, t.Livemode)
}

// AllDifferences returns the newest of all tenants.
func (s *Store) AllDifferences(ctx context.Context, limit int) ([]Difference, error) {
	return selectList(ctx, s.sys, scanDifference, sqlAllDifferences, limit)
}
