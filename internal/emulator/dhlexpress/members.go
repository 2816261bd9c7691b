package dhlexpress

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/emulator"
)

//go:embed members.tsv
var memberText string

//go:embed codes.tsv
var codeText string

// members are the names that each object of a request may have, by the request and
// the object's path. A name that ends in "!" is mandatory.
var members = parseTable(memberText)

// codes are the values that a member may have, by the request and the end of the
// member's path.
var codes = parseTable(codeText)

func parseTable(text string) map[string][]string {
	table := map[string][]string{}
	for line := range strings.Lines(text) {
		columns := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(columns) == 3 {
			table[columns[0]+" "+strings.TrimPrefix(columns[1], "-")] = strings.Fields(columns[2])
		}
	}
	return table
}

// checkMembers lists the members that DHL does not read, those that are missing, and
// codes that it does not know, in the words of DHL's own check. Names and codes are
// case-sensitive.
func checkMembers(request string, doc map[string]any) []string {
	return checkIn(request, "", "#", doc)
}

func checkIn(request, path, pointer string, value any) (invalid []string) {
	switch value := value.(type) {
	case []any:
		for i, element := range value {
			invalid = append(invalid, checkIn(request, path+"[]", fmt.Sprintf("%s/%d", pointer, i), element)...)
		}

	case map[string]any:
		known := members[request+" "+path]
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if !slices.Contains(known, name) && !slices.Contains(known, name+"!") {
				invalid = append(invalid, fmt.Sprintf("%s: extraneous key [%s] is not permitted", pointer, name))
				continue
			}
			invalid = append(invalid, checkIn(request, inside(path, name), pointer+"/"+name, value[name])...)
		}
		for _, name := range known {
			if mandatory, isMandatory := strings.CutSuffix(name, "!"); isMandatory {
				invalid = append(invalid, missing(value, pointer, memberPath(request, path, mandatory))...)
			}
		}

	case string:
		if !isKnownCode(request, strings.ReplaceAll(path, "[]", ""), value) {
			invalid = append(invalid, fmt.Sprintf("%s: %s is not a valid enum value", pointer, value))
		}
	}
	return invalid
}

func inside(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

// memberPath returns a member as missing reads it: a list that is mandatory has an
// element.
func memberPath(request, path, name string) string {
	if _, isList := members[request+" "+inside(path, name)+"[]"]; isList {
		return name + "[]"
	}
	return name
}

// isKnownCode reports whether a text is one of the codes of its member. The longest
// end of the path that has codes counts.
func isKnownCode(request, path, value string) bool {
	for end := path; ; {
		for _, key := range []string{request + " " + end, "* " + end} {
			if known := codes[key]; known != nil {
				return slices.Contains(known, value)
			}
		}
		_, rest, hasMore := strings.Cut(end, ".")
		if !hasMore {
			break
		}
		end = rest
	}

	name := path[strings.LastIndex(path, ".")+1:]
	switch name {
	case "manufacturerCountry", "issuerCountryCode":
		return emulator.IsCountry(value) || slices.Contains(codes["* countryCode"], value)
	case "declaredValueCurrency", "currency", "currencyCode", "unitPriceCurrencyCode", "customsValueCurrencyCode":
		return emulator.IsCurrency(value)
	}
	return true
}
