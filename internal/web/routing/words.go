package routing

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/offers"
	"github.com/waybillhq/waybill/internal/web/parts"
)

// variableWords are the names of the variables of conditions, as they stand in
// a sentence.
var variableWords = map[string]string{
	"destination.country":     "destination country",
	"destination.state":       "destination state",
	"destination.city":        "destination city",
	"destination.zip":         "destination postal code",
	"destination.residential": "residential address",
	"destination.company":     "destination company",

	"origin.country":  "origin country",
	"origin.location": "ship-from location",
	"origin.state":    "origin state",
	"origin.city":     "origin city",
	"origin.zip":      "origin postal code",

	"parcel.count":         "number of pieces",
	"parcel.weightGrams":   "weight in grams",
	"parcel.weightKg":      "weight in kilograms",
	"parcel.weightLb":      "weight in pounds",
	"parcel.weightOz":      "weight in ounces",
	"parcel.heaviestKg":    "heaviest piece in kilograms",
	"parcel.longestCm":     "longest side in centimetres",
	"parcel.longestIn":     "longest side in inches",
	"parcel.girthCm":       "length and girth in centimetres",
	"parcel.girthIn":       "length and girth in inches",
	"parcel.volumeCm3":     "volume in cubic centimetres",
	"parcel.packaging":     "packaging",
	"parcel.hasDimensions": "dimensions known",

	"order.id":               "order number",
	"order.reference":        "reference",
	"order.international":    "international",
	"order.isReturn":         "return",
	"order.signature":        "requested signature",
	"order.saturdayDelivery": "Saturday delivery",
	"order.insuredValue":     "insured value",
	"order.insuredCurrency":  "currency of the insured value",
	"order.deliverBy":        "deliver-by date",
	"order.shipDate":         "ship date",
	"order.daysToDeliver":    "days until the deliver-by date",
	"order.customsValue":     "customs value",
	"order.contents":         "contents",
	"order.billing":          "who pays the carrier",
	"metadata":               "metadata",

	"cheapest.carrier": "carrier of the cheapest offer",
	"cheapest.service": "service of the cheapest offer",
	"cheapest.amount":  "price of the cheapest offer",
	"cheapest.days":    "days of the cheapest offer",
	"fastest.carrier":  "carrier of the fastest offer",
	"fastest.service":  "service of the fastest offer",
	"fastest.amount":   "price of the fastest offer",
	"fastest.days":     "days of the fastest offer",

	"time.weekday": "weekday now (UTC)",
	"time.hour":    "hour now (UTC)",
	"time.date":    "date now (UTC)",
	"time.month":   "month now (UTC)",
	"ship.weekday": "weekday of the ship date",
}

// truthWords are the sentences of boolean variables: true, then false.
var truthWords = map[string][2]string{
	"destination.residential": {"the address is residential", "the address is not residential"},
	"parcel.hasDimensions":    {"all dimensions are known", "a dimension is not known"},
	"order.international":     {"it is international", "it is domestic"},
	"order.isReturn":          {"it is a return", "it is not a return"},
	"order.saturdayDelivery":  {"Saturday delivery is requested", "Saturday delivery is not requested"},
}

var testWords = map[string]string{
	routing.TestIs:       "is",
	routing.TestIsNot:    "is not",
	routing.TestOneOf:    "is one of",
	routing.TestNoneOf:   "is none of",
	routing.TestStarts:   "starts with",
	routing.TestEnds:     "ends with",
	routing.TestContains: "contains",
	routing.TestLacks:    "does not contain",
	routing.TestEmpty:    "is empty",
	routing.TestFilled:   "is not empty",
	routing.TestLess:     "is less than",
	routing.TestAtMost:   "is at most",
	routing.TestMore:     "is more than",
	routing.TestAtLeast:  "is at least",
	routing.TestYes:      "yes",
	routing.TestNo:       "no",
}

// dayWords replace testWords for variables that are days.
var dayWords = map[string]string{
	routing.TestLess:    "is before",
	routing.TestAtMost:  "is on or before",
	routing.TestMore:    "is after",
	routing.TestAtLeast: "is on or after",
}

// testWord returns a test of the variable in words.
func testWord(variable routing.Variable, test string) string {
	if variable.IsDay() && dayWords[test] != "" {
		return dayWords[test]
	}
	return testWords[test]
}

// clauseWords returns one clause as part of a sentence.
func clauseWords(clause routing.Clause) string {
	if words, ok := truthWords[clause.Name]; ok {
		if clause.Test == routing.TestYes {
			return words[0]
		}
		return words[1]
	}

	variable, _ := routing.FindVariable(clause.Name)
	name := variableWords[clause.Name]
	if variable.HasKeys() {
		name += " “" + clause.Key + "”"
	}
	values := make([]string, len(clause.Values))
	for i, value := range clause.Values {
		values[i] = valueWord(variable, value)
	}
	return strings.TrimSpace(name + " " + testWord(variable, clause.Test) + " " + parts.JoinWords(values, "or"))
}

func valueWord(variable routing.Variable, value string) string {
	if strings.HasSuffix(variable.Name, ".country") && ship.KnownCountry(value) {
		return ship.CountryName(value)
	}
	if strings.HasSuffix(variable.Name, ".carrier") {
		return parts.CarrierTitle(value)
	}
	return value
}

// whenWords returns a condition as a sentence; "" if only CEL can express it.
func whenWords(when string) string {
	simple, ok := routing.ReadSimple(when)
	switch {
	case !ok:
		return ""
	case len(simple.Clauses) == 0:
		return "Always"
	}

	parts := make([]string, len(simple.Clauses))
	for i, clause := range simple.Clauses {
		parts[i] = clauseWords(clause)
	}
	if simple.Any {
		return "If " + strings.Join(parts, ", or ")
	}
	return "If " + strings.Join(parts, " and ")
}

