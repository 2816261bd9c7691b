package conformance

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

const (
	// patience is how long an operation may take whose carrier never answers.
	// The tokens that come before it are fetched within it: USPS has two.
	patience = 400 * time.Millisecond

	// generous is how long any other may take: on a busy machine an answer that
	// comes at once takes longer than patience.
	generous = 20 * time.Second
)

// faultCase is a fault and the kind of error it must become.
type faultCase struct {
	name   string
	fault  fault
	effect ship.Kind // for purchases and voids
	read   ship.Kind
	also   func(*ship.Error) error // a further demand
	own    bool                    // the carrier itself answers so, not something in between
}

// deadline returns how long an operation may take under the fault.
func (f faultCase) deadline() time.Duration {
	if f.name == "never answers" || f.name == "answer stops in half" {
		return patience
	}
	return generous
}

const page = "<!doctype html><title>Sorry</title><p>We are down for maintenance."

func (s Subject) faults(op operation) []faultCase {
	// An effect whose answer is lost is uncertain; a read can be repeated.
	const unsure, away = ship.Uncertain, ship.Unavailable
	list := []faultCase{
		{"refused before sending", dialFails, away, away, nil, false},
		{"answer lost", cutAfterSend, unsure, away, nil, false},
		{"never answers", hang, unsure, away, nil, false},
		{"answer cut in half", cutInBody, unsure, away, nil, false},
		{"answer stops in half", hangInBody, unsure, away, nil, false},
		{"answer truncated", truncate, unsure, away, nil, false},
		{"answer is a web page", answer(200, page), unsure, away, nil, false},
		{"answer is empty", answer(200, ""), unsure, away, nil, false},
		{"answer is endless", tooBig, unsure, away, nil, false},
		{"compressed answer truncated", truncateCompressed, unsure, away, nil, false},
		{"compressed answer damaged", corruptCompressed, unsure, away, nil, false},
		{"compressed answer unpacks without end", bomb, unsure, away, nil, false},
		{"moved", answer(302, "", "Location", "https://elsewhere.example/"), unsure, away, nil, false},
		{"server error", answer(500, "{}"), unsure, away, nil, false},
		{"gateway error", answer(502, page), unsure, away, nil, false},
		{"overloaded", answer(503, "", "Retry-After", "7"), unsure, away, nil, false},
		{"gateway time-out", answer(504, page), unsure, away, nil, false},
		{"too many requests", answer(429, "", "Retry-After", "7"), ship.Limited, ship.Limited, wait7, false},
		{"not let in", answer(401, "{}"), ship.Forbidden, ship.Forbidden, nil, false},
		{"not allowed", answer(403, "{}"), ship.Forbidden, ship.Forbidden, nil, false},
	}

	if op.name != "check" {
		refusal := s.refusal(op)
		refused := answer(refusal.Status, fmt.Sprintf(refusal.Body, "no such street"))
		list = append(list,
			faultCase{"refused by the carrier", refused, ship.Invalid, ship.Invalid, refusal.isRead, true},
			faultCase{"refused in a compressed answer", compressedRefusal(refused), ship.Invalid, ship.Invalid, refusal.isRead, true},
			faultCase{"refused with the request repeated", echo(refusal), ship.Invalid, ship.Invalid, refusal.isRead, true})
	}

	switch op.name {
	case "buy":
		list = append(list, faultCase{"answer lacks the label", loseLabel, unsure, away, nil, true})
	case "find":
		if !s.Spec.LookupLacksLabel {
			list = append(list, faultCase{"answer lacks the label", loseLabel, unsure, away, nil, true})
		}
	}

	switch op.name {
	case "rehearse", "addresses", "find_pickups", "find_manifests", "find_documents", "proof", "points", "duties":
		// Nothing is unknown to the carrier because a proxy does not know the
		// path.
		list = append(list, faultCase{"not found by a proxy", answer(404, page), away, away, nil, false})
	}

	switch op.name {
	case "buy", "rehearse", "find", "void", "rates", "addresses",
		"pickups", "find_pickups", "manifests", "find_manifests", "find_documents", "points", "duties":
		list = append(list, faultCase{"answer says nothing", answer(200, "{}"), unsure, away, nil, true})
	}
	return list
}

// compressedRefusal returns the refusal as FedEx sends it.
func compressedRefusal(refusal fault) fault {
	return func(service carrier.Doer, r *http.Request) (*http.Response, error) {
		return compressedAs("GZIP")(doerFunc(func(r *http.Request) (*http.Response, error) { return refusal(service, r) }), r)
	}
}

