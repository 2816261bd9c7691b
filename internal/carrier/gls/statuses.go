package gls

import (
	_ "embed"
	"regexp"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

//go:embed statuses.tsv
var statusText string

// statuses is what the statuses of parcels, the events and their groups mean.
var statuses = carrierkit.ParseStatuses(statusText)

// meaning returns what a scan's code means: the status of a parcel, "DELIVERED", or
// the code of an event, "DELIVD.PARCELSHOP", by itself or else by its group before
// the point.
func meaning(code string) (status ship.Status, reason string, known bool) {
	if strings.HasSuffix(code, returned) {
		return statuses.Meaning(returned)
	}
	group, _, _ := strings.Cut(code, ".")
	return statuses.Meaning(code, group)
}

// returned follows the code of an event whose words say that the parcel goes back,
// or is back. GLS publishes no code for that, and calls the end of such a journey a
// delivery too.
const returned = "/RETURNED"

// goesBack recognizes such words.
var goesBack = regexp.MustCompile(`(?i)\b(?:return(?:ed|ing|s)?|back)\b.*\b(?:to|by)\b.*\b(?:sender|shipper|consignor)\b|\bdelivered\b.*\bto (?:the )?(?:original )?(?:sender|shipper|consignor)\b`)

// codeOf returns the code of an event, with what its words add.
func codeOf(code, words string) string {
	code = cleanCode(code)
	if code != "" && goesBack.MatchString(words) {
		return code + returned
	}
	return code
}

// cleanCode returns a code in capitals, without characters that no code has.
func cleanCode(s string) string {
	const longest = 32

	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_':
			return r
		}
		return -1
	}, s)
	return s[:min(len(s), longest)]
}
