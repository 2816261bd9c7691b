package api

import (
	"strings"

	"github.com/waybillhq/waybill/internal/httpkit"
)

// Reference returns the reference of the API at baseURL, from which the
// dashboard renders its own page.
func Reference(baseURL string) ([]httpkit.ReferenceGroup, error) {
	base := strings.TrimRight(baseURL, "/")
	doc, err := newServer(Config{BaseURL: base}).document()
	if err != nil {
		return nil, err
	}
	return doc.groups(base), nil
}
