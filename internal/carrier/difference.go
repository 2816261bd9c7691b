package carrier

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"

	"github.com/waybillhq/waybill/internal/ship"
)

// RefusedMessage is the message of a refusal that a driver does not explain any
// further.
const RefusedMessage = "the carrier refused the request"

// A Difference is something that a carrier answered and its driver does not
// know. It has no values of the answer but the carrier's own codes, so it can be
// reported to the project.
type Difference struct {
	Kind      string // DifferentCode, DifferentRefusal or DifferentAnswer
	Operation Operation
	Code      string // the carrier's own, of a DifferentCode
	Detail    string // the carrier's words without names and numbers, or the names and types of its answer
}

// The kinds of differences.
const (
	DifferentCode    = "error_code" // an error code that the driver does not explain
	DifferentRefusal = "refusal"    // a refusal in which the driver finds no code
	DifferentAnswer  = "answer"     // an answer that should be a success, and that the driver cannot use
)

// DifferenceOf returns the difference that an operation ended with, if it did.
func DifferenceOf(op Operation, err error) (Difference, bool) {
	failure, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return Difference{}, false
	}
	var sent map[string]bool
	if answered, ok := errors.AsType[*answeredError](err); ok {
		if answered.kind != "" {
			return Difference{Kind: answered.kind, Operation: op, Detail: answered.shape}, true
		}
		sent = answered.sent
	}

	if !isUnexplained(failure) {
		return Difference{}, false
	}
	return Difference{
		Kind:      DifferentCode,
		Operation: op,
		Code:      codeName(failure.Refusal.Code),
		Detail:    withoutWords(failure.Refusal.Message, sent),
	}, true
}

// isUnexplained reports whether a refusal has a code of which the driver says
// nothing.
func isUnexplained(failure *ship.Error) bool {
	return failure.Kind == ship.Invalid && failure.Refusal.Code != "" && len(failure.Fields) == 0 &&
		strings.HasSuffix(failure.Message, RefusedMessage)
}

// An answer is the last one of an operation.
type answer struct {
	request *http.Request
	status  int
	body    []byte
}

type answerKey struct{}

// NoteAnswer keeps an answer until its operation ends, in case that the driver
// cannot use it. A nil body says that a call began.
func NoteAnswer(request *http.Request, status int, body []byte) {
	if last, ok := request.Context().Value(answerKey{}).(*atomic.Pointer[answer]); ok {
		last.Store(&answer{request, status, body})
	}
}

// withAnswers returns a ctx under which the last answer is kept.
func withAnswers(ctx context.Context) (context.Context, *atomic.Pointer[answer]) {
	last := new(atomic.Pointer[answer])
	return context.WithValue(ctx, answerKey{}, last), last
}

// answeredError is an error together with what a Difference needs of the answer
// that caused it.
type answeredError struct {
	err   error
	kind  string          // empty if the code of the refusal says what differs
	shape string          // of the answer
	sent  map[string]bool // words of the request
}

func (e *answeredError) Error() string { return e.err.Error() }

func (e *answeredError) Unwrap() error { return e.err }

// withAnswer returns err with what is known of the last answer, if the driver did
// not know what to make of that. It is called with failures only, and reads at most
// longestRead bytes.
func withAnswer(err error, last *answer) error {
	if err == nil || last == nil || len(last.body) == 0 {
		return err
	}

	failure := ship.ErrorOf(err)
	isSuccess := last.status >= 200 && last.status <= 299
	isUnusable := failure.Kind == ship.Uncertain || failure.Kind == ship.Unavailable
	isSilent := failure.Kind == ship.Invalid && failure.Refusal.Code == "" && len(failure.Fields) == 0
	switch {
	case isUnexplained(failure):
		return &answeredError{err: err, sent: wordsOf(last.request)}
	case isSuccess && isUnusable:
		return &answeredError{err: err, kind: DifferentAnswer, shape: shapeOf(last.body)}
	case !isSuccess && last.status < 500 && isSilent:
		return &answeredError{err: err, kind: DifferentRefusal, shape: shapeOf(last.body)}
	}
	return err
}

// longestRead bounds what is read of a request or an answer.
const longestRead = 1 << 20

// sentValues matches the values of a request in JSON or XML.
var sentValues = regexp.MustCompile(`:\s*"((?:[^"\\]|\\.)*)"|>([^<>]+)<`)

// wordsOf returns the words of the values that a request sent. A carrier may repeat
// them in its messages.
func wordsOf(request *http.Request) map[string]bool {
	words := map[string]bool{}
	add := func(text string) {
		for word := range strings.FieldsFuncSeq(strings.ToLower(text), isNoLetter) {
			words[word] = true
		}
	}
	if request == nil {
		return words
	}

	for _, values := range request.URL.Query() {
		for _, value := range values {
			add(value)
		}
	}
	if request.GetBody == nil {
		return words
	}
	body, err := request.GetBody()
	if err != nil {
		return words
	}
	defer body.Close()
	text, _ := io.ReadAll(io.LimitReader(body, longestRead))
	for _, match := range sentValues.FindAllSubmatch(text, -1) {
		add(string(match[1]))
		add(string(match[2]))
	}
	return words
}

