package web

import (
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/ship"
)

// variableWords name the variables of conditions as they stand in a sentence.
var variableWords = map[string]string{
	"destination.country": "destination country", "destination.state": "destination state", "destination.city": "destination city",
	"destination.zip": "destination postal code", "destination.residential": "home address", "destination.company": "destination company",
	"origin.country": "origin country", "origin.state": "origin state", "origin.city": "origin city", "origin.zip": "origin postal code",
	"parcel.count": "number of pieces", "parcel.weightGrams": "weight in grams", "parcel.weightKg": "weight in kilograms",
	"parcel.weightLb": "weight in pounds", "parcel.weightOz": "weight in ounces", "parcel.heaviestKg": "heaviest piece in kilograms",
	"parcel.longestCm": "longest side in centimetres", "parcel.longestIn": "longest side in inches", "parcel.girthCm": "length and girth in centimetres",
	"parcel.girthIn": "length and girth in inches", "parcel.volumeCm3": "volume in cubic centimetres", "parcel.packaging": "packaging",
	"parcel.hasDimensions": "dimensions known", "order.id": "order number", "order.reference": "reference", "order.international": "international",
	"order.isReturn": "return", "order.signature": "signature asked for", "order.saturdayDelivery": "Saturday delivery", "order.insuredValue": "insured value",
	"order.insuredCurrency": "currency of the insured value", "order.deliverBy": "deliver-by day", "order.shipDate": "ship date",
	"order.daysToDeliver": "days until the deliver-by day", "order.customsValue": "customs value", "order.contents": "kind of goods",
	"order.billing": "who pays the carrier", "metadata": "metadata", "cheapest.carrier": "carrier of the cheapest offer",
	"cheapest.service": "service of the cheapest offer", "cheapest.amount": "price of the cheapest offer", "cheapest.days": "days of the cheapest offer",
	"fastest.carrier": "carrier of the fastest offer", "fastest.service": "service of the fastest offer", "fastest.amount": "price of the fastest offer",
	"fastest.days": "days of the fastest offer", "time.weekday": "weekday now (UTC)", "time.hour": "hour now (UTC)", "time.date": "date now (UTC)",
	"time.month": "month now (UTC)", "ship.weekday": "weekday of the ship date",
}

// truthWords are the sentences of what is true or false.
var truthWords = map[string][2]string{
	"destination.residential": {"it goes to a home", "it does not go to a home"}, "parcel.hasDimensions": {"all dimensions are known", "a dimension is not known"},
	"order.international": {"it crosses a border", "it stays in the country"}, "order.isReturn": {"it is a return", "it is not a return"},
	"order.saturdayDelivery": {"Saturday delivery is asked for", "Saturday delivery is not asked for"},
}

var testWords = map[string]string{
	routing.TestIs: "is", routing.TestIsNot: "is not", routing.TestOneOf: "is one of", routing.TestNoneOf: "is none of", routing.TestStarts: "starts with",
	routing.TestEnds: "ends with", routing.TestContains: "contains", routing.TestLacks: "does not contain", routing.TestEmpty: "is empty",
	routing.TestFilled: "is not empty", routing.TestLess: "is less than", routing.TestAtMost: "is at most", routing.TestMore: "is more than",
	routing.TestAtLeast: "is at least", routing.TestYes: "yes", routing.TestNo: "no",
}

var dayWords = map[string]string{
	routing.TestLess: "is before", routing.TestAtMost: "is on or before", routing.TestMore: "is after", routing.TestAtLeast: "is on or after",
}

// testWord is a test in words, for the variable.
func testWord(v routing.Variable, test string) string {
	if v.IsDay() && dayWords[test] != "" {
		return dayWords[test]
	}
	return testWords[test]
}

// clauseWords is one clause as part of a sentence.
func clauseWords(c routing.Clause) string {
	v, _ := routing.FindVariable(c.Name)
	if words, ok := truthWords[c.Name]; ok {
		if c.Test == routing.TestYes {
			return words[0]
		}
		return words[1]
	}
	name := variableWords[c.Name]
	if v.HasKeys() {
		name += " “" + c.Key + "”"
	}
	values := make([]string, len(c.Values))
	for i, value := range c.Values {
		values[i] = valueWord(v, value)
	}
	return strings.TrimSpace(name + " " + testWord(v, c.Test) + " " + joinWords(values, "or"))
}

func valueWord(v routing.Variable, value string) string {
	if strings.HasSuffix(v.Name, ".country") && ship.KnownCountry(value) {
		return ship.CountryName(value)
	}
	if strings.HasSuffix(v.Name, ".carrier") {
		return carrierTitle(value)
	}
	return value
}

// joinWords lists as people do: a, b or c.
func joinWords(list []string, last string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " " + last + " " + list[len(list)-1]
}

// whenWords is a condition as a sentence; "" if only the language can say it.
func whenWords(when string) string {
	s, ok := routing.ReadSimple(when)
	switch {
	case !ok:
		return ""
	case len(s.Clauses) == 0:
		return "Always"
	}
	parts := make([]string, len(s.Clauses))
	for i, c := range s.Clauses {
		parts[i] = clauseWords(c)
	}
	if s.Any {
		return "If " + strings.Join(parts, ", or ")
	}
	return "If " + strings.Join(parts, " and ")
}

