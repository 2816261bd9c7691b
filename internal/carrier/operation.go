package carrier

import "context"

// An Operation is one of the things that a carrier is asked to do.
type Operation string

// The operations, most urgent first.
const (
	OpBuy          Operation = "buy"
	OpFind         Operation = "find"
	OpVoid         Operation = "void"
	OpPickup       Operation = "pickup"
	OpManifest     Operation = "manifest"
	OpDocument     Operation = "document"
	OpRates        Operation = "rates"
	OpCheck        Operation = "check"
	OpTrack        Operation = "track"
	OpProof        Operation = "proof"
	OpPoints       Operation = "points"
	OpDuties       Operation = "duties"
	OpCheckAddress Operation = "address" // purchases and rates keep their shares of a quota
)

type operationKey struct{}

// WithOperation marks the requests made under ctx, so that a Doer knows which
// of them may wait.
func WithOperation(ctx context.Context, op Operation) context.Context {
	return context.WithValue(ctx, operationKey{}, op)
}

// OperationOf returns the operation that a request belongs to; empty if it
// belongs to none.
func OperationOf(ctx context.Context) Operation {
	op, _ := ctx.Value(operationKey{}).(Operation)
	return op
}

type effectKey struct{}

// WithEffect marks a request that spends or returns money. A Doer sends it
// over a connection of its own, and never twice.
func WithEffect(ctx context.Context) context.Context {
	return context.WithValue(ctx, effectKey{}, true)
}

// IsEffect reports whether a request spends or returns money.
func IsEffect(ctx context.Context) bool {
	hasEffect, _ := ctx.Value(effectKey{}).(bool)
	return hasEffect
}
