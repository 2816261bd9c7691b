package label

import (
	"bytes"
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

// argument says what may follow a command's two letters.
type argument byte

const (
	numbers argument = iota + 1 // numbers, letters and commas
	freeText
	picture
	nothing
)

// drawing lists the commands that draw, or that say how the label at hand is
// drawn. Whatever else there is stores, deletes, asks, resets, configures or
// renames something, and none of it has a place in a label. Fonts (^A0) are
// not listed.
var drawing = map[string]argument{
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

// only narrows the arguments of commands that reach beyond drawing.
var only = map[string][]string{
	"SZ": {"2"},                              // ZPL II, which this is
	"MM": {"T", "T,N", "T,Y", "P", "R", "C"}, // tear off, peel, rewind, cut: not RFID, not applicators
	"MF": {"", "N", "N,N", "F,F", "C,C", "L,L"},
	"LR": {"", "Y", "N"},
	"CV": {"", "Y", "N"},
}

// lintZPL lets through what an interpreter of drawing commands would accept:
// formats of known commands with bounded arguments, and white space between.
func lintZPL(data []byte) error {
	if err := lintZPLBytes(data); err != nil {
		return err
	}
	l := zplLinter{rest: data}
	for l.next() {
		if err := l.command(); err != nil {
			return err
		}
	}
	switch {
	case l.err != nil:
		return l.err
	case l.open:
		return finding("zpl_unclosed", "a format is not closed")
	case l.formats == 0:
		return finding("zpl_empty", "there is no format")
	case !l.ink:
		return finding("zpl_empty", "nothing is drawn")
	}
	return nil
}

// lintZPLBytes looks for what has a meaning to a printer wherever it stands.
func lintZPLBytes(data []byte) error {
	for _, c := range data {
		switch {
		case c == '~':
			return finding("zpl_control", "it has a control command or its prefix")
		case c < ' ' && c != '\n' && c != '\r' && c != '\t', c == 0x7f:
			return finding("zpl_bytes", "it has control characters")
		}
	}
	// Printers of several languages take a line that begins with ! for one of
	// another.
	for rest := data; len(rest) > 0; {
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		rest = after
		if line = bytes.TrimLeft(line, " \t\r"); len(line) > 1 && line[0] == '!' && (line[1] == ' ' || line[1] >= '0' && line[1] <= '9') {
			return finding("zpl_language", "it has a command of another printer language")
		}
	}
	if bytes.Contains(bytes.ToUpper(data), []byte("! U")) {
		return finding("zpl_language", "it sets or reads a printer's variables")
	}
	return nil
}

// zplLinter walks the commands.
type zplLinter struct {
	rest     []byte
	name     string // the command at hand, in capitals
	args     []byte
	open     bool // inside ^XA
	ink      bool
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
	at := bytes.IndexByte(l.rest, '^')
	if at < 0 {
		at = len(l.rest)
	}
	if len(bytes.TrimSpace(l.rest[:at])) > 0 { // only before the first one
		l.err = finding("zpl_stray", "there is something outside of the formats")
		return false
	}
	if l.rest = l.rest[at:]; len(l.rest) == 0 {
		return false
	}
	if len(l.rest) < 3 {
		l.err = finding("zpl_unclosed", "the last command is cut off")
		return false
	}
	l.name = strings.ToUpper(string(l.rest[1:3]))
	l.rest = l.rest[3:]
	end := bytes.IndexByte(l.rest, '^')
	if end < 0 {
		end = len(l.rest)
	}
	l.args, l.rest = l.rest[:end], l.rest[end:]
	return true
}

func (l *zplLinter) command() error {
	if l.commands++; l.commands > maxZPLCommands {
		return finding("too_large", "it has more than %d commands", maxZPLCommands)
	}
	switch l.name {
	case "XA":
		if l.formats++; l.open || l.formats > maxZPLFormats {
			return finding("zpl_unclosed", "formats are nested, or more than %d", maxZPLFormats)
		}
		l.open = true
		return l.bare()
	case "XZ":
		if !l.open {
			return finding("zpl_unclosed", "a format ends that has not begun")
		}
		l.open = false
		return l.bare()
	}
	kind, known := drawing[l.name]
	if isFont(l.name) {
		kind, known = numbers, true
	}
	switch {
	case !known:
		return finding("zpl_command", "it has a command that does not draw")
	case !l.open:
		return finding("zpl_stray", "there is a command outside of the formats")
	}
	return l.arguments(kind)
}

// isFont tells ^A with the letter of a resident font from commands that load
// one.
func isFont(name string) bool {
	return name[0] == 'A' && (name[1] >= '0' && name[1] <= '9' || name[1] >= 'A' && name[1] <= 'Z')
}

func (l *zplLinter) bare() error {
	if len(bytes.TrimSpace(l.args)) > 0 {
		return finding("zpl_stray", "there is something that belongs to no command")
	}
	return nil
}

func (l *zplLinter) arguments(kind argument) error {
	switch kind {
	case nothing:
		return l.bare()
	case freeText:
		l.ink = l.ink || l.name != "FX"
		if len(l.args) > maxZPLField {
			return finding("zpl_field", "a field has more than %d bytes", maxZPLField)
		}
		return nil
	case picture:
		l.ink = true
		return lintGraphic(l.args)
	}
	l.ink = l.ink || l.name == "GB"
	args := bytes.TrimSpace(l.args)
	if len(args) > maxZPLArgs {
		return finding("zpl_arguments", "a command has more than %d bytes of arguments", maxZPLArgs)
	}
	if allowed, narrow := only[l.name]; narrow && !contains(allowed, strings.ToUpper(string(args))) {
		return finding("zpl_arguments", "a command sets what a label has no say in")
	}
	if l.name == "FH" || l.name == "BX" {
		return nil // any character may be the one that escapes
	}
	return l.figures(args)
}

func contains(list []string, s string) bool {
	for _, item := range list {
		if item == s {
			return true
		}
	}
	return false
}

// figures checks each number of a list.
func (l *zplLinter) figures(args []byte) error {
	for i, arg := range bytes.Split(args, []byte(",")) {
		limit := maxZPLDots
		if l.name == "PQ" && i == 0 {
			limit = maxZPLCopies
		}
		value := 0
		for _, c := range bytes.TrimSpace(arg) {
			switch {
			case c >= '0' && c <= '9':
				if value = value*10 + int(c-'0'); value > limit {
					return finding("zpl_arguments", "a number is out of bounds")
				}
			case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c == '.', c == '-', c == '+':
			default:
				return finding("zpl_arguments", "an argument is neither a number nor a letter")
			}
		}
	}
	return nil
}
