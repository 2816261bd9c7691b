package routing

import (
	"math"
	"strconv"

	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/types"
)

// The most that conditions may cost, in the language's steps, by an estimate
// over the largest inputs: maxQuotes offers, ship.MaxMetadata values, the
// longest texts. What cannot be bounded is refused, so nothing is counted when
// a condition runs. A step takes some 30 ns, of a pattern up to 150: a decision
// over a hostile book at its limit ends within tens of milliseconds.
const (
	maxCost     = 20_000  // one condition
	maxBookCost = 500_000 // all of a book together
)

func steps(n uint64) string {
	if n == math.MaxUint64 {
		return "endless"
	}
	return strconv.FormatUint(n, 10)
}

// sizes tells the language how large its inputs can be.
type sizes struct{}

// EstimateSize is the size of a variable, or of a part of one.
func (sizes) EstimateSize(n cost.AstNode) *cost.SizeEstimate {
	path := n.Path()
	if len(path) == 0 {
		return nil
	}
	i, ok := place[path[0]]
	if !ok {
		return nil
	}
	if len(path) == 1 {
		return &cost.SizeEstimate{Max: variables[i].size}
	}
	switch {
	case n.Type().Kind() == types.StringKind && variables[i].Type == mapType:
		return &cost.SizeEstimate{Max: noteSize}
	case n.Type().Kind() == types.StringKind:
		return &cost.SizeEstimate{Max: lineSize}
	}
	return &cost.SizeEstimate{Min: 1, Max: 1}
}

// EstimateCallCost is the cost of the functions that the language does not
// know the cost of.
func (s sizes) EstimateCallCost(function, _ string, target *cost.AstNode, args []cost.AstNode) *cost.CallEstimate {
	var on cost.AstNode
	switch {
	case target != nil:
		on = *target
	case len(args) > 0:
		on = args[0]
	}
	switch function {
	case "lowerAscii", "upperAscii", "trim", "substring":
		size := s.size(on)
		return &cost.CallEstimate{CostEstimate: walk(size), ResultSize: &cost.SizeEstimate{Max: size.Max}}
	case "string":
		size := s.size(on)
		if on.Type().Kind() != types.StringKind {
			size = cost.SizeEstimate{Max: longestNumber}
		}
		return &cost.CallEstimate{CostEstimate: walk(size), ResultSize: &size}
	case "int", "double":
		return &cost.CallEstimate{CostEstimate: walk(s.size(on)), ResultSize: &cost.SizeEstimate{Min: 1, Max: 1}}
	}
	return nil
}

// longestNumber is the most characters that a number is written in.
const longestNumber = 32

// size is what is known of a part's size.
func (s sizes) size(n cost.AstNode) cost.SizeEstimate {
	if size := n.ComputedSize(); size != nil {
		return *size
	}
	if size := s.EstimateSize(n); size != nil {
		return *size
	}
	if n.Type().Kind() == types.StringKind {
		return cost.SizeEstimate{Max: math.MaxUint64}
	}
	return cost.SizeEstimate{Min: 1, Max: 1}
}

// walk is the cost of reading a text once.
func walk(size cost.SizeEstimate) cost.Estimate {
	return cost.Estimate{Min: 1, Max: 1}.Add(size.MultiplyByCostFactor(cost.StringTraversalCostFactor))
}
