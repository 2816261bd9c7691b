// Package sdk is where the client libraries in other languages live: typescript
// and python, each a package of its own registry. The Go library is package
// client. scenarios.json is the behaviour that all of them share, and test/sdk
// runs it.
package sdk

//go:generate go -C ../tools run ./sdkgen -into ..
