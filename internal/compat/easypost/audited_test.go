package easypost

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestEveryListIsInTheAuditLog reads every list with a key, as somebody who collects
// the people of an account does.
func TestEveryListIsInTheAuditLog(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	withoutPeople := []string{"/v2/carrier_accounts", "/v2/webhooks"}

	for _, rt := range (&server{}).table() {
		isList := rt.Method == http.MethodGet && !strings.Contains(rt.Path, "{id}")
		switch {
		case !isList && rt.audit != "" && rt.audit != changes:
			t.Errorf("%s %s is no list, and is noted as %s", rt.Method, rt.Path, rt.audit)
		case !isList:
			continue
		case slices.Contains(withoutPeople, rt.Path):
			if rt.audit != "" {
				t.Errorf("%s shows no people, and is noted", rt.Path)
			}
			continue
		case !strings.HasSuffix(rt.audit, ".listed"):
			t.Errorf("%s shows people, and the table does not say what the audit log calls it", rt.Path)
			continue
		}

		b.takeNotes()
		b.call(http.StatusOK, rt.Method, rt.Path, "")
		if noted := b.takeNotes(); !slices.Equal(noted, []string{rt.audit}) {
			t.Errorf("%s was noted as %v, want %s", rt.Path, noted, rt.audit)
		}
	}
}

// takeNotes returns the actions that were noted since the last call.
func (b *bench) takeNotes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	noted := b.noted
	b.noted = nil
	return noted
}