type doerFunc func(*http.Request) (*http.Response, error)

// Do is carrier.Doer.
func (f doerFunc) Do(r *http.Request) (*http.Response, error) { return f(r) }

func wait7(limited *ship.Error) error {
	if limited.RetryAfter != 7*time.Second {
		return fmt.Errorf("retry after %v, want 7s", limited.RetryAfter)
	}
	return nil
}

// refusal returns how the carrier declines the operation.
func (s Subject) refusal(op operation) Refusal {
	if op.name == "addresses" && s.AddressRefusal.Status != 0 {
		return s.AddressRefusal
	}
	if own, ok := s.Refusals[op.name]; ok {
		return own
	}
	return s.Refusal
}

// isRead requires that the carrier's own code is in the error.
func (r Refusal) isRead(refused *ship.Error) error {
	if refused.Refusal.Code != r.Code {
		return fmt.Errorf("the carrier's code is %q, want %q", refused.Refusal.Code, r.Code)
	}
	return nil
}

// faultCases returns the cases of one operation under every fault.
func (s Subject) faultCases(op operation) []testCase {
	var list []testCase
	for _, injected := range s.faults(op) {
		list = append(list, testCase{name: op.name + " " + injected.name, operation: op.name, hasFault: true, run: func(s Subject, t T) error {
			return s.testFault(t, op, injected)
		}})
	}
	list = append(list, testCase{name: op.name + " not let in once", operation: op.name, hasFault: true, run: func(s Subject, t T) error {
		return s.testLetInAgain(t, op)
	}})
	list = append(list, s.readCases(op)...)
	if len(s.tokenPaths(op)) == 0 {
		return list
	}

	return append(list,
		tokenCase(op, "token fetch not let in", answer(401, "{}"), ship.Forbidden),
		tokenCase(op, "token fetch fails", answer(500, page), ship.Unavailable),
		tokenCase(op, "token fetch loses its answer", cutAfterSend, ship.Unavailable),
		tokenCase(op, "token fetch never answers", hang, ship.Unavailable))
}

// readCases break the reads that an effect needs besides its own request.
func (s Subject) readCases(op operation) []testCase {
	var list []testCase
	add := func(name string, injected fault, hit part, want ship.Kind) {
		list = append(list, testCase{name: op.name + " " + name, operation: op.name, hasFault: true, run: func(s Subject, t T) error {
			service := s.Service(t)
			w := &wire{subject: s, service: service, op: op, fault: injected, part: hit}
			err := s.runOver(t, op, service, w, generous)
			if w.struck == 0 {
				return errors.New("the subject says that something is read, and nothing is")
			}
			return errors.Join(wantKind(err, want), s.inspect(err), w.complaint(op))
		}})
	}

	if op.effect && slices.Contains(s.ReadsBefore, op.name) {
		add("read before it loses its answer", cutAfterSend, beforeEffect, ship.Unavailable)
		add("read before it fails", answer(500, page), beforeEffect, ship.Unavailable)
		add("read before it is a web page", answer(200, page), beforeEffect, ship.Unavailable)
	}
	if op.effect && slices.Contains(s.ReadsAfter, op.name) {
		refusal := s.refusal(op)
		add("read after it loses its answer", cutAfterSend, afterEffect, ship.Uncertain)
		add("read after it fails", answer(500, page), afterEffect, ship.Uncertain)
		add("read after it is refused", answer(refusal.Status, fmt.Sprintf(refusal.Body, "no such label")), afterEffect, ship.Uncertain)
		add("read after it is not let in", answer(401, "{}"), afterEffect, ship.Uncertain)
		add("read after it is a web page", answer(200, page), afterEffect, ship.Uncertain)
		add("read after it is empty", answer(200, ""), afterEffect, ship.Uncertain)
	}
	return list
}

// A part is which requests of an operation a fault hits.
type part int

const (
	fromEffect   part = iota // of an effect, its own request and what follows; of a read, all
	beforeEffect             // reads that come before an effect
	afterEffect              // reads that come after it
	everything
)

// tokenCase breaks the request for a token. Whatever happens to it, nothing
// was bought.
func tokenCase(op operation, name string, injected fault, want ship.Kind) testCase {
	return testCase{name: op.name + " " + name, operation: op.name, hasFault: true, run: func(s Subject, t T) error {
		service := s.Service(t)
		w := &wire{subject: s, service: service, op: op, tokenFault: injected}
		within := generous
		if name == "token fetch never answers" {
			within = patience
		}

		err := s.runOver(t, op, service, w, within)
		return errors.Join(wantKind(err, want), s.inspect(err), w.complaint(op))
	}}
}

