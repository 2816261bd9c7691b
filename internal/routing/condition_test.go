package routing

import (
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestWrongConditionsAreRefusedWithTheColumnAndASuggestion(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ when, detail, suggestion string }{
		{`destination.contry == "US"`, "column 1: there is no destination.contry", "destination.country"},
		{`parcel.count > 1 && destination.contry == "US"`, "column 21: there is no destination.contry", "destination.country"},
		{`dest.country == "US"`, "column 1: there is no dest.country", "destination.country"},
		{`parcel.weight > 5`, "column 1: there is no parcel.weight", "parcel.weightKg"},
		{`state == "AK"`, "column 1: there is no state", "destination.state"},
		{`destination == "US"`, "column 1: destination is a group of variables, such as destination.country", "destination.country"},
		{`destination.country == US`, "column 24: there is no US; text must be in quotes", `"US"`},
		{`destination.country == "USA"`, "column 24: destination.country must be a valid two-letter country code in capitals", `"US"`},
		{`destination.country in ["us", "CA"]`, "column 25: destination.country must be a valid two-letter country code in capitals", `"US"`},
		{`time.weekday == "Monday"`, `column 17: time.weekday never has this value; it is one of "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"`, `"monday"`},
		{`order.signature == "adlt"`, `column 20: order.signature never has this value; it is one of "", "standard", "indirect", "direct", "adult"`, `"adult"`},
		{`destination.zip > 5`, "column 17: > cannot compare text with a whole number", `destination.zip > "5"`},
		{`parcel.weightKg > "20"`, "column 17: > cannot compare a number with text", "parcel.weightKg > 20"},
		{`order.isReturn == "yes"`, "column 16: == cannot compare true or false with text", "order.isReturn == true"},
		{`metadata["a"] == 5`, "column 15: == cannot compare text with a whole number", ""},
		{`destination.zip.startWith("9")`, "column 17: there is no function startWith", "startsWith"},
		{`quotes.exists(q, q.amout > 5)`, "column 19: an offer has no amout", "amount"},
		{`quotes.exist(q, q.amount > 5)`, "column 8: there is no function exist", "exists"},
		{`quotes.exists(q.amount > 5)`, "column 8: exists needs a loop variable and a condition", "quotes.exists(q, q.amount > 10)"},
		{`quotes.exists(order, order.amount > 5)`, "column 1: the loop variable needs a name of its own; order is already in use", "q"},
		{`destination.country = "US"`, "column 21: use == to compare", "=="},
		{`destination.country === "US"`, "column 21: use == instead of ===", "=="},
		{`order.isReturn and parcel.count > 1`, `column 16: use && instead of "and"`, "&&"},
		{`order.isReturn or parcel.count > 1`, `column 16: use || instead of "or"`, "||"},
		{`not order.isReturn`, `column 1: use ! instead of "not"`, "!"},
		{`destination.state not in ["AK"]`, `column 19: use !(a in b) instead of "not in"`, `!(destination.state in ["AK", "HI"])`},
		{`destination.state <> "AK"`, "column 19: use != instead of <>", "!="},
		{`parcel.weightKg => 20`, "column 17: use >= instead of =>", ">="},
		{`parcel.weightKg > 20kg`, "column 20: write the number without a unit; the variable's name gives the unit", ""},
		{`parcel.weightKg > 1,000`, "column 19: write the number without a thousands separator", ""},
		{`order.insuredValue > $500`, "column 22: write the number without a currency sign", ""},
		{`destination.city == “Austin”`, "column 21: use straight quotes", `"`},
		{`destination.city == "Austin`, "column 21: the text that starts here has no closing quote", `"`},
		{`(parcel.count > 1`, "column 1: this ( is never closed", ")"},
		{`parcel.count > 1)`, "column 17: this ) has no matching opening bracket", ""},
		{`parcel.count > `, "column 16: the condition is incomplete", ""},
		{`parcel.count parcel.count`, `column 14: unexpected "parcel"`, ""},
		{`destination.zip`, "column 1: the condition must be true or false, but this is text", `destination.zip == "..."`},
		{`parcel.count && true`, "column 7: true or false is expected here, but this is a whole number", ""},
		{`!destination.city`, "column 1: ! does not work on text", ""},
		{`1 + true > 2`, "column 3: + does not work on a whole number and true or false", ""},
		{`destination.state in ["AK", 5]`, "column 29: text is expected here, but this is a whole number", ""},
		{`destination.state in "AK"`, "column 19: in checks one value against a list of the same type", ""},
		{`destination.country.code == ""`, "column 20: text has no fields", ""},
		{`destination.zip.startsWith(9)`, "column 27: startsWith does not work on text and a whole number", ""},
		{`destination.zip.matches("[")`, "column 25: the pattern is not a valid regular expression (RE2 syntax)", ""},
		{`destination.zip.matches(metadata["x"])`, "column 17: the pattern of matches must be a constant, not a variable", ""},
		{`has(order.reference)`, "column 10: has() checks whether metadata has a key, as in has(metadata.gift)", "has(metadata.gift)"},
		{`metadata["x"] == null`, "column 18: no value is ever null; missing text is empty", `""`},
		{`timestamp("2026-01-01T00:00:00Z") > timestamp("2026-01-01T00:00:00Z")`, "column 1: there is no function timestamp", ""},
		{`order.id == b"x"`, "column 13: a constant must be text, a number, true or false", ""},
		{`destination.name == "Ada"`, "column 1: there is no destination.name", ""},
		{"parcel.count > 1 &&\n  parcel.cont > 1", "line 2, column 3: there is no parcel.cont", "parcel.count"},
		{`destination.city == "Köln" && parcel.cont > 1`, "column 31: there is no parcel.cont", "parcel.count"},
	} {
		_, wrong := compileCondition(tc.when)
		if wrong == nil {
			t.Errorf("%s is accepted", tc.when)
			continue
		}
		if wrong.String() != tc.detail || wrong.suggestion != tc.suggestion {
			t.Errorf("%s:\n  %s (%s), want\n  %s (%s)", tc.when, wrong, wrong.suggestion, tc.detail, tc.suggestion)
		}
	}
}

