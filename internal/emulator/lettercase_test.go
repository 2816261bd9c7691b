package emulator_test

import (
	"testing"

	"github.com/waybillhq/waybill/internal/emulator"
)

func TestAMemberInTheWrongLetterCaseIsFound(t *testing.T) {
	t.Parallel()
	type place struct {
		Zip string `json:"ZIPCode"`
	}
	type request struct {
		place
		To    *place `json:"to"`
		Lines []struct {
			Weight float64 `json:"weight"`
		} `json:"lines"`
	}
	for text, want := range map[string]string{
		`{"ZIPCode":"1","to":{"ZIPCode":"2"},"lines":[{"weight":1}],"unknown":{"zipcode":1}}`: "",
		`{"zipCode":"1"}`:                         "zipCode",
		`{"to":{"zipcode":"2"}}`:                  "to.zipcode",
		`{"lines":[{"weight":1},{"Weight":2}]}`:   "lines[1].Weight",
		`{"lines":{"Weight":2},"to":["zipcode"]}`: "",
		`not JSON`: "",
	} {
		if got := emulator.MiscasedMember([]byte(text), &request{}); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
