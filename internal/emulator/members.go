package emulator

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Members are the objects of an API and their members, by which an emulator refuses
// what the carrier does not read: a driver that misspells a member is found out.
type Members map[string]map[string]member

// anyMember as the name of a member means that the carrier ignores members that it
// does not know. One that differs from a known one in its letter case alone is refused
// all the same: the carrier would ignore it, and nobody would notice.
const anyMember = "*"

type member struct {
	kind       string
	expr       *regexp.Regexp // of the type "matches", or of its elements
	isRequired bool
}

// ParseMembers reads a table of four columns: object, member, type, and "required"
// or "optional". A type is the name of an object, or
//
//	text 40        at most as many characters
//	one of A B     one of the words
//	day            2006-01-02
//	time           as in RFC 3339
//	flag           true or false
//	number         any
//	count 1 99     a whole number in the range
//	money          zero or more, with at most two decimals
//	amount         above zero, with at most two decimals
//	weight 0.1 99  in the range, with at most two decimals
//	country        a code of ISO 3166
//	currency       a code of ISO 4217
//	matches [0-9]+ a text that matches the whole regular expression
//	any            anything
//
// or "list of" one of them, or "some" of them, which is a list or its only element. The
// member "*" of an object says that the carrier ignores members that it does not know.
func ParseMembers(text string) Members {
	list := Members{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(line, "\t")
		if len(columns) != 4 || columns[3] != "required" && columns[3] != "optional" {
			panic("a table of members has the line " + line)
		}
		if list[columns[0]] == nil {
			list[columns[0]] = map[string]member{}
		}
		rule := member{kind: columns[2], isRequired: columns[3] == "required"}
		if expr, isExpr := strings.CutPrefix(strings.TrimPrefix(strings.TrimPrefix(rule.kind, "list of "), "some "), "matches "); isExpr {
			rule.expr = regexp.MustCompile("^(?:" + expr + ")$")
		}
		list[columns[0]][columns[1]] = rule
	}
	return list
}

// Check returns what is wrong with a body that should be an object of the kind: a
// member that is not known, also by its letter case, one that is missing, or a value
// of another type. It is empty if nothing is.
func (m Members) Check(kind string, body []byte) (problem string) {
	var given map[string]any
	if json.Unmarshal(body, &given) != nil {
		return "The request cannot be read"
	}
	return m.checkObject(kind, "", given)
}

func (m Members) checkObject(kind, at string, given map[string]any) string {
	known := m[kind]
	for name, value := range given {
		path := strings.TrimPrefix(at+"."+name, ".")
		rule, ok := known[name]
		if !ok {
			if _, ignoresOthers := known[anyMember]; ignoresOthers && !isMiscased(known, name) {
				continue
			}
			return "Unrecognized field " + path
		}
		if problem := m.checkValue(rule, path, value); problem != "" {
			return problem
		}
	}
	for name, rule := range known {
		if _, ok := given[name]; rule.isRequired && !ok {
			return "The mandatory field " + strings.TrimPrefix(at+"."+name, ".") + " is missing"
		}
	}
	return ""
}

// isMiscased reports whether a name is that of a member but for its letter case.
func isMiscased(known map[string]member, name string) bool {
	for other := range known {
		if strings.EqualFold(other, name) {
			return true
		}
	}
	return false
}

func (m Members) checkValue(rule member, path string, value any) string {
	kind := rule.kind
	if element, isSome := strings.CutPrefix(kind, "some "); isSome {
		kind = element
		if _, isList := value.([]any); isList {
			kind = "list of " + element
		}
	}
	if element, isList := strings.CutPrefix(kind, "list of "); isList {
		list, ok := value.([]any)
		if !ok {
			return path + " must be a list"
		}
		for i, one := range list {
			if problem := m.checkValue(member{kind: element, expr: rule.expr}, fmt.Sprintf("%s[%d]", path, i), one); problem != "" {
				return problem
			}
		}
		return ""
	}
	if m[kind] != nil {
		object, ok := value.(map[string]any)
		if !ok {
			return path + " must be an object"
		}
		return m.checkObject(kind, path, object)
	}
	if rule.expr != nil {
		text, isText := value.(string)
		if !isText || !rule.expr.MatchString(text) {
			return path + " is not valid"
		}
		return ""
	}
	if !isOfKind(strings.Fields(kind), value) {
		return path + " is not valid"
	}
	return ""
}

// isOfKind reports whether a value is of a type, which is written as words.
func isOfKind(kind []string, value any) bool {
	text, isText := value.(string)
	number, isNumber := value.(float64)
	bound := func(i int) float64 {
		limit, err := strconv.ParseFloat(kind[i], 64)
		if err != nil {
			panic("a table of members has the type " + strings.Join(kind, " "))
		}
		return limit
	}

	switch kind[0] {
	case "text":
		return isText && float64(utf8.RuneCountInString(text)) <= bound(1)
	case "one":
		return isText && slices.Contains(kind[2:], text)
	case "day":
		_, err := time.Parse(time.DateOnly, text)
		return isText && err == nil
	case "time":
		_, err := time.Parse(time.RFC3339, text)
		return isText && err == nil
	case "country":
		return isText && IsCountry(text)
	case "currency":
		return isText && IsCurrency(text)
	case "any":
		return true
	case "flag":
		_, isFlag := value.(bool)
		return isFlag
	case "number":
		return isNumber
	case "count":
		return isNumber && number == math.Trunc(number) && number >= bound(1) && number <= bound(2)
	case "money":
		return isNumber && number >= 0 && hasTwoDecimals(number)
	case "amount":
		return isNumber && number > 0 && hasTwoDecimals(number)
	case "weight":
		return isNumber && number >= bound(1) && number <= bound(2) && hasTwoDecimals(number)
	}
	panic("a table of members has the type " + strings.Join(kind, " "))
}

func hasTwoDecimals(number float64) bool {
	hundredths := number * 100
	return math.Abs(hundredths-math.Round(hundredths)) < 1e-6
}
