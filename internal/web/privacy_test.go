package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
)

// TestThePrivacyPageErasesAndExports asks for both on the page, and downloads the
// file: what was typed is on no page, and reading the file is recorded.
func TestThePrivacyPageErasesAndExports(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if w := b.send(member.Owner, b.home+"/privacy", form("do", "erase", "email", "grace@example.com", "phone", "+1 512 555 0142")); w.Code != http.StatusUnprocessableEntity || strings.Contains(w.Body.String(), "grace@") {
		t.Errorf("two fields: %d", w.Code)
	}
	for _, do := range []string{"erase", "export"} {
		if w := b.send(member.Owner, b.home+"/privacy", form("do", do, "email", "grace@example.com")); w.Code != http.StatusSeeOther {
			t.Fatalf("%s: %d %s", do, w.Code, w.Body)
		}
	}
	exports, err := b.web.Privacy.Exports(t.Context(), ship.Tenant{Account: b.owner.ID}, ship.Page{Limit: 2})
	if err != nil || len(exports) != 1 {
		t.Fatal(exports, err)
	}
	b.must(b.web.Privacy.WorkExport(t.Context(), ship.Tenant{Account: b.owner.ID}, exports[0].ID))

	page := b.send(member.Owner, b.home+"/privacy", nil).Body.String()
	for _, shown := range []string{string(exports[0].ID), "ers_", "Download", "E-mail address"} {
		if !strings.Contains(page, shown) {
			t.Errorf("the page lacks %q", shown)
		}
	}
	if strings.Contains(page, "grace@") {
		t.Error("the page names the person")
	}

	w := b.send(member.Owner, b.home+"/privacy/exports/"+string(exports[0].ID), nil)
	if w.Code != http.StatusOK || !strings.Contains(w.Header().Get("Content-Disposition"), "attachment") || !strings.Contains(w.Body.String(), `"shipments"`) {
		t.Errorf("the file: %d %v", w.Code, w.Header())
	}
	entries, _, err := b.web.Member.Audit(t.Context(), member.Operator(b.owner.ID), member.AuditFilter{Action: "export.downloaded"})
	if err != nil || len(entries) != 1 || entries[0].Target != string(exports[0].ID) {
		t.Errorf("entries %+v, %v", entries, err)
	}
}
