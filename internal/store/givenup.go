package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// sqlGivenUpUntold finds the few endpoints that were switched off because they
// failed, and whose owners do not know.
const sqlGivenUpUntold = `
SELECT ` + endpointColumns + ` FROM webhook_endpoints e
WHERE (e.parked OR NOT e.enabled) AND NOT e.enabled AND e.disabled_reason <> 'client' AND e.notified_at IS NULL ORDER BY e.id LIMIT 100`

// GivenUpUntold lists endpoints that were switched off because they failed, and
// whose owners were not told.
func (s *Store) GivenUpUntold(ctx context.Context) ([]Endpoint, error) {
	rows, err := s.sys.Query(ctx, sqlGivenUpUntold)
	if err != nil {
		return nil, fmt.Errorf("endpoints given up: %w", explain(err))
	}
	var list []Endpoint
	err = each(rows, func(r pgx.Rows) error {
		e, err := scanEndpoint(r)
		list = append(list, e)
		return err
	})
	return list, explain(err)
}

const sqlNoteTold = `UPDATE webhook_endpoints SET notified_at = now() WHERE account_id = @account AND livemode = @livemode AND id = @id AND version = @version AND NOT enabled`

// NoteTold notes that the endpoint's owners know. What has changed since it was
// read is told again.
func (s *Store) NoteTold(ctx context.Context, e Endpoint) error {
	_, err := s.sys.Exec(ctx, sqlNoteTold, tenantArgs(e.Tenant, e.ID.Raw(), pgx.NamedArgs{"version": e.Version}))
	return explain(err)
}