func (s Subject) testFault(t T, op operation, injected faultCase) error {
	service := s.Service(t)
	w := &wire{subject: s, service: service, op: op, fault: injected.fault}
	if injected.own && s.Sign != nil {
		w.fault = s.signed(injected.fault)
	}
	if op.name == "check" {
		w.tokenFault = injected.fault // the check may be the fetch itself
	}

	began := time.Now()
	err := s.runOver(t, op, service, w, injected.deadline())
	if took := time.Since(began); took > 40*patience && injected.deadline() == patience {
		return fmt.Errorf("took %v with a deadline of %v", took, patience)
	}

	want := injected.read
	if op.effect {
		want = injected.effect
	}
	if err == nil && s.confirmsByStatus(op, injected) {
		return w.complaint(op)
	}
	if err := wantKind(err, want); err != nil {
		return err
	}
	if injected.also != nil {
		if failure, ok := errors.AsType[*ship.Error](err); ok && injected.also(failure) != nil {
			return injected.also(failure)
		}
	}
	if op.name == "addresses" {
		if err := s.inspectAddress(err); err != nil {
			return err
		}
	}
	return errors.Join(s.inspect(err), w.complaint(op))
}

// signed returns the fault with the answer signed by the carrier.
func (s Subject) signed(injected fault) fault {
	return func(service carrier.Doer, r *http.Request) (*http.Response, error) {
		answer, err := injected(service, r)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(answer.Body)
		if err := errors.Join(err, answer.Body.Close()); err != nil {
			return nil, err
		}

		// What is signed is the answer before it was compressed.
		plain := body
		if strings.EqualFold(answer.Header.Get("Content-Encoding"), "gzip") {
			unpacked, err := gzip.NewReader(bytes.NewReader(body))
			if err != nil {
				return nil, err
			}
			if plain, err = io.ReadAll(unpacked); err != nil {
				return nil, err
			}
		}
		s.Sign(r, answer, plain)
		answer.Body = io.NopCloser(bytes.NewReader(body))
		return answer, nil
	}
}

// confirmsByStatus reports whether an answer with its body damaged still says
// that the operation was done.
func (s Subject) confirmsByStatus(op operation, injected faultCase) bool {
	damaged := []string{
		"answer cut in half", "answer stops in half", "answer truncated", "answer is empty",
		"compressed answer truncated", "compressed answer damaged",
	}
	if slices.Contains(s.EmptyObject, op.name) && injected.name == "answer says nothing" {
		return true
	}
	return slices.Contains(s.NoBody, op.name) && slices.Contains(damaged, injected.name)
}

// testLetInAgain answers the first request with 401. A driver with tokens
// fetches a new one and asks once more; any other driver must not retry.
func (s Subject) testLetInAgain(t T, op operation) error {
	service := s.Service(t)
	first := true
	w := &wire{subject: s, service: service, op: op, fault: func(service carrier.Doer, r *http.Request) (*http.Response, error) {
		if first {
			first = false
			return answer(401, "{}")(service, r)
		}
		return service.Do(r)
	}}

	err := s.runOver(t, op, service, w, generous)
	switch {
	case len(s.tokenPaths(op)) == 0:
		return errors.Join(wantKind(err, ship.Forbidden), w.complaint(op))
	case err != nil:
		return fmt.Errorf("a token that expired early was not refreshed: %w", err)
	case w.tokens > 2*len(s.tokenPaths(op)):
		return fmt.Errorf("%d tokens were fetched, want one and a fresh one of each", w.tokens)
	}
	return w.complaint(op)
}

func (s Subject) runOver(t T, op operation, service carrier.Doer, w *wire, within time.Duration) error {
	c, needed, err := s.open(t, op, service, w)
	if err != nil {
		return err
	}

	c.Deadlines = carrier.Deadlines{
		Check: within,
		Rates: within,
		Buy:   within,
		Find:  within,
		Void:  within,
		Track: within,

		CheckAddress: within,

		Pickup:   within,
		Manifest: within,
		Document: within,
		Proof:    within,
		Points:   within,
		Duties:   within,
	}
	return op.run(t.Context(), c, needed)
}

