package carriertest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/carrier"
)

// Schemas are a carrier's own XML schemas: every exchange is checked against
// them. They cover the part of XML Schema that carriers use: sequences, choices,
// "all", attributes, substitution groups, and simple types with their facets.
type Schemas struct {
	t          testing.TB
	departures []Departure
	schemas    []*schema

	mu       sync.Mutex
	checked  int
	departed []int // how often each departure was met
}

// NewSchemas reads schemas, which lie below the directory that CARRIER_SPECS names.
// Without CARRIER_SPECS it checks nothing, and says so. The operation of a
// departure is the method and the name of the document: "POST shipment".
func NewSchemas(t testing.TB, departures []Departure, files ...string) *Schemas {
	t.Helper()
	dir := os.Getenv("CARRIER_SPECS")
	if dir == "" {
		t.Log("CARRIER_SPECS is not set: exchanges are not checked against the carrier's own XML schemas")
		return nil
	}

	s := &Schemas{t: t, departures: departures, departed: make([]int, len(departures))}
	for _, file := range files {
		read, err := readSchema(filepath.Join(dir, file))
		if err != nil {
			t.Fatalf("read %s: %v", file, err)
		}
		s.schemas = append(s.schemas, read)
	}
	t.Cleanup(s.conclude)
	return s
}

// Checked passes requests on and checks them and their answers. Nil Schemas only
// pass them on.
func (s *Schemas) Checked(via carrier.Doer) carrier.Doer {
	if s == nil {
		return via
	}
	return doer(func(request *http.Request) (*http.Response, error) {
		sent, err := copyBody(&request.Body)
		if err != nil {
			return nil, err
		}
		response, err := via.Do(request)
		if err != nil {
			return response, err
		}

		if instead := contractComplaint(request.Context()); instead != nil {
			s.report(sent, instead)
			return response, nil
		}
		s.check(request.Method, false, sent)
		if received, err := copyBody(&response.Body); err == nil && strings.Contains(response.Header.Get("Content-Type"), "xml") {
			s.check(request.Method, true, received)
		}
		return response, nil
	})
}

type doer func(*http.Request) (*http.Response, error)

// Do is carrier.Doer.
func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

// report hands what the schemas object to in a request to a function.
func (s *Schemas) report(sent []byte, complain func(string)) {
	document, err := readNode(sent)
	if err != nil {
		return // the request has no body
	}
	for _, read := range s.schemas {
		if declared := read.elements[document.name.Local]; declared != nil && read.namespace == document.name.Space {
			for _, complaint := range read.checkElement(declared, document, document.name.Local) {
				complain(complaint)
			}
		}
	}
}

func (s *Schemas) check(method string, isAnswer bool, body []byte) {
	if len(body) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checked++

	where := Departure{Operation: method + " ?", Answer: isAnswer}
	document, err := readNode(body)
	if err != nil {
		s.complain(where, "is not XML: "+err.Error())
		return
	}
	where.Operation = method + " " + document.name.Local
	for _, read := range s.schemas {
		if declared := read.elements[document.name.Local]; declared != nil && read.namespace == document.name.Space {
			for _, complaint := range read.checkElement(declared, document, document.name.Local) {
				s.complain(where, complaint)
			}
			return
		}
	}
	s.complain(where, fmt.Sprintf("the element {%s}%s is in none of the carrier's schemas", document.name.Space, document.name.Local))
}

func (s *Schemas) complain(where Departure, complaint string) {
	for i, known := range s.departures {
		if known.Operation == where.Operation && known.Answer == where.Answer && strings.Contains(complaint, known.Contains) {
			s.departed[i]++
			return
		}
	}
	side := "request"
	if where.Answer {
		side = "answer"
	}
	s.t.Errorf("%s: the %s does not keep to the carrier's schema: %s", where.Operation, side, complaint)
}

// conclude logs how much was checked, and fails the test for a departure that was
// never met, so that the list stays short.
func (s *Schemas) conclude() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, n := range s.departed {
		if n == 0 && !s.t.Failed() {
			s.t.Errorf("the departure %+v is not needed", s.departures[i])
		}
	}
	s.t.Logf("%d requests and answers checked against the carrier's XML schemas, %d departures", s.checked, len(s.departures))
}

