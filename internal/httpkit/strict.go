package httpkit

import (
	"bytes"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/ship"
)

// The limits of a JSON text.
const (
	maxDepth   = 32
	maxMembers = 512    // of one object; names are compared with each other
	maxNodes   = 10_000 // in all
)

// ParseJSON checks that src is one JSON value and nothing else, and returns it
// as a tape that is valid as long as src is. It refuses what readers of JSON
// understand differently: repeated names, names that differ only in case,
// broken UTF-8, lone surrogates, U+0000, numbers beyond a float, and texts that
// are too deep or too long. The error is Invalid with code malformed_json and,
// where possible, points at the place.
func ParseJSON(src []byte) (*Tape, error) {
	s := scanners.Get().(*scanner)
	s.tape = Tape{src: src, nodes: s.tape.nodes[:0], home: s}
	s.pos, s.depth, s.between, s.member = 0, 0, false, nil
	s.space()
	if s.value(Node{}) {
		s.space()
		if s.pos == len(src) {
			return &s.tape, nil
		}
		s.fail("trailing_data", "there is something after the end of the JSON value")
	}
	err := &ship.Error{
		Kind: ship.Invalid, Code: "malformed_json", Message: "the body is not the JSON that is expected: " + s.detail,
		Fields: []ship.FieldError{{Pointer: s.pointer(), Code: s.code, Detail: s.detail}},
	}
	s.tape.Release()
	return nil, err
}

// scanner is a single pass over a JSON text.
type scanner struct {
	tape         Tape
	pos          int
	depth        int
	open         [maxDepth]int // nodes of the containers around pos
	code, detail string        // of the first failure
	between      bool          // it is not inside of the last child
	member       []byte        // then the name it is about, if any
}

func (s *scanner) fail(code, detail string) bool {
	s.code, s.detail = code, detail
	return false
}

func (s *scanner) space() {
	src := s.tape.src
	for s.pos < len(src) && (src[s.pos] == ' ' || src[s.pos] == '\n' || src[s.pos] == '\t' || src[s.pos] == '\r') {
		s.pos++
	}
}

func (s *scanner) peek() byte {
	if s.pos < len(s.tape.src) {
		return s.tape.src[s.pos]
	}
	return 0 // no value begins with it
}

// value reads one value; n has its name, if it is a member.
func (s *scanner) value(n Node) bool {
	if len(s.tape.nodes) == maxNodes {
		s.between = true
		return s.fail("too_many_values", "there are more than 10000 values")
	}
	i := len(s.tape.nodes)
	n.start = int32(s.pos)
	s.tape.nodes = append(s.tape.nodes, n)
	ok := false
	switch c := s.peek(); {
	case c == '"':
		return s.stringValue(i)
	case c == '{' || c == '[':
		return s.container(i, c)
	case c == 't':
		ok = s.literal(i, "true", True)
	case c == 'f':
		ok = s.literal(i, "false", False)
	case c == 'n':
		ok = s.literal(i, "null", Null)
	case c == '-' || c >= '0' && c <= '9':
		s.tape.nodes[i].Kind = Number
		ok = s.number()
	default:
		return s.fail("syntax", "a value is expected")
	}
	s.tape.nodes[i].end = int32(s.pos)
	s.tape.nodes[i].next = int32(i + 1)
	return ok
}

func (s *scanner) stringValue(i int) bool {
	start := s.pos + 1
	runes, escaped, ok := s.str()
	n := &s.tape.nodes[i]
	n.Kind, n.Runes, n.Escaped = String, int32(runes), escaped
	n.start, n.end, n.next = int32(start), int32(s.pos-1), int32(i+1)
	return ok
}

func (s *scanner) literal(i int, word string, kind NodeKind) bool {
	if !bytes.HasPrefix(s.tape.src[s.pos:], []byte(word)) {
		return s.fail("syntax", "a value is expected")
	}
	s.pos += len(word)
	s.tape.nodes[i].Kind = kind
	return true
}

