package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// sqlUnnotifiedDisabled finds the few endpoints that were switched off because
// they failed, and whose owners have not been notified.
const sqlUnnotifiedDisabled = `
SELECT ` + endpointColumns + ` FROM webhook_endpoints e
WHERE (e.parked OR NOT e.enabled) AND NOT e.enabled AND e.disabled_reason <> 'client' AND e.notified_at IS NULL
ORDER BY e.id LIMIT 100`

// FailedEndpointsToNotify lists endpoints that were switched off because they
// failed, and
// whose owners have not been notified.
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
