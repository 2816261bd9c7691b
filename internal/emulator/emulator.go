// Package emulator holds what the carrier emulators have in common: an
// append-only ledger, faults that make them misbehave, and the server around
// them. The emulators themselves are its subpackages. They speak the carrier's
// own protocol over real HTTP and share no code with the service. Tests compare
// the service's records with their ledgers.
//
// Besides the carrier's own paths, an emulator serves paths for whoever runs
// it:
//
//	GET  /_emulator/ledger   the ledger, a line of JSON an entry
//	GET  /_emulator/faults    the faults as they are set
//	PUT  /_emulator/faults    sets all of them
package emulator

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Server is an emulator of one carrier.
type Server struct {
	Carrier string
	Ledger  *Ledger
	// Failure writes the carrier's own body for a status: 401, 429, 503, or a
	// refusal of a purchase (400). Nil writes none.
	Failure func(status int) (contentType string, body []byte)
	// Compresses is set for a carrier that compresses every response, whatever
	// the request accepts. Others compress only if the fault says so.
	Compresses bool
	// LookupDelay is how long after its sale a look-up does not find a purchase
	// yet, as a fact of the carrier and not as a fault. It is set by the
	// carrier's package.
	LookupDelay time.Duration
	// LookupScale compresses the delay for tests: the delay that a client sees
	// is LookupDelay times the scale. It is 1 unless it is changed before the
	// emulator serves.
	LookupScale float64

	faults atomic.Pointer[Faults]
	mux    *http.ServeMux
	mu     sync.Mutex
	tokens map[string]time.Time // until when each is valid
	pushes *http.Client
}

// New returns an emulator without any carrier paths.
func New(carrier string, l *Ledger) *Server {
	s := &Server{
		Carrier:     carrier,
		Ledger:      l,
		LookupScale: 1,
		pushes:      &http.Client{Timeout: pushTimeout},
		mux:         http.NewServeMux(),
		tokens:      map[string]time.Time{},
	}
	s.faults.Store(&Faults{})

	s.mux.HandleFunc("GET /_emulator/ledger", s.showLedger)
	s.mux.HandleFunc("GET /_emulator/faults", s.showFaults)
	s.mux.HandleFunc("PUT /_emulator/faults", s.setFaults)
	return s
}

// ServeHTTP answers as the carrier would.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Turn replaces the faults.
func (s *Server) Turn(k Faults) error {
	if err := k.check(); err != nil {
		return err
	}
	s.faults.Store(&k)
	return nil
}

// Faults returns the faults as they are set.
func (s *Server) Faults() Faults { return *s.faults.Load() }

// Handle adds a path of the carrier. The faults decide whether it answers late,
// not at all, or with one of the carrier's own errors. needsToken is set for a
// path that needs a token.
func (s *Server) Handle(pattern string, needsToken bool, h http.HandlerFunc) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		// One request sees one setting of the faults, even if they change.
		faults := s.Faults()
		wait := time.Duration(faults.Latency)
		if faults.Spread > 0 {
			wait += rand.N(time.Duration(faults.Spread))
		}
		if !pause(r, wait) {
			return
		}

		isCarriers := !strings.HasPrefix(r.URL.Path, "/_emulator/")
		if isCarriers && (s.Compresses || rand.Float64() < faults.Compress) {
			compressed := &compressedWriter{ResponseWriter: w}
			s.respond(compressed, r, faults, needsToken, h)
			compressed.close() // not reached if the response is cut off on purpose
			return
		}
		s.respond(w, r, faults, needsToken, h)
	})
}

// respond injects the fault that the settings choose, or calls h if they choose
// none.
func (s *Server) respond(w http.ResponseWriter, r *http.Request, faults Faults, needsToken bool, h http.HandlerFunc) {
	switch {
	case rand.Float64() < faults.Stall:
		s.hang(r)
		panic(http.ErrAbortHandler)
	case rand.Float64() < faults.Limit:
		w.Header().Set("Retry-After", "1")
		s.Fail(w, http.StatusTooManyRequests)
	case rand.Float64() < faults.Down:
		s.Fail(w, http.StatusServiceUnavailable)
	case needsToken && (rand.Float64() < faults.Expired || !s.hasToken(r)):
		s.Fail(w, http.StatusUnauthorized)
	default:
		h(w, r)
	}
}

