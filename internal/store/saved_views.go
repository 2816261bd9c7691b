package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A SavedView is a named filter of the list of shipments.
type SavedView struct {
	ID       ship.ViewID
	Name     string
	Filter   map[string]string // names and values of the filter, as the address has them
	Person   ship.PersonID     // whose view it is
	IsShared bool              // everybody in the account sees it
}

const sqlSavedViews = `
SELECT id, name, filter, person_id, is_shared FROM saved_views
WHERE account_id = $1 AND (is_shared OR person_id = $2)
ORDER BY lower(name), id LIMIT $3`

// SavedViews lists the views that a person sees, by name.
func (s *Store) SavedViews(ctx context.Context, account ship.AccountID, person ship.PersonID, limit int) ([]SavedView, error) {
	return queryList(ctx, s, ship.Tenant{Account: account}, func(r pgx.CollectableRow) (view SavedView, err error) {
		err = r.Scan(&view.ID, &view.Name, &view.Filter, &view.Person, &view.IsShared)
		return view, err
	}, sqlSavedViews, account, person, limit)
}

const sqlSaveView = `
INSERT INTO saved_views (account_id, id, name, filter, person_id, is_shared)
VALUES (@account, @id, @name, @filter, @person, @shared)
ON CONFLICT (account_id, person_id, name) DO UPDATE SET
  filter = excluded.filter,
  is_shared = excluded.is_shared`

// SaveView stores a view. A view of the same person and name is replaced.
func (s *Store) SaveView(ctx context.Context, account ship.AccountID, view SavedView) error {
	filter, err := json.Marshal(view.Filter)
	if err != nil {
		return fmt.Errorf("write the filter of a view: %w", err)
	}
	entry := accountEntry(account, "view.saved")
	entry.Details = map[string]string{"name": view.Name}
	_, err = s.change(ctx, ship.Tenant{Account: account}, entry, sqlSaveView, pgx.NamedArgs{
		"account": account,
		"id":      view.ID,
		"name":    view.Name,
		"filter":  filter,
		"person":  view.Person,
		"shared":  view.IsShared,
	})
	return err
}

const sqlDeleteView = `
DELETE FROM saved_views
WHERE account_id = @account AND id = @id AND (person_id = @person OR is_shared AND @any)`

// DeleteView deletes a view of the person or, with any, a shared one of somebody
// else; ship.NotFound if there is no such view.
func (s *Store) DeleteView(ctx context.Context, account ship.AccountID, id ship.ViewID, person ship.PersonID, anyShared bool) error {
	entry := accountEntry(account, "view.deleted")
	entry.Target = string(id)
	n, err := s.change(ctx, ship.Tenant{Account: account}, entry, sqlDeleteView, pgx.NamedArgs{
		"account": account,
		"id":      id,
		"person":  person,
		"any":     anyShared,
	})
	if err == nil && n == 0 {
		return ship.Coded(ship.NotFound, "view_not_found", "no such view")
	}
	return err
}
