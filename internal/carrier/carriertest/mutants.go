package carriertest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
)

var updateMutants = flag.Bool("update-mutants", false, "rewrite the counts of mutants.tsv")

// mutantsFile says which changes to its requests a carrier's emulator accepts,
// and why.
const mutantsFile = "mutants.tsv"

var mutantColumns = []string{"pattern", "mutation", "reason", "source", "count"}

// mutatedOperations are the operations whose requests are changed.
var mutatedOperations = []string{"buy", "find", "void", "track", "rates"}

// A mutantRule explains the surviving mutants whose names match its pattern.
type mutantRule struct {
	pattern  string // "*" stands for any text
	mutation string // its kinds, separated by commas; "*" for all
	reason   string
	source   string
	count    int // how many it explains, at most
	expr     *regexp.Regexp
}

func (r mutantRule) matches(m mutation) bool {
	isKind := r.mutation == "*" || slices.Contains(strings.Split(r.mutation, ","), m.kind)
	return isKind && r.expr.MatchString(m.name)
}

// mutantsText is the text of mutants.tsv. It is read once: subjects of a carrier
// run in parallel, and an update by the first must not hide rules from the next.
var mutantsText = sync.OnceValues(func() ([]byte, error) { return os.ReadFile(mutantsFile) })

// readMutantRules reads mutants.tsv; none if the carrier has no such file.
func readMutantRules(t *testing.T) []mutantRule {
	t.Helper()
	text, err := mutantsText()
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}

	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if want := strings.Join(mutantColumns, "\t"); lines[0] != want {
		t.Fatalf("the first line of %s is %q, want %q", mutantsFile, lines[0], want)
	}
	rules := []mutantRule{}
	for i, line := range lines[1:] {
		cells := strings.Split(line, "\t")
		if len(cells) != len(mutantColumns) || slices.Contains(cells, "") {
			t.Fatalf("%s:%d: want %d columns separated by tabs, none of them empty", mutantsFile, i+2, len(mutantColumns))
		}
		count, err := strconv.Atoi(cells[4])
		if err != nil || count < 1 {
			t.Fatalf("%s:%d: the count is %q, want a positive number", mutantsFile, i+2, cells[4])
		}
		rules = append(rules, mutantRule{
			pattern:  cells[0],
			mutation: cells[1],
			reason:   cells[2],
			source:   cells[3],
			count:    count,
			expr:     regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(cells[0]), `\*`, ".*") + "$"),
		})
	}
	return rules
}

// testMutants changes one thing at a time in the requests that the driver sends,
// and requires that the emulator refuses each change that the carrier would
// refuse. What it accepts is explained by a rule.
//
// An emulator that accepts anything proves nothing about the driver: a member
// that is misspelled in both would go unnoticed until a live purchase.
func testMutants(t *testing.T, subject Subject) {
	rules := readMutantRules(t)
	if rules == nil {
		t.Skip("the carrier has no " + mutantsFile)
	}

	explained := make([]int, len(rules))
	var sent, survived int
	var unexplained []string
	for _, operation := range mutatedOperations {
		for _, result := range mutateOperation(t, subject, operation) {
			sent++
			if !result.survived {
				continue
			}
			survived++
			rule := slices.IndexFunc(rules, func(r mutantRule) bool { return r.matches(result.mutation) })
			if rule < 0 {
				unexplained = append(unexplained, result.String())
				continue
			}
			explained[rule]++
		}
	}

	for _, text := range unexplained {
		t.Errorf("the emulator accepts %s", text)
	}
	if len(unexplained) > 0 {
		t.Errorf("make the emulator refuse these changes, or explain them in %s with their source; an emulator that accepts what the carrier refuses proves nothing about the driver", mutantsFile)
	}
	for i, rule := range rules {
		if explained[i] > rule.count && !*updateMutants {
			t.Errorf("%s: the rule %q of %s explains %d mutants, and allows %d: go test -update-mutants, if its reason holds for all of them",
				mutantsFile, rule.pattern, rule.mutation, explained[i], rule.count)
		}
	}
	t.Logf("mutants of %s: %d sent, %d refused, %d accepted by rule, %d unexplained",
		subject.Spec.Title, sent, sent-survived, survived-len(unexplained), len(unexplained))
	if *updateMutants {
		updateMutantRules(t, rules, explained)
	}
}

var (
	updating      sync.Mutex
	highestCounts = map[int]int{} // of each rule, over the subjects of a carrier
)

