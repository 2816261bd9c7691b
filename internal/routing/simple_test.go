package routing_test

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waybillhq/waybill/internal/routing"
)

func TestSimpleConditionsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`destination.state in ["AK", "HI"]`:                        `destination.state in ["AK", "HI"]`,
		`!(destination.state in ['AK'])`:                           `!(destination.state in ["AK"])`,
		`parcel.weightLb > 20 && destination.residential`:          `parcel.weightLb > 20 && destination.residential`,
		`(parcel.weightLb > 20.0) || (!order.international)`:       `parcel.weightLb > 20 || !order.international`,
		`metadata.tier == "gold"`:                                  `metadata["tier"] == "gold"`,
		`metadata["a b"].startsWith("x")`:                          `metadata["a b"].startsWith("x")`,
		`destination.company != ""`:                                `destination.company != ""`,
		`!order.id.contains("SAMPLE") && time.date >= "2026-12-1"`: `!order.id.contains("SAMPLE") && time.date >= "2026-12-1"`,
		`order.daysToDeliver != -1`:                                `order.daysToDeliver != -1`,
		``:                                                         ``,
	} {
		s, ok := routing.ReadSimple(source)
		if !ok || s.String() != want {
			t.Errorf("%s is read as %q, %v", source, s.String(), ok)
		}
	}
}

func TestOtherConditionsStayInTheLanguage(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		`quotes.exists(q, q.carrier == "ups")`, `fastest.amount < cheapest.amount * 1.1`, `destination.city.lowerAscii() == "reno"`,
		`order.international && (parcel.count > 1 || parcel.weightKg > 2)`, `"US" == destination.country`, `true`, `destination.zip.startsWith("")`,
		`parcel.count > 1 // why`, `nothing == 1`, `parcel.count >`, `has(metadata.gift)`, `destination.residential == true`, `destination.state in []`,
		`order.signature == ""`, `order.signature.startsWith("a")`, `!(parcel.count > 1)`, `time.weekday in ["saturday", ""]`, `int(destination.zip) > 5`,
	} {
		if s, ok := routing.ReadSimple(source); ok {
			t.Errorf("%s is read as %q", source, s.String())
		}
	}
}

// TestEveryClauseIsACondition writes any clause that a form can send: it is
// accepted by the language, and read again as it was.
func TestEveryClauseIsACondition(t *testing.T) {
	t.Parallel()
	var usable []routing.Variable
	for _, v := range routing.Variables() {
		if len(v.Tests()) > 0 {
			usable = append(usable, v)
		}
	}
	clause := rapid.Custom(func(t *rapid.T) routing.Clause {
		v := rapid.SampledFrom(usable).Draw(t, "variable")
		c := routing.Clause{Name: v.Name, Test: rapid.SampledFrom(v.Tests()).Draw(t, "test")}
		if v.HasKeys() {
			c.Key = rapid.StringN(1, 10, 40).Draw(t, "key")
		}
		n := 1
		if c.Several() {
			n = rapid.IntRange(1, 3).Draw(t, "n")
		}
		for range n {
			switch {
			case c.Bare():
				return c
			case v.IsNumber():
				c.Values = append(c.Values, rapid.SampledFrom([]string{"0", "1", "20", "2.5", "-1", "99999"}).Draw(t, "number"))
			case len(v.Values) > 0:
				c.Values = append(c.Values, v.Values[len(v.Values)-1])
			case strings.HasSuffix(v.Name, "country"):
				c.Values = append(c.Values, "US")
			default:
				c.Values = append(c.Values, rapid.StringN(1, 10, 40).Draw(t, "text"))
			}
		}
		return c
	})
	rapid.Check(t, func(t *rapid.T) {
		s := routing.Simple{Clauses: rapid.SliceOfN(clause, 1, 4).Draw(t, "clauses"), Any: rapid.Bool().Draw(t, "any")}
		s.Any = s.Any && len(s.Clauses) > 1
		for _, c := range s.Clauses {
			if p := c.Problem(); p != "" {
				t.Fatalf("%v: %s", c, p)
			}
		}
		_, err := routing.Compile(routing.Book{Rules: []routing.Rule{{Name: "r", When: s.String(), Then: routing.Action{Choose: "cheapest"}}}})
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		again, ok := routing.ReadSimple(s.String())
		if !ok || !reflect.DeepEqual(again, s) {
			t.Fatalf("%s is read as %+v, %v", s, again, ok)
		}
	})
}

func TestAClauseSaysWhatItMisses(t *testing.T) {
	t.Parallel()
	for _, c := range []routing.Clause{
		{},
		{Name: "quotes", Test: routing.TestIs},
		{Name: "parcel.count", Test: routing.TestStarts},
		{Name: "metadata", Test: routing.TestFilled},
		{Name: "parcel.count", Test: routing.TestMore, Values: []string{"1 || true"}},
		{Name: "order.id", Test: routing.TestOneOf, Values: []string{"a", ""}},
		{Name: "order.id", Test: routing.TestIs},
	} {
		if c.Problem() == "" {
			t.Errorf("%+v misses nothing", c)
		}
	}
	// What is no number cannot become a part of the language.
	if got := (routing.Clause{Name: "parcel.count", Test: routing.TestMore, Values: []string{"1 || true"}}).String(); got != `parcel.count > "1 || true"` {
		t.Error(got)
	}
}

func TestBooksAreCompared(t *testing.T) {
	t.Parallel()
	rule := func(name, when string) routing.Rule {
		return routing.Rule{Name: name, When: when, Then: routing.Action{Choose: "fastest"}}
	}
	was := routing.Book{Rules: []routing.Rule{rule("a", "1"), rule("b", "2"), rule("c", "3"), rule("d", "4"), rule("e", "5")}}
	is := routing.Book{
		Rules:   []routing.Rule{rule("d", "4"), rule("a", "1"), rule("b", "22"), rule("see", "3"), rule("new", "9")},
		Default: routing.Action{Choose: "fastest"},
	}
	var got []string
	for _, d := range routing.Compare(was, is) {
		got = append(got, d.What+" "+d.Was.Name+">"+d.Is.Name)
	}
	want := []string{"moved d>d", "changed b>b", "changed c>see", "added >new", "removed e>", "default >"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if same := routing.Compare(is, is); len(same) != 0 {
		t.Errorf("a book differs from itself by %+v", same)
	}
	if same := routing.Compare(routing.Book{}, routing.Book{Default: routing.Action{Choose: "cheapest"}}); len(same) != 0 {
		t.Errorf("the cheapest is the default anyway, %+v", same)
	}
}
