package amazonshipping

import (
	_ "embed"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

//go:embed statuses.tsv
var statusText string

// statuses is what the codes of events mean.
var statuses = carrierkit.ParseStatuses(statusText)

// meaning returns what a scan's code means.
func meaning(code string) (status ship.Status, reason string, known bool) {
	return statuses.Meaning(code)
}

// cleanCode returns a code without characters that no code has.
func cleanCode(text string) string {
	const longest = 48

	text = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, text)
	return text[:min(len(text), longest)]
}
