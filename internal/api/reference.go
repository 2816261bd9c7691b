package api

import (
	"encoding/json"
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

// An Operation is one operation of the API, for tools that send requests to all
// of them.
type Operation struct {
	ID      string
	Method  string
	Path    string // with the names of its parameters in braces
	MaxBody int64  // bytes of the largest body that is read by default; 0 if none is
	Example []byte // a body, as JSON; nil if there is none
}

// Operations lists every operation.
func Operations() []Operation {
	var list []Operation
	for _, rt := range newServer(Config{}).order {
		operation := Operation{ID: rt.id, Method: rt.method, Path: rt.path}
		if hasBody(rt.method) {
			operation.MaxBody = max(Limits{}.withDefaults().Body, rt.maxBody)
		}
		operation.Example, _ = requestExamples[rt.id].(json.RawMessage)
		list = append(list, operation)
	}
	return list
}
