package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/member"
)

// keptOn checks that a page keeps every value of a form that could not be
// served, and returns the form that would be sent again.
func keptOn(t *testing.T, page string, sent url.Values) url.Values {
	t.Helper()
	kept := formOn(t, page, "kept")
	for name := range sent {
		if kept.Get(name) != sent.Get(name) {
			t.Errorf("%s was %q and is %q", name, sent.Get(name), kept.Get(name))
		}
	}
	return kept
}

func TestAFormSurvivesTheEndOfTheSession(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	good := b.tokens[member.Shipper]
	b.tokens[member.Shipper] = good[:len(good)-4] + "gone"

	sent := abroadForm()
	w := b.send(member.Shipper, b.home+"/shipments", sent)
	if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "Nothing was bought") || !strings.Contains(w.Body.String(), `href="/app/login"`) {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	kept := keptOn(t, w.Body.String(), sent)

	// A failed background request for rates leaves the page as it is.
	part := b.send(member.Shipper, b.home+"/shipments/rates", sent, "HX-Request", "true")
	if part.Header().Get("HX-Redirect") != "" || part.Header().Get("HX-Reswap") != "none" || !strings.Contains(part.Header().Get("X-Problem"), "session") {
		t.Errorf("rates lead away from the form: %v", part.Header())
	}

	b.tokens[member.Shipper] = good
	if w := b.send(member.Shipper, b.home+"/shipments", kept); w.Code != http.StatusSeeOther {
		t.Errorf("sent again: %d", w.Code)
	}
	if n := b.shipments("2001"); n != 1 {
		t.Errorf("%d shipments", n)
	}
}

func TestAFormSurvivesADatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, id := b.buyBatch(threeOrders, "pdf")
	b.store.Close()
	for path, sent := range map[string]url.Values{
		b.home + "/shipments":                              abroadForm(),
		b.home + "/boxes":                                  form("name", "Shoe box", "length", "13", "width", "7", "height", "5"),
		b.home + "/batches/" + string(id) + "/columns":     form("column.0", "order", "fixed.weight", "2"),
		b.home + "/batches/" + string(id) + "/rows/1":      form("field.name", "Grace"),
		b.home + "/shipments/rates":                        abroadForm(),
		b.home + "/batches/" + string(id) + "?show=failed": form("do", "buy"),
	} {
		w := b.send(member.Shipper, path, sent)
		if w.Code < 500 || !strings.Contains(w.Body.String(), "Nothing was bought or saved") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
			continue
		}
		keptOn(t, w.Body.String(), sent)
	}
}
