package rulebook

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A Workspace is the rules that somebody edits: the draft or, if there is none, the
// published rules.
type Workspace struct {
	Version            // its Version is the published one that it is based on
	HasDraft   bool    // there is a draft
	Published  Version // zero if nothing was published
	DraftError error   // why the draft is no longer valid; nil if it is
}

// Revision identifies the state of the desk. A change that names a mark is made
// only if nobody else has changed the desk since.
func (d Workspace) Revision() string { return markOf(d.Version, d.HasDraft) }

// Behind reports whether other rules were published since the draft was started.
func (d Workspace) Behind() bool { return d.HasDraft && d.Version.Version != d.Published.Version }

func markOf(version Version, drafted bool) string {
	if drafted {
		return "d" + strconv.FormatInt(version.WrittenAt.UnixMicro(), 36)
	}
	return "v" + strconv.Itoa(version.Version)
}

// Workspace reads the rules to edit.
func (s *Service) Workspace(ctx context.Context, t ship.Tenant) (desk Workspace, err error) {
	desk.Published, err = s.Published(ctx, t, 0)
	if err != nil && ship.KindOf(err) != ship.NotFound {
		return desk, err
	}

	draft, err := s.Draft(ctx, t)
	switch draftError, ok := errors.AsType[*ship.Error](err); {
	case err == nil:
	case ok && draftError.Kind == ship.NotFound:
		desk.Version = desk.Published
		return desk, nil
	case ok && draftError.Kind == ship.Invalid:
		// A connection that the draft names may have been removed since. Such a
		// draft can still be edited.
		desk.DraftError = err
	default:
		return desk, err
	}

	desk.Version = draft
	desk.HasDraft = true
	return desk, nil
}

// EditInput is a change of the draft.
type EditInput struct {
	Tenant ship.Tenant
	Mark   string // of the desk that the change was made on
	// Change returns the changed rules. It must not modify those that it gets.
	Change func(routing.Book) (routing.Book, error)
}

// Edit changes the draft, and starts one if there is none. It is a conflict
// with the code "draft_changed" if somebody changed it since the mark: then
// nothing is saved.
func (s *Service) Edit(ctx context.Context, in EditInput) (Workspace, error) {
	desk, err := s.Workspace(ctx, in.Tenant)
	if err != nil {
		return desk, err
	}
	if in.Mark != desk.Revision() {
		return desk, draftChanged()
	}

	book, err := in.Change(desk.Rules)
	if err != nil {
		return desk, err
	}
	warnings, err := s.Check(ctx, in.Tenant, book)
	if err != nil {
		return desk, err
	}
	text, err := encodeBook(&book)
	if err != nil {
		return desk, err
	}
	if len(text) > routing.MaxBook {
		return desk, ship.InvalidFields([]ship.FieldError{{
			Pointer: "/rules",
			Code:    "too_long",
			Detail:  fmt.Sprintf("the rules are larger than %d bytes", routing.MaxBook),
		}})
	}

	// The mark was compared with what was read. The statement compares once
	// more, because somebody may have saved between the two.
	seen := store.RuleBook{Version: desk.Version.Version}
	if desk.HasDraft {
		seen.WrittenAt = desk.WrittenAt
	}
	row, err := s.Store.ChangeRuleDraft(ctx, in.Tenant, seen, text)
	if ship.KindOf(err) == ship.Conflict {
		return desk, draftChanged()
	}

	desk.Version = Version{RuleBook: row, Rules: book, Warnings: warnings}
	desk.HasDraft = true
	desk.DraftError = nil
	return desk, err
}

func draftChanged() error {
	return ship.Coded(ship.Conflict, "draft_changed", "someone else changed the draft in the meantime; nothing was saved: reload it and try again")
}