// A node is an element of a document, or of a schema.
type node struct {
	name       xml.Name
	attributes map[string]string
	children   []*node
	text       string
}

// readNode reads a document.
func readNode(data []byte) (*node, error) {
	decoder := xml.NewDecoder(bytes.NewReader(data))
	var root *node
	var open []*node
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) && root != nil && len(open) == 0 {
			return root, nil
		}
		if err != nil {
			return nil, err
		}

		switch token := token.(type) {
		case xml.StartElement:
			element := &node{name: token.Name, attributes: map[string]string{}}
			for _, attribute := range token.Attr {
				if attribute.Name.Space == "" && attribute.Name.Local != "xmlns" {
					element.attributes[attribute.Name.Local] = attribute.Value
				}
			}
			if len(open) > 0 {
				parent := open[len(open)-1]
				parent.children = append(parent.children, element)
			} else {
				root = element
			}
			open = append(open, element)
		case xml.CharData:
			if len(open) > 0 {
				open[len(open)-1].text += string(token)
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		}
	}
}

// child returns the first child with one of the names; nil if there is none.
func (n *node) child(names ...string) *node {
	i := slices.IndexFunc(n.children, func(c *node) bool { return slices.Contains(names, c.name.Local) })
	if i < 0 {
		return nil
	}
	return n.children[i]
}

// A schema is what one file declares, and those that it includes.
type schema struct {
	namespace string
	elements  map[string]*node
	types     map[string]*node
}

func readSchema(file string) (*schema, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	root, err := readNode(data)
	if err != nil {
		return nil, err
	}

	read := &schema{
		namespace: root.attributes["targetNamespace"],
		elements:  map[string]*node{},
		types:     map[string]*node{},
	}
	for _, declared := range root.children {
		switch declared.name.Local {
		case "include", "redefine":
			included, err := readSchema(filepath.Join(filepath.Dir(file), declared.attributes["schemaLocation"]))
			if err != nil {
				return nil, err
			}
			for name, element := range included.elements {
				read.elements[name] = element
			}
			for name, kind := range included.types {
				read.types[name] = kind
			}
			for _, redefined := range declared.children {
				read.types[redefined.attributes["name"]] = redefined
			}
		case "element":
			read.elements[declared.attributes["name"]] = declared
		case "complexType", "simpleType":
			read.types[declared.attributes["name"]] = declared
		}
	}
	return read, nil
}

// checkElement returns what is wrong with an element that is declared so.
func (s *schema) checkElement(declared, element *node, path string) []string {
	if fixed, ok := declared.attributes["fixed"]; ok && strings.TrimSpace(element.text) != fixed {
		return []string{fmt.Sprintf("%s must be %q", path, fixed)}
	}
	if kind := declared.child("complexType", "simpleType"); kind != nil {
		return s.checkType(kind, element, path)
	}
	return s.checkNamed(declared.attributes["type"], element, path)
}

func (s *schema) checkNamed(name string, element *node, path string) []string {
	if kind := s.types[name]; kind != nil {
		return s.checkType(kind, element, path)
	}
	if len(element.children) > 0 {
		return []string{path + " must have no elements"}
	}
	return s.checkText(name, element.text, path)
}

func (s *schema) checkType(kind, element *node, path string) (complaints []string) {
	if kind.name.Local == "simpleType" {
		if len(element.children) > 0 {
			return []string{path + " must have no elements"}
		}
		return s.checkSimple(kind, element.text, path)
	}

	content := kind
	if simple := kind.child("simpleContent"); simple != nil {
		content = simple.child("extension")
		complaints = s.checkText(content.attributes["base"], element.text, path)
	} else if text := strings.TrimSpace(element.text); text != "" {
		complaints = append(complaints, fmt.Sprintf("%s must have no text", path))
	}
	for _, attribute := range content.children {
		if attribute.name.Local != "attribute" {
			continue
		}
		value, given := element.attributes[attribute.attributes["name"]]
		switch {
		case given:
			complaints = append(complaints, s.checkText(attribute.attributes["type"], value, path+"/@"+attribute.attributes["name"])...)
		case attribute.attributes["use"] == "required":
			complaints = append(complaints, path+" needs the attribute "+attribute.attributes["name"])
		}
	}

	model := content.child("all", "sequence", "choice")
	if model == nil {
		if len(element.children) > 0 {
			complaints = append(complaints, path+" must have no elements")
		}
		return complaints
	}
	rest, found := s.match(model, element.children, path)
	complaints = append(complaints, found...)
	if len(found) == 0 && len(rest) > 0 {
		complaints = append(complaints, fmt.Sprintf("%s: %s is not expected", path, rest[0].name.Local))
	}
	return complaints
}

