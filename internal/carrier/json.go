package carrier

import "fmt"

// The limits of JSON from a carrier. The largest answers, those about the scans
// of many parcels, have some ten thousand values.
const (
	maxJSONValues = 100_000
	maxJSONDepth  = 100
)

// CheckJSON refuses JSON that is small as text and large once it is decoded:
// with more values than any carrier sends, or nested too deeply. It counts
// brackets and commas, and leaves everything else to the decoder.
func CheckJSON(text []byte) error {
	values := 1
	depth := 0
	inString := false
	for i := 0; i < len(text); i++ {
		switch char := text[i]; {
		case inString && char == '\\':
			i++ // the next one does not end the string
		case char == '"':
			inString = !inString
		case inString:
		case char == '{' || char == '[':
			values++
			depth++
		case char == '}' || char == ']':
			depth--
		case char == ',':
			values++
		}

		if values > maxJSONValues {
			return fmt.Errorf("the JSON has more than %d values", maxJSONValues)
		}
		if depth > maxJSONDepth {
			return fmt.Errorf("the JSON is nested more than %d levels deep", maxJSONDepth)
		}
	}
	return nil
}
