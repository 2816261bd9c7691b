package dhlexpress

import (
	_ "embed"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

//go:embed statuses.tsv
var statusText string

// statuses is what the codes of checkpoints mean.
var statuses = carrierkit.ParseStatuses(statusText)

// meaning returns what a scan's code means.
func meaning(code string) (status ship.Status, reason string, known bool) {
	return statuses.Meaning(code)
}

// cleanCode returns a code in capitals, without characters that no code has.
func cleanCode(s string) string {
	const longest = 24

	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			return r
		}
		return -1
	}, s)
	return s[:min(len(s), longest)]
}
