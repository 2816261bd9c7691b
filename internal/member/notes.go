package member

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Notes are entries of the audit log about what changes nothing: refusals,
// reads of many shipments, and links to labels. Anybody can cause them as often
// as they like, so they are grouped: the first is written within a second, and
// repeats from the same source are counted and written together, less and less
// often. Nobody waits for them, so a refusal takes as long whether or not it is
// of somebody who exists.

// What limits the entries that notes become. A source that never stops causes
// about forty entries in the first day and 24 a day from then on. Sources beyond
// the limit of an account and action are counted together.
const (
	firstNoteWindow = time.Second
	lastNoteWindow  = time.Hour

	maxNoteSources = 64     // of what strangers can cause, for each account and action
	maxNoteTargets = 2_000  // of what keys and people in good standing do
	maxNotes       = 20_000 // of all accounts; more are counted and dropped
)

// A noteKey is what repeats have in common.
type noteKey struct {
	account ship.AccountID // empty for all accounts of the person
	person  ship.PersonID
	key     ship.KeyID
	action  string
	target  string
	mode    string
	details string
	network string // of the client
}

// noteSubject is whose notes of an action are limited together.
type noteSubject struct {
	account ship.AccountID
	person  ship.PersonID // without an account
	action  string
}

// A note is a group of the same things.
type note struct {
	key    noteKey
	actor  Actor
	entry  Entry
	count  int
	since  time.Time
	due    time.Time     // when it is written, if anything was counted
	window time.Duration // from its last entry until then
}

type notes struct {
	mu       sync.Mutex
	groups   map[noteKey]*note
	subjects map[noteSubject]int // groups of each
	dropped  int
}

// Note records something that changes nothing, together with its repeats. It
// never waits. An actor without an account is a person whose accounts all get
// the entry. The entry must hold no text that a client chose.
func (s *Service) Note(a Actor, e Entry) { s.notes.add(a, e, s.now(), maxNoteTargets) }

// NoteRefusal is Note for what people without any rights can cause.
func (s *Service) NoteRefusal(a Actor, e Entry) { s.notes.add(a, e, s.now(), maxNoteSources) }

func (n *notes) add(a Actor, e Entry, now time.Time, limit int) {
	key := noteKey{
		account: a.Account,
		person:  a.Person.ID,
		key:     a.key,
		action:  e.Action,
		target:  e.Target,
		mode:    e.Mode,
		details: detailsText(e.Details),
		network: networkOf(a.From.Addr),
	}

	n.mu.Lock()
	defer n.mu.Unlock()

	group := n.groups[key]
	if group == nil {
		subject := key.subject()
		if n.subjects[subject] >= limit {
			// One more group stands for all further sources. Its address and
			// target would be those of one of them, so it has none.
			key = noteKey{account: key.account, person: key.person, action: key.action, details: "others"}
			a.From = Origin{}
			e.Target = ""
			e.Details = map[string]string{"sources": "others"}
			group = n.groups[key]
		}
	}
	if group == nil {
		if len(n.groups) >= maxNotes {
			n.dropped++
			return
		}
		if n.groups == nil {
			n.groups = map[noteKey]*note{}
			n.subjects = map[noteSubject]int{}
		}
		group = &note{key: key, actor: a, entry: e, due: now, window: firstNoteWindow}
		n.groups[key] = group
		n.subjects[key.subject()]++
	}

	if group.count == 0 {
		group.since = now
	}
	group.count++
}

func (k noteKey) subject() noteSubject {
	subject := noteSubject{account: k.account, action: k.action}
	if k.account == "" {
		subject.person = k.person
	}
	return subject
}

// take removes and returns the notes that are due, or all.
func (n *notes) take(now time.Time, all bool) []note {
	n.mu.Lock()
	defer n.mu.Unlock()

	var due []note
	for key, group := range n.groups {
		if !all && now.Before(group.due) {
			continue
		}
		if group.count == 0 {
			delete(n.groups, key)
			if n.subjects[key.subject()]--; n.subjects[key.subject()] == 0 {
				delete(n.subjects, key.subject())
			}
			continue
		}

		due = append(due, *group)
		group.count = 0
		group.due = now.Add(group.window)
		group.window = min(2*group.window, lastNoteWindow)
	}
	slices.SortFunc(due, func(a, b note) int { return a.since.Compare(b.since) })
	return due
}

// putBack counts notes again that could not be written.
func (n *notes) putBack(list []note) {
	n.mu.Lock()
	defer n.mu.Unlock()

	for _, one := range list {
		group := n.groups[one.key]
		if group == nil {
			continue // nothing removes it within a write
		}
		group.count += one.count
		group.since = one.since
		group.due = one.due
	}
}

// notesAtOnce is how many notes are written in one transaction.
const notesAtOnce = 200

// FlushNotes writes the notes that are due to the audit log, or all of them.
func (s *Service) FlushNotes(ctx context.Context, all bool) error {
	due := s.notes.take(s.now(), all)
	for len(due) > 0 {
		part := due[:min(len(due), notesAtOnce)]
		err := s.store.InSystemTx(ctx, func(tx *store.Store) error {
			for _, one := range part {
				if err := s.writeNote(ctx, tx, one); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			s.notes.putBack(due)
			return err
		}
		due = due[len(part):]
	}

	s.notes.mu.Lock()
	dropped := s.notes.dropped
	s.notes.dropped = 0
	s.notes.mu.Unlock()
	if dropped > 0 {
		s.log.WarnContext(ctx, "the audit log has no room for more sources", "dropped", dropped)
	}
	return nil
}

func (s *Service) writeNote(ctx context.Context, tx *store.Store, one note) error {
	entry := one.entry
	if one.count > 1 {
		details := maps.Clone(entry.Details)
		if details == nil {
			details = map[string]string{}
		}
		details["count"] = strconv.Itoa(one.count)
		details["since"] = one.since.UTC().Format(time.RFC3339)
		entry.Details = details
	}

	if one.actor.Account == "" {
		return s.auditAll(ctx, tx, one.actor, entry)
	}
	return s.audit(ctx, tx, one.actor, entry)
}

// noteRefused notes that somebody failed to prove that they are the person.
func (s *Service) noteRefused(person store.Person, from Origin, reason string) {
	if person.ID == "" {
		return // nobody's: there is no account to tell
	}
	s.NoteRefusal(Actor{Person: personOf(person), From: from}, Entry{
		Action:  "session.refused",
		Target:  string(person.ID),
		Details: map[string]string{"reason": reason},
	})
}

// networkOf is the network of one subscriber: an address of IPv4, or a /64.
func networkOf(addr netip.Addr) string {
	addr = addr.Unmap().WithZone("")
	if network, err := addr.Prefix(64); err == nil && addr.Is6() {
		return network.String()
	}
	return addr.String()
}

func detailsText(details map[string]string) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(details)) {
		text.WriteString(name + "=" + details[name] + "\n")
	}
	return text.String()
}
