// Package waybill holds the project's documents for people who use the service:
// internal/docsite makes the pages under /docs of them.
package waybill

import "embed"

// Documents are the guides with their pictures, the changelog and the security
// policy. Decisions are not among them: they are for contributors.
//
//go:embed docs/*.md docs/pictures/*.png CHANGELOG.md SECURITY.md
var Documents embed.FS
