package cli_test

import (
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/store/storetest"
)

func TestDriftListsWhatCarriersRespondedAndDriversDoNotKnow(t *testing.T) {
	t.Parallel()
	s, _, _ := emulatedUPS(t, "{}")
	if out, said, err := s.run(t, "carrier", "drift"); err != nil || out != "" || !strings.Contains(said, "nothing that this version does not know") {
		t.Errorf("without differences: %v\n%s%s", err, out, said)
	}

	_, err := storetest.Conn(t, s["DATABASE_URL"]).Exec(t.Context(), `UPDATE connections SET differences = '{"k": {"kind": "error_code", "operation": "buy",
"code": "120999", "detail": "No such thing as ...", "count": 3, "firstAt": "2026-11-18T12:00:00Z", "lastAt": "2026-11-18T13:00:00Z"}}'`)
	if err != nil {
		t.Fatal(err)
	}
	out := s.must(t, "carrier", "drift")
	for _, want := range []string{"ups", "error_code", "buy", "120999", "2026-11-18", "No such thing as ..."} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not list %q:\n%s", want, out)
		}
	}
	if out := s.must(t, "carrier", "drift", "--json"); !strings.Contains(out, `"count":3`) || !strings.Contains(out, `"firstAt":"2026-11-18T12:00:00Z"`) {
		t.Errorf("as JSON:\n%s", out)
	}
}
