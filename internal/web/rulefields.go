package web

import (
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/routing"
)

// variableChoices are the variables that a row can be about, in groups.
var variableChoices = groupVariables()

func groupVariables() []choiceGroup {
	titles := map[string]string{
		"destination": "Destination", "origin": "Origin", "parcel": "Parcel", "order": "Order", "metadata": "Order", "cheapest": "Offers", "fastest": "Offers",
		"time": "Time", "ship": "Time",
	}
	var groups []choiceGroup
	for _, v := range routing.Variables() {
		if len(v.Tests()) == 0 {
			continue
		}
		first, _, _ := strings.Cut(v.Name, ".")
		i := slices.IndexFunc(groups, func(g choiceGroup) bool { return g.Title == titles[first] })
		if i < 0 {
			i = len(groups)
			groups = append(groups, choiceGroup{Title: titles[first]})
		}
		groups[i].Choices = append(groups[i].Choices, choice{v.Name, plain(variableWords[v.Name])})
	}
	return groups
}

// valueType is the type of the input of a row's value.
func valueType(v routing.Variable, c clauseForm) string {
	if v.IsDay() && !c.clause().Several() {
		return "date"
	}
	return "text"
}

func valueMode(v routing.Variable) string {
	if v.IsNumber() {
		return "decimal"
	}
	return "text"
}

func valueHint(v routing.Variable, c clauseForm) string {
	switch {
	case strings.HasSuffix(v.Name, ".country") && c.clause().Several():
		return "US, CA"
	case strings.HasSuffix(v.Name, ".country"):
		return "US"
	case strings.HasSuffix(v.Name, ".state") && c.clause().Several():
		return "AK, HI"
	case c.clause().Several():
		return "one, another"
	case v.IsNumber():
		return "20"
	}
	return ""
}

// thenWrong is what is wrong with a field of the action, or with the action as
// a whole.
func (f ruleForm) thenWrong(name string) string {
	return or(f.Wrong.At("/then/"+name), f.Wrong.At("/then"))
}

// targetWrong is what is wrong with a row of targets.
func (f ruleForm) targetWrong(i int) string {
	at := "/then/" + f.Then.list() + "/" + strconv.Itoa(i)
	for _, part := range []string{"/carrier", "/service", "/connectionId", "/percent", ""} {
		if w := f.Wrong.At(at + part); w != "" {
			return w
		}
	}
	return ""
}

// unclear reports whether the condition or a row of it says nothing yet.
func (p verdict) unclear() bool {
	return p.Wrong.At("/when") != "" || slices.ContainsFunc(p.Rows, func(s string) bool { return s != "" }) || len(p.List) > 0
}
