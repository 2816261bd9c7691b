package routing

import (
	"encoding/json"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

func bookOf(t testing.TB, text string) *Compiled {
	t.Helper()
	b, err := ParseBook([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, fieldsIn(err))
	}
	c, err := Compile(b)
	if err != nil {
		t.Fatalf("%s: %v", text, fieldsIn(err))
	}
	return c
}

func jsonText(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func fieldsIn(err error) []ship.FieldError {
	if e, ok := err.(*ship.Error); ok {
		return e.Fields
	}
	return nil
}
