package canadapost

import (
	_ "embed"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

//go:embed elements.tsv
var elementText string

// An element is what a schema says of one element.
type element struct {
	occurs string // "1", "?" or "+"
	holds  string
}

// elements are all that requests may have, by their paths. Canada Post refuses a
// document with any other.
var elements = parseElements(elementText)

func parseElements(text string) map[string]element {
	list := map[string]element{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(line, "\t")
		if len(columns) != 3 {
			panic("elements.tsv: " + line)
		}
		list[columns[0]] = element{occurs: columns[1], holds: columns[2]}
	}
	return list
}

// decode reads a request, and returns what the schema of the document objects to, ""
// if nothing.
func decode(r *http.Request, name string, into any) (complaint string) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return "the document cannot be read"
	}
	if complaint := checkDocument(body, name); complaint != "" {
		return complaint
	}
	if err := xml.Unmarshal(body, into); err != nil {
		return "the document is not valid"
	}
	return ""
}

// checkDocument holds a document against its schema.
func checkDocument(body []byte, name string) string {
	decoder := xml.NewDecoder(strings.NewReader(string(body)))
	for {
		token, err := decoder.Token()
		if err != nil {
			return "the document is not XML"
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if start.Name.Local != name || "{"+start.Name.Space+"}" != elements[name].holds {
			return fmt.Sprintf("cvc-elt.1: Cannot find the declaration of element '%s'", start.Name.Local)
		}
		return checkElement(decoder, start, name)
	}
}

// checkElement reads an element to its end.
func checkElement(decoder *xml.Decoder, start xml.StartElement, path string) string {
	count := map[string]int{}
	var text strings.Builder
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) || err != nil {
			return "the document is not XML"
		}
		switch token := token.(type) {
		case xml.CharData:
			text.Write(token)

		case xml.StartElement:
			child := path + "/" + token.Name.Local
			allowed, known := elements[child]
			if !known || token.Name.Space != start.Name.Space {
				return fmt.Sprintf("cvc-complex-type.2.4.a: Invalid content was found starting with element '%s'", token.Name.Local)
			}
			if count[child]++; count[child] > 1 && allowed.occurs != "+" {
				return fmt.Sprintf("cvc-complex-type.2.4.a: The element '%s' occurs more than once", token.Name.Local)
			}
			if complaint := checkElement(decoder, token, child); complaint != "" {
				return complaint
			}

		case xml.EndElement:
			if complaint := elements[path].missing(path, count); complaint != "" {
				return complaint
			}
			return elements[path].checkText(start.Name.Local, text.String())
		}
	}
}

// missing names a required element that the parent lacks.
func (element) missing(path string, count map[string]int) string {
	for child, declared := range elements {
		parent, name, _ := cutLast(child)
		if parent == path && declared.occurs != "?" && count[child] == 0 {
			return fmt.Sprintf("cvc-complex-type.2.4.b: The content is not complete. '%s' is expected", name)
		}
	}
	return ""
}

// cutLast divides a path before its last element.
func cutLast(path string) (parent, name string, ok bool) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path, false
	}
	return path[:i], path[i+1:], true
}

// checkText holds the text of an element against its type.
func (e element) checkText(name, text string) string {
	kind, rule, _ := strings.Cut(e.holds, " ")
	isValid := true
	switch kind {
	case "text":
		var least, most int
		if _, err := fmt.Sscan(rule, &least, &most); err != nil {
			panic("elements.tsv: " + e.holds)
		}
		n := utf8.RuneCountInString(text)
		isValid = n >= least && n <= most
	case "pattern":
		isValid = regexp.MustCompile(`^(?:` + rule + `)$`).MatchString(text)
	case "decimal":
		isValid = isDecimal(text, rule)
	case "boolean":
		isValid = text == "true" || text == "false" || text == "1" || text == "0"
	case "true":
		isValid = text == "true" || text == "1"
	case "date":
		_, err := time.Parse(time.DateOnly, text)
		isValid = err == nil
	default: // a parent of others, or the document
		isValid = strings.TrimSpace(text) == ""
	}
	if !isValid {
		return fmt.Sprintf("cvc-type.3.1.3: The value '%s' of element '%s' is not valid", text, name)
	}
	return ""
}

// isDecimal reports whether a number is above 0, at most the first of the rule, with
// at most as many decimals as the second.
func isDecimal(text, rule string) bool {
	var most float64
	var places int
	if _, err := fmt.Sscan(rule, &most, &places); err != nil {
		panic("elements.tsv: decimal " + rule)
	}
	_, decimals, _ := strings.Cut(text, ".")
	value, err := strconv.ParseFloat(text, 64)
	return err == nil && value > 0 && value <= most && len(decimals) <= places && !strings.ContainsAny(text, "eEnN")
}