// Fail answers with a status and the carrier's own body for it.
func (s *Server) Fail(w http.ResponseWriter, status int) {
	var body []byte
	if s.Failure != nil {
		var kind string
		if kind, body = s.Failure(status); kind != "" {
			w.Header().Set("Content-Type", kind)
		}
	}

	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// pause waits, and reports whether the client is still connected.
func pause(r *http.Request, wait time.Duration) bool {
	if wait <= 0 {
		return true
	}

	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// hang sends no response until the client disconnects.
func (s *Server) hang(r *http.Request) {
	// The server notices a disconnected client only after the body has been
	// read.
	_, _ = io.Copy(io.Discard, r.Body)

	wait := time.Duration(s.Faults().HangFor)
	if wait == 0 {
		wait = time.Minute
	}
	pause(r, wait)
}

// NewToken returns a token that is valid for a while, and for how long.
func (s *Server) NewToken() (token string, life time.Duration) {
	life = time.Duration(s.Faults().TokenLife)
	if life == 0 {
		life = time.Hour
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	token = s.Carrier + "-token-" + strconv.FormatUint(rand.Uint64(), 36)
	s.tokens[token] = time.Now().Add(life)
	return token, life
}

// hasToken reports whether the request carries a valid token.
func (s *Server) hasToken(r *http.Request) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && token != "" && s.TokenGood(token)
}

// TokenGood reports whether a token is valid.
func (s *Server) TokenGood(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Before(s.tokens[token])
}

// Refuses reports whether this purchase should be refused.
func (s *Server) Refuses() bool { return rand.Float64() < s.Faults().Refuse }

// Sell records a sale in the ledger and responds with it, or with the fault
// chosen for the time after a sale. answer builds the carrier's response body;
// it is called once, with a different reference for "wrong_reference".
func (s *Server) Sell(w http.ResponseWriter, r *http.Request, sale Entry, answer func(Entry) (status int, contentType string, body []byte)) {
	// The sale is in the ledger before anything can go wrong: from here on the
	// client is charged, whether or not it gets an answer.
	sale.Kind = "sold"
	sale, err := s.Ledger.Append(sale)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}

	fault := choose(s.Faults().Buy, rand.Float64())
	if fault == "wrong_reference" {
		sale.Reference = "OTHER" + sale.Reference
	}
	status, kind, body := answer(sale)
	s.reply(w, r, fault, status, kind, body)
}

// TakeBack answers a void of the number. done receives the result from the
// ledger and builds the carrier's response body.
func (s *Server) TakeBack(w http.ResponseWriter, r *http.Request, number string, done func(again, known bool) (status int, contentType string, body []byte)) {
	s.takeBack(w, r, func() (again, known bool, err error) { return s.Ledger.Void(number) }, done)
}

// TakeBackPiece is TakeBack for one of the pieces of a sale, at a carrier that
// voids each by itself.
func (s *Server) TakeBackPiece(w http.ResponseWriter, r *http.Request, piece string, pieces []string, done func(again, known bool) (status int, contentType string, body []byte)) {
	s.takeBack(w, r, func() (again, known bool, err error) { return s.Ledger.VoidPiece(piece, pieces) }, done)
}

func (s *Server) takeBack(w http.ResponseWriter, r *http.Request, void func() (again, known bool, err error), done func(again, known bool) (status int, contentType string, body []byte)) {
	fault := choose(s.Faults().Void, rand.Float64())
	if fault == "refuse" {
		s.Fail(w, http.StatusBadRequest)
		return
	}

	again, known, err := void()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if fault == "lost" {
		fault = "reset"
	}
	status, kind, body := done(again, known)
	s.reply(w, r, fault, status, kind, body)
}

// reply sends a response, or drops it.
func (s *Server) reply(w http.ResponseWriter, r *http.Request, fault string, status int, contentType string, body []byte) {
	switch fault {
	case "hang":
		s.hang(r)
		panic(http.ErrAbortHandler)
	case "reset":
		panic(http.ErrAbortHandler) // the server closes the connection
	case "500":
		s.Fail(w, http.StatusInternalServerError)
		return
	case "502":
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(w, "<html><head><title>502 Bad Gateway</title></head><body>502 Bad Gateway</body></html>")
		return
	}

	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if fault == "truncate" {
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush() // otherwise nothing of it is sent
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(body)
}

// Find returns the sales with a reference that a look-up can see by now.
func (s *Server) Find(reference string) []Entry {
	faults := s.Faults()
	if rand.Float64() < faults.LookupFlap {
		return nil
	}

	var shown []Entry
	delay := s.lookupDelay(faults)
	for _, sale := range s.Ledger.byReference(reference) {
		if time.Since(sale.At) >= delay {
			shown = append(shown, sale)
		}
	}
	return shown
}

// lookupDelay is how long a look-up does not find a new sale: the carrier's own
// delay, compressed, unless the faults set another.
func (s *Server) lookupDelay(faults Faults) time.Duration {
	if faults.LookupLag != nil {
		return time.Duration(*faults.LookupLag)
	}
	return time.Duration(float64(s.LookupDelay) * s.LookupScale)
}

func (s *Server) showLedger(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/jsonl")
	lines := json.NewEncoder(w)
	for _, entry := range s.Ledger.Entries() {
		entry.Kept = nil
		if err := lines.Encode(entry); err != nil {
			return
		}
	}
}

func (s *Server) showFaults(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s.Faults())
}

func (s *Server) setFaults(w http.ResponseWriter, r *http.Request) {
	Change(w, r, s.Turn)
}

// Change answers a request that replaces a setting of an emulator: it reads the
// new value, which may have no unknown field, and hands it to apply. A value
// that cannot be read, or that apply refuses, changes nothing.
func Change[Value any](w http.ResponseWriter, r *http.Request, apply func(Value) error) {
	var next Value
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&next)
	if err == nil {
		err = apply(next)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
