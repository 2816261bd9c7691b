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
// are too deep or too long. The error is Invalid with code malformed_json, or
// validation_failed for U+0000, and points at the place where that is possible.
func ParseJSON(src []byte) (*Document, error) {
	s := scanners.Get().(*scanner)
	s.tape = Document{src: src, nodes: s.tape.nodes[:0], scanner: s}
	s.pos = 0
	s.depth = 0
	s.betweenChildren = false
	s.failedName = nil

	s.skipSpace()
	if s.scanValue(Node{}) {
		s.skipSpace()
		if s.pos == len(src) {
			return &s.tape, nil
		}
		s.fail("trailing_data", "there is data after the end of the JSON value")
	}

	// U+0000 is valid JSON, but no field takes it.
	fields := []ship.FieldError{{Pointer: s.pointer(), Code: s.code, Detail: s.detail}}
	err := ship.InvalidFields(fields)
	if s.code != "nul_character" {
		err = &ship.Error{
			Kind:    ship.Invalid,
			Code:    "malformed_json",
			Message: "the JSON body is not valid: " + s.detail,
			Fields:  fields,
		}
	}
	s.tape.Release()
	return nil, err
}

// scanner is a single pass over a JSON text.
type scanner struct {
	tape         Document
	pos          int
	depth        int
	containers   [maxDepth]int // nodes of the objects and arrays around pos
	code, detail string        // of the first failure

	// Where the failure is, beside the containers around it.
	betweenChildren bool   // it is not inside of the last child
	failedName      []byte // the name that it is about, if any
}

func (s *scanner) fail(code, detail string) bool {
	s.code = code
	s.detail = detail
	return false
}

