package web

import (
	"cmp"
	"net/http"

	"github.com/waybillhq/waybill/internal/web/site"
)

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

// A Form is a form that can be sent to the dashboard.
type Form struct {
	Path     string // as the mux has it
	MaxBytes int64  // of the largest request
}

// Forms lists all forms, those of signing in included. Tools that send the
// largest requests walk this list, so no form is left out.
func Forms() []Form {
	var list []Form
	for _, form := range table(Config{}) {
		if form.Method == http.MethodPost {
			list = append(list, Form{Path: form.Path, MaxBytes: cmp.Or(form.MaxBytes, site.MaxForm)})
		}
	}
	return list
}
