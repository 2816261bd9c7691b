package httpkit

import (
	"strconv"
	"unicode/utf8"
)

// plain marks the bytes that stand for themselves in a string.
var plain = func() (table [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		table[c] = c != '"' && c != '\\'
	}
	return table
}()

// scanString reads a string and moves behind its closing quote.
func (s *scanner) scanString() (runes int, escaped, ok bool) {
	src := s.tape.src
	for pos := s.pos + 1; ; runes++ {
		// Most strings are one run of plain bytes.
		start := pos
		for pos < len(src) && plain[src[pos]] {
			pos++
		}
		runes += pos - start
		s.pos = pos
		if pos == len(src) {
			return runes, escaped, s.fail("syntax", "a string is not terminated")
		}

		switch c := src[pos]; {
		case c == '"':
			s.pos++
			return runes, escaped, true
		case c == '\\':
			escaped = true
			if !s.scanEscape() {
				return runes, true, false
			}
		case c < ' ':
			return runes, escaped, s.fail("syntax", "a string contains an unescaped control character")
		default:
			r, size := utf8.DecodeRune(src[pos:])
			if r == utf8.RuneError && size == 1 {
				return runes, escaped, s.fail("invalid_utf8", "a string is not valid UTF-8")
			}
			s.pos += size
		}
		pos = s.pos
	}
}

// scanEscape reads one escape, with the second half of a surrogate pair if it
// begins one.
func (s *scanner) scanEscape() bool {
	src := s.tape.src
	if s.pos+1 >= len(src) {
		return s.fail("syntax", "a string is not terminated")
	}
	switch src[s.pos+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos += 2
		return true
	case 'u':
	default:
		return s.fail("syntax", "a string contains an invalid escape sequence")
	}

	unit, ok := hex4(src[s.pos+2:])
	switch {
	case !ok:
		return s.fail("syntax", "a string contains an invalid escape sequence")
	case unit == 0:
		return s.fail("nul_character", "contains the character U+0000; remove it") // Postgres cannot store it
	case unit < 0xd800 || unit > 0xdfff:
		s.pos += 6
		return true
	}

	// A high surrogate counts only with the low one that follows it. Readers of
	// JSON disagree on what half a pair means.
	rest := src[s.pos+6:]
	if unit < 0xdc00 && len(rest) > 1 && rest[0] == '\\' && rest[1] == 'u' {
		if low, ok := hex4(rest[2:]); ok && low >= 0xdc00 && low <= 0xdfff {
			s.pos += 12
			return true
		}
	}
	return s.fail("lone_surrogate", "a string contains an unpaired surrogate")
}

// hex4 reads four hexadecimal digits.
func hex4(text []byte) (uint32, bool) {
	if len(text) < 4 {
		return 0, false
	}

	var value uint32
	for _, c := range text[:4] {
		value <<= 4
		switch {
		case c >= '0' && c <= '9':
			value |= uint32(c - '0')
		case c >= 'a' && c <= 'f':
			value |= uint32(c - 'a' + 10)
		case c >= 'A' && c <= 'F':
			value |= uint32(c - 'A' + 10)
		default:
			return 0, false
		}
	}
	return value, true
}

// scanNumber reads a number of the JSON grammar that a float can hold.
func (s *scanner) scanNumber() bool {
	start := s.pos
	if s.peek() == '-' {
		s.pos++
	}
	switch {
	case s.peek() == '0':
		s.pos++
	case !s.scanDigits():
		return s.fail("syntax", "a number is not valid JSON; write it as 12, -3.5 or 1e6")
	}

	// A float holds any number with fewer than 300 digits before the point,
	// unless it has an exponent.
	fits := s.pos-start < 300
	if s.peek() == '.' {
		s.pos++
		if !s.scanDigits() {
			return s.fail("syntax", "a number is not valid JSON; write it as 12, -3.5 or 1e6")
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		fits = false
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		if !s.scanDigits() {
			return s.fail("syntax", "a number is not valid JSON; write it as 12, -3.5 or 1e6")
		}
	}

	if !fits {
		if _, err := strconv.ParseFloat(string(s.tape.src[start:s.pos]), 64); err != nil {
			return s.fail("number_out_of_range", "a number is too large")
		}
	}
	return true
}

// scanDigits reads at least one digit.
func (s *scanner) scanDigits() bool {
	start := s.pos
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.pos++
	}
	return s.pos > start
}
