package fedex

import (
	_ "embed"

	"github.com/waybillhq/waybill/internal/emulator"
)

//go:embed members.tsv
var memberText string

var members = emulator.ParseMembers(memberText)

// checkMembers returns why FedEx refuses a body that should be an object of the kind;
// nil if it reads it. Rules that have an error code of their own are checked before.
func checkMembers(kind string, body []byte) *problem {
	if text := members.Check(kind, body); text != "" {
		return &problem{"INVALID.INPUT.EXCEPTION", "Invalid field value in the input: " + text + "."}
	}
	return nil
}
