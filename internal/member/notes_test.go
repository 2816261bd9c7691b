package member

import (
	"context"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// entriesOf returns the account's entries of an action, newest first.
func (f *fixture) entriesOf(t *testing.T, a Actor, action string) []AuditEntry {
	t.Helper()
	list, _, err := f.Audit(t.Context(), f.again(a), AuditFilter{Action: action, Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestFailedSignInsAreInTheAuditLog(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	from := Origin{Addr: netip.MustParseAddr("198.51.100.7"), Agent: "Mallory/1.0"}
	for range 3 {
		_, err := f.SignIn(t.Context(), SignInInput{Email: "ada@example.com", Password: "guess", From: from})
		wantCode(t, err, "sign_in_failed")
	}
	_, err := f.SignIn(t.Context(), SignInInput{Email: "nobody@example.com", Password: "guess", From: from})
	wantCode(t, err, "sign_in_failed")
	_, err = f.StepUp(t.Context(), ada, StepUpInput{Password: "guess"})
	wantCode(t, err, "sign_in_failed")

	if err := f.FlushNotes(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	list := f.entriesOf(t, ada, "session.refused")
	if len(list) != 2 {
		t.Fatalf("%d entries: %+v", len(list), list)
	}
	stepUp, signIn := list[0], list[1]
	if stepUp.From.Addr == from.Addr {
		stepUp, signIn = signIn, stepUp // notes of one moment have no order
	}
	if signIn.Person != ada.Person.ID || signIn.From.Addr != from.Addr || signIn.From.Agent != from.Agent || signIn.Details["reason"] != "password" || signIn.Details["count"] != "3" {
		t.Errorf("the failed sign-ins are %+v", signIn)
	}
	if stepUp.Person != ada.Person.ID || stepUp.From.Addr != here.Addr || stepUp.Details["count"] != "" {
		t.Errorf("the failed step-up is %+v", stepUp)
	}
}

func TestNotesThatCannotBeWrittenAreKept(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	for range 3 {
		_, err := f.SignIn(t.Context(), SignInInput{Email: "ada@example.com", Password: "guess", From: here})
		wantCode(t, err, "sign_in_failed")
	}

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.FlushNotes(cancelled, false); err == nil {
		t.Fatal("the notes were written without a database")
	}
	if err := f.FlushNotes(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	list := f.entriesOf(t, ada, "session.refused")
	if len(list) != 1 || list[0].Details["count"] != "3" {
		t.Errorf("the entries are %+v, want one of 3 refusals", list)
	}
}

// TestNotesDoNotFillTheDisk has an attacker who never stops, alone and with many
// addresses.
func TestNotesDoNotFillTheDisk(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.setUp(t)
	key := ship.NewKeyID(7, f.clock())
	deny := func(from netip.Addr) {
		f.NoteRefusal(Program(ada.Account, key, "shop", "sk_...", Origin{Addr: from}), Entry{Action: "key.denied", Target: string(key)})
	}

	// A day of one source, ten times a second.
	one := netip.MustParseAddr("198.51.100.7")
	for range 24 * 60 * 60 {
		for range 10 {
			deny(one)
		}
		if err := f.FlushNotes(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		f.pass(time.Second)
	}
	if err := f.FlushNotes(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	var entries, counted int
	const sqlCount = `SELECT count(*), sum(coalesce((details->>'count')::int, 1)) FROM audit_log WHERE action = 'key.denied'`
	if err := f.owner.QueryRow(t.Context(), sqlCount).Scan(&entries, &counted); err != nil {
		t.Fatal(err)
	}
	if entries > 45 || counted != 24*60*60*10 {
		t.Errorf("a day of refusals became %d entries, which count %d", entries, counted)
	}

	// Ten thousand sources at once.
	for i := range 10_000 {
		deny(netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}))
	}
	if err := f.FlushNotes(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	var after, total int
	if err := f.owner.QueryRow(t.Context(), sqlCount).Scan(&after, &total); err != nil {
		t.Fatal(err)
	}
	if after-entries > maxNoteSources+1 || total-counted != 10_000 {
		t.Errorf("refusals of 10,000 addresses became %d entries, which count %d", after-entries, total-counted)
	}
	isOthers := func(e AuditEntry) bool { return e.Details["sources"] == "others" && !e.From.Addr.IsValid() }
	if list := f.entriesOf(t, ada, "key.denied"); !slices.ContainsFunc(list, isOthers) {
		t.Errorf("no entry stands for the other sources: %+v", list[:2])
	}

	// What is quiet is forgotten.
	f.pass(2 * lastNoteWindow)
	f.notes.take(f.clock(), false)
	if len(f.notes.groups) != 0 || len(f.notes.subjects) != 0 {
		t.Errorf("%d groups and %d subjects are kept", len(f.notes.groups), len(f.notes.subjects))
	}
}
