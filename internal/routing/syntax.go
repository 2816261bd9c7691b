package routing

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/common"
)

// A slip is a way of writing that other languages have.
type slip struct {
	pattern    *regexp.Regexp
	detail     string
	suggestion string
}

var slips = []slip{
	{regexp.MustCompile(`[“”„‘’]`), "quotes must be straight", `"`},
	{regexp.MustCompile(`===`), "=== is written ==", "=="},
	{regexp.MustCompile(`!==`), "!== is written !=", "!="},
	{regexp.MustCompile(`<>`), "<> is written !=", "!="},
	{regexp.MustCompile(`=>`), "=> is written >=", ">="},
	{regexp.MustCompile(`=<`), "=< is written <=", "<="},
	{regexp.MustCompile(`(?i)\bnot\s+in\b`), `"not in" is written !(a in b)`, `!(destination.state in ["AK", "HI"])`},
	{regexp.MustCompile(`(?i)\band\b`), `"and" is written &&`, "&&"},
	{regexp.MustCompile(`(?i)\bor\b`), `"or" is written ||`, "||"},
	{regexp.MustCompile(`(?i)\bnot\b`), `"not" is written !`, "!"},
	{regexp.MustCompile(`(?i)\bis\b`), `"is" is written ==`, "=="},
	{regexp.MustCompile(`[^=!<>&|]&[^&]`), "& is written &&", "&&"},
	{regexp.MustCompile(`[^|]\|[^|]`), "| is written ||", "||"},
	{regexp.MustCompile(`[^=!<>]=(?:[^=]|$)`), "a comparison is written ==", "=="},
	{regexp.MustCompile(`[0-9](?:kg|g|lb|lbs|oz|cm|mm|in|%)\b`), "a number has no unit; the variable's name says it", ""},
	{regexp.MustCompile(`[$€£]\s*[0-9]`), "a number has no currency sign", ""},
	{regexp.MustCompile(`\b[0-9]+,[0-9]{3}\b`), "a number has no thousands separator", ""},
}

// explainSyntax says what is wrong with a condition that cannot be read.
func explainSyntax(source string, errs []*common.Error) *problem {
	code, open := blank(source)
	if open >= 0 {
		return &problem{at: locate(source, open), detail: "the text that starts here has no end", suggestion: source[open : open+1]}
	}
	first := errs[0]
	if first.Message == hasMisused {
		return &problem{at: first.Location, detail: hasMisused, suggestion: "has(metadata.gift)"}
	}
	if !strings.Contains(first.Message, "recursion limit") {
		for _, s := range slips {
			if m := s.pattern.FindStringIndex(code); m != nil {
				return &problem{at: locate(source, m[0]+lead(code[m[0]:m[1]], s)), detail: s.detail, suggestion: s.suggestion}
			}
		}
	}
	if p := brackets(source, code); p != nil {
		return p
	}
	return &problem{at: first.Location, detail: plainSyntax(first.Message)}
}

// lead is how far into a match the wrong part starts: some patterns look at
// the character before it.
func lead(match string, s slip) int {
	if strings.HasPrefix(s.pattern.String(), "[^") {
		_, n := utf8.DecodeRuneInString(match)
		return n
	}
	return 0
}

// plainSyntax is the parser's complaint in plain words.
func plainSyntax(message string) string {
	message = strings.TrimPrefix(firstLine(message), "Syntax error: ")
	found := between(message, "input '", "' expecting")
	switch {
	case strings.Contains(message, "recursion limit"), strings.Contains(message, "max recursion"):
		return fmt.Sprintf("too many brackets inside each other, over %d", maxNesting)
	case strings.HasPrefix(message, "expression node count"), strings.Contains(message, "node"):
		return fmt.Sprintf("the condition has too many parts, over %d; divide it into several rules", maxNodes)
	case found == "<EOF>":
		return "the condition ends too early"
	case found != "":
		return fmt.Sprintf("%q is not expected here", found)
	case strings.HasPrefix(message, "token recognition error at: '"):
		return fmt.Sprintf("%q is not expected here", strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(message, "token recognition error at: '"), "'")))
	case strings.HasPrefix(message, "no viable alternative"):
		return "the condition cannot be read from here on"
	}
	return "the condition cannot be read here"
}

func between(s, before, after string) string {
	_, rest, ok := strings.Cut(s, before)
	if !ok {
		return ""
	}
	found, _, ok := strings.Cut(rest, after)
	if !ok {
		return ""
	}
	return found
}

// blank returns the condition with its texts made empty, byte for byte, and
// where a text starts that has no end, -1 if all have.
func blank(source string) (string, int) {
	out := []byte(source)
	open := -1
	for i := 0; i < len(out); i++ {
		c := source[i]
		switch {
		case open < 0 && (c == '"' || c == '\''):
			open = i
		case open >= 0 && c == '\\' && i+1 < len(out):
			out[i], out[i+1] = ' ', ' '
			i++
		case open >= 0 && c == source[open]:
			open = -1
		case open >= 0:
			out[i] = ' '
		}
	}
	return string(out), open
}

// brackets finds the bracket that has no other end.
func brackets(source, code string) *problem {
	ends := map[byte]byte{')': '(', ']': '[', '}': '{'}
	names := map[byte]string{'(': ")", '[': "]", '{': "}"}
	var open []int
	for i := range len(code) {
		switch c := code[i]; c {
		case '(', '[', '{':
			open = append(open, i)
		case ')', ']', '}':
			if len(open) == 0 || code[open[len(open)-1]] != ends[c] {
				return &problem{at: locate(source, i), detail: fmt.Sprintf("this %c closes nothing", c)}
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) == 0 {
		return nil
	}
	last := open[len(open)-1]
	return &problem{at: locate(source, last), detail: fmt.Sprintf("this %c is never closed", code[last]), suggestion: names[code[last]]}
}

// locate is the line and column of a byte of the source.
func locate(source string, offset int) common.Location {
	before := source[:offset]
	line := strings.Count(before, "\n")
	return common.NewLocation(line+1, utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]))
}
