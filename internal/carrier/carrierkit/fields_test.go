package carrierkit

import (
	"errors"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestInvalidOrderIsWrittenInSentences(t *testing.T) {
	t.Parallel()
	err := InvalidOrder("DHL Express", []ship.FieldError{
		{Pointer: "/origin/phone", Code: "required", Detail: "DHL Express needs a phone number for the sender"},
		{Pointer: "/destination/city", Code: "too_long", Detail: "is longer than the 45 characters that the carrier prints"},
		{Pointer: "/customs/items/0/hsCode", Code: "invalid", Detail: "must be 6 to 10 digits, such as 610910"},
	})
	e, ok := errors.AsType[*ship.Error](err)
	if !ok || e.Kind != ship.Invalid || len(e.Fields) != 3 {
		t.Fatalf("err = %+v", err)
	}
	for i, want := range []string{
		"DHL Express needs a phone number for the sender.",
		"The recipient's city is longer than the 45 characters that DHL Express prints.",
		`"customs.items.0.hsCode" must be 6 to 10 digits, such as 610910.`,
	} {
		if e.Fields[i].Detail != want {
			t.Errorf("detail %q, want %q", e.Fields[i].Detail, want)
		}
	}
	if want := "DHL Express needs a phone number for the sender. The recipient's city is longer than the 45 characters that DHL Express prints. " +
		`"customs.items.0.hsCode" must be 6 to 10 digits, such as 610910`; e.Message != want {
		t.Errorf("message %q", e.Message)
	}
	if err := InvalidOrder("UPS", nil); err != nil {
		t.Errorf("nothing wrong: %v", err)
	}
}
