package carrier

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestShapesHaveNoValues(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"b":[{"name":"Ann Lee"},{"zip":90210}],"a":{"1Z9999999":true},"n":null}`: "a.# boolean\nb[].name string\nb[].zip number\nn null",
		`[]`: "[] empty",
		`{}`: "empty object",
		`<r xmlns="u"><name>Ann</name><piece><id>7</id></piece></r>`: "r\nr.name\nr.piece\nr.piece.id",
		`<!DOCTYPE html><p>Ann`: "a web page",
		`Ann`:                   "neither JSON nor XML",
		`{"a":`:                 "JSON that cannot be read",
	} {
		if got := shapeOf([]byte(body)); got != want {
			t.Errorf("the shape of %s is %q, want %q", body, got, want)
		}
	}
	large := `{` + strings.Repeat(`"x":{"y":1},`, 5) + `"a":[` + strings.Repeat(`{"Name":1},`, 500) + `1]}`
	if got := shapeOf([]byte(large)); len(got) > 200 {
		t.Errorf("the shape of a long list has %d characters", len(got))
	}
}

func TestMessagesAreKeptWithoutNames(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		`Postal code 90210 is not valid for Beverly Hills`:                "Postal code ... is not valid for ...",
		`The street 'main street' of ANN LEE (ann@x.example) is unknown.`: "The street ... of ... is unknown.",
		`JOHN may not ship`: "... may not ship",
		`4711 is too heavy`: "... is too heavy",
	} {
		if got := WithoutNames(message); got != want {
			t.Errorf("%q is kept as %q, want %q", message, got, want)
		}
	}
}

func TestWhatCountsAsADifference(t *testing.T) {
	t.Parallel()
	refused := func(change func(*ship.Error)) error {
		failure := &ship.Error{Kind: ship.Invalid, Message: RefusedMessage, Refusal: ship.Refusal{Code: "X1", Message: "No such thing"}}
		if change != nil {
			change(failure)
		}
		return failure
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://carrier.example/?city=lund", strings.NewReader(`{"name":"ann lee","thing":true}`))
	if err != nil {
		t.Fatal(err)
	}
	ok := &answer{request, 200, []byte(`{"labels":"secret"}`)}
	no := &answer{request, 400, []byte(`{"fault":"secret"}`)}

	for name, tc := range map[string]struct {
		err  error
		last *answer
		want string
	}{
		"an unexplained code":           {refused(nil), no, "error_code X1 No such thing"},
		"a code with the order's words": {refused(func(e *ship.Error) { e.Refusal.Message = "No thing for ann of lund" }), no, "error_code X1 No thing for ... of ..."},
		"a sentence as a code":          {refused(func(e *ship.Error) { e.Refusal.Code = "Ann is unknown" }), no, "error_code # No such thing"},
		"a code about a field":          {refused(func(e *ship.Error) { e.Fields = []ship.FieldError{{}} }), no, ""},
		"a code with advice":            {refused(func(e *ship.Error) { e.Message = "order another product" }), no, ""},
		"a refusal without a code":      {refused(func(e *ship.Error) { e.Refusal = ship.Refusal{} }), no, "refusal  fault string"},
		"a success that is of no use":   {ship.Errorf(ship.Uncertain, "no label"), ok, "answer  labels string"},
		"a time-out":                    {ship.Errorf(ship.Uncertain, "lost"), nil, ""},
		"a later call without answer":   {ship.Errorf(ship.Unavailable, "lost"), &answer{request: request}, ""},
		"a carrier that is down":        {ship.Errorf(ship.Unavailable, "down"), &answer{request, 503, []byte("{}")}, ""},
		"nothing was found":             {ship.Errorf(ship.NotFound, "none"), ok, ""},
		"a success":                     {nil, ok, ""},
		"an error that is none of ours": {errors.New("bug"), nil, ""},
	} {
		got := ""
		if difference, isOne := DifferenceOf(OpBuy, withAnswer(tc.err, tc.last)); isOne {
			got = difference.Kind + " " + difference.Code + " " + difference.Detail
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
