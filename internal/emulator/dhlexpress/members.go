package dhlexpress

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
)

//go:embed members.tsv
var memberText string

// members are the names that each object of a request may have, by the request and
// the object's path.
var members = parseMembers(memberText)

func parseMembers(text string) map[string][]string {
	table := map[string][]string{}
	for line := range strings.Lines(text) {
		columns := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(columns) == 3 {
			table[columns[0]+" "+strings.TrimPrefix(columns[1], "-")] = strings.Fields(columns[2])
		}
	}
	return table
}

// unknownMembers lists the members that DHL does not read, in the words of its own
// check. Names are case-sensitive.
func unknownMembers(request string, doc map[string]any) []string {
	return unknownIn(request, "", "#", doc)
}

func unknownIn(request, path, pointer string, value any) (invalid []string) {
	switch value := value.(type) {
	case []any:
		for i, element := range value {
			invalid = append(invalid, unknownIn(request, path+"[]", fmt.Sprintf("%s/%d", pointer, i), element)...)
		}

	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if !slices.Contains(members[request+" "+path], name) {
				invalid = append(invalid, fmt.Sprintf("%s: extraneous key [%s] is not permitted", pointer, name))
				continue
			}
			below := strings.TrimPrefix(path+"."+name, ".")
			invalid = append(invalid, unknownIn(request, below, pointer+"/"+name, value[name])...)
		}
	}
	return invalid
}
