package fedex

import (
	_ "embed"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

//go:embed statuses.tsv
var statusText string

// statuses is what the codes mean.
var statuses = carrierkit.ParseStatuses(statusText)

// derivedCode stands before a code of FedEx's coarser vocabulary.
const derivedCode = "DERIVED"

// meaning returns what a scan's code means: "DY/A52/WEATHER" is a delay of the
// exception A52 because of the weather. The cause of a delay is more specific
// than the exception, and both are more specific than the type of the event.
func meaning(code string) (status ship.Status, reason string, known bool) {
	parts := strings.Split(code, "/")
	names := []string{code}
	if len(parts) > 1 && len(parts) <= maxParts {
		for i := len(parts) - 1; i > 0; i-- {
			names = append(names, parts[0]+"/"+parts[i])
		}
		names = append(names, parts[0])
	}
	return statuses.Meaning(names...)
}

// deliveredToSender is the code of the delivery of a parcel that was returned.
const deliveredToSender = delivered + "/RETURN"

// maxParts is how many parts a code has at most.
const maxParts = 3

// scanCode builds a code from the parts of an event; empty if it has none.
func (e *scanEvent) scanCode() string {
	kind := cleanCode(e.Type)
	if kind == "" {
		if coarse := cleanCode(e.Derived); coarse != "" {
			return derivedCode + "/" + coarse
		}
		return ""
	}

	if kind == delivered && e.isReturned {
		return deliveredToSender
	}
	for _, detail := range []string{e.Exception, e.Delay.Type} {
		if detail = cleanCode(detail); detail != "" {
			kind += "/" + detail
		}
	}
	return kind
}

// cleanCode returns a part of a code in capitals, without characters that no
// code has.
func cleanCode(s string) string {
	const longest = 24

	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return -1
	}, s)
	return s[:min(len(s), longest)]
}
