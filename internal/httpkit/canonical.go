package httpkit

import (
	"bytes"
	"crypto/sha256"
	"slices"
)

// Fingerprint tells requests apart under one idempotency key: the SHA-256 of
// method, path and the body in canonical form, in which the order of names and
// the space between values do not matter. Body may be nil.
func Fingerprint(method, path string, body *Document) [32]byte {
	return FingerprintWithout("", method, path, body)
}

// FingerprintWithout is Fingerprint of a request whose body does not have the
// member.
func FingerprintWithout(member, method, path string, body *Document) [32]byte {
	buf := make([]byte, 0, 2048)
	buf = append(buf, method...)
	buf = append(buf, ' ')
	buf = append(buf, path...)
	buf = append(buf, '\n')
	if body != nil {
		buf = body.appendCanonicalWithout(member, buf)
	}
	return sha256.Sum256(buf)
}

// AppendCanonical appends the text with sorted names, no space and one way to
// write each string. Numbers stay as written.
func (t *Document) AppendCanonical(dst []byte) []byte { return t.canonicalValue(dst, 0) }

// appendCanonicalWithout is AppendCanonical without a member of the outermost
// object; "" for none.
func (t *Document) appendCanonicalWithout(member string, dst []byte) []byte {
	if member == "" || t.nodes[0].Kind != Object {
		return t.canonicalValue(dst, 0)
	}
	return t.canonicalObject(dst, 0, member)
}

func (t *Document) canonicalValue(dst []byte, i int) []byte {
	node := &t.nodes[i]
	switch node.Kind {
	case Object:
		return t.canonicalObject(dst, i, "")

	case Array:
		dst = append(dst, '[')
		element := t.First(i)
		for k := range t.Len(i) {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = t.canonicalValue(dst, element)
			element = t.Next(element)
		}
		return append(dst, ']')

	case String:
		return appendQuoted(dst, t.Text(i), node.Escaped)
	}
	return append(dst, t.Text(i)...)
}

// canonicalObject appends an object without the member of a name; "" for none.
func (t *Document) canonicalObject(dst []byte, i int, without string) []byte {
	var room [32]int // on the stack, enough for most objects
	order := room[:0]
	member := t.First(i)
	for range t.Len(i) {
		if without == "" || string(t.Name(member)) != without {
			order = append(order, member)
		}
		member = t.Next(member)
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(t.Name(a), t.Name(b)) })

	dst = append(dst, '{')
	for k, member := range order {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = appendQuoted(dst, t.Name(member), t.nodes[member].nameEscaped)
		dst = append(dst, ':')
		dst = t.canonicalValue(dst, member)
	}
	return append(dst, '}')
}

// appendQuoted writes text in its one canonical way: only quotes, backslashes
// and control characters are escaped. Text without escapes in the source has
// none of these.
func appendQuoted(dst, text []byte, escaped bool) []byte {
	dst = append(dst, '"')
	if !escaped {
		return append(append(dst, text...), '"')
	}

	const hex = "0123456789abcdef"
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
