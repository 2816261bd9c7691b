package emulator_test

import (
	"testing"

	"github.com/waybillhq/waybill/internal/emulator"
)

func TestMembersNeedTheirExactSpelling(t *testing.T) {
	t.Parallel()
	type shape struct {
		Zipcode string
		Parts   []struct {
			Name string `json:"name1,omitempty"`
		} `json:"parts"`
		One *struct{ City string } `json:"one"`
	}
	for document, want := range map[string]bool{
		`{"Zipcode":"1","parts":[{"name1":"a"}],"one":{"City":"b"},"other":1}`: true,
		`{"zipcode":"1"}`:              false,
		`{"Parts":[]}`:                 false,
		`{"parts":[{},{"Name1":"a"}]}`: false,
		`{"one":{"city":"b"}}`:         false,
		`{"one":null,"parts":"text"}`:  true,
		`no JSON`:                      false,
	} {
		if got := emulator.HasExactNames([]byte(document), shape{}); got != want {
			t.Errorf("%s: %v, want %v", document, got, want)
		}
	}
}
