package httpkit

import (
	"encoding/json"
	"sync"
)

// A NodeKind is the type of a JSON value.
type NodeKind uint8

// The types of JSON values.
const (
	Object NodeKind = iota + 1
	Array
	String
	Number
	True
	False
	Null
)

// A Node is one value of a Document. Positions point into the source.
type Node struct {
	Kind    NodeKind
	Escaped bool  // a string with escapes: its source is not its text
	Runes   int32 // length of a string in characters

	start, end         int32 // of the value; of a string without its quotes
	nameStart, nameEnd int32 // of the member's name without its quotes
	nameHash           uint64
	nameEscaped        bool
	next               int32 // index of the node after this value's last
	count              int32 // members or elements
}

// A Document is a checked JSON text as a flat list of its values, in the order of
// the source. Node 0 is the whole text.
type Document struct {
	src     []byte
	nodes   []Node
	scanner *scanner // that made it, and that Release gives back
}

// Node returns the i-th node.
func (t *Document) Node(i int) *Node { return &t.nodes[i] }

// Len returns the number of members or elements of node i.
func (t *Document) Len(i int) int { return int(t.nodes[i].count) }

// First returns the index of the first child of node i, if it has any.
func (t *Document) First(i int) int { return i + 1 }

// Next returns the index of the value that follows node i and all in it.
func (t *Document) Next(i int) int { return int(t.nodes[i].next) }

// Name returns the name of member i, if it is one.
func (t *Document) Name(i int) []byte {
	node := &t.nodes[i]
	if node.nameEscaped {
		return unescape(t.src[node.nameStart-1 : node.nameEnd+1])
	}
	return t.src[node.nameStart:node.nameEnd]
}

// Text returns the text of string i, or the source of any other scalar.
func (t *Document) Text(i int) []byte {
	node := &t.nodes[i]
	if node.Kind == String && node.Escaped {
		return unescape(t.src[node.start-1 : node.end+1])
	}
	return t.src[node.start:node.end]
}

// unescape reads a quoted string that was checked.
func unescape(quoted []byte) []byte {
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		panic("httpkit: decode a checked string: " + err.Error())
	}
	return []byte(text)
}

// maxKeptNodes is the size of the largest tape that is used again.
const maxKeptNodes = 4096

var scanners = sync.Pool{New: func() any { return new(scanner) }}

// Release gives the tape back for the next request. It must not be used
// afterwards.
func (t *Document) Release() {
	if t == nil || cap(t.nodes) > maxKeptNodes {
		return
	}
	t.src = nil
	scanners.Put(t.scanner)
}
