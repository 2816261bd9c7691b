package rulebook

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A Version is a stored rule book, decoded, with warnings for its author.
type Version struct {
	store.RuleBook
	Rules    routing.Book
	Warnings []string // of a draft: what is allowed but may not be intended
}

func versionOf(row store.RuleBook) (Version, error) {
	book, err := routing.ReadBook(row.Book)
	if err != nil {
		return Version{}, fmt.Errorf("read version %d of the rules: %w", row.Version, err)
	}
	return Version{RuleBook: row, Rules: book}, nil
}

// Published returns a version; 0 stands for the one in effect.
func (s *Service) Published(ctx context.Context, t ship.Tenant, version int) (Version, error) {
	row, err := s.Store.RuleBook(ctx, t, version)
	if err != nil {
		return Version{}, missing(err, "version_not_found", "there is no such version of the rules")
	}
	return versionOf(row)
}

// Versions lists what was published, the newest first, before a version unless
// it is 0.
func (s *Service) Versions(ctx context.Context, t ship.Tenant, before, limit int) ([]Version, error) {
	rows, err := s.Store.RuleBooks(ctx, t, before, limit)
	if err != nil {
		return nil, err
	}

	list := make([]Version, len(rows))
	for i, row := range rows {
		if list[i], err = versionOf(row); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Draft returns the draft. Its Version is the published one that it was based
// on. If the draft is no longer valid, it is returned with the error.
func (s *Service) Draft(ctx context.Context, t ship.Tenant) (Version, error) {
	row, err := s.Store.RuleDraft(ctx, t)
	if err != nil {
		return Version{}, missing(err, "draft_not_found", "there is no draft")
	}
	draft, err := versionOf(row)
	if err != nil {
		return draft, err
	}
	draft.Warnings, err = s.Check(ctx, t, draft.Rules)
	return draft, err
}

// SaveDraft stores rules as the draft, in place of the one before. Rules that
// could not be published are rejected.
func (s *Service) SaveDraft(ctx context.Context, t ship.Tenant, book routing.Book) (Version, error) {
	warnings, err := s.Check(ctx, t, book)
	if err != nil {
		return Version{}, err
	}
	text, err := encodeBook(&book)
	if err != nil {
		return Version{}, err
	}

	row, err := s.Store.SaveRuleDraft(ctx, t, text)
	return Version{RuleBook: row, Rules: book, Warnings: warnings}, err
}

// encodeBook encodes a book as it is stored. No rules are an empty list, not
// null.
func encodeBook(book *routing.Book) ([]byte, error) {
	if book.Rules == nil {
		book.Rules = []routing.Rule{}
	}
	text, err := json.Marshal(book)
	if err != nil {
		return nil, fmt.Errorf("write the rules: %w", err)
	}
	return text, nil
}

// DropDraft deletes the draft.
func (s *Service) DropDraft(ctx context.Context, t ship.Tenant) error {
	return s.Store.DropRuleDraft(ctx, t)
}

// PublishInput says what is published.
type PublishInput struct {
	Tenant ship.Tenant
	Note   string
	// Replaces is the version that the caller expects to be in effect; nil for
	// any, as long as it is the one that the draft was based on.
	Replaces *int
	// Mark is the mark of the draft that the caller has read; "" for any.
	Mark string
}

// Publish puts the draft into effect, from the next purchase on. It is a
// conflict if other rules were published since the draft was saved.
func (s *Service) Publish(ctx context.Context, in PublishInput) (Version, error) {
	draft, err := s.Draft(ctx, in.Tenant)
	if err != nil {
		return Version{}, err
	}

	if in.Replaces != nil && *in.Replaces != draft.Version {
		return Version{}, outdated(draft.Version)
	}
	if in.Mark != "" && in.Mark != markOf(draft, true) {
		return Version{}, draftChanged()
	}

	next := store.RuleBook{Version: draft.Version + 1, Book: draft.Book, Note: in.Note}
	return s.publish(ctx, in.Tenant, draft, next, true)
}

// RollBack publishes an earlier version again, as a new one. The draft is kept.
func (s *Service) RollBack(ctx context.Context, t ship.Tenant, version int, note string) (Version, error) {
	old, err := s.Published(ctx, t, version)
	if err != nil {
		return Version{}, err
	}
	// What the old rules name may have been removed since.
	if old.Warnings, err = s.Check(ctx, t, old.Rules); err != nil {
		return Version{}, err
	}

	current, err := s.Published(ctx, t, 0)
	if err != nil {
		return Version{}, err
	}
	return s.publish(ctx, t, old, store.RuleBook{
		Version:  current.Version + 1,
		Book:     old.Book,
		Note:     note,
		Restored: version,
	}, false)
}

// publish stores the next version, and ends the draft that became it.
func (s *Service) publish(ctx context.Context, t ship.Tenant, from Version, next store.RuleBook, endDraft bool) (Version, error) {
	// Only the draft that was read is ended. If it was changed meanwhile, the
	// transaction is rolled back and the changes are not lost.
	var endErr error
	err := s.Store.InTx(ctx, t, func(tx *store.Store) (err error) {
		if next.WrittenAt, err = tx.PublishRules(ctx, t, next); err != nil || !endDraft {
			return err
		}
		endErr = tx.EndRuleDraft(ctx, t, from.WrittenAt)
		return endErr
	})

	if ship.KindOf(endErr) == ship.Conflict {
		return Version{}, draftChanged()
	}
	if ship.KindOf(err) == ship.Conflict {
		return Version{}, outdated(next.Version - 1)
	}
	if err != nil {
		return Version{}, err
	}

	s.forget(t)
	return Version{RuleBook: next, Rules: from.Rules, Warnings: from.Warnings}, nil
}

func outdated(version int) error {
	return ship.Coded(ship.Conflict, "rules_changed", "newer rules were published after version %d: review them and save the draft again", version)
}

// missing gives a not-found error its code and message.
func missing(err error, code, message string) error {
	if ship.KindOf(err) == ship.NotFound {
		return &ship.Error{Kind: ship.NotFound, Code: code, Message: message, Err: err}
	}
	return err
}