// match takes the elements that a part of a content model describes, and returns
// the others.
func (s *schema) match(model *node, elements []*node, path string) (rest []*node, complaints []string) {
	switch model.name.Local {
	case "all":
		return s.matchAll(model, elements, path)

	case "sequence":
		for _, part := range model.children {
			var found []string
			elements, found = s.match(part, elements, path)
			complaints = append(complaints, found...)
		}
		return elements, complaints

	case "choice":
		for _, part := range model.children {
			if after, found := s.match(part, elements, path); len(after) < len(elements) {
				return after, found
			}
		}
		for _, part := range model.children {
			if _, found := s.match(part, elements, path); len(found) == 0 {
				return elements, nil // one of the choices may be absent
			}
		}
		return elements, []string{path + " has none of the choices"}

	case "element":
		least, most := occurrences(model)
		count := 0
		for len(elements) > 0 && count < most {
			declared := s.declarationOf(model, elements[0])
			if declared == nil {
				break
			}
			complaints = append(complaints, s.checkElement(declared, elements[0], path+"/"+elements[0].name.Local)...)
			elements = elements[1:]
			count++
		}
		if count < least {
			complaints = append(complaints, fmt.Sprintf("%s needs %s", path, model.attributes["name"]+model.attributes["ref"]))
		}
	}
	return elements, complaints
}

// matchAll takes elements in any order, each once at most.
func (s *schema) matchAll(model *node, elements []*node, path string) (rest []*node, complaints []string) {
	seen := map[*node]bool{}
	for _, element := range elements {
		i := slices.IndexFunc(model.children, func(part *node) bool { return !seen[part] && s.declarationOf(part, element) != nil })
		if i < 0 {
			rest = append(rest, element)
			continue
		}
		seen[model.children[i]] = true
		declared := s.declarationOf(model.children[i], element)
		complaints = append(complaints, s.checkElement(declared, element, path+"/"+element.name.Local)...)
	}
	for _, part := range model.children {
		if least, _ := occurrences(part); part.name.Local == "element" && !seen[part] && least > 0 {
			complaints = append(complaints, fmt.Sprintf("%s needs %s", path, part.attributes["name"]+part.attributes["ref"]))
		}
	}
	return rest, complaints
}

// declarationOf returns how an element is declared if it may stand where the
// model has the part, also in place of the head of its group; nil if it may not.
func (s *schema) declarationOf(part, element *node) *node {
	if part.name.Local != "element" || element.name.Space != s.namespace {
		return nil
	}
	if part.attributes["ref"] == "" {
		if part.attributes["name"] == element.name.Local {
			return part
		}
		return nil
	}

	declared := s.elements[element.name.Local]
	if declared == nil || element.name.Local != part.attributes["ref"] && declared.attributes["substitutionGroup"] != part.attributes["ref"] {
		return nil
	}
	return declared
}

func occurrences(part *node) (least, most int) {
	least, most = 1, 1
	if n, err := strconv.Atoi(part.attributes["minOccurs"]); err == nil {
		least = n
	}
	if n, err := strconv.Atoi(part.attributes["maxOccurs"]); err == nil {
		most = n
	}
	if part.attributes["maxOccurs"] == "unbounded" {
		most = 1 << 30
	}
	return least, most
}

