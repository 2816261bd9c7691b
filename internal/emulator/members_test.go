package emulator_test

import (
	"testing"

	"github.com/waybillhq/waybill/internal/emulator"
)

func TestMembersThatACarrierDoesNotReadAreFound(t *testing.T) {
	t.Parallel()
	members := emulator.ParseMembers("# a comment\n" +
		"Order\tName\ttext 3\trequired\n" +
		"Order\tKind\tone of A B\toptional\n" +
		"Order\tDay\tday\toptional\n" +
		"Order\tWeight\tweight 0.1 99\toptional\n" +
		"Order\tPieces\tlist of Piece\toptional\n" +
		"Piece\tCount\tcount 1 9\trequired\n")
	for body, want := range map[string]string{
		`{"Name":"Ann","Kind":"A","Day":"2026-11-18","Weight":1.25,"Pieces":[{"Count":2}]}`: "",
		`{`:                       "The request cannot be read",
		`{}`:                      "The mandatory field Name is missing",
		`{"name":"Ann"}`:          "Unrecognized field name",
		`{"Name":"Anna"}`:         "Name is not valid",
		`{"Name":1}`:              "Name is not valid",
		`{"Name":"A","Kind":"a"}`: "Kind is not valid",
		`{"Name":"A","Day":"2026-11-18T10:00:00Z"}`:   "Day is not valid",
		`{"Name":"A","Weight":1.234}`:                 "Weight is not valid",
		`{"Name":"A","Weight":0.01}`:                  "Weight is not valid",
		`{"Name":"A","Pieces":{}}`:                    "Pieces must be a list",
		`{"Name":"A","Pieces":[{"Count":1.5}]}`:       "Pieces[0].Count is not valid",
		`{"Name":"A","Pieces":[{"Count":1,"Sum":2}]}`: "Unrecognized field Pieces[0].Sum",
		`{"Name":"A","Pieces":[{"Count":1},{}]}`:      "The mandatory field Pieces[1].Count is missing",
	} {
		if got := members.Check("Order", []byte(body)); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

func TestMembersOfACarrierThatIgnoresUnknownOnes(t *testing.T) {
	t.Parallel()
	members := emulator.ParseMembers("Order\t*\tany\toptional\n" +
		"Order\tName\ttext 3\trequired\n" +
		"Order\tCountry\tcountry\toptional\n" +
		"Order\tCurrency\tcurrency\toptional\n" +
		"Order\tWeight\tmatches [0-9]{1,3}(\\.[0-9])?\toptional\n" +
		"Order\tNote\tany\toptional\n" +
		"Order\tLine\tsome matches [a-z]+\toptional\n" +
		"Order\tBox\tsome Box\toptional\n" +
		"Box\tSize\tnumber\trequired\n")
	for body, want := range map[string]string{
		`{"Name":"Ann","Other":1}`:         "",
		`{"Name":"Ann","Note":[1]}`:        "",
		`{"Name":"Ann","note":1}`:          "Unrecognized field note",
		`{"NameQ":"Ann"}`:                  "The mandatory field Name is missing",
		`{"Name":"Ann","Country":"DE"}`:    "",
		`{"Name":"Ann","Country":"ZZ"}`:    "Country is not valid",
		`{"Name":"Ann","Currency":"EUR"}`:  "",
		`{"Name":"Ann","Currency":"EURO"}`: "Currency is not valid",
		`{"Name":"Ann","Weight":"12.5"}`:   "",
		`{"Name":"Ann","Weight":"12.55"}`:  "Weight is not valid",
		`{"Name":"Ann","Weight":12}`:       "Weight is not valid",
		`{"Name":"Ann","Line":"a"}`:        "",
		`{"Name":"Ann","Line":["a","b"]}`:  "",
		`{"Name":"Ann","Line":["a","B"]}`:  "Line[1] is not valid",
		`{"Name":"Ann","Line":"A"}`:        "Line is not valid",
		`{"Name":"Ann","Box":{"Size":1}}`:  "",
		`{"Name":"Ann","Box":[{}]}`:        "The mandatory field Box[0].Size is missing",
		`{"Name":"Ann","Box":{}}`:          "The mandatory field Box.Size is missing",
	} {
		if got := members.Check("Order", []byte(body)); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}
