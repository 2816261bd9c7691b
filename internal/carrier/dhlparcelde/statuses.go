package dhlparcelde

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

// returning marks the code of a parcel that is on its way back to the sender.
const returning = "R"

// meaning returns what a scan's code means: "ZN/NTDEL", "PO" or "ZU/DLVRD/R". The
// kind of the event is more precise than the standard event before it.
func meaning(code string) (status ship.Status, reason string, known bool) {
	code, isReturn := strings.CutSuffix(code, "/"+returning)
	event, _, _ := strings.Cut(code, "/")
	status, reason, known = statuses.Meaning(code, event)
	if !isReturn || status == "" {
		return status, reason, known
	}

	// The recipient of a parcel that comes back is the sender.
	if status == ship.Delivered {
		return statuses.Meaning(event + "/" + returning)
	}
	return ship.Exception, "return_to_sender", true
}

// cleanCode returns a code in capitals, without characters that no code has.
func cleanCode(s string) string {
	const longest = 8

	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return -1
	}, s)
	return s[:min(len(s), longest)]
}
