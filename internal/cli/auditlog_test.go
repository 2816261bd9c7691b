package cli_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/cli"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// TestTheAuditLogIsVerifiedAndStreamed uses the commands as an operator does.
func TestTheAuditLogIsVerifiedAndStreamed(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.must(t, "account", "create", "--name", "Acme")
	s.must(t, "key", "create")
	st, err := store.Open(t.Context(), store.Options{URL: s["DATABASE_URL"], Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if n, err := st.ChainAudit(t.Context()); err != nil || n < 2 {
		t.Fatal(n, err)
	}
	if out := s.must(t, "audit", "verify"); !strings.Contains(out, "0 not chained yet, 0 broken") {
		t.Errorf("verify says %s", out)
	}

	// A receiver that fails gets the same entries again.
	var received []string
	answer := http.StatusServiceUnavailable
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		received = append(received, string(body))
		w.WriteHeader(answer)
	}))
	defer receiver.Close()
	if _, _, err := s.run(t, "audit", "stream", "--to", receiver.URL); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("a receiver that fails: %v", err)
	}
	answer = http.StatusNoContent
	s.must(t, "audit", "stream", "--to", receiver.URL)
	s.must(t, "audit", "stream", "--to", receiver.URL)
	if len(received) != 2 || received[0] != received[1] {
		t.Errorf("the receiver got %q", received)
	}

	printed := s.must(t, "audit", "stream", "--name", "terminal")
	if printed != received[1] || s.must(t, "audit", "stream", "--name", "terminal") != "" {
		t.Errorf("printed %q", printed)
	}
	first, _, _ := strings.Cut(printed, "\n")
	var entry struct {
		Account, Action, Hash string
		Number                int
	}
	if err := json.Unmarshal([]byte(first), &entry); err != nil || entry.Number != 1 || len(entry.Hash) != 64 || entry.Action == "" {
		t.Errorf("the first line is %s: %v", first, err)
	}

	if _, err := storetest.Conn(t, s["DATABASE_URL"]).Exec(t.Context(), "UPDATE audit_log SET actor = 'nobody' WHERE action = 'key.made'"); err != nil {
		t.Fatal(err)
	}
	out, _, err := s.run(t, "audit", "verify")
	if !errors.Is(err, cli.ErrUnhealthy) || !strings.Contains(out, "broken: account acct_") || !strings.Contains(out, "entry aud_") || !strings.Contains(out, "it was changed, or moved") {
		t.Errorf("verify after tampering: %v\n%s", err, out)
	}
	if _, _, err := s.run(t, "audit", "prune", "--before", "soon"); err == nil || !strings.Contains(err.Error(), "--before must be a day in the past") {
		t.Errorf("prune: %v", err)
	}
}