func (s *scanner) container(i int, opening byte) bool {
	if s.depth == maxDepth {
		return s.fail("too_deep", "values are nested more than 32 deep")
	}
	s.open[s.depth] = i
	s.depth++
	s.pos++
	kind, closing := Object, byte('}')
	if opening == '[' {
		kind, closing = Array, ']'
	}
	s.tape.nodes[i].Kind = kind
	s.space()
	for first := true; s.peek() != closing; first = false {
		if !first && !s.comma() {
			return false
		}
		if !s.child(i, kind) {
			return false
		}
		s.space()
	}
	s.pos++
	s.depth--
	s.tape.nodes[i].end = int32(s.pos)
	s.tape.nodes[i].next = int32(len(s.tape.nodes))
	return true
}

func (s *scanner) comma() bool {
	if s.peek() != ',' {
		s.between = true
		return s.fail("syntax", "a comma or the end is expected")
	}
	s.pos++
	s.space()
	return true
}

// child reads the next member or element of container i.
func (s *scanner) child(i int, kind NodeKind) bool {
	var n Node
	if kind == Object {
		s.between = true
		if s.tape.nodes[i].count == maxMembers {
			return s.fail("too_many_members", "an object has more than 512 members")
		}
		if !s.name(i, &n) {
			return false
		}
		s.between = false
	}
	s.tape.nodes[i].count++
	return s.value(n)
}

// name reads a member's name and colon, and compares it with those before it.
func (s *scanner) name(object int, n *Node) bool {
	if s.peek() != '"' {
		return s.fail("syntax", "a name in quotes is expected")
	}
	start := s.pos + 1
	_, escaped, ok := s.str()
	if !ok {
		return false
	}
	n.nameStart, n.nameEnd, n.nameEscaped = int32(start), int32(s.pos-1), escaped
	n.nameHash = foldedHash(s.tape.src[start:s.pos-1], escaped)
	at := object + 1
	for range s.tape.nodes[object].count {
		if s.tape.nodes[at].nameHash == n.nameHash {
			s.member = s.tape.Name(at)
			return s.fail("duplicate_name", "an object has the same name twice; case does not tell names apart")
		}
		at = int(s.tape.nodes[at].next)
	}
	s.space()
	if s.peek() != ':' {
		return s.fail("syntax", "a colon is expected")
	}
	s.pos++
	s.space()
	return true
}

// foldedHash is the same for names that are equal but for case. Different
// names have the same hash once in 2^64; then the request is refused, which
// is the safe side.
func foldedHash(name []byte, escaped bool) uint64 {
	if escaped {
		name = unescape(append(append([]byte{'"'}, name...), '"'))
	}
	h := uint64(14695981039346656037)
	for i := 0; i < len(name); {
		r, size := rune(name[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(name[i:])
		}
		h = (h ^ uint64(fold(r))) * 1099511628211
		i += size
	}
	return h
}

// fold is the least rune that r equals but for case.
func fold(r rune) rune {
	if r < utf8.RuneSelf {
		if 'a' <= r && r <= 'z' {
			r -= 'a' - 'A'
		}
		return r
	}
	for {
		next := unicode.SimpleFold(r)
		if next <= r {
			return next
		}
		r = next
	}
}

// pointer is the JSON pointer of the place where the scan stands.
func (s *scanner) pointer() string {
	var b []byte
	for d := range s.depth {
		n := &s.tape.nodes[s.open[d]]
		if n.count == 0 || s.between && d == s.depth-1 {
			break
		}
		if n.Kind == Array {
			b = strconv.AppendInt(append(b, '/'), int64(n.count-1), 10)
			continue
		}
		child := s.open[d] + 1
		for range n.count - 1 {
			child = int(s.tape.nodes[child].next)
		}
		b = AppendPointer(b, s.tape.Name(child))
	}
	if s.member != nil {
		b = AppendPointer(b, s.member)
	}
	return string(b)
}

// AppendPointer appends a name to a JSON pointer.
func AppendPointer(b, name []byte) []byte {
	b = append(b, '/')
	for _, c := range name {
		switch c {
		case '~':
			b = append(b, "~0"...)
		case '/':
			b = append(b, "~1"...)
		default:
			b = append(b, c)
		}
	}
	return b
}
