package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/member"
)

// TestEveryFormNamesTheFieldWithABadText sends to each form of the table a text
// that the database does not store, and one of 900 KB.
func TestEveryFormNamesTheFieldWithABadText(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, rt := range table(b.web.Config) {
		path := (&row{route: rt.Method + " " + rt.Path}).path(b.owner.ID, nil)
		path = strings.NewReplacer("{token}", "x", "{section}", "x").Replace(path)
		if rt.Method == http.MethodGet {
			if w := b.send(member.Owner, path+"?q=a%00b", nil); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "contains a NUL character") {
				t.Errorf("GET %s?q=NUL: %d", rt.Path, w.Code)
			}
			continue
		}

		for value, says := range map[string]string{
			"a\x00b":                     `The field &#34;name&#34; contains a NUL character`,
			"a\xffb":                     `The field &#34;name&#34; is not valid UTF-8`,
			strings.Repeat("x", 900_000): `The field &#34;name&#34; has 900000 bytes; at most 20000 are allowed`,
		} {
			w := b.send(member.Owner, path, url.Values{"name": {value}})
			if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), says) {
				t.Errorf("POST %s with %.5q: %d, want %s", rt.Path, value, w.Code, says)
			}
		}
		if w := b.upload(member.Owner, path, "file", []byte("x"), "name", "a\x00b"); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "contains a NUL character") {
			t.Errorf("POST %s with parts: %d", rt.Path, w.Code)
		}
	}

	// A path with such a text leads nowhere.
	for _, path := range []string{"/rate-sheets/a%00b", "/shipments/%ff", "/connect/%00"} {
		if w := b.send(member.Owner, b.home+path, nil); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

func TestNamesThatAreTooLongAreRefusedByTheirOwnLimit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	long := strings.Repeat("x", 101)
	for path, fields := range map[string]url.Values{
		"/settings": {"name": {long}, "currency": {"USD"}, "weightUnit": {"lb"}, "lengthUnit": {"in"}},
		"/keys":     {"name": {long}, "scope": {"*"}},
		"/boxes":    {"name": {long}, "length": {"1"}, "width": {"1"}, "height": {"1"}},
	} {
		w := b.send(member.Owner, b.home+path, fields)
		if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "at most 100 characters") {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// TestAFormThatIsTooLargeSaysSo sends more than the route reads.
func TestAFormThatIsTooLargeSaysSo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.send(member.Owner, b.home+"/keys", url.Values{"name": {strings.Repeat("x", 2<<20)}})
	if w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(w.Body.String(), "larger than 1048576 bytes") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
