package parts

import "embed"

// Look is what all pages share, those of the documentation too: tokens.css with
// every colour and size, theme.js and logo.svg.
//
//go:embed look
var Look embed.FS
