package sheet

import "slices"

// Vocabulary lists the names of all settings, sections, columns and conditions.
func Vocabulary() []string {
	all := slices.Concat(settings, conditions)
	for _, s := range sections {
		all = append(append(all, "["+s.name+"]"), s.columns...)
	}
	return all
}