// updateMutantRules writes how many mutants each rule explains, the most of all
// subjects of the carrier. A rule that explains none is removed.
func updateMutantRules(t *testing.T, rules []mutantRule, explained []int) {
	t.Helper()
	updating.Lock()
	defer updating.Unlock()

	text := strings.Join(mutantColumns, "\t") + "\n"
	for i, rule := range rules {
		highestCounts[i] = max(highestCounts[i], explained[i])
		if highestCounts[i] > 0 {
			text += strings.Join([]string{rule.pattern, rule.mutation, rule.reason, rule.source, strconv.Itoa(highestCounts[i])}, "\t") + "\n"
		}
	}
	if err := os.WriteFile(mutantsFile, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A mutation is one change to one request.
type mutation struct {
	name    string // "buy#1 Shipment.Product"
	kind    string // "rename", "drop", "case", "future", "past", "currency" or "code"
	request int    // of the operation, from zero
	inQuery bool
	path    []string // of the member
}

// A mutantResult is what became of a mutant.
type mutantResult struct {
	mutation
	survived   bool
	complaints []string // of the carrier's own files, if they are at hand
}

func (r mutantResult) String() string {
	verdict := ""
	if len(r.complaints) > 0 {
		objection, _, _ := strings.Cut(r.complaints[0], "\n")
		verdict = " (the carrier's own file: " + objection + ")"
	}
	return r.name + "\t" + r.kind + verdict
}

// mutateOperation sends every mutant of an operation. It returns none for an
// operation that the carrier does not have.
func mutateOperation(t *testing.T, subject Subject, operation string) []mutantResult {
	t.Helper()
	first, err := newBench(t, subject, operation)
	if err != nil {
		t.Fatalf("%s: %v", operation, err)
	}
	if first == nil {
		return nil
	}
	if err := first.run(); err != nil {
		t.Fatalf("%s, unchanged: %v", operation, err)
	}

	var results []mutantResult
	var b *bench
	for i, recorded := range first.tap.recorded {
		for _, m := range recorded.mutations() {
			m.request = i
			m.name = fmt.Sprintf("%s#%d %s", operation, i+1, m.name)
			if b == nil {
				if b, err = newBench(t, subject, operation); err != nil {
					t.Fatalf("%s: %v", operation, err)
				}
			}

			result, isUsed := b.try(t, m)
			results = append(results, result)
			if isUsed {
				b.close()
				b = nil
			}
		}
	}
	return results
}

// A bench is an emulator with a driver, ready for an operation.
type bench struct {
	tap   *tap
	run   func() error
	close func()
	count int // entries in the emulator's ledger
}

// newBench prepares an operation; nil if the carrier does not have it.
func newBench(t *testing.T, subject Subject, operation string) (*bench, error) {
	t.Helper()
	service := subject.Service(t)
	between := &tap{service: service, isToken: subject.IsToken}
	run, err := subject.Prepare(t, operation, service, between)
	if err != nil || run == nil {
		return nil, err
	}
	prepared := &bench{tap: between, run: run, close: func() {}}
	prepared.count, err = between.ledger(t.Context())
	return prepared, err
}

// try sends a mutant. The emulator is used up by one that it accepted.
func (b *bench) try(t *testing.T, m mutation) (result mutantResult, isUsed bool) {
	t.Helper()
	b.tap.start(&m)
	err := b.run()
	complaints, hitEffect, wasHit := b.tap.stop()
	if !wasHit {
		t.Fatalf("%s: the operation did not send this request again", m.name)
	}

	result = mutantResult{mutation: m, complaints: complaints}
	count, ledgerErr := b.tap.ledger(t.Context())
	if ledgerErr != nil {
		t.Fatal(ledgerErr)
	}
	hasEffect := count != b.count
	result.survived = err == nil
	if hitEffect {
		result.survived = hasEffect
	}
	return result, hasEffect
}

// A tap is between a driver and its emulator. It records requests, or changes
// one of them.
type tap struct {
	service carrier.Doer
	isToken func(*http.Request) bool

	mu         sync.Mutex
	recorded   []recordedRequest
	number     int // of the next request
	mutation   *mutation
	wasHit     bool
	hitEffect  bool
	complaints []string
}

func (p *tap) start(m *mutation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.number = 0
	p.mutation = m
	p.wasHit = false
	p.hitEffect = false
	p.complaints = nil
}

func (p *tap) stop() (complaints []string, hitEffect, wasHit bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.complaints, p.hitEffect, p.wasHit
}

// Do is carrier.Doer.
func (p *tap) Do(r *http.Request) (*http.Response, error) {
	if p.isToken(r) {
		return p.service.Do(r)
	}

	body, err := copyBody(&r.Body)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	number := p.number
	p.number++
	mutant := p.mutation
	if mutant == nil {
		p.recorded = append(p.recorded, recordedRequest{
			contentType: r.Header.Get("Content-Type"),
			query:       r.URL.RawQuery,
			body:        body,
		})
	}
	isHit := mutant != nil && mutant.request == number
	if isHit {
		p.wasHit = true
		p.hitEffect = carrier.IsEffect(r.Context())
	}
	p.mu.Unlock()
	if !isHit {
		return p.service.Do(r)
	}

	r = r.Clone(withoutContract(r.Context(), func(complaint string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.complaints = append(p.complaints, complaint)
	}))
	if mutant.inQuery {
		r.URL.RawQuery = mutateForm(r.URL.RawQuery, *mutant)
	} else {
		changed := recordedRequest{contentType: r.Header.Get("Content-Type"), body: body}.mutate(*mutant)
		r.Body = io.NopCloser(bytes.NewReader(changed))
		r.ContentLength = int64(len(changed))
	}
	return p.service.Do(r)
}

// ledger returns how many entries the emulator's ledger has.
func (p *tap) ledger(ctx context.Context) (int, error) {
	request, err := http.NewRequestWithContext(withoutContract(ctx, func(string) {}), http.MethodGet, "http://emulator.test/_emulator/ledger", http.NoBody)
	if err != nil {
		return 0, err
	}
	response, err := p.service.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("the emulator's ledger: status %d", response.StatusCode)
	}
	return bytes.Count(text, []byte("\n")), err
}

type contractKey struct{}

// withoutContract returns a ctx whose exchanges are not held against the
// carrier's own files: what these would object to is only reported.
func withoutContract(ctx context.Context, complain func(string)) context.Context {
	return context.WithValue(ctx, contractKey{}, complain)
}

// contractComplaint returns where objections of the carrier's files go instead
// of failing the test; nil if they fail it.
func contractComplaint(ctx context.Context) func(string) {
	complain, _ := ctx.Value(contractKey{}).(func(string))
	return complain
}
