package sdk

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A fault is what happens to one request on its way.
type fault struct {
	Kind              string            `json:"kind"` // none, answer, lose_request, lose_answer, cut_answer, trickle, garble, hang, merge
	Status            int               `json:"status"`
	Headers           map[string]string `json:"headers"`
	Body              map[string]any    `json:"body"` // of answer and merge
	Text              string            `json:"text"` // of answer, instead of Body
	ClockAheadSeconds *int              `json:"clockAheadSeconds"`
	RetryAfterSeconds int               `json:"retryAfterSeconds"` // as a date, by that clock
}

// A proxy stands between a library and the service. It applies one fault to each
// request until there are no more.
type proxy struct {
	*httptest.Server
	service string

	mu       sync.Mutex
	faults   []fault
	requests []request
}

// A request is what a library sent.
type request struct {
	method, path, key string
	at                time.Time
}

func newProxy(t *testing.T, service string) *proxy {
	p := &proxy{service: service}
	p.Server = httptest.NewServer(p)
	t.Cleanup(func() {
		// A request that hangs would keep Close waiting.
		p.CloseClientConnections()
		p.Close()
	})
	return p
}

// expect sets the faults of the next requests and forgets the earlier ones.
func (p *proxy) expect(faults []fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = faults
	p.requests = nil
}

func (p *proxy) seen() []request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests
}

func (p *proxy) next(r *http.Request) fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := strings.Join(r.Header.Values("Idempotency-Key"), ", ")
	p.requests = append(p.requests, request{r.Method, r.URL.Path, key, time.Now()})
	if len(p.faults) == 0 {
		return fault{Kind: "none"}
	}
	first := p.faults[0]
	p.faults = p.faults[1:]
	return first
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fault := p.next(r)
	switch fault.Kind {
	case "answer":
		fault.answer(w)
		return
	case "lose_request":
		panic(http.ErrAbortHandler)
	}

	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	status, header, answer := p.forward(r, body)

	switch fault.Kind {
	case "lose_answer":
		panic(http.ErrAbortHandler)
	case "hang":
		<-r.Context().Done()
		return
	case "merge":
		answer = merge(answer, fault.Body)
	}

	maps.Copy(w.Header(), header)
	if fault.Kind == "garble" {
		w.Header().Set("Content-Encoding", "gzip") // which it is not
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	w.WriteHeader(status)
	if fault.Kind == "trickle" {
		trickle(w, r, answer)
		return
	}
	if fault.Kind == "cut_answer" {
		_, _ = w.Write(answer[:len(answer)/2])
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(answer)
}

// trickle sends one byte after the other, so slowly that no single read times out.
func trickle(w http.ResponseWriter, r *http.Request, answer []byte) {
	for i := range answer {
		if _, err := w.Write(answer[i : i+1]); err != nil || r.Context().Err() != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
		time.Sleep(50 * time.Millisecond)
	}
}

// forward sends the request to the service. It is carried out even if the
// library hangs up meanwhile.
func (p *proxy) forward(r *http.Request, body []byte) (int, http.Header, []byte) {
	out, err := http.NewRequest(r.Method, p.service+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	out.Header = r.Header.Clone()
	out.Header.Set("Accept-Encoding", "identity")
	response, err := http.DefaultClient.Do(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = response.Body.Close() }()

	answer, err := io.ReadAll(response.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return response.StatusCode, response.Header, answer
}

// answer responds in place of the service.
func (f fault) answer(w http.ResponseWriter) {
	for name, value := range f.Headers {
		w.Header().Set(name, value)
	}
	if f.ClockAheadSeconds != nil {
		now := time.Now().UTC().Truncate(time.Second).Add(time.Duration(*f.ClockAheadSeconds) * time.Second)
		w.Header().Set("Date", now.Format(http.TimeFormat))
		w.Header().Set("Retry-After", now.Add(time.Duration(f.RetryAfterSeconds)*time.Second).Format(http.TimeFormat))
	}

	if f.Text != "" || f.Body == nil {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Status)
		_, _ = io.WriteString(w, f.Text)
		return
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(f.Status)
	_ = json.NewEncoder(w).Encode(f.Body)
}

// merge sets members of an answer.
func merge(answer []byte, members map[string]any) []byte {
	var object map[string]any
	if json.Unmarshal(answer, &object) != nil {
		return answer
	}
	maps.Copy(object, members)
	merged, err := json.Marshal(object)
	if err != nil {
		return answer
	}
	return merged
}