// TestNoPersonalDataCanBeRead holds the list of what is never a variable.
func TestNoPersonalDataCanBeRead(t *testing.T) {
	t.Parallel()
	for _, v := range Variables() {
		for _, private := range []string{"name", "address", "street", "phone", "email", "account", "tax"} {
			if strings.Contains(strings.ToLower(v.Name), private) {
				t.Errorf("%s is readable", v.Name)
			}
		}
	}
}

func TestNumbersOfDifferentTypesWorkTogether(t *testing.T) {
	t.Parallel()
	in, rates := usual()
	for when, want := range map[string]bool{
		`parcel.weightKg == 2`:                               true,
		`2 == parcel.weightKg`:                               true,
		`parcel.weightKg in [1, 2, 3]`:                       true,
		`parcel.weightKg in [1, 2.5]`:                        false,
		`parcel.weightKg / parcel.count == 2`:                true,
		`parcel.count < parcel.weightKg`:                     true,
		`parcel.weightGrams * 0.001 == parcel.weightKg`:      true,
		`parcel.count == 1.0`:                                true,
		`(parcel.count > 1 ? 2.5 : 2) == parcel.weightKg`:    true,
		`parcel.weightKg > -1`:                               true,
		`cheapest.amount + 1 > 9 && cheapest.amount < 9`:     true,
		`quotes.exists(q, q.amount == 8.4)`:                  true,
		`quotes.exists(q, q.amount * 2 > 100 && q.days < 3)`: true,
		`quotes[0].amount < 9 && quotes[0].days == 5`:        true,
	} {
		c, wrong := compileCondition(when)
		if wrong != nil {
			t.Errorf("%s: %s", when, wrong)
			continue
		}
		if got, err := evaluate(c, in, rates); err != nil || got != want {
			t.Errorf("%s is %v, %v", when, got, err)
		}
	}
}

func TestAMissingMetadataValueReadsAsEmptyText(t *testing.T) {
	t.Parallel()
	in, rates := usual()
	in.Order.Metadata = map[string]string{"gift": "", "tier": "gold"}
	for when, want := range map[string]bool{
		`metadata["nothing"] == ""`:          true,
		`metadata.nothing == ""`:             true,
		`metadata["no" + "thing"] == ""`:     true,
		`metadata["nothing"].contains("x")`:  false,
		`has(metadata.nothing)`:              false,
		`has(metadata.gift)`:                 true,
		`"gift" in metadata`:                 true,
		`"no" + "thing" in metadata`:         false,
		`size(metadata) == 2`:                true,
		`metadata.map(k, k)[0] == "gift"`:    true,
		`metadata.all(k, metadata[k] != "")`: false,
	} {
		c, wrong := compileCondition(when)
		if wrong != nil {
			t.Errorf("%s: %s", when, wrong)
			continue
		}
		if got, err := evaluate(c, in, rates); err != nil || got != want {
			t.Errorf("%s is %v, %v", when, got, err)
		}
	}
}

// evaluate tests a condition as Decide does.
func evaluate(c *condition, in Input, rates []ship.Rate) (bool, error) {
	s := newScope(&in)
	defer s.close()
	ranked := append([]ship.Rate(nil), rates...)
	Rank(ranked, in.Currency)
	s.offers = offersOf(ranked, in.Currency, s.shipDay)
	return c.met(s)
}
