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

// A Desk is what somebody who works on the rules has before them: the draft,
// or, where there is none, the rules that count.
type Desk struct {
	Version           // its Version is the published one that it is based on
	Drafted   bool    // there is a draft
	Published Version // zero if nothing was published
	Wrong     error   // what became wrong with the draft since it was saved; nil if nothing
}

// Mark names the state of the desk. What is changed by it is changed only if
// nobody else did so first.
func (d Desk) Mark() string { return markOf(d.Version, d.Drafted) }

// Behind reports whether other rules were published since the draft was begun.
func (d Desk) Behind() bool { return d.Drafted && d.Version.Version != d.Published.Version }

func markOf(v Version, drafted bool) string {
	if drafted {
		return "d" + strconv.FormatInt(v.WrittenAt.UnixMicro(), 36)
	}
	return "v" + strconv.Itoa(v.Version)
}

// Desk reads the rules to work on.
func (s *Service) Desk(ctx context.Context, t ship.Tenant) (d Desk, err error) {
	if d.Published, err = s.Published(ctx, t, 0); err != nil && ship.KindOf(err) != ship.NotFound {
		return d, err
	}
	v, err := s.Draft(ctx, t)
	switch e, ok := errors.AsType[*ship.Error](err); {
	case err == nil:
	case ok && e.Kind == ship.NotFound:
		d.Version = d.Published
		return d, nil
	case ok && e.Kind == ship.Invalid:
		d.Wrong = err
	default:
		return d, err
	}
	d.Version, d.Drafted = v, true
	return d, nil
}

// EditInput is a change of the draft.
type EditInput struct {
	Tenant ship.Tenant
	Mark   string // of the desk that the change was made on
	// Change returns the rules as they are to be. It must leave those that it
	// gets as they are.
	Change func(routing.Book) (routing.Book, error)
}

// Edit changes the draft, and begins one if there is none. It is a conflict
// with the code "draft_changed" if somebody changed it since the mark: then
// nothing is saved.
func (s *Service) Edit(ctx context.Context, in EditInput) (Desk, error) {
	d, err := s.Desk(ctx, in.Tenant)
	if err != nil {
		return d, err
	}
	if in.Mark != d.Mark() {
		return d, draftChanged()
	}
	book, err := in.Change(d.Rules)
	if err != nil {
		return d, err
	}
	warnings, err := s.Check(ctx, in.Tenant, book)
	if err != nil {
		return d, err
	}
	text, err := textOf(&book)
	if err != nil {
		return d, err
	}
	if len(text) > routing.MaxBook {
		return d, ship.InvalidFields([]ship.FieldError{{Pointer: "/rules", Code: "too_long", Detail: fmt.Sprintf("the rules are larger than %d bytes", routing.MaxBook)}})
	}
	seen := store.RuleBook{Version: d.Version.Version}
	if d.Drafted {
		seen.WrittenAt = d.WrittenAt
	}
	row, err := s.Store.ChangeRuleDraft(ctx, in.Tenant, seen, text)
	if ship.KindOf(err) == ship.Conflict {
		return d, draftChanged()
	}
	d.Version, d.Drafted, d.Wrong = Version{RuleBook: row, Rules: book, Warnings: warnings}, true, nil
	return d, err
}

func draftChanged() error {
	return ship.Coded(ship.Conflict, "draft_changed", "somebody else changed the draft meanwhile; nothing was saved")
}