func isNoLetter(r rune) bool { return !unicode.IsLetter(r) }

// The bounds of a shape.
const (
	shapeMembers = 100
	shapeDepth   = 12
)

// shapeOf describes an answer by the names and types of its members, without any
// value: "output.transactionShipments[].serviceType string".
func shapeOf(body []byte) string {
	body = bytes.TrimSpace(body)
	var lines []string
	switch {
	case len(body) == 0:
		return "an empty body"
	case len(body) > longestRead:
		return "more than 1 MiB"
	case body[0] == '{' || body[0] == '[':
		if CheckJSON(body) != nil {
			return "JSON that is too large to be read"
		}
		var value any
		if json.Unmarshal(body, &value) != nil {
			return "JSON that cannot be read"
		}
		addShape(&lines, "", value, 0)
	case bytes.HasPrefix(bytes.ToLower(body), []byte("<!doctype html")), bytes.HasPrefix(bytes.ToLower(body), []byte("<html")):
		return "a web page"
	case body[0] == '<':
		lines = xmlShape(body)
	default:
		return "neither JSON nor XML"
	}

	slices.Sort(lines)
	lines = slices.Compact(lines)
	if len(lines) > shapeMembers {
		lines = append(lines[:shapeMembers], "...")
	}
	return strings.Join(lines, "\n")
}

func addShape(lines *[]string, path string, value any, depth int) {
	if depth > shapeDepth || len(*lines) > 4*shapeMembers {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		if len(value) == 0 {
			*lines = append(*lines, strings.TrimPrefix(path+" empty object", " "))
		}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			addShape(lines, strings.TrimPrefix(path+"."+memberName(name), "."), value[name], depth+1)
		}
	case []any:
		if len(value) == 0 {
			*lines = append(*lines, path+"[] empty")
		}
		for _, element := range value {
			addShape(lines, path+"[]", element, depth+1)
		}
	case string:
		*lines = append(*lines, path+" string")
	case float64:
		*lines = append(*lines, path+" number")
	case bool:
		*lines = append(*lines, path+" boolean")
	default:
		*lines = append(*lines, path+" null")
	}
}

func xmlShape(body []byte) []string {
	decoder := xml.NewDecoder(bytes.NewReader(body))
	var lines, open []string
	for len(lines) <= 4*shapeMembers {
		token, err := decoder.Token()
		if err != nil {
			break
		}
		switch token := token.(type) {
		case xml.StartElement:
			open = append(open, memberName(token.Name.Local))
			lines = append(lines, strings.Join(open, "."))
		case xml.EndElement:
			open = open[:len(open)-1]
		}
	}
	return lines
}

var (
	isMemberName = regexp.MustCompile(`^[A-Za-z_@$][A-Za-z0-9_.:-]{0,49}$`)
	manyDigits   = regexp.MustCompile(`[0-9]{4}`)
)

// memberName returns the name of a member. Some carriers use values as names,
// such as tracking numbers.
func memberName(name string) string {
	if !isMemberName.MatchString(name) || manyDigits.MatchString(name) {
		return "#"
	}
	return name
}

// longestWords bounds what is kept of a carrier's message.
const longestWords = 200

var (
	quoted  = regexp.MustCompile(`"[^"]*"|'[^']*'|\[[^\]]*\]|\([^)]*\)|«[^»]*»|„[^“]*“`)
	isPlain = regexp.MustCompile(`^[\p{Ll}-]+[.,:;]?$`)
	isStart = regexp.MustCompile(`^(A|An|The|This|Your|No|Not|Invalid|Missing|Unknown|Unable|Cannot|Please|Request|Shipment|Service|Package|Parcel|Postal|Weight|Value)$`)
)

// WithoutNames returns a message of a carrier without what it may repeat of an
// order: quoted texts, and every word that is not in lower case, except for some
// with which messages begin.
func WithoutNames(message string) string { return withoutWords(message, nil) }

// withoutWords is WithoutNames, and leaves out the words that were sent too.
func withoutWords(message string, sent map[string]bool) string {
	var kept []string
	length := 0
	for i, word := range strings.Fields(quoted.ReplaceAllString(message, "...")) {
		isFirst := i == 0 && isStart.MatchString(word)
		wasSent := slices.ContainsFunc(strings.FieldsFunc(strings.ToLower(word), isNoLetter), func(part string) bool { return sent[part] })
		if wasSent || !isFirst && !isPlain.MatchString(word) {
			word = "..."
		}
		if word == "..." && len(kept) > 0 && kept[len(kept)-1] == word {
			continue
		}
		if length += len(word) + 1; length > longestWords {
			break
		}
		kept = append(kept, word)
	}
	return strings.Join(kept, " ")
}

var isCodeName = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,80}$`)

// codeName returns an error code of a carrier, which has no spaces; some carriers
// have sentences in its place.
func codeName(code string) string {
	if !isCodeName.MatchString(code) {
		return "#"
	}
	return code
}
