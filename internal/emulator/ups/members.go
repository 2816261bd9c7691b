package ups

import (
	_ "embed"

	"github.com/waybillhq/waybill/internal/emulator"
)

//go:embed members.tsv
var memberText string

var memberTable = emulator.ParseMembers(memberText)

// checkMembers checks a body that should be an object of the kind. Rules that have an
// error code of their own are checked before. The code 120011 is the emulator's: UPS has
// one for each member.
func checkMembers(kind string, body []byte) (refusal, bool) {
	if problem := memberTable.Check(kind, body); problem != "" {
		return flaw("120011", "Missing or invalid member: "+problem)
	}
	return fine()
}
