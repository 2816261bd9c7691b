package routing

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/web/parts"
)

// variableChoices lists the variables that a row can be about, in groups.
var variableChoices = groupVariables()

func groupVariables() []parts.ChoiceGroup {
	titles := map[string]string{
		"destination": "Destination",
		"origin":      "Origin",
		"parcel":      "Parcel",
		"order":       "Order",
		"metadata":    "Order",
		"cheapest":    "Offers",
		"fastest":     "Offers",
		"time":        "Time",
		"ship":        "Time",
	}

	var groups []parts.ChoiceGroup
	for _, variable := range routing.Variables() {
		if len(variable.Tests()) == 0 {
			continue
		}

		first, _, _ := strings.Cut(variable.Name, ".")
		i := slices.IndexFunc(groups, func(g parts.ChoiceGroup) bool { return g.Title == titles[first] })
		if i < 0 {
			i = len(groups)
			groups = append(groups, parts.ChoiceGroup{Title: titles[first]})
		}
		groups[i].Choices = append(groups[i].Choices, parts.Choice{Value: variable.Name, Title: parts.Plain(variableWords[variable.Name])})
	}
	return groups
}

// valueType returns the input type of a row's value.
func valueType(variable routing.Variable, row clauseForm) string {
	if variable.IsDay() && !row.clause().Several() {
		return "date"
	}
	return "text"
}

func valueMode(variable routing.Variable) string {
	if variable.IsNumber() {
		return "decimal"
	}
	return "text"
}

func valueHint(variable routing.Variable, row clauseForm) string {
	takesList := row.clause().Several()
	switch {
	case strings.HasSuffix(variable.Name, ".country") && takesList:
		return "US, CA"
	case strings.HasSuffix(variable.Name, ".country"):
		return "US"
	case strings.HasSuffix(variable.Name, ".state") && takesList:
		return "AK, HI"
	case takesList:
		return "one, another"
	case variable.IsNumber():
		return "20"
	}
	return ""
}

// thenWrong returns the error of a field of the action, or of the action as a
// whole.
func (f ruleForm) thenWrong(name string) string {
	return cmp.Or(f.Wrong.At("/then/"+name), f.Wrong.At("/then"))
}

// targetWrong returns the error of a row of targets.
func (f ruleForm) targetWrong(i int) string {
	pointer := "/then/" + f.Then.list() + "/" + strconv.Itoa(i)
	for _, part := range []string{"/carrier", "/service", "/connectionId", "/percent", ""} {
		if text := f.Wrong.At(pointer + part); text != "" {
			return text
		}
	}
	return ""
}

// unclear reports whether the rule cannot be put into words yet.
func (p verdict) unclear() bool {
	hasRowError := slices.ContainsFunc(p.Rows, func(text string) bool { return text != "" })
	return p.Wrong.At("/when") != "" || hasRowError || len(p.List) > 0
}
