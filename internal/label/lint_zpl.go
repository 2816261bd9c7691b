package label

import (
	"bytes"
	"slices"
	"strings"
)

// The limits of carriers' ZPL.
const (
	maxZPLFormats  = 200
	maxZPLCommands = 20000
	maxZPLField    = 3072 // bytes of ^FD, as printers have it
	maxZPLArgs     = 64   // bytes of arguments, where they are not text
	maxZPLDots     = 32000
	maxZPLCopies   = 10
)

// argument is what may follow a command's two letters.
type argument byte

const (
	numbers argument = iota + 1 // numbers, letters and commas
	freeText
	picture
	nothing
)

// drawingCommands lists the commands that draw, or that define how the current
// label is drawn. All others store, delete, query, reset, configure or rename
// something, and none of that belongs in a label. Fonts (^A0) are not listed.
var drawingCommands = map[string]argument{
	"FO": numbers, "FT": numbers, "FB": numbers, "TB": numbers, "FW": numbers, "FP": numbers, "FR": nothing, "FS": nothing,
	"FD": freeText, "FV": freeText, "FX": freeText, "FH": numbers,
	"CF": numbers, "CI": numbers, "CV": numbers,
	"GB": numbers, "GC": numbers, "GD": numbers, "GE": numbers, "GS": numbers, "GF": picture,
	"BY": numbers, "B0": numbers, "B1": numbers, "B2": numbers, "B3": numbers, "B4": numbers, "B5": numbers, "B7": numbers,
	"B8": numbers, "B9": numbers, "BA": numbers, "BB": numbers, "BC": numbers, "BD": numbers, "BE": numbers, "BF": numbers,
	"BI": numbers, "BJ": numbers, "BK": numbers, "BL": numbers, "BM": numbers, "BO": numbers, "BP": numbers, "BQ": numbers,
	"BR": numbers, "BS": numbers, "BT": numbers, "BU": numbers, "BX": numbers, "BZ": numbers,
	"LH": numbers, "LL": numbers, "LR": numbers, "LS": numbers, "LT": numbers,
	"PW": numbers, "PO": numbers, "PM": numbers, "PQ": numbers, "PR": numbers, "PA": numbers,
	"MC": numbers, "MD": numbers, "MF": numbers, "MM": numbers, "MN": numbers, "MT": numbers, "MU": numbers,
	"SZ": numbers, "XB": nothing, "DN": nothing,
}

// allowedArguments narrows the arguments of commands that do more than draw.
var allowedArguments = map[string][]string{
	"SZ": {"2"},                              // ZPL II, which this is
	"MM": {"T", "T,N", "T,Y", "P", "R", "C"}, // tear off, peel, rewind, cut: not RFID, not applicators
	"MF": {"", "N", "N,N", "F,F", "C,C", "L,L"},
	"LR": {"", "Y", "N"},
	"CV": {"", "Y", "N"},
}

// lintZPL accepts what an interpreter of drawing commands would accept: formats
// of known commands with bounded arguments, and white space between them.
func lintZPL(data []byte) error {
	if err := lintZPLBytes(data); err != nil {
		return err
	}

	linter := zplLinter{rest: data}
	for linter.next() {
		if err := linter.checkCommand(); err != nil {
			return err
		}
	}

	switch {
	case linter.err != nil:
		return linter.err
	case linter.open:
		return finding("zpl_unclosed", "a format is not closed")
	case linter.formats == 0:
		return finding("zpl_empty", "there is no format")
	case !linter.draws:
		return finding("zpl_empty", "nothing is drawn")
	}
	return nil
}

// lintZPLBytes looks for what has a meaning to a printer wherever it appears.
func lintZPLBytes(data []byte) error {
	for _, char := range data {
		switch {
		case char == '~':
			return finding("zpl_control", "it contains a control command or its prefix")
		case char < ' ' && char != '\n' && char != '\r' && char != '\t', char == 0x7f:
			return finding("zpl_bytes", "it contains control characters")
		}
	}

	// Printers that understand several languages take a line that begins with
	// an exclamation mark for one of another language.
	for rest := data; len(rest) > 0; {
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		rest = after
		line = bytes.TrimLeft(line, " \t\r")
		if len(line) > 1 && line[0] == '!' && (line[1] == ' ' || isDigit(line[1])) {
			return finding("zpl_language", "it contains a command of another printer language")
		}
	}

	if bytes.Contains(bytes.ToUpper(data), []byte("! U")) {
		return finding("zpl_language", "it sets or reads printer variables")
	}
	return nil
}

