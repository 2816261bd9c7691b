package gls

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

//go:embed members.tsv
var memberText string

// A member is one that an object of ShipIT has.
type member struct {
	kind       string
	isRequired bool
}

// objects are the members of each object, by their names.
var objects = parseMembers(memberText)

func parseMembers(text string) map[string]map[string]member {
	list := map[string]map[string]member{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(columns) != 4 {
			panic("members.tsv: " + line)
		}
		if list[columns[0]] == nil {
			list[columns[0]] = map[string]member{}
		}
		list[columns[0]][columns[1]] = member{columns[2], columns[3] == "required"}
	}
	return list
}

// read reads the body of a request into v, if it is an object of the kind; else it
// answers with what is wrong.
func read(w http.ResponseWriter, r *http.Request, kind string, v any) bool {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	var given map[string]any
	if err != nil || json.Unmarshal(body, &given) != nil {
		refuse(w, http.StatusBadRequest, "E000", "The request cannot be read")
		return false
	}
	if problem := checkObject(kind, "", given); problem != "" {
		refuse(w, http.StatusBadRequest, "E000", problem)
		return false
	}
	if json.Unmarshal(body, v) != nil {
		refuse(w, http.StatusBadRequest, "E000", "The request cannot be read")
		return false
	}
	return true
}

// checkObject returns what is wrong with an object: a member that ShipIT does not
// know, one that is missing, or a value of another type.
func checkObject(kind, at string, given map[string]any) string {
	known := objects[kind]
	for name, value := range given {
		path := strings.TrimPrefix(at+"."+name, ".")
		rule, ok := known[name]
		if !ok {
			return "Unrecognized field " + path
		}
		if problem := checkValue(rule.kind, path, value); problem != "" {
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

func checkValue(kind, path string, value any) string {
	if element, isList := strings.CutPrefix(kind, "list of "); isList {
		list, ok := value.([]any)
		if !ok {
			return path + " must be a list"
		}
		for i, one := range list {
			if problem := checkValue(element, fmt.Sprintf("%s[%d]", path, i), one); problem != "" {
				return problem
			}
		}
		return ""
	}
	if objects[kind] != nil {
		object, ok := value.(map[string]any)
		if !ok {
			return path + " must be an object"
		}
		return checkObject(kind, path, object)
	}

	isRight := false
	name, limit, _ := strings.Cut(kind, " ")
	text, isText := value.(string)
	number, isNumber := value.(float64)
	switch name {
	case "text":
		most, _ := strconv.Atoi(limit)
		isRight = isText && utf8.RuneCountInString(text) <= most
	case "one":
		isRight = isText && slices.Contains(strings.Fields(limit)[1:], text)
	case "day":
		_, err := time.Parse(time.DateOnly, text)
		isRight = isText && err == nil
	case "flag":
		_, isRight = value.(bool)
	case "number":
		isRight = isNumber
	case "amount":
		isRight = isNumber && number > 0 && hasTwoDecimals(number)
	case "weight":
		isRight = isNumber && number >= 0.1 && number <= 99 && hasTwoDecimals(number)
	}
	if !isRight {
		return path + " is not valid"
	}
	return ""
}

func hasTwoDecimals(number float64) bool {
	hundredths := number * 100
	return math.Abs(hundredths-math.Round(hundredths)) < 1e-6
}
