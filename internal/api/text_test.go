package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// sendVouched makes a request of somebody who needs no key.
func sendVouched(h http.Handler, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(httpkit.WithPrincipal(r.Context(), account.Principal{})))
	return w
}

// replaceTexts calls use with the JSON of a value, each of its texts in turn
// replaced by another, and the pointer of that text.
func replaceTexts(t *testing.T, root, value any, pointer, text string, set func(any), use func(pointer string, body []byte)) {
	t.Helper()
	switch value := value.(type) {
	case string:
		set(text)
		body, err := json.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		set(value)
		use(pointer, body)
	case map[string]any:
		for name, member := range value {
			at := string(ship.AppendPointer([]byte(pointer), []byte(name)))
			replaceTexts(t, root, member, at, text, func(changed any) { value[name] = changed }, use)
		}
	case []any:
		for i, element := range value {
			replaceTexts(t, root, element, pointer+"/"+strconv.Itoa(i), text, func(changed any) { value[i] = changed }, use)
		}
	}
}

// TestEveryTextOfEveryBodyIsBounded sends the example of each operation, with
// one of its texts at a time replaced by a NUL and by 900 KB.
func TestEveryTextOfEveryBodyIsBounded(t *testing.T) {
	c := testConfig(t)
	c.Limits.Body = 2 << 20
	h := New(c)
	tried := 0
	for _, operation := range Operations() {
		var example any
		if json.Unmarshal(operation.Example, &example) != nil {
			continue
		}

		// A text of a batch makes its line fail, by the rules of createShipment:
		// TestABatchIsBoughtWithoutItsBadLines.
		if operation.ID == "createBatch" {
			continue
		}
		path := strings.NewReplacer("{name}", "x").Replace(operation.Path)
		for text, code := range map[string]string{"a\x00b": "nul_character", strings.Repeat("x", 900_000): "too_long"} {
			if operation.ID == "importRateSheet" && code == "too_long" {
				continue // its text may be longer
			}
			replaceTexts(t, example, example, "", text, nil, func(pointer string, body []byte) {
				if operation.ID == "uploadDocument" && pointer == "/data" && code == "too_long" {
					return // a file may be longer
				}
				tried++
				w := sendVouched(h, operation.Method, path, string(body))
				var problem httpkit.Problem
				if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil || w.Code != http.StatusUnprocessableEntity {
					t.Errorf("%s %s with %s: %d %.300s", operation.ID, pointer, code, w.Code, w.Body)
					return
				}
				found := false
				for _, field := range problem.Errors {
					found = found || field.Pointer == pointer && field.Code == code
				}
				if !found {
					t.Errorf("%s with %s at %s: %+v", operation.ID, code, pointer, problem.Errors)
				}
			})
		}
	}
	if tried < 50 {
		t.Errorf("only %d texts were tried", tried)
	}
}