// checkSimple checks a text by a simple type.
func (s *schema) checkSimple(kind *node, text, path string) []string {
	if union := kind.child("union"); union != nil {
		return s.checkUnion(union, text, path)
	}

	restriction := kind.child("restriction")
	base := restriction.attributes["base"]
	var complaints []string
	if base != kind.attributes["name"] { // a redefined type restricts itself
		complaints = s.checkText(base, text, path)
	}

	var patterns, values []string
	for _, facet := range restriction.children {
		value := facet.attributes["value"]
		switch facet.name.Local {
		case "pattern":
			patterns = append(patterns, value)
		case "enumeration":
			values = append(values, value)
		default:
			if !facetHolds(facet.name.Local, value, text) {
				complaints = append(complaints, fmt.Sprintf("%s: %q breaks %s %s", path, text, facet.name.Local, value))
			}
		}
	}
	if len(values) > 0 && !slices.Contains(values, text) {
		complaints = append(complaints, fmt.Sprintf("%s: %q is none of %v", path, text, values))
	}
	matches := func(pattern string) bool { return regexp.MustCompile(`^(?:` + pattern + `)$`).MatchString(text) }
	if len(patterns) > 0 && !slices.ContainsFunc(patterns, matches) {
		complaints = append(complaints, fmt.Sprintf("%s: %q does not match %v", path, text, patterns))
	}
	return complaints
}

func (s *schema) checkUnion(union *node, text, path string) (complaints []string) {
	for _, name := range strings.Fields(union.attributes["memberTypes"]) {
		found := s.checkText(name, text, path)
		if len(found) == 0 {
			return nil
		}
		complaints = append(complaints, found...)
	}
	for _, member := range union.children {
		found := s.checkSimple(member, text, path)
		if len(found) == 0 {
			return nil
		}
		complaints = append(complaints, found...)
	}
	return complaints
}

func facetHolds(facet, limit, text string) bool {
	length := utf8.RuneCountInString(text)
	bound, err := strconv.Atoi(limit)
	switch facet {
	case "length":
		return err == nil && length == bound
	case "minLength":
		return err == nil && length >= bound
	case "maxLength":
		return err == nil && length <= bound
	case "fractionDigits":
		_, fraction, _ := strings.Cut(text, ".")
		return err == nil && len(strings.TrimRight(fraction, "0")) <= bound
	}

	value, ok := new(big.Rat).SetString(text)
	edge, hasEdge := new(big.Rat).SetString(limit)
	if !ok || !hasEdge {
		return false
	}
	switch facet {
	case "minInclusive":
		return value.Cmp(edge) >= 0
	case "minExclusive":
		return value.Cmp(edge) > 0
	case "maxInclusive":
		return value.Cmp(edge) <= 0
	case "maxExclusive":
		return value.Cmp(edge) < 0
	}
	return false
}

// integer is the text of every type of whole numbers.
var integer = regexp.MustCompile(`^[-+]?\d+$`)

// checkText checks a text by the name of a simple type.
func (s *schema) checkText(name, text, path string) []string {
	if kind := s.types[name]; kind != nil {
		return s.checkSimple(kind, text, path)
	}

	_, builtIn, _ := strings.Cut(name, ":")
	isValid := true
	switch builtIn {
	case "boolean":
		isValid = slices.Contains([]string{"true", "false", "1", "0"}, text)
	case "date":
		_, err := time.Parse(time.DateOnly, text)
		isValid = err == nil
	case "dateTime":
		_, err := time.Parse(time.RFC3339, text)
		isValid = err == nil
	case "decimal":
		_, isValid = new(big.Rat).SetString(text)
		isValid = isValid && !strings.ContainsAny(text, "eE/")
	case "integer", "positiveInteger", "nonNegativeInteger":
		isValid = integer.MatchString(text) && !(builtIn == "positiveInteger" && strings.Trim(text, "+0") == "") && !(builtIn != "integer" && text[0] == '-')
	case "normalizedString":
		isValid = !strings.ContainsAny(text, "\r\n\t")
	case "string", "anyURI", "base64Binary":
	default:
		return []string{fmt.Sprintf("%s has the unknown type %q", path, name)}
	}
	if !isValid {
		return []string{fmt.Sprintf("%s: %q is not of type %s", path, text, builtIn)}
	}
	return nil
}
