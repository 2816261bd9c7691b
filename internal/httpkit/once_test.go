package httpkit

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

// memory is what a store would remember of one key.
type memory struct {
	answer *ship.Answer
	print  [32]byte
}

func (m *memory) once(ctx context.Context, _ ship.Tenant, _ string, print [32]byte, do func(context.Context) ship.Answer) (ship.Answer, bool, error) {
	if m.answer != nil {
		if m.print != print {
			return ship.Answer{}, false, ship.Coded(ship.Invalid, "idempotency_key_reused", "x")
		}
		return *m.answer, true, nil
	}
	a := do(ctx)
	if a.Status >= 200 && a.Status < 300 {
		m.answer, m.print = &a, print
	}
	return a, false, nil
}

func TestOnceRepeatsTheAnswerAndNotTheWork(t *testing.T) {
	m, runs := &memory{}, 0
	send := func(body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", "/v1/trackers", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w, _ := exchange(t, r, func(w http.ResponseWriter, r *http.Request) {
			ex := From(r.Context())
			done, err := ex.ReadJSON(w, r, 1<<10)
			defer done()
			if err != nil {
				t.Error(err)
			}
			ex.Once(w, r, m.once, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				runs++
				w.Header().Set("Location", "/here")
				w.WriteHeader(http.StatusCreated)
				w.Write([]byte(`{"n":1}`))
			}))
		})
		return w
	}
	first, again, other := send(`{"a":1,"b":2}`), send(`{ "b":2, "a":1 }`), send(`{"a":2,"b":2}`)
	if runs != 1 {
		t.Errorf("the work was done %d times", runs)
	}
	if first.Code != 201 || first.Header().Get("Location") != "/here" || first.Header().Get(ReplayedHeader) != "" {
		t.Errorf("first: %d %v", first.Code, first.Header())
	}
	if again.Code != 201 || again.Body.String() != first.Body.String() || again.Header().Get(ReplayedHeader) != "true" {
		t.Errorf("again: %d %s %v", again.Code, again.Body, again.Header())
	}
	if other.Code != 422 || problem(t, other)["code"] != "idempotency_key_reused" {
		t.Errorf("other body: %d %s", other.Code, other.Body)
	}
}

func TestOnceFreesTheKeyWhenTheWorkPanics(t *testing.T) {
	m := &memory{}
	w, _ := exchange(t, httptest.NewRequest("POST", "/x", nil), func(w http.ResponseWriter, r *http.Request) {
		From(r.Context()).Once(w, r, m.once, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") }))
	})
	if w.Code != 500 || m.answer != nil {
		t.Errorf("%d, remembered %v", w.Code, m.answer)
	}
}

func TestIdempotencyKeyIsPrintableAndSentOnce(t *testing.T) {
	for _, tc := range []struct {
		values []string
		ok     bool
	}{
		{nil, true},
		{[]string{"order 1"}, true},
		{[]string{strings.Repeat("x", 255)}, true},
		{[]string{strings.Repeat("x", 256)}, false},
		{[]string{""}, false},
		{[]string{"a", "b"}, false},
		{[]string{"\u00e9"}, false},
	} {
		r := httptest.NewRequest("POST", "/", nil)
		r.Header[IdempotencyHeader] = tc.values
		if _, err := IdempotencyKey(r); (err == nil) != tc.ok {
			t.Errorf("%q: %v", tc.values, err)
		}
	}
}

func TestFingerprintSeesTheMeaningAlone(t *testing.T) {
	print := func(path, body string) [32]byte {
		tape, err := ParseJSON([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		defer tape.Release()
		return Fingerprint("POST", path, tape)
	}
	base := print("/a", `{"x":{"b":[1,2],"a":"<é>"},"y":null}`)
	for _, same := range []string{`{"y":null,"x":{"a":"<é>","b":[1,2]}}`, " {\n\"x\" : {\"b\":[ 1,2 ],\"\\u0061\":\"\\u003c\\u00e9>\"},\"y\":null}"} {
		if print("/a", same) != base {
			t.Errorf("%s differs", same)
		}
	}
	for _, other := range []string{`{"x":{"b":[2,1],"a":"<é>"},"y":null}`, `{"x":{"b":[1,2],"a":"<é>"}}`, `{"x":{"b":[1,2],"a":"<É>"},"y":null}`} {
		if print("/a", other) == base {
			t.Errorf("%s is the same", other)
		}
	}
	if print("/b", `{"x":{"b":[1,2],"a":"<é>"},"y":null}`) == base {
		t.Error("another path is the same")
	}
}
