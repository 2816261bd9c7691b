package routing

import (
	"slices"
	"sync"

	"github.com/maypok86/otter/v2"
)

// Conditions are cached by their text: a book of hundreds of rules is checked
// as a whole whenever one of them changes. The same text always means the same,
// and cached values never change.
var (
	compiledConditions = sync.OnceValue(func() *otter.Cache[string, *condition] { return newCache[*condition](64) })
	simpleConditions   = sync.OnceValue(func() *otter.Cache[string, *simpleRead] { return newCache[*simpleRead](8) })
)

// cacheBytes is how much each cache may hold, by a rough estimate.
const cacheBytes = 32 << 20

// newCache returns a cache by text. An entry takes about factor bytes for each
// byte of its text, and some for itself. Its values are pointers, so the
// compiler instantiates the cache's code only once.
func newCache[V any](factor int) *otter.Cache[string, V] {
	return otter.Must(&otter.Options[string, V]{
		MaximumWeight: cacheBytes,
		Weigher:       func(text string, _ V) uint32 { return uint32(512 + factor*len(text)) },
	})
}

// compileCondition checks one condition. Errors are not cached: the condition
// is about to be corrected.
func compileCondition(source string) (*condition, *problem) {
	if cached, ok := compiledConditions().GetIfPresent(source); ok {
		return cached, nil
	}

	compiled, found := compileText(source)
	if found == nil {
		compiledConditions().Set(source, compiled)
	}
	return compiled, found
}

// simpleRead is the result of ReadSimple.
type simpleRead struct {
	Simple
	ok bool
}

// ReadSimple reads a condition as a simple one; false if it is not. What it
// reads has variables, tests and values that fit each other, and may still be
// rejected by Compile, such as an unknown country. A condition with a comment
// is not simple: nothing of it may get lost.
func ReadSimple(source string) (Simple, bool) {
	read, cached := simpleConditions().GetIfPresent(source)
	if !cached {
		read = &simpleRead{}
		read.Simple, read.ok = readSimple(source)
		if len(source) <= 4*MaxCondition { // longer than any condition
			simpleConditions().Set(source, read)
		}
	}

	// The caller may modify its copy; the cached one is shared.
	simple := Simple{Any: read.Any, Clauses: slices.Clone(read.Clauses)}
	for i := range simple.Clauses {
		simple.Clauses[i].Values = slices.Clone(simple.Clauses[i].Values)
	}
	return simple, read.ok
}
