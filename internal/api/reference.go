package api

import (
	"encoding/json"
	"strings"
)

// Reference returns the reference of the API at baseURL as JSON, from which the
// dashboard renders its own page. API keys are written as $WAYBILL_KEY.
func Reference(baseURL string) ([]byte, error) {
	base := strings.TrimRight(baseURL, "/")
	doc, err := newServer(Config{BaseURL: base}).document()
	if err != nil {
		return nil, err
	}
	return json.Marshal(doc.groups(base))
}
