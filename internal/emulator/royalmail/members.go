package royalmail

import (
	_ "embed"
	"encoding/json"
	"io"
	"net/http"

	"github.com/waybillhq/waybill/internal/emulator"
)

//go:embed members.tsv
var memberText string

var members = emulator.ParseMembers(memberText)

// read reads the body of a request into v, if it is an object of the kind; else it
// answers with what is wrong.
func read(w http.ResponseWriter, r *http.Request, kind string, v any) bool {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	problem := "The request is not valid."
	if err == nil {
		problem = members.Check(kind, body)
	}
	if problem == "" && json.Unmarshal(body, v) != nil {
		problem = "The request is not valid."
	}
	if problem != "" {
		refuse(w, http.StatusBadRequest, "ValidationError", problem)
		return false
	}
	return true
}
