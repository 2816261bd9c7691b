package web

import (
	"net/http"
	"testing"

	"github.com/waybillhq/waybill/internal/member"
)

// TestCodesOfTerminalsCannotBeGuessed tries codes until the person has to wait. A
// code of one's own in between does not make room for more.
func TestCodesOfTerminalsCannotBeGuessed(t *testing.T) {
	t.Parallel()
	b := newAuditBench(t)
	own := b.terminal()
	for i := range 14 { // after the sixth, each further wait is twice as long
		var status int
		if i%2 == 0 {
			status = b.post("device", "code", "BCDF-GHJK", "name", "k", "scope", "*").Code
		} else {
			status = b.send(member.Owner, b.home+"/device?code=BCDF-GHJK", nil).Code
		}
		switch {
		case status == http.StatusTooManyRequests && i >= 5:
			return
		case status != http.StatusNotFound:
			t.Fatalf("guess %d: %d", i+1, status)
		}
		if i < 4 {
			if w := b.send(member.Owner, b.home+"/device?code="+own, nil); w.Code != http.StatusOK {
				t.Fatalf("one's own code: %d", w.Code)
			}
		}
	}
	t.Error("14 codes were tried")
}
