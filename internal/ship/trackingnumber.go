package ship

import "strings"

// NormalizeTrackingNumber returns a tracking number as it is stored and looked
// up: upper case, without spaces and hyphens. It does not judge it.
func NormalizeTrackingNumber(s string) string {
	s = strings.Map(func(r rune) rune {
		switch r {
		case ' ', '-', '\t', '\n', '\r', '\u00a0', '\u2010', '\u2011', '\u2012', '\u2013':
			return -1
		}
		return r
	}, s)
	return upperASCII(s)
}
