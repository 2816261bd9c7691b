package cli

import (
	"io"
	"os"
	"strings"
	"unicode"
)

// Texts of carriers, plug-ins and clients are printed beside our own. In a terminal
// their control characters could move the cursor, change the title or hide what is
// there, so no command writes to a terminal directly.

// printable returns a text for one line of a table.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if isUnsafe(r) {
			return ' '
		}
		return r
	}, text)
}

// isUnsafe reports whether a character controls a terminal or turns the direction of
// the text around it.
func isUnsafe(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

// printableLines is printable for a text with lines and tabs, and with the colours of
// our own.
func printableLines(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return isUnsafe(r) && r != '\n' && r != '\t' }) {
		return text
	}

	var out strings.Builder
	for i := 0; i < len(text); {
		if colour := colourAt(text[i:]); colour != "" {
			out.WriteString(colour)
			i += len(colour)
			continue
		}

		end := i + 1
		for end < len(text) && text[end] != '\x1b' {
			end++
		}
		out.WriteString(strings.Map(func(r rune) rune {
			if isUnsafe(r) && r != '\n' && r != '\t' {
				return ' '
			}
			return r
		}, text[i:end]))
		i = end
	}
	return out.String()
}

// colours are all sequences that commands print themselves, but for the status line.
var colours = []string{"\x1b[0m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"}

// colourAt returns the colour that a text begins with; empty if it is none.
func colourAt(text string) string {
	for _, colour := range colours {
		if strings.HasPrefix(text, colour) {
			return colour
		}
	}
	return ""
}

// A printableWriter writes texts without what controls a terminal.
type printableWriter struct{ io.Writer }

func (w printableWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, printableLines(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// guardTerminal returns the writer, or one in front of it if it is a terminal.
func guardTerminal(w io.Writer) io.Writer {
	if isTerminal(w) {
		return printableWriter{w}
	}
	return w
}

// unguarded returns the terminal behind a guarded one, for status lines that are written
// over. They have no text of others.
func unguarded(w io.Writer) io.Writer {
	if guarded, ok := w.(printableWriter); ok {
		return guarded.Writer
	}
	return w
}

// isTerminal reports whether w is a terminal that can be written over.
func isTerminal(w io.Writer) bool {
	file, ok := unguarded(w).(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}
