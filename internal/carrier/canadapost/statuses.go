package canadapost

import (
	_ "embed"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

//go:embed statuses.tsv
var statusText string

// statuses is what the identifiers of events mean.
var statuses = carrierkit.ParseStatuses(statusText)

// meaning returns what a scan's code means. A delivery to the sender is none to the
// recipient, whatever its identifier.
func meaning(code string) (status ship.Status, reason string, known bool) {
	if identifier, ok := strings.CutSuffix(code, returning); ok {
		if status, _, known := statuses.Meaning(identifier); known && status == ship.Delivered {
			return ship.Exception, "return_to_sender", true
		}
	}
	return statuses.Meaning(code)
}

// cleanCode returns an identifier without characters that none has.
func cleanCode(text string) string {
	const longest = 12

	text = strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, strings.ToUpper(text))
	return text[:min(len(text), longest)]
}
