package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/httpkit"
)

// A sampleCall is a request that the reference shows in several languages.
type sampleCall struct {
	base      string
	verb      string
	path      string // with example values
	sdk       sdkMethod
	arguments []any // of the path, then the body
	format    string
	isList    bool
	isFile    bool
	isEmpty   bool // the answer has no body
}

// samples writes a call of the operation with each client library. They follow
// the rules by which tools/sdkgen names and arranges methods.
func (d *document) samples(base, method, path string, op, body *object) []httpkit.ReferenceSample {
	sdk, ok := sdkMethods[op.text("operationId")]
	if !ok {
		return nil
	}
	call := sampleCall{
		base: base,
		verb: method,
		path: examplePath(path),
		sdk:  sdk,
	}
	call.sdk.method, call.format = withoutFormat(sdk)

	for _, p := range op.list("parameters") {
		parameter := d.resolve(p.(*object))
		if parameter.text("in") != "path" {
			continue
		}
		value := exampleOf(path, parameter.text("name"))
		if number, err := strconv.Atoi(value); err == nil {
			call.arguments = append(call.arguments, number)
		} else {
			call.arguments = append(call.arguments, value)
		}
	}
	if body != nil {
		call.arguments = append(call.arguments, body)
	}

	call.isEmpty = true
	for _, m := range op.child("responses").members {
		content := m.value.(*object).child("content")
		if status, _ := strconv.Atoi(m.name); status >= http.StatusMultipleChoices || content == nil {
			continue
		}
		call.isEmpty = false
		media := content.child("application/json")
		call.isFile = media == nil
		if media != nil && method == http.MethodGet {
			properties := d.resolve(media.child("schema")).child("properties")
			call.isList = properties != nil && properties.get("data") != nil && properties.get("nextCursor") != nil
		}
	}

	return []httpkit.ReferenceSample{
		{Language: "TypeScript", Code: call.typescript()},
		{Language: "Python", Code: call.python()},
		{Language: "Go", Code: call.golang(body)},
	}
}

var formatSuffix = regexp.MustCompile(`^(.*)(Pdf|Zpl|Png)$`)

// withoutFormat merges methods that differ by the format of a file: getPdf and
// getZpl are get with a format.
func withoutFormat(sdk sdkMethod) (method, format string) {
	parts := formatSuffix.FindStringSubmatch(sdk.method)
	if parts == nil {
		return sdk.method, ""
	}

	siblings := 0
	for _, other := range sdkMethods {
		found := formatSuffix.FindStringSubmatch(other.method)
		if other.resource == sdk.resource && found != nil && found[1] == parts[1] {
			siblings++
		}
	}
	if siblings < 2 {
		return sdk.method, ""
	}
	return parts[1], strings.ToLower(parts[2])
}

func (c sampleCall) typescript() string {
	var arguments []string
	for _, argument := range c.arguments {
		arguments = append(arguments, literal(argument, "", typescriptWords))
	}
	if c.format != "" {
		arguments = append(arguments, fmt.Sprintf("{ format: %q }", c.format))
	}

	call := fmt.Sprintf("waybill.%s.%s(%s)", c.sdk.resource, c.sdk.method, strings.Join(arguments, ", "))
	head := fmt.Sprintf("const waybill = new Waybill({ url: %q })\n\n", c.base)
	switch {
	case c.isList:
		return head + "for await (const item of " + call + ") {\n  console.log(item)\n}"
	case c.isFile:
		return head + "const bytes = await " + call
	case c.isEmpty:
		return head + "await " + call
	}
	return head + "const result = await " + call
}

func (c sampleCall) python() string {
	var arguments []string
	for _, argument := range c.arguments {
		arguments = append(arguments, literal(argument, "", pythonWords))
	}
	if c.format != "" {
		arguments = append(arguments, fmt.Sprintf("format=%q", c.format))
	}

	call := fmt.Sprintf("waybill.%s.%s(%s)", pythonName(c.sdk.resource), pythonName(c.sdk.method), strings.Join(arguments, ", "))
	head := fmt.Sprintf("waybill = Waybill(url=%q)\n\n", c.base)
	switch {
	case c.isList:
		return head + "for item in " + call + ":\n    print(item)"
	case c.isFile:
		return head + "content = " + call
	case c.isEmpty:
		return head + call
	}
	return head + "result = " + call
}

// golang uses the call that every operation has; many have a typed method too.
func (c sampleCall) golang(body *object) string {
	content := "nil"
	if body != nil {
		content = "[]byte(`" + indentJSON(body) + "`)"
	}
	return fmt.Sprintf("api := client.New(os.Getenv(\"WAYBILL_KEY\"), client.Options{BaseURL: %q})\n\nanswer, err := api.Call(ctx, %q, %q, %s)",
		c.base, c.verb, c.path, content)
}

// literalWords are how a language writes constants and the names of members.
type literalWords struct {
	yes, no, none string
	quotesNames   bool
}

var (
	typescriptWords = literalWords{"true", "false", "null", false}
	pythonWords     = literalWords{"True", "False", "None", true}
)

// literal writes a value of JSON in another language.
func literal(value any, indent string, words literalWords) string {
	inner := indent + "  "
	switch value := value.(type) {
	case *object:
		if len(value.members) == 0 {
			return "{}"
		}
		out := "{\n"
		for _, m := range value.members {
			name := m.name
			if words.quotesNames || !regexp.MustCompile(`^[A-Za-z_]\w*$`).MatchString(name) {
				name = strconv.Quote(name)
			}
			out += inner + name + ": " + literal(m.value, inner, words) + ",\n"
		}
		return out + indent + "}"

	case []any:
		if len(value) == 0 {
			return "[]"
		}
		out := "[\n"
		for _, element := range value {
			out += inner + literal(element, inner, words) + ",\n"
		}
		return out + indent + "]"

	case bool:
		if value {
			return words.yes
		}
		return words.no
	case nil:
		return words.none
	}

	text, err := json.Marshal(value)
	if err != nil {
		return words.none
	}
	return string(text)
}

// pythonKeywords get an underscore behind them when they are names.
var pythonKeywords = []string{"import", "return", "try"}

func pythonName(name string) string {
	name = regexp.MustCompile(`[A-Z]`).ReplaceAllStringFunc(name, func(letter string) string { return "_" + strings.ToLower(letter) })
	if slices.Contains(pythonKeywords, name) {
		return name + "_"
	}
	return name
}
