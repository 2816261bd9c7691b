package routing

import (
	"slices"
	"sync"

	"github.com/maypok86/otter/v2"
)

// What is remembered of conditions, by their text: a book of hundreds of rules
// is checked whole whenever one of them changes. The same text always means
// the same, and nothing that is remembered changes.
var (
	compiled = sync.OnceValue(func() *otter.Cache[string, *condition] { return remember[*condition](64) })
	simples  = sync.OnceValue(func() *otter.Cache[string, *simpleRead] { return remember[*simpleRead](8) })
)

// memory is how much each memo may take, in bytes, by a rough estimate.
const memory = 32 << 20

// remember is a memo of texts whose meaning takes about so many bytes for each
// of theirs, and some for each text. It holds pointers: for all of them the
// cache is compiled once.
func remember[V any](times int) *otter.Cache[string, V] {
	return otter.Must(&otter.Options[string, V]{
		MaximumWeight: memory,
		Weigher:       func(text string, _ V) uint32 { return uint32(512 + times*len(text)) },
	})
}

// compileCondition checks one condition. What is wrong is not remembered: it
// is on its way to be mended.
func compileCondition(source string) (*condition, *problem) {
	if c, ok := compiled().GetIfPresent(source); ok {
		return c, nil
	}
	c, wrong := compileText(source)
	if wrong == nil {
		compiled().Set(source, c)
	}
	return c, wrong
}

// simpleRead is what ReadSimple answers.
type simpleRead struct {
	Simple
	ok bool
}

// ReadSimple reads a condition as a simple one; false if it is not. What it
// reads has variables, tests and values that fit each other, and may still be
// refused by Compile, as a country that there is not. A condition with a
// comment is not simple: nothing of it may get lost.
func ReadSimple(source string) (Simple, bool) {
	read, known := simples().GetIfPresent(source)
	if !known {
		read = &simpleRead{}
		read.Simple, read.ok = readSimple(source)
		if len(source) <= 4*MaxCondition { // longer than any condition
			simples().Set(source, read)
		}
	}
	s := Simple{Any: read.Any, Clauses: slices.Clone(read.Clauses)}
	for i := range s.Clauses {
		s.Clauses[i].Values = slices.Clone(s.Clauses[i].Values) // the caller's own
	}
	return s, read.ok
}