// actionWords is what a rule does, as a sentence without its end.
func (c catalog) actionWords(a routing.Action) string {
	switch {
	case len(a.Use) > 0:
		return "Buy " + c.targets(a.Use, ", else ")
	case a.Choose != "":
		return c.chooseWords(a)
	case len(a.Prefer) > 0:
		var more []string
		if a.TolerancePercent != nil {
			more = append(more, percentWord(*a.TolerancePercent))
		}
		if a.ToleranceAmount != "" {
			more = append(more, a.ToleranceAmount)
		}
		return "Prefer " + c.targets(a.Prefer, " or ") + " while it costs at most " + or(joinWords(more, "and"), "0 %") + " more than the cheapest"
	case len(a.Split) > 0:
		parts := make([]string, len(a.Split))
		for i, s := range a.Split {
			parts[i] = strconv.Itoa(s.Percent) + " % " + c.target(s.Target)
		}
		return "Share the orders out: " + joinWords(parts, "and")
	case len(a.Forbid) > 0:
		return "Never buy " + c.targets(a.Forbid, " or ") + ", and go on with the next rules"
	case a.Require != nil && a.Require.Signature == "adult":
		return "Ask for the signature of an adult, and go on with the next rules"
	case a.Require != nil:
		return "Ask for a signature, and go on with the next rules"
	}
	return "Buy the cheapest"
}

func (c catalog) chooseWords(a routing.Action) string {
	words := "Buy the " + a.Choose
	if len(a.Only) > 0 {
		words += " of " + c.targets(a.Only, ", ")
	}
	var limits []string
	if a.By != "" {
		limits = append(limits, "promised by "+string(a.By))
	}
	if a.WithinDays != nil {
		limits = append(limits, "within "+days(*a.WithinDays))
	}
	if a.WithinDaysOfFastest != nil {
		limits = append(limits, "at most "+days(*a.WithinDaysOfFastest)+" after the fastest")
	}
	if a.WithinPercentOfCheapest != nil {
		limits = append(limits, "at most "+percentWord(*a.WithinPercentOfCheapest)+" over the cheapest")
	}
	if len(limits) > 0 {
		words += ", " + joinWords(limits, "and")
	}
	return words
}

// afterWords is what may follow a choice that fails, and what happens if no
// offer fits; "" where that is the usual.
func afterWords(r routing.Rule) string {
	var list []string
	g := r.Guard
	var more []string
	if g.ExtraPercent != nil {
		more = append(more, percentWord(*g.ExtraPercent))
	}
	if g.ExtraAmount != "" {
		more = append(more, g.ExtraAmount)
	}
	if g.ExtraDays != nil {
		more = append(more, days(*g.ExtraDays))
	}
	switch {
	case g.None:
		list = append(list, "If the carrier says no, no other is asked.")
	case len(more) > 0:
		list = append(list, "If the carrier says no, another may take at most "+joinWords(more, "and")+" more.")
	}
	if r.Otherwise == "refuse" {
		list = append(list, "If no offer fits, the shipment is refused.")
	}
	return strings.Join(list, " ")
}

func percentWord(p float64) string { return strconv.FormatFloat(p, 'f', -1, 64) + " %" }

// countOf is a number of things.
func countOf(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// A changedPart is one part of a rule, before and after.
type changedPart struct{ What, Was, Is string }

// changedParts lists what of a rule was changed.
func (c catalog) changedParts(d routing.Difference) []changedPart {
	var list []changedPart
	add := func(what, was, is string) {
		if was != is {
			list = append(list, changedPart{what, or(was, "–"), or(is, "–")})
		}
	}
	add("Name", d.Was.Name, d.Is.Name)
	if d.Was.When != d.Is.When {
		was, is := whenWords(d.Was.When), whenWords(d.Is.When)
		if was == "" || is == "" || was == is {
			was, is = or(d.Was.When, "Always"), or(d.Is.When, "Always")
		}
		add("Condition", was, is)
	}
	add("Action", c.actionWords(d.Was.Then), c.actionWords(d.Is.Then))
	add("After", afterWords(d.Was), afterWords(d.Is))
	switches := map[bool]string{true: "Off", false: "On"}
	add("Switch", switches[d.Was.Disabled], switches[d.Is.Disabled])
	return list
}

// changeCounts sums differences up: "2 added, 1 changed".
func changeCounts(list []routing.Difference) string {
	counts := map[string]int{}
	for _, d := range list {
		counts[d.What]++
	}
	return countWords(counts)
}

// countWords is the same of differences that were counted.
func countWords(counts map[string]int) string {
	var parts []string
	for _, what := range []string{routing.RuleAdded, routing.RuleChanged, routing.RuleMoved, routing.RuleRemoved} {
		if n := counts[what]; n > 0 {
			parts = append(parts, countOf(n, "rule")+" "+what)
		}
	}
	if counts[routing.DefaultChanged] > 0 {
		parts = append(parts, "the default changed")
	}
	return strings.Join(parts, ", ")
}

// ruleKey is a rule's name as an id of an element.
func ruleKey(name string) string {
	h := fnv.New64a()
	h.Write([]byte(name)) // never fails
	return strconv.FormatUint(h.Sum64(), 36)
}

// routingPages are the pages about routing.
var routingPages = []struct {
	title string
	path  []string
}{
	{"Rules", []string{"routing"}},
	{"Try", []string{"routing", "try"}},
	{"Back-test", []string{"routing", "backtest"}},
	{"History", []string{"routing", "history"}},
	{"Rate sheets", []string{"rate-sheets"}},
}
