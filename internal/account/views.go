package account

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// The limits of saved views.
const (
	maxViews    = 200 // that a person sees
	maxOwnViews = 50
	maxViewName = 60 // characters
)

// A SavedView is a named filter of the list of shipments.
type SavedView = store.SavedView

// Views lists the saved views that a person sees: their own, and shared ones.
func (s *Service) Views(ctx context.Context, account ship.AccountID, person ship.PersonID) ([]SavedView, error) {
	return s.store.SavedViews(ctx, account, person, maxViews)
}

// SaveView saves a view of a person. A view of theirs with the same name is
// replaced.
func (s *Service) SaveView(ctx context.Context, account ship.AccountID, view SavedView) error {
	view.Name = strings.TrimSpace(view.Name)
	if n := utf8.RuneCountInString(view.Name); n == 0 || n > maxViewName {
		return ship.InvalidFields([]ship.FieldError{{Pointer: "/name", Code: "invalid", Detail: "must have 1 to 60 characters"}})
	}
	if len(view.Filter) == 0 {
		return ship.InvalidFields([]ship.FieldError{{Pointer: "/filter", Code: "required", Detail: "choose a status, carrier, period or order first"}})
	}

	views, err := s.Views(ctx, account, view.Person)
	if err != nil {
		return err
	}
	own := 0
	for _, existing := range views {
		if existing.Person == view.Person && existing.Name != view.Name {
			own++
		}
	}
	if own >= maxOwnViews {
		return ship.Errorf(ship.Conflict, "you have %d saved views, which is the most; delete one first", own)
	}

	view.ID = ship.NewViewID(account.Raw().Shard(), time.Now())
	return s.store.SaveView(ctx, account, view)
}

// DeleteView deletes a view of the person or, with anyShared, a shared one of
// somebody else.
func (s *Service) DeleteView(ctx context.Context, account ship.AccountID, id ship.ViewID, person ship.PersonID, anyShared bool) error {
	return s.store.DeleteView(ctx, account, id, person, anyShared)
}
