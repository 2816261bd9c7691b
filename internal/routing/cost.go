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

// sizes tells CEL's cost estimator how large the inputs can be.
type sizes struct{}

// EstimateSize returns the size of a variable, or of a part of one.
func (sizes) EstimateSize(node cost.AstNode) *cost.SizeEstimate {
	path := node.Path()
	if len(path) == 0 {
		return nil
	}
	i, ok := variableIndex[path[0]]
	if !ok {
		return nil
	}

	isText := node.Type().Kind() == types.StringKind
	switch {
	case len(path) == 1:
		return &cost.SizeEstimate{Max: variables[i].size}
	case isText && variables[i].Type == mapType:
		return &cost.SizeEstimate{Max: noteSize}
	case isText:
		return &cost.SizeEstimate{Max: lineSize}
	}
	return &cost.SizeEstimate{Min: 1, Max: 1}
}

// EstimateCallCost returns the cost of functions whose cost CEL does not know.
func (s sizes) EstimateCallCost(function, _ string, target *cost.AstNode, args []cost.AstNode) *cost.CallEstimate {
	var operand cost.AstNode
	switch {
	case target != nil:
		operand = *target
	case len(args) > 0:
		operand = args[0]
	}

	switch function {
	case "lowerAscii", "upperAscii", "trim", "substring":
		size := s.size(operand)
		return &cost.CallEstimate{CostEstimate: traversal(size), ResultSize: &cost.SizeEstimate{Max: size.Max}}

	case "string":
		size := s.size(operand)
		if operand.Type().Kind() != types.StringKind {
			size = cost.SizeEstimate{Max: longestNumber}
		}
		return &cost.CallEstimate{CostEstimate: traversal(size), ResultSize: &size}

	case "int", "double":
		return &cost.CallEstimate{CostEstimate: traversal(s.size(operand)), ResultSize: &cost.SizeEstimate{Min: 1, Max: 1}}
	}
	return nil
}

// longestNumber is the most characters that a number is written with.
const longestNumber = 32

// size returns what is known of a part's size.
func (s sizes) size(node cost.AstNode) cost.SizeEstimate {
	if size := node.ComputedSize(); size != nil {
		return *size
	}
	if size := s.EstimateSize(node); size != nil {
		return *size
	}

	// A text of unknown length is unbounded, so its condition is rejected.
	if node.Type().Kind() == types.StringKind {
		return cost.SizeEstimate{Max: math.MaxUint64}
	}
	return cost.SizeEstimate{Min: 1, Max: 1}
}

// traversal returns the cost of reading a text once.
func traversal(size cost.SizeEstimate) cost.Estimate {
	return cost.Estimate{Min: 1, Max: 1}.Add(size.MultiplyByCostFactor(cost.StringTraversalCostFactor))
}
