package ship_test

import (
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestPointerEscapesNames(t *testing.T) {
	if got := ship.Pointer("a/b", "m~n", "", "0"); got != "/a~1b/m~0n//0" {
		t.Errorf("Pointer = %q", got)
	}
	if got := ship.Pointer(); got != "" {
		t.Errorf("the whole text is %q, want an empty pointer", got)
	}
}

func TestUnmarshalStrictRefusesUnknownFieldsAndTrailingData(t *testing.T) {
	var v struct{ Name string }
	if err := ship.UnmarshalStrict([]byte(`{"name":"a"}`), &v); err != nil || v.Name != "a" {
		t.Errorf("known field: %+v, %v", v, err)
	}
	if err := ship.UnmarshalStrict([]byte(`{"name":"a","nmae":"b"}`), &v); err == nil {
		t.Error("an unknown field is accepted")
	}
	for _, text := range []string{`{"name":"a"}{"name":"b"}`, `{"name":"a"}}`, `{"name":"a"} x`} {
		if err := ship.UnmarshalStrict([]byte(text), &v); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}
