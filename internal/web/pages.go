package web

import "net/http"

// Pages are the paths of everything that can be looked at, as the mux has
// them, those for everybody included: whoever measures or pictures the
// dashboard walks them, so that no page is left out.
func Pages() []string {
	var list []string
	for _, rt := range (&Web{}).table() {
		if rt.method == http.MethodGet {
			list = append(list, rt.path)
		}
	}
	return list
}