// actionWords describes a rule's action, as a sentence without its full stop.
func actionWords(c offers.Catalog, action routing.Action) string {
	switch {
	case len(action.Use) > 0:
		return "Buy " + c.Targets(action.Use, ", else ")

	case action.Choose != "":
		return chooseWords(c, action)

	case len(action.Prefer) > 0:
		var more []string
		if action.TolerancePercent != nil {
			more = append(more, percentWord(*action.TolerancePercent))
		}
		if action.ToleranceAmount != "" {
			more = append(more, action.ToleranceAmount)
		}
		return "Prefer " + c.Targets(action.Prefer, " or ") + " while it costs at most " + cmp.Or(parts.JoinWords(more, "and"), "0 %") + " more than the cheapest"

	case len(action.Split) > 0:
		phrases := make([]string, len(action.Split))
		for i, share := range action.Split {
			phrases[i] = strconv.Itoa(share.Percent) + " % " + c.Target(share.Target)
		}
		return "Split orders: " + parts.JoinWords(phrases, "and")

	case len(action.Forbid) > 0:
		return "Never buy " + c.Targets(action.Forbid, " or ") + ", then continue with the next rules"

	case action.Require != nil && action.Require.Signature == "adult":
		return "Require an adult signature, then continue with the next rules"

	case action.Require != nil:
		return "Require a signature, then continue with the next rules"
	}
	return "Buy the cheapest"
}

func chooseWords(c offers.Catalog, action routing.Action) string {
	words := "Buy the " + action.Choose
	if len(action.Only) > 0 {
		words += " of " + c.Targets(action.Only, ", ")
	}

	var limits []string
	if action.By != "" {
		limits = append(limits, "promised by "+string(action.By))
	}
	if action.WithinDays != nil {
		limits = append(limits, "within "+parts.Days(*action.WithinDays))
	}
	if action.WithinDaysOfFastest != nil {
		limits = append(limits, "at most "+parts.Days(*action.WithinDaysOfFastest)+" after the fastest")
	}
	if action.WithinPercentOfCheapest != nil {
		limits = append(limits, "at most "+percentWord(*action.WithinPercentOfCheapest)+" over the cheapest")
	}

	if len(limits) > 0 {
		words += ", " + parts.JoinWords(limits, "and")
	}
	return words
}

// afterWords describes what may follow a purchase that fails, and what happens
// if no offer fits; "" for the defaults.
func afterWords(rule routing.Rule) string {
	var more []string
	if rule.Guard.ExtraPercent != nil {
		more = append(more, percentWord(*rule.Guard.ExtraPercent))
	}
	if rule.Guard.ExtraAmount != "" {
		more = append(more, rule.Guard.ExtraAmount)
	}
	if rule.Guard.ExtraDays != nil {
		more = append(more, parts.Days(*rule.Guard.ExtraDays))
	}

	var sentences []string
	switch {
	case rule.Guard.None:
		sentences = append(sentences, "If the carrier declines, no other offer is tried.")
	case len(more) > 0:
		sentences = append(sentences, "If the carrier declines, another offer may exceed it by at most "+parts.JoinWords(more, "and")+".")
	}
	if rule.Otherwise == "refuse" {
		sentences = append(sentences, "If no offer matches, the shipment is refused.")
	}
	return strings.Join(sentences, " ")
}

func percentWord(percent float64) string { return strconv.FormatFloat(percent, 'f', -1, 64) + " %" }

// countOf returns a number of things: "1 rule", "2 rules".
func countOf(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// A changedPart is one part of a rule, before and after.
type changedPart struct{ What, Was, Is string }

// changedParts lists the parts of a rule that were changed.
func changedParts(c offers.Catalog, difference routing.Difference) []changedPart {
	before := difference.Was
	after := difference.Is
	var list []changedPart
	add := func(what, was, is string) {
		if was != is {
			list = append(list, changedPart{what, cmp.Or(was, "–"), cmp.Or(is, "–")})
		}
	}

	add("Name", before.Name, after.Name)

	// Two different conditions can read the same in words, or have no words:
	// then their source is shown.
	if before.When != after.When {
		was := whenWords(before.When)
		is := whenWords(after.When)
		if was == "" || is == "" || was == is {
			was = cmp.Or(before.When, "Always")
			is = cmp.Or(after.When, "Always")
		}
		add("Condition", was, is)
	}

	add("Action", actionWords(c, before.Then), actionWords(c, after.Then))
	add("Fallback", afterWords(before), afterWords(after))
	switches := map[bool]string{true: "Disabled", false: "Enabled"}
	add("Status", switches[before.Disabled], switches[after.Disabled])
	return list
}

// changeCounts summarizes differences: "2 rules added, 1 rule changed".
func changeCounts(list []routing.Difference) string {
	counts := map[string]int{}
	for _, difference := range list {
		counts[difference.What]++
	}
	return countWords(counts)
}

// countWords summarizes differences that were counted.
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

// routingPages are the pages about routing.
var routingPages = []struct {
	title  string
	path   []string
	action member.Action // that the page needs
}{
	{"Rules", []string{"routing"}, member.ViewRouting},
	{"Try", []string{"routing", "try"}, member.BuyShipments},
	{"Back-test", []string{"routing", "backtest"}, member.ViewRouting},
	{"History", []string{"routing", "history"}, member.ViewRouting},
	{"Rate sheets", []string{"rate-sheets"}, member.ViewRouting},
}
