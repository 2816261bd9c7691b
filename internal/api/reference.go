package api

import (
	"encoding/json"
	"strings"
)

// Reference is the reference of the API at baseURL as JSON: what the
// dashboard's own page of it is made from. Keys stand as $WAYBILL_KEY.
func Reference(baseURL string) ([]byte, error) {
	base := strings.TrimRight(baseURL, "/")
	doc, err := newServer(Config{BaseURL: base}).document()
	if err != nil {
		return nil, err
	}
	return json.Marshal(doc.groups(base))
}
