package httpkit

import "strings"

// A ReferenceGroup is a section of the API reference. The API derives the
// sections from its OpenAPI document; its own page and that of the dashboard
// show them.
type ReferenceGroup struct {
	Name       string
	About      string
	Operations []ReferenceOperation
}

// A ReferenceOperation is one operation of the API.
type ReferenceOperation struct {
	ID           string
	Method       string
	Path         string
	Summary      string
	About        string
	Scope        string
	Parameters   []ReferenceField
	Body         []ReferenceField
	BodyRequired bool
	Curl         string // a command line; the key in it is $WAYBILL_KEY
	Samples      []ReferenceSample
	Answers      []ReferenceAnswer
	Errors       []ReferenceFailure
}

// A ReferenceSample is the request of an operation with a client library; the key
// comes from the environment.
type ReferenceSample struct {
	Language string
	Code     string
}

// A ReferenceAnswer is an answer of an operation that is not an error.
type ReferenceAnswer struct {
	Status  int
	About   string
	Kind    string // content type
	Fields  []ReferenceField
	Example string
}

// A ReferenceFailure lists the codes of an operation's errors with one status.
type ReferenceFailure struct {
	Status int
	Codes  []string
}

// A ReferenceField is a field or a parameter; the fields of an object are below
// it.
type ReferenceField struct {
	Name     string
	Type     string
	About    string
	Rules    string
	Required bool
	Fields   []ReferenceField
}

// A Phrase is a run of text or of code in the texts of the reference.
type Phrase struct {
	Text   string
	IsCode bool
}

// Paragraphs splits a text of the reference into its paragraphs, and these at
// their `code`; nothing else is markup.
func Paragraphs(text string) [][]Phrase {
	var paragraphs [][]Phrase
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		var phrases []Phrase
		for i, part := range strings.Split(paragraph, "`") {
			if part != "" {
				phrases = append(phrases, Phrase{Text: part, IsCode: i%2 == 1}) // every second part stood between backquotes
			}
		}
		paragraphs = append(paragraphs, phrases)
	}
	return paragraphs
}
