package cli

// For the tests: the commands, and those that are not in the audit log.
var (
	NewRoot = newRoot
	Untold  = unaudited
)
