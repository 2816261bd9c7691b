package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/effect"
	"github.com/waybillhq/waybill/internal/ship"
)

// What pickups, manifests and documents have in common: how far they are. The guards of
// these statements are those that package effect relies on.

// An EffectState is how far a pickup, manifest or document is, as package effect needs it.
type EffectState struct {
	State     effect.State
	Attempt   int
	StartedAt time.Time // of the attempt
	MissedAt  time.Time // zero for never
	Code      string    // why it failed or needs a person; empty otherwise
	Message   string
}

// effectColumns are those of EffectState.
const effectColumns = `state, attempt, attempt_started_at, missed_at, coalesce(error_code, ''), coalesce(error_message, '')`

// targets returns where the columns are read into, and what completes it.
func (e *EffectState) targets() (list []any, complete func()) {
	var missed *time.Time
	return []any{&e.State, &e.Attempt, &e.StartedAt, &missed, &e.Code, &e.Message}, func() {
		e.StartedAt = e.StartedAt.UTC()
		e.MissedAt = timeOrZero(missed)
	}
}

// A Turn is what becomes of an effect that is open, if the attempt is still its
// last one.
type Turn struct {
	To      effect.State
	Attempt int
	Missed  bool // a look-up did not find it
	Code    string
	Message string
}

const turned = ` SET
  state = @to,
  missed_at = CASE WHEN @missed THEN now() ELSE missed_at END,
  error_code = @code,
  error_message = @message
WHERE account_id = @account AND livemode = @livemode AND id = @id AND attempt = @attempt AND state IN ('pending', 'uncertain')`

const attemptedAgain = ` SET
  state = 'pending',
  attempt = attempt + 1,
  attempt_started_at = now(),
  missed_at = NULL
WHERE account_id = @account AND livemode = @livemode AND id = @id AND attempt = @attempt AND state IN ('pending', 'uncertain')`

func (v Turn) args(t ship.Tenant, id any) pgx.NamedArgs {
	return tenantArgs(t, id, pgx.NamedArgs{
		"to":      string(v.To),
		"attempt": v.Attempt,
		"missed":  v.Missed,
		"code":    null(v.Code),
		"message": null(v.Message),
	})
}

// guarded runs a statement that moves an effect on; ship.Conflict if somebody
// else has.
func (s *Store) guarded(ctx context.Context, t ship.Tenant, sql string, args pgx.NamedArgs) error {
	n, err := s.exec(ctx, t, sql, args)
	if err == nil && n == 0 {
		return ship.Errorf(ship.Conflict, "it was moved on meanwhile")
	}
	return err
}

// A Resolution is what a person found out about a pickup, manifest or document that needs
// review.
type Resolution struct {
	To      effect.State // effect.Succeeded or effect.Failed
	Number  string       // the carrier's, if it was done; empty if it gave none
	Code    string       // why it failed
	Message string
}

// entry is its entry in the audit log.
func (r Resolution) entry(t ship.Tenant, action, target string) AuditEntry {
	entry := EntryOf(t, action, target)
	entry.Details = map[string]string{"outcome": string(r.To)}
	if r.Number != "" {
		entry.Details["number"] = r.Number
	}
	return entry
}

func (r Resolution) args(t ship.Tenant, id any) pgx.NamedArgs {
	return tenantArgs(t, id, pgx.NamedArgs{
		"to":      string(r.To),
		"number":  null(r.Number),
		"code":    null(r.Code),
		"message": null(r.Message),
	})
}

// An OpenEffect is a pickup, manifest or document that waits for an outcome.
type OpenEffect[ID any] struct {
	Tenant ship.Tenant
	ID     ID
}

// openEffects lists those whose last attempt began before the moment, all of them:
// those that a carrier never answers for must not hide the others.
func openEffects[ID any](ctx context.Context, s *Store, sql string, before time.Time) ([]OpenEffect[ID], error) {
	return selectList(ctx, s.sys, func(r pgx.CollectableRow) (open OpenEffect[ID], err error) {
		err = r.Scan(&open.Tenant.Account, &open.Tenant.Livemode, &open.ID)
		return open, err
	}, sql, before)
}
