package routing

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/common"
)

// A slip is a spelling that other languages have and CEL has not.
type slip struct {
	pattern    *regexp.Regexp
	detail     string
	suggestion string
}

var slips = []slip{
	{regexp.MustCompile(`[“”„‘’]`), "use straight quotes", `"`},
	{regexp.MustCompile(`===`), "use == instead of ===", "=="},
	{regexp.MustCompile(`!==`), "use != instead of !==", "!="},
	{regexp.MustCompile(`<>`), "use != instead of <>", "!="},
	{regexp.MustCompile(`=>`), "use >= instead of =>", ">="},
	{regexp.MustCompile(`=<`), "use <= instead of =<", "<="},
	{regexp.MustCompile(`(?i)\bnot\s+in\b`), `use !(a in b) instead of "not in"`, `!(destination.state in ["AK", "HI"])`},
	{regexp.MustCompile(`(?i)\band\b`), `use && instead of "and"`, "&&"},
	{regexp.MustCompile(`(?i)\bor\b`), `use || instead of "or"`, "||"},
	{regexp.MustCompile(`(?i)\bnot\b`), `use ! instead of "not"`, "!"},
	{regexp.MustCompile(`(?i)\bis\b`), `use == instead of "is"`, "=="},
	{regexp.MustCompile(`[^=!<>&|]&[^&]`), "use && instead of &", "&&"},
	{regexp.MustCompile(`[^|]\|[^|]`), "use || instead of |", "||"},
	{regexp.MustCompile(`[^=!<>]=(?:[^=]|$)`), "use == to compare", "=="},
	{regexp.MustCompile(`[0-9](?:kg|g|lb|lbs|oz|cm|mm|in|%)\b`), "write the number without a unit; the variable's name gives the unit", ""},
	{regexp.MustCompile(`[$€£]\s*[0-9]`), "write the number without a currency sign", ""},
	{regexp.MustCompile(`\b[0-9]+,[0-9]{3}\b`), "write the number without a thousands separator", ""},
}

// explainSyntax says what is wrong with a condition that cannot be parsed. The
// likely mistakes of people come before what the parser says.
func explainSyntax(source string, errs []*common.Error) *problem {
	code, open := blankTexts(source)
	if open >= 0 {
		return &problem{at: locate(source, open), detail: "the text that starts here has no closing quote", suggestion: source[open : open+1]}
	}

	first := errs[0]
	if first.Message == hasMisused {
		return &problem{at: first.Location, detail: hasMisused, suggestion: "has(metadata.gift)"}
	}

	if !strings.Contains(first.Message, "recursion limit") {
		for _, candidate := range slips {
			if match := candidate.pattern.FindStringIndex(code); match != nil {
				start := match[0] + leadIn(code[match[0]:match[1]], candidate)
				return &problem{at: locate(source, start), detail: candidate.detail, suggestion: candidate.suggestion}
			}
		}
	}
	if unbalanced := unbalancedBracket(source, code); unbalanced != nil {
		return unbalanced
	}
	return &problem{at: first.Location, detail: plainSyntax(first.Message)}
}

// leadIn returns how far into a match the slip starts: some patterns look at
// the character before it.
func leadIn(match string, matched slip) int {
	if strings.HasPrefix(matched.pattern.String(), "[^") {
		_, n := utf8.DecodeRuneInString(match)
		return n
	}
	return 0
}

// plainSyntax puts the parser's message in plain words.
func plainSyntax(message string) string {
	message = strings.TrimPrefix(firstLine(message), "Syntax error: ")
	found := between(message, "input '", "' expecting")
	switch {
	case strings.Contains(message, "recursion limit"), strings.Contains(message, "max recursion"):
		return fmt.Sprintf("brackets are nested more than %d levels deep", maxNesting)

	case strings.HasPrefix(message, "expression node count"), strings.Contains(message, "node"):
		return fmt.Sprintf("the condition has more than %d parts; split it into several rules", maxNodes)

	case found == "<EOF>":
		return "the condition is incomplete"

	case found != "":
		return fmt.Sprintf("unexpected %q", found)

	case strings.HasPrefix(message, "token recognition error at: '"):
		token := strings.TrimSuffix(strings.TrimPrefix(message, "token recognition error at: '"), "'")
		return fmt.Sprintf("unexpected %q", strings.TrimSpace(token))

	case strings.HasPrefix(message, "no viable alternative"):
		return "the condition cannot be parsed from here on"
	}
	return "the condition cannot be parsed here"
}

func between(text, before, after string) string {
	_, rest, ok := strings.Cut(text, before)
	if !ok {
		return ""
	}
	found, _, ok := strings.Cut(rest, after)
	if !ok {
		return ""
	}
	return found
}

// blankTexts returns the condition with the contents of its texts replaced by
// spaces, byte for byte, and where a text starts that has no end, or -1.
func blankTexts(source string) (string, int) {
	out := []byte(source)
	open := -1
	for i := 0; i < len(out); i++ {
		char := source[i]
		switch {
		case open < 0 && (char == '"' || char == '\''):
			open = i

		case open >= 0 && char == '\\' && i+1 < len(out):
			out[i] = ' '
			out[i+1] = ' '
			i++ // an escaped quote does not end the text

		case open >= 0 && char == source[open]:
			open = -1

		case open >= 0:
			out[i] = ' '
		}
	}
	return string(out), open
}

// unbalancedBracket finds a bracket that closes nothing or is never closed.
func unbalancedBracket(source, code string) *problem {
	opening := map[byte]byte{')': '(', ']': '[', '}': '{'}
	closing := map[byte]string{'(': ")", '[': "]", '{': "}"}
	var open []int
	for i := range len(code) {
		switch char := code[i]; char {
		case '(', '[', '{':
			open = append(open, i)
		case ')', ']', '}':
			if len(open) == 0 || code[open[len(open)-1]] != opening[char] {
				return &problem{at: locate(source, i), detail: fmt.Sprintf("this %c has no matching opening bracket", char)}
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) == 0 {
		return nil
	}

	last := open[len(open)-1]
	return &problem{
		at:         locate(source, last),
		detail:     fmt.Sprintf("this %c is never closed", code[last]),
		suggestion: closing[code[last]],
	}
}

// locate returns the line and column of a byte of the source.
func locate(source string, offset int) common.Location {
	before := source[:offset]
	line := strings.Count(before, "\n")

	// A column is a number of characters, as an editor shows it.
	return common.NewLocation(line+1, utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]))
}
