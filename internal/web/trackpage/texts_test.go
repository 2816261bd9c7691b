package trackpage

import (
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestEveryLanguageHasEveryText(t *testing.T) {
	t.Parallel()
	for _, l := range locales {
		if len(l.Texts) != len(englishTexts) {
			t.Errorf("%s has %d texts, English %d", l.Code, len(l.Texts), len(englishTexts))
		}
		for name := range englishTexts {
			if strings.TrimSpace(l.Texts[name]) == "" {
				t.Errorf("%s lacks %q", l.Code, name)
			}
		}
		for _, name := range append(l.Weekdays[:], l.Months[:]...) {
			if name == "" {
				t.Errorf("%s lacks a day or a month", l.Code)
			}
		}
		for _, s := range ship.Statuses {
			if l.T(string(s)) == "" || l.T(string(s)+".long") == "" {
				t.Errorf("%s lacks the status %s", l.Code, s)
			}
		}
		for name := range returnTexts["en"] {
			if l.T(name) == "" {
				t.Errorf("%s lacks %q", l.Code, name)
			}
		}
		for _, s := range ship.ReturnStates {
			if l.T(returnOffer{State: s}.Text()) == "" {
				t.Errorf("%s lacks the state %s of a return", l.Code, s)
			}
		}
		for reason, name := range reasonTexts {
			if l.why(reason) == "" {
				t.Errorf("%s lacks %s for %s", l.Code, name, reason)
			}
		}
	}
}