func (s *scanner) skipSpace() {
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

// scanValue reads one value; node has its name, if it is a member.
func (s *scanner) scanValue(node Node) bool {
	if len(s.tape.nodes) == maxNodes {
		s.betweenChildren = true
		return s.fail("too_many_values", "there are more than 10000 values")
	}
	i := len(s.tape.nodes)
	node.start = int32(s.pos)
	s.tape.nodes = append(s.tape.nodes, node)

	ok := false
	switch c := s.peek(); {
	case c == '"':
		return s.scanStringValue(i)
	case c == '{' || c == '[':
		return s.scanContainer(i, c)
	case c == 't':
		ok = s.scanLiteral(i, "true", True)
	case c == 'f':
		ok = s.scanLiteral(i, "false", False)
	case c == 'n':
		ok = s.scanLiteral(i, "null", Null)
	case c == '-' || c >= '0' && c <= '9':
		s.tape.nodes[i].Kind = Number
		ok = s.scanNumber()
	default:
		return s.fail("syntax", "expected a value")
	}

	s.tape.nodes[i].end = int32(s.pos)
	s.tape.nodes[i].next = int32(i + 1)
	return ok
}

func (s *scanner) scanStringValue(i int) bool {
	start := s.pos + 1
	runes, escaped, ok := s.scanString()

	node := &s.tape.nodes[i]
	node.Kind = String
	node.Runes = int32(runes)
	node.Escaped = escaped
	node.start = int32(start)
	node.end = int32(s.pos - 1)
	node.next = int32(i + 1)
	return ok
}

func (s *scanner) scanLiteral(i int, word string, kind NodeKind) bool {
	if !bytes.HasPrefix(s.tape.src[s.pos:], []byte(word)) {
		return s.fail("syntax", "expected a value")
	}
	s.pos += len(word)
	s.tape.nodes[i].Kind = kind
	return true
}

// scanContainer reads an object or an array.
func (s *scanner) scanContainer(i int, opening byte) bool {
	if s.depth == maxDepth {
		return s.fail("too_deep", "values are nested more than 32 levels deep")
	}
	s.containers[s.depth] = i
	s.depth++
	s.pos++

	kind := Object
	closing := byte('}')
	if opening == '[' {
		kind = Array
		closing = ']'
	}
	s.tape.nodes[i].Kind = kind

	s.skipSpace()
	for first := true; s.peek() != closing; first = false {
		if !first && !s.scanComma() {
			return false
		}
		if !s.scanChild(i, kind) {
			return false
		}
		s.skipSpace()
	}

	s.pos++
	s.depth--
	s.tape.nodes[i].end = int32(s.pos)
	s.tape.nodes[i].next = int32(len(s.tape.nodes))
	return true
}

func (s *scanner) scanComma() bool {
	if s.peek() != ',' {
		s.betweenChildren = true
		return s.fail("syntax", "expected a comma or a closing bracket")
	}
	s.pos++
	s.skipSpace()
	return true
}

// scanChild reads the next member or element of container i.
func (s *scanner) scanChild(i int, kind NodeKind) bool {
	var node Node
	if kind == Object {
		s.betweenChildren = true
		if s.tape.nodes[i].count == maxMembers {
			return s.fail("too_many_members", "an object has more than 512 members")
		}
		if !s.scanName(i, &node) {
			return false
		}
		s.betweenChildren = false
	}

	s.tape.nodes[i].count++
	return s.scanValue(node)
}

// scanName reads a member's name and colon, and compares it with those before
// it.
func (s *scanner) scanName(object int, node *Node) bool {
	if s.peek() != '"' {
		return s.fail("syntax", "expected a key in double quotes")
	}
	start := s.pos + 1
	_, escaped, ok := s.scanString()
	if !ok {
		return false
	}
	node.nameStart = int32(start)
	node.nameEnd = int32(s.pos - 1)
	node.nameEscaped = escaped
	node.nameHash = foldedHash(s.tape.src[start:s.pos-1], escaped)

	// Readers of JSON differ in which of two equal names counts, so a repeated
	// name is refused.
	member := object + 1
	for range s.tape.nodes[object].count {
		if s.tape.nodes[member].nameHash == node.nameHash {
			s.failedName = s.tape.Name(member)
			return s.fail("duplicate_name", "an object has the same key twice; keys are case-insensitive")
		}
		member = int(s.tape.nodes[member].next)
	}

	s.skipSpace()
	if s.peek() != ':' {
		return s.fail("syntax", "expected a colon")
	}
	s.pos++
	s.skipSpace()
	return true
}

// foldedHash returns the same for names that are equal but for case. Different
// names have the same hash once in 2^64; then the request is refused, which
// is the safe side.
func foldedHash(name []byte, escaped bool) uint64 {
	if escaped {
		name = unescape(append(append([]byte{'"'}, name...), '"'))
	}

	hash := uint64(14695981039346656037) // FNV-1a, a rune at a time
	for i := 0; i < len(name); {
		r := rune(name[i])
		size := 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(name[i:])
		}
		hash = (hash ^ uint64(fold(r))) * 1099511628211
		i += size
	}
	return hash
}

// fold returns the least rune that r equals but for case.
func fold(r rune) rune {
	if r < utf8.RuneSelf {
		if 'a' <= r && r <= 'z' {
			r -= 'a' - 'A'
		}
		return r
	}

	// SimpleFold goes through the equal runes in a circle, so the first step
	// downwards leads to the least.
	for {
		next := unicode.SimpleFold(r)
		if next <= r {
			return next
		}
		r = next
	}
}

// pointer returns the JSON pointer of the place where the scan stopped.
func (s *scanner) pointer() string {
	var pointer []byte
	for level := range s.depth {
		container := &s.tape.nodes[s.containers[level]]
		if container.count == 0 || s.betweenChildren && level == s.depth-1 {
			break
		}
		if container.Kind == Array {
			pointer = strconv.AppendInt(append(pointer, '/'), int64(container.count-1), 10)
			continue
		}

		child := s.containers[level] + 1
		for range container.count - 1 {
			child = int(s.tape.nodes[child].next)
		}
		pointer = ship.AppendPointer(pointer, s.tape.Name(child))
	}

	if s.failedName != nil {
		pointer = ship.AppendPointer(pointer, s.failedName)
	}
	return string(pointer)
}
