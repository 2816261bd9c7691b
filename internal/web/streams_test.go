package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// stream opens the stream of changes as the person with the role, and returns
// its body once it has begun.
func (b *bench) stream(server *httptest.Server, role member.Role) io.ReadCloser {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, server.URL+b.home+"/live", nil)
	b.must(err)
	r.AddCookie(&http.Cookie{Name: sessionCookie, Value: b.tokens[role]})
	answer, err := server.Client().Do(r)
	b.must(err)
	if answer.StatusCode != http.StatusOK {
		b.Fatalf("the stream of a %s: %d", role, answer.StatusCode)
	}
	b.Cleanup(func() { _ = answer.Body.Close() })
	return answer.Body
}

func TestAStreamEndsWithItsSession(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	server := httptest.NewServer(b.web)
	t.Cleanup(server.Close)

	actors := map[member.Role]member.Actor{}
	for role, token := range b.tokens {
		actor, err := b.web.Member.Authenticate(t.Context(), token, member.Origin{})
		b.must(err)
		actors[role] = actor
	}
	ended := make(chan member.Role, len(b.tokens))
	for role := range b.tokens {
		body := b.stream(server, role)
		go func() {
			_, _ = io.Copy(io.Discard, body)
			ended <- role
		}()
	}

	// One signs out, one is removed from the account, and the owner ends the
	// sessions of a third. The owner goes on.
	if w := b.send(member.Viewer, "/app/logout", form()); w.Code != http.StatusSeeOther {
		t.Fatalf("sign out: %d", w.Code)
	}
	b.must(b.web.Member.Remove(t.Context(), actors[member.Owner], actors[member.Shipper].Person.ID))

	w := b.send(member.Owner, b.home+"/members/"+string(actors[member.Developer].Person.ID), form("do", "sign-out"))
	if w.Code != http.StatusSeeOther {
		t.Fatalf("end the sessions of a member: %d %s", w.Code, w.Body)
	}
	if w := b.send(member.Developer, b.home, nil); w.Code != http.StatusSeeOther {
		t.Errorf("a session that the owner ended gets %d", w.Code)
	}

	over := map[member.Role]bool{}
	deadline := time.After(10 * time.Second)
	for len(over) < 3 {
		select {
		case role := <-ended:
			over[role] = true
		case <-deadline:
			t.Fatalf("after the sessions ended, only the streams of %v have", over)
		}
	}
	if over[member.Owner] {
		t.Errorf("the streams of %v ended", over)
	}
	select {
	case role := <-ended:
		t.Errorf("the stream of a %s ended too", role)
	case <-time.After(time.Second):
	}
}

func TestAnOpenStreamDoesNotKeepASessionAlive(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	server := httptest.NewServer(b.web)
	t.Cleanup(server.Close)

	database := storetest.Conn(t, b.database)
	seen := func() (at time.Time) {
		row := database.QueryRow(t.Context(), "SELECT max(s.last_seen_at) FROM sessions s JOIN people p ON p.id = s.person_id WHERE p.email = 'viewer@example.com'")
		b.must(row.Scan(&at))
		return at
	}
	_, err := database.Exec(t.Context(), "UPDATE sessions SET last_seen_at = last_seen_at - interval '1 hour'")
	b.must(err)
	before := seen()
	b.stream(server, member.Viewer)
	if after := seen(); !after.Equal(before) {
		t.Errorf("a page that connects by itself was seen at %s, before at %s", after, before)
	}
	if b.send(member.Viewer, b.home, nil); seen().Equal(before) {
		t.Error("a page that somebody opens does not count as use")
	}
}
