package docsite

import (
	"html/template"
	"iter"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/waybillhq/waybill/internal/httpkit"
)

// Limits of a search: what is longer is cut.
const (
	maxQuery      = 100 // characters
	maxWords      = 8
	maxExpansions = 40 // words that the beginning of a word stands for
	maxResults    = 20
	maxSnippet    = 220 // bytes
)

// An entry is what the search can find: a section of a page, an operation of the
// API or an error.
type entry struct {
	Title   string
	Page    string
	Address string
	Text    string
	Weight  float64
}

// A posting says how much of a word an entry has.
type posting struct {
	entry int32
	share float32
}

// An index finds entries by their words. It is made once and never changes.
type index struct {
	entries  []entry
	postings map[string][]posting
	words    []string // sorted, to find words by their beginning
}

// minor are pages that mention everything. What they say of a word is worth less
// than what a guide says.
var minor = map[string]float64{"changelog": 0.4, "conformance": 0.3, "asvs": 0.3, "testing": 0.5, "proofs": 0.5, "threat-model": 0.6}

// entries lists what can be found.
func (s *Site) entries(groups []httpkit.ReferenceGroup) []entry {
	var list []entry
	for _, page := range s.pages {
		weight := minor[page.Name]
		if weight == 0 {
			weight = 1
		}
		for i, section := range page.sections {
			found := entry{Title: section.title, Page: page.Title, Address: page.Address, Text: section.text, Weight: weight}
			if i > 0 {
				found.Address += "#" + section.id
			} else {
				found.Weight *= firstSection
			}
			list = append(list, found)
		}
	}

	for _, group := range groups {
		for _, operation := range group.Operations {
			var text strings.Builder
			text.WriteString(operation.Method + " " + operation.Path + ". " + strings.ReplaceAll(operation.About, "`", ""))
			for _, field := range slices.Concat(operation.Parameters, operation.Body) {
				text.WriteString(" " + field.Name)
			}
			list = append(list, entry{
				Title:   operation.Summary,
				Page:    "API reference",
				Address: s.where.Page(Reference) + "#" + operation.ID,
				Text:    text.String(),
				Weight:  1,
			})
		}
	}
	for _, code := range httpkit.Codes {
		list = append(list, entry{
			Title:   code.Name,
			Page:    "Errors",
			Address: s.where.Page(Errors) + "#" + code.Name,
			Text:    statusText(code.Status) + ". " + code.Title + ". " + strings.ReplaceAll(code.Help, "`", ""),
			Weight:  1,
		})
	}
	return list
}

// Parameters of the ranking: BM25, in which a word of a heading counts as many
// words of the text.
const (
	firstSection = 1.5 // a page about the words comes before sections about them

	inTitle    = 8
	inPage     = 2
	saturate   = 1.4
	lengthPart = 0.6
)

func newIndex(entries []entry) *index {
	counts := make([]map[string]float64, len(entries))
	lengths := make([]float64, len(entries))
	total := 0.0
	appearances := map[string]int{}
	for i, e := range entries {
		counts[i] = map[string]float64{}
		for word := range wordsOf(e.Text) {
			counts[i][word]++
			lengths[i]++
		}
		for word := range wordsOf(e.Title) {
			counts[i][word] += inTitle
		}
		for word := range wordsOf(e.Page) {
			counts[i][word] += inPage
		}
		for word := range counts[i] {
			appearances[word]++
		}
		total += lengths[i]
	}

	x := &index{entries: entries, postings: make(map[string][]posting, len(appearances))}
	average := total / float64(max(len(entries), 1))
	for i := range entries {
		for word, count := range counts[i] {
			n := float64(appearances[word])
			rarity := math.Log(1 + (float64(len(entries))-n+0.5)/(n+0.5))
			share := rarity * count * (saturate + 1) / (count + saturate*(1-lengthPart+lengthPart*lengths[i]/average))
			x.postings[word] = append(x.postings[word], posting{int32(i), float32(share * entries[i].Weight)})
		}
	}
	for word := range x.postings {
		x.words = append(x.words, word)
	}
	slices.Sort(x.words)
	return x
}

// A Result is an entry that matches a search.
type Result struct {
	Title   string
	Page    string
	Address string
	Snippet template.HTML
}

// find returns the entries that match a query, the best first. All words must
// match; if no entry has all of them, one is enough.
func (x *index) find(query string) []Result {
	words := slices.Collect(wordsOf(cutQuery(query)))
	slices.Sort(words)
	words = slices.Compact(words)
	words = words[:min(len(words), maxWords)]

	scores := map[int32]float32{}
	matched := map[int32]int{}
	var known []string
	for _, word := range words {
		best := map[int32]float32{}
		for _, expansion := range x.expand(word) {
			known = append(known, expansion)
			factor := float32(1)
			if expansion != word {
				factor = 0.5
			}
			for _, p := range x.postings[expansion] {
				best[p.entry] = max(best[p.entry], p.share*factor)
			}
		}
		for entry, share := range best {
			scores[entry] += share
			matched[entry]++
		}
	}

	var found []int32
	for entry := range scores {
		if matched[entry] == len(words) {
			found = append(found, entry)
		}
	}
	if len(found) == 0 {
		for entry := range scores {
			found = append(found, entry)
		}
	}
	slices.SortFunc(found, func(a, b int32) int {
		if scores[a] != scores[b] {
			if scores[a] > scores[b] {
				return -1
			}
			return 1
		}
		return int(a - b)
	})

	var results []Result
	for _, at := range found[:min(len(found), maxResults)] {
		e := x.entries[at]
		results = append(results, Result{Title: e.Title, Page: e.Page, Address: e.Address, Snippet: snippet(e.Text, known)})
	}
	return results
}