// inspect requires that an error names its carrier and contains no secret.
func (s Subject) inspect(err error) error {
	if failure, ok := errors.AsType[*ship.Error](err); !ok || failure.Carrier != s.Spec.Name {
		return fmt.Errorf("err = %v does not name the carrier", err)
	}

	// Logs print causes too, so each of them is searched.
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		text := fmt.Sprintf("%v %+v", cause, cause)
		if failure, ok := cause.(*ship.Error); ok {
			text += fmt.Sprintf("%+v", *failure)
		}
		for _, secret := range s.secrets() {
			if strings.Contains(text, secret) {
				return errors.New("a secret is in the error")
			}
		}
	}
	return nil
}

// wire carries the requests of one case, injects its faults, and counts.
type wire struct {
	subject    Subject
	service    carrier.Doer
	op         operation
	fault      fault
	part       part // which requests the fault hits
	tokenFault fault

	mu      sync.Mutex
	effects int // requests that spend or return money
	before  int // reads before the first of them
	after   int // reads after it
	struck  int // requests that the fault hit
	tokens  int
	refused int // answers of 401
	open    int // bodies not closed yet, but for tokens
	read    int64
}

// Do is carrier.Doer.
func (w *wire) Do(r *http.Request) (*http.Response, error) {
	isToken := w.subject.IsToken(r)
	w.mu.Lock()
	injected := w.tokenFault
	if isToken {
		w.tokens++
	} else {
		injected = w.count(carrier.IsEffect(r.Context()))
	}
	w.mu.Unlock()

	// The lock is not held during the exchange: some faults never answer.
	if injected == nil {
		injected = func(service carrier.Doer, r *http.Request) (*http.Response, error) { return service.Do(r) }
	}
	response, err := injected(w.service, r)
	if err != nil {
		return nil, err
	}

	w.mu.Lock()
	defer w.mu.Unlock()
	if response.StatusCode == http.StatusUnauthorized && !isToken {
		w.refused++
	}
	body := &countedBody{ReadCloser: response.Body, wire: w}
	if !isToken { // a fetch goes on for the next caller when this one has left
		w.open++
		body.counts = true
	}
	response.Body = body
	return response, nil
}

// count counts a request and returns the fault that hits it; nil if none does.
func (w *wire) count(isEffect bool) fault {
	switch {
	case isEffect:
		w.effects++
	case w.effects == 0:
		w.before++
	default:
		w.after++
	}

	isHit := true
	switch w.part {
	case fromEffect:
		isHit = !w.op.effect || w.effects > 0
	case beforeEffect:
		isHit = w.effects == 0
	case afterEffect:
		isHit = w.effects > 0 && !isEffect
	}
	if !isHit {
		return nil
	}
	w.struck++
	return w.fault
}

// complaint returns what is wrong with the traffic of a case, if anything.
func (w *wire) complaint(op operation) error {
	w.mu.Lock()
	defer w.mu.Unlock()

	allowed := max(1, w.subject.Requests[op.name])
	if len(w.subject.tokenPaths(op)) > 0 && w.refused > 0 {
		allowed++ // a request that was answered with 401 had no effect
	}
	switch {
	case op.effect && w.effects > allowed:
		return fmt.Errorf("the driver sent %d requests; a purchase or void is never retried below the service", w.effects)
	case op.effect && w.before > 0 && !slices.Contains(w.subject.ReadsBefore, op.name):
		return fmt.Errorf("the driver sent %d requests before the effect; Subject.ReadsBefore does not list it", w.before)
	case op.effect && w.after > 0 && !slices.Contains(w.subject.ReadsAfter, op.name):
		return fmt.Errorf("the driver sent %d requests after the effect; Subject.ReadsAfter does not list it", w.after)
	case w.part == beforeEffect && w.effects > 0:
		return errors.New("the effect was sent although what is read before it failed")
	case w.open > 0:
		return fmt.Errorf("%d answers were not closed", w.open)
	case w.read >= bigSize:
		return fmt.Errorf("%d bytes were read; answers must be bounded", w.read)
	}
	return nil
}

type countedBody struct {
	io.ReadCloser
	wire   *wire
	counts bool
	once   sync.Once
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.wire.mu.Lock()
	defer b.wire.mu.Unlock()
	b.wire.read += int64(n)
	return n, err
}

func (b *countedBody) Close() error {
	b.once.Do(func() {
		b.wire.mu.Lock()
		defer b.wire.mu.Unlock()
		if b.counts {
			b.wire.open--
		}
	})
	return b.ReadCloser.Close()
}