// zplLinter walks the commands.
type zplLinter struct {
	rest     []byte
	name     string // of the current command, in capitals
	args     []byte
	open     bool // inside ^XA
	draws    bool
	formats  int
	commands int
	err      error
}

// next cuts a command off: the prefix, two characters, and what follows up to
// the next prefix.
func (l *zplLinter) next() bool {
	if len(l.rest) == 0 {
		return false
	}

	// Only before the first command can there be anything else.
	start := bytes.IndexByte(l.rest, '^')
	if start < 0 {
		start = len(l.rest)
	}
	if len(bytes.TrimSpace(l.rest[:start])) > 0 {
		l.err = finding("zpl_stray", "there is data outside the formats")
		return false
	}

	if l.rest = l.rest[start:]; len(l.rest) == 0 {
		return false
	}
	if len(l.rest) < 3 {
		l.err = finding("zpl_unclosed", "the last command is truncated")
		return false
	}
	l.name = strings.ToUpper(string(l.rest[1:3]))
	l.rest = l.rest[3:]

	end := bytes.IndexByte(l.rest, '^')
	if end < 0 {
		end = len(l.rest)
	}
	l.args = l.rest[:end]
	l.rest = l.rest[end:]
	return true
}

func (l *zplLinter) checkCommand() error {
	if l.commands++; l.commands > maxZPLCommands {
		return finding("too_large", "it has more than %d commands", maxZPLCommands)
	}

	switch l.name {
	case "XA":
		if l.formats++; l.open || l.formats > maxZPLFormats {
			return finding("zpl_unclosed", "formats are nested, or there are more than %d", maxZPLFormats)
		}
		l.open = true
		return l.requireNoArguments()
	case "XZ":
		if !l.open {
			return finding("zpl_unclosed", "a format is closed that was never opened")
		}
		l.open = false
		return l.requireNoArguments()
	}

	kind, known := drawingCommands[l.name]
	if isFont(l.name) {
		kind = numbers
		known = true
	}
	switch {
	case !known:
		return finding("zpl_command", "it contains a command that does not draw")
	case !l.open:
		return finding("zpl_stray", "there is a command outside the formats")
	}
	return l.checkArguments(kind)
}

// isFont reports whether a command is ^A with the letter of a resident font,
// and not one that loads a font.
func isFont(name string) bool {
	return name[0] == 'A' && (isDigit(name[1]) || name[1] >= 'A' && name[1] <= 'Z')
}

func (l *zplLinter) requireNoArguments() error {
	if len(bytes.TrimSpace(l.args)) > 0 {
		return finding("zpl_stray", "there is data that belongs to no command")
	}
	return nil
}

func (l *zplLinter) checkArguments(kind argument) error {
	switch kind {
	case nothing:
		return l.requireNoArguments()
	case freeText:
		l.draws = l.draws || l.name != "FX" // ^FX is a comment
		if len(l.args) > maxZPLField {
			return finding("zpl_field", "a field has more than %d bytes", maxZPLField)
		}
		return nil
	case picture:
		l.draws = true
		return lintGraphic(l.args)
	}

	l.draws = l.draws || l.name == "GB"
	args := bytes.TrimSpace(l.args)
	if len(args) > maxZPLArgs {
		return finding("zpl_arguments", "a command has more than %d bytes of arguments", maxZPLArgs)
	}
	if allowed, narrowed := allowedArguments[l.name]; narrowed && !slices.Contains(allowed, strings.ToUpper(string(args))) {
		return finding("zpl_arguments", "a command changes a setting that a label must not change")
	}

	// Any character may be the escape character that these two define.
	if l.name == "FH" || l.name == "BX" {
		return nil
	}
	return l.checkNumbers(args)
}

// checkNumbers checks each number of a list.
func (l *zplLinter) checkNumbers(args []byte) error {
	for i, arg := range bytes.Split(args, []byte(",")) {
		limit := maxZPLDots
		if l.name == "PQ" && i == 0 {
			limit = maxZPLCopies
		}

		number := 0
		for _, char := range bytes.TrimSpace(arg) {
			switch {
			case isDigit(char):
				if number = number*10 + int(char-'0'); number > limit {
					return finding("zpl_arguments", "a number is out of range")
				}
			case char >= 'A' && char <= 'Z', char >= 'a' && char <= 'z', char == '.', char == '-', char == '+':
			default:
				return finding("zpl_arguments", "an argument is neither a number nor a letter")
			}
		}
	}
	return nil
}
