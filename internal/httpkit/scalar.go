package httpkit

import (
	"strconv"
	"unicode/utf8"
)

// plain tells the bytes that stand for themselves in a string.
var plain = func() (t [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// str reads a string and stands behind its closing quote.
func (s *scanner) str() (runes int, escaped, ok bool) {
	src := s.tape.src
	for pos := s.pos + 1; ; runes++ {
		from := pos
		for pos < len(src) && plain[src[pos]] {
			pos++
		}
		runes += pos - from
		s.pos = pos
		if pos == len(src) {
			return runes, escaped, s.fail("syntax", "a string has no end")
		}
		switch c := src[pos]; {
		case c == '"':
			s.pos++
			return runes, escaped, true
		case c == '\\':
			escaped = true
			if !s.escape() {
				return runes, true, false
			}
		case c < ' ':
			return runes, escaped, s.fail("syntax", "a string has a bare control character")
		default:
			r, size := utf8.DecodeRune(src[pos:])
			if r == utf8.RuneError && size == 1 {
				return runes, escaped, s.fail("invalid_utf8", "a string is not UTF-8")
			}
			s.pos += size
		}
		pos = s.pos
	}
}

// escape reads one escape: a whole surrogate pair if it begins one.
func (s *scanner) escape() bool {
	src := s.tape.src
	if s.pos+1 >= len(src) {
		return s.fail("syntax", "a string has no end")
	}
	switch src[s.pos+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos += 2
		return true
	case 'u':
	default:
		return s.fail("syntax", "a string has an unknown escape")
	}
	u, ok := hex4(src[s.pos+2:])
	switch {
	case !ok:
		return s.fail("syntax", "a string has an unknown escape")
	case u == 0:
		return s.fail("nul_character", "a string has the character U+0000")
	case u < 0xd800 || u > 0xdfff:
		s.pos += 6
		return true
	}
	rest := src[s.pos+6:]
	if u < 0xdc00 && len(rest) > 1 && rest[0] == '\\' && rest[1] == 'u' {
		if low, ok := hex4(rest[2:]); ok && low >= 0xdc00 && low <= 0xdfff {
			s.pos += 12
			return true
		}
	}
	return s.fail("lone_surrogate", "a string has half of a surrogate pair")
}

func hex4(b []byte) (uint32, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var v uint32
	for _, c := range b[:4] {
		v <<= 4
		switch {
		case c >= '0' && c <= '9':
			v |= uint32(c - '0')
		case c >= 'a' && c <= 'f':
			v |= uint32(c - 'a' + 10)
		case c >= 'A' && c <= 'F':
			v |= uint32(c - 'A' + 10)
		default:
			return 0, false
		}
	}
	return v, true
}

// number reads a number of the JSON grammar that a float can hold.
func (s *scanner) number() bool {
	start := s.pos
	if s.peek() == '-' {
		s.pos++
	}
	switch {
	case s.peek() == '0':
		s.pos++
	case !s.digits():
		return s.fail("syntax", "a number is not written as JSON writes numbers")
	}
	short := s.pos-start < 300
	if s.peek() == '.' {
		s.pos++
		if !s.digits() {
			return s.fail("syntax", "a number is not written as JSON writes numbers")
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		short = false
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		if !s.digits() {
			return s.fail("syntax", "a number is not written as JSON writes numbers")
		}
	}
	if !short {
		if _, err := strconv.ParseFloat(string(s.tape.src[start:s.pos]), 64); err != nil {
			return s.fail("number_out_of_range", "a number is too large")
		}
	}
	return true
}

// digits reads at least one digit.
func (s *scanner) digits() bool {
	start := s.pos
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.pos++
	}
	return s.pos > start
}