// expand returns the word, and the words that begin with it.
func (x *index) expand(word string) []string {
	var list []string
	if len(x.postings[word]) > 0 {
		list = append(list, word)
	}
	if len(word) < 3 {
		return list
	}
	at, _ := slices.BinarySearch(x.words, word)
	for ; at < len(x.words) && len(list) < maxExpansions && strings.HasPrefix(x.words[at], word); at++ {
		if x.words[at] != word {
			list = append(list, x.words[at])
		}
	}
	return list
}

// cutQuery drops what is longer than a query may be.
func cutQuery(query string) string {
	count := 0
	for i := range query {
		if count++; count > maxQuery {
			return query[:i]
		}
	}
	return query
}

// wordsOf yields the words of a text as the index has them: in lower case and in
// the singular. The parts of names such as trackingNumber, rate_limited and
// fail-over are words, too.
func wordsOf(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, name := range strings.FieldsFunc(text, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-'
		}) {
			name = strings.Trim(name, "_-")
			if name == "" {
				continue
			}
			if !yield(singular(strings.ToLower(strings.ReplaceAll(name, "-", "")))) {
				return
			}
			if parts := partsOf(name); len(parts) > 1 {
				for _, part := range parts {
					if !yield(singular(strings.ToLower(part))) {
						return
					}
				}
			}
		}
	}
}

// partsOf splits a name at underscores, at hyphens, and where a capital letter
// follows a small one.
func partsOf(name string) []string {
	var parts []string
	begin := 0
	small := false
	for i, r := range name {
		separates := r == '_' || r == '-'
		if separates || small && unicode.IsUpper(r) {
			if i > begin {
				parts = append(parts, name[begin:i])
			}
			begin = i
			if separates {
				begin = i + 1
			}
		}
		small = unicode.IsLower(r)
	}
	return append(parts, name[begin:])
}

// singular drops the ending of an English plural. It need not be a word: query
// and text are treated alike.
func singular(word string) string {
	switch {
	case len(word) > 4 && strings.HasSuffix(word, "ies"):
		return word[:len(word)-3] + "y"
	case len(word) > 4 && (strings.HasSuffix(word, "sses") || strings.HasSuffix(word, "ches") || strings.HasSuffix(word, "shes") || strings.HasSuffix(word, "xes")):
		return word[:len(word)-2]
	case len(word) > 3 && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") && !strings.HasSuffix(word, "us") && !strings.HasSuffix(word, "is"):
		return word[:len(word)-1]
	}
	return word
}

// snippet returns the part of a text around the first of the words, which are
// marked in it.
func snippet(text string, words []string) template.HTML {
	isFound := make(map[string]bool, len(words))
	for _, word := range words {
		isFound[word] = true
	}
	matches := func(field string) bool {
		for word := range wordsOf(field) {
			if isFound[word] {
				return true
			}
		}
		return false
	}

	fields := strings.Fields(text)
	first := max(slices.IndexFunc(fields, matches), 0)
	begin, before := first, 0
	for begin > 0 && before+len(fields[begin-1]) < maxSnippet/4 {
		begin--
		before += len(fields[begin]) + 1
	}

	var out strings.Builder
	if begin > 0 {
		out.WriteString("… ")
	}
	size := 0
	for i, field := range fields[begin:] {
		if size += len(field) + 1; size > maxSnippet {
			out.WriteString(" …")
			break
		}
		if i > 0 {
			out.WriteString(" ")
		}
		shown := template.HTMLEscapeString(field)
		if matches(field) {
			shown = "<mark>" + shown + "</mark>"
		}
		out.WriteString(shown)
	}
	return template.HTML(out.String()) // every field is escaped above
}

// A results is what the page of a search shows.
type results struct {
	Heading string
	Missing bool // the reader came to a page that does not exist
	Query   string
	Found   []Result
}

// Find returns the page with the results of a search.
func (s *Site) Find(query string) ([]byte, error) {
	return s.find(results{Heading: "Search", Query: query})
}

// FindMissing returns the page for a reader who looks for a page that does not exist:
// it says so, and has the results of a search for its name.
func (s *Site) FindMissing(name string) ([]byte, error) {
	words := strings.NewReplacer("-", " ", "_", " ").Replace(name)
	return s.find(results{Heading: "Page not found", Missing: true, Query: words})
}

func (s *Site) find(shown results) ([]byte, error) {
	shown.Query = strings.TrimSpace(cutQuery(strings.ToValidUTF8(shown.Query, "")))
	if shown.Query != "" {
		shown.Found = s.index.find(shown.Query)
	}

	var body strings.Builder
	if err := pageTemplate.ExecuteTemplate(&body, "results", shown); err != nil {
		return nil, err
	}
	title := shown.Heading
	if shown.Query != "" {
		title += ": " + shown.Query
	}
	return s.execute(view{
		page:  &page{Name: Search, Title: title, Address: s.where.Page(Search), Body: template.HTML(body.String())}, // the template escapes all text
		Query: shown.Query,
	})
}
