package web

import "net/http"

// Pages lists the paths of everything that can be viewed, as the mux has them,
// public pages included. Tools that measure the dashboard or take screenshots
// of it walk this list, so no page is left out.
func Pages() []string {
	var list []string
	for _, page := range table(Config{}) {
		if page.Method == http.MethodGet && !page.Moved {
			list = append(list, page.Path)
		}
	}
	return list
}
