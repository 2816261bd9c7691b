package cli

// For the tests: the commands, those that are not in the audit log, and what the
// documents list.
var (
	NewRoot     = newRoot
	Untold      = unaudited
	ExitCodes   = exitCodes
	Environment = environment

	PrintableLines = printableLines
	IsUnder        = isUnder
)
