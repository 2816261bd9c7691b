package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/waybillhq/waybill/internal/api"
	"github.com/waybillhq/waybill/internal/web"
	"github.com/waybillhq/waybill/test/proving"
)

// TestProveFuzz sends made-up requests of people and programs with every kind of
// credentials to every route of the API and the dashboard, and counts the answers
// that are the program's own fault. Each request is made from the seed and its
// number, so one can be made again.
func TestProveFuzz(t *testing.T) {
	requests := proving.Pick(t, 20_000, 1_000_000)
	if n, err := strconv.Atoi(os.Getenv("PROVE_REQUESTS")); err == nil {
		requests = n
	}
	seed := proving.Seed(t)
	f := newFuzzer(t, seed)

	start := time.Now()
	var group sync.WaitGroup
	const clients = 8
	for client := range clients {
		group.Go(func() {
			for number := client; number < requests && !f.isStopped(); number += clients {
				f.try(number)
			}
		})
	}
	group.Wait()
	took := time.Since(start).Seconds()

	// A program that has ended answers nothing, which no status would show.
	if resp, _ := call(t, "GET", f.url+"/readyz", "", ""); resp.StatusCode != http.StatusOK {
		t.Errorf("afterwards the service is not ready: %d", resp.StatusCode)
	}
	panics := strings.Count(f.log.String(), `"panic"`)
	if panics > 0 {
		t.Errorf("the log has %d panics", panics)
	}
	if f.log.String() != "" {
		t.Logf("the log begins:\n%.4000s", f.log.String())
	}
	if sent := f.sent(); f.cut > sent/100 {
		t.Errorf("%d of %d connections were cut", f.cut, sent)
	}

	proving.Report(t, "security.json", func(p *proving.Proof) {
		p.N = f.sent()
		p.Seed = seed
		p.Violations = f.violations + panics
		p.Bound95 = proving.Upper95(p.Violations) / float64(p.N)
		p.Seconds = proving.Round(took)
		p.PerSecond = proving.Round(float64(p.N) / took)
	}, map[string]any{
		"requests":     f.sent(),
		"routes":       len(f.routes),
		"cells":        f.cells,
		"principals":   len(f.principals),
		"statuses":     f.statuses,
		"serverErrors": f.violations,
		"panics":       panics,
		"busy":         f.busy,
		"cut":          f.cut,
		"perSecond":    proving.Round(float64(f.sent()) / took),
	})
}

// A fuzzRoute is a route of the API or the dashboard.
type fuzzRoute struct {
	method, path string
	example      []byte              // of a body, as JSON
	body         *openapi3.SchemaRef // of the API's body
	query        []string            // names of parameters
	isForm       bool
}

// A principal is somebody who sends requests.
type principal struct {
	name   string
	key    string       // of the API; sent to the dashboard too
	client *http.Client // with the cookies of a browser
}

// The places of principals that have most of the requests.
const (
	signedOut = 0
	testKey   = 2
	session   = 4
)

// A fuzzer sends requests and counts answers.
type fuzzer struct {
	*testing.T
	url        string
	cells      int // 1 without CELLS
	seed       uint64
	log        *lockedBuffer // of the service
	account    string
	principals []principal
	routes     []fuzzRoute

	routesWithExamples []fuzzRoute
	ids                []string // things that exist
	fields             []string // names of the fields of forms

	mu         sync.Mutex
	statuses   map[string]int
	violations int
	busy       int // 503 that says when to come back
	cut        int // connections that ended without an answer
}

// lockedBuffer keeps what a process writes.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// newFuzzer starts the service with an account that has one of everything.
func newFuzzer(t *testing.T, seed uint64) *fuzzer {
	t.Helper()
	w := newWorld(t)
	f := &fuzzer{T: t, cells: max(1, len(w.cells)), seed: seed, log: &lockedBuffer{}, statuses: map[string]int{}}
	w.stderr = f.log
	f.url, _ = w.serve("RATE_LIMIT=0")
	account, key := w.account("fuzzed")
	f.account = account
	walk := &memoryWalk{T: t, url: f.url, key: key, account: account}
	walk.signIn(w.database)
	walk.browser.Transport = &http.Transport{MaxIdleConnsPerHost: 8}

	mine := hold(t, f.url, key)
	f.ids = []string{mine.shipment, mine.number, mine.tracker, mine.webhook, mine.event, mine.sheet, mine.erasure, mine.export, account, "1001", "1"}
	plain := func() *http.Client {
		return &http.Client{
			Transport:     &http.Transport{MaxIdleConnsPerHost: 8},
			Timeout:       time.Minute,
			CheckRedirect: walk.browser.CheckRedirect,
		}
	}
	f.principals = []principal{
		{"signed out", "", plain()},
		{"unknown key", key[:len(key)-6] + "AAAAAA", plain()},
		{"test key", key, plain()},
		{"live key", w.key(account, "--live"), plain()},
		{"session", "", walk.browser},
	}
	f.readRoutes()
	f.readFields()
	return f
}

// readRoutes lists the routes of both tables, with what the contract says of them.
func (f *fuzzer) readRoutes() {
	f.Helper()
	text, err := os.ReadFile(filepath.Join(root(f.T), "api", "openapi.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	contract, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		f.Fatal(err)
	}

	for _, operation := range api.Operations() {
		route := fuzzRoute{method: operation.Method, path: operation.Path, example: operation.Example}
		if item := contract.Paths.Value(operation.Path); item != nil && item.GetOperation(operation.Method) != nil {
			described := item.GetOperation(operation.Method)
			for _, parameter := range described.Parameters {
				if parameter.Value.In == "query" {
					route.query = append(route.query, parameter.Value.Name)
				}
			}
			if described.RequestBody != nil {
				if media := described.RequestBody.Value.Content.Get("application/json"); media != nil {
					route.body = media.Schema
				}
			}
		}
		f.routes = append(f.routes, route)
		if route.example != nil {
			f.routesWithExamples = append(f.routesWithExamples, route)
		}
	}

	filters := []string{"q", "query", "from", "until", "sort", "status", "carrier", "order", "to", "kind", "by", "action", "days", "cursor", "after", "before", "limit", "page", "next", "token", "shipment", "version", "type"}
	for _, page := range web.Pages() {
		f.routes = append(f.routes, fuzzRoute{method: http.MethodGet, path: page, query: filters})
	}
	for _, form := range web.Forms() {
		f.routes = append(f.routes, fuzzRoute{method: http.MethodPost, path: form.Path, query: filters, isForm: true})
	}
	if len(f.routes) < 150 || len(f.routesWithExamples) < 10 {
		f.Fatalf("only %d routes, %d with examples", len(f.routes), len(f.routesWithExamples))
	}
}

// fieldName finds the fields of forms in pages.
var fieldName = regexp.MustCompile(`<(?:input|select|textarea|button)[^>]* name="([^"]+)"`)

// readFields collects the names of the fields of all pages.
func (f *fuzzer) readFields() {
	f.Helper()
	names := map[string]bool{"do": true}
	browser := f.principals[session].client
	for _, page := range web.Pages() {
		resp, err := browser.Get(f.url + f.fill(page, nil))
		if err != nil {
			f.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		for _, found := range fieldName.FindAllSubmatch(body, -1) {
			names[string(found[1])] = true
		}
	}
	f.fields = slices.Sorted(maps.Keys(names))
	if len(f.fields) < 50 {
		f.Fatalf("only %d fields of forms were found", len(f.fields))
	}
}

// parameter finds the parameters of a path.
var parameter = regexp.MustCompile(`\{[^}]*\}`)

// fill replaces the parameters of a path: by what exists, or by anything if there
// is a source of random numbers.
func (f *fuzzer) fill(path string, random *rand.Rand) string {
	return parameter.ReplaceAllStringFunc(path, func(name string) string {
		hostile := random != nil && random.IntN(6) == 0
		switch {
		case name == "{$}":
			return ""
		case hostile:
			return url.PathEscape(hostileText(random))
		case name == "{account}":
			return f.account
		case name == "{mode}":
			if random != nil && random.IntN(3) == 0 {
				return "live"
			}
			return "test"
		case name == "{carrier}":
			return "ups"
		case name == "{n}" || name == "{number}" || name == "{version}":
			return "1"
		case random == nil:
			return f.ids[0]
		}
		return url.PathEscape(f.ids[random.IntN(len(f.ids))])
	})
}

// try makes the request of the number, sends it, and judges the answer.
func (f *fuzzer) try(number int) {
	random := rand.New(rand.NewPCG(f.seed, uint64(number)))
	route := f.routes[random.IntN(len(f.routes))]
	if random.IntN(5) == 0 {
		route = f.routesWithExamples[random.IntN(len(f.routesWithExamples))] // have most to get wrong
	}
	by := f.principals[random.IntN(len(f.principals))]
	isUsual := random.IntN(2) == 0
	switch {
	case strings.HasSuffix(route.path, "/logout"):
		by = f.principals[signedOut] // the session is needed until the end
	case isUsual && strings.HasPrefix(route.path, "/v1/"):
		by = f.principals[testKey]
	case isUsual:
		by = f.principals[session]
	}

	method := route.method
	if random.IntN(20) == 0 {
		method = pick(random, "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW")
	}
	address := f.url + f.fill(route.path, random)
	if query := f.query(route, random); query != "" {
		address += "?" + query
	}
	body, contentType := f.body(route, random)
	request, err := http.NewRequestWithContext(f.Context(), method, address, bytes.NewReader(body))
	if err != nil {
		return // the client does not send such an address
	}
	f.setHeaders(request, by, contentType, random)

	resp, err := by.client.Do(request)
	if err != nil {
		// A server that refuses a body early closes the connection while it is
		// still being sent.
		f.mu.Lock()
		f.cut++
		f.mu.Unlock()
		return
	}
	var answer []byte
	if resp.Header.Get("Content-Type") != "text/event-stream" { // which does not end
		answer, _ = io.ReadAll(resp.Body)
	}
	_ = resp.Body.Close()
	f.judge(number, by, request, body, resp, answer)
}

// internals are what no answer may show.
var internals = regexp.MustCompile(`SQLSTATE|goroutine [0-9]+ \[|runtime error|jackc/pgx|[a-z]\.go:[0-9]+`)

// judge counts the answer, and reports one that is the program's own fault.
func (f *fuzzer) judge(number int, by principal, request *http.Request, body []byte, resp *http.Response, answer []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.statuses[strconv.Itoa(resp.StatusCode)]++

	isBusy := resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != ""
	shows := ""
	if resp.StatusCode >= http.StatusBadRequest {
		shows = string(internals.Find(answer))
	}
	switch {
	case isBusy:
		f.busy++
	case resp.StatusCode >= http.StatusInternalServerError || shows != "":
		f.violations++
		f.Errorf("request %d by %s: %s %.300s with %.600s and %.600q answers %d %s: %.400q", number, by.name, request.Method, request.URL, fmt.Sprint(request.Header), body, resp.StatusCode, shows, answer)
	}
}

// isStopped reports whether there are so many violations that more say nothing.
func (f *fuzzer) isStopped() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.violations >= 20
}

func (f *fuzzer) sent() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, count := range f.statuses {
		n += count
	}
	return n + f.cut
}

func pick(random *rand.Rand, list ...string) string { return list[random.IntN(len(list))] }

// query makes the query of a request: parameters of the route, or anything.
func (f *fuzzer) query(route fuzzRoute, random *rand.Rand) string {
	if random.IntN(8) == 0 {
		return url.QueryEscape(hostileText(random))
	}
	values := url.Values{}
	for range random.IntN(4) {
		name := hostileText(random)
		if len(route.query) > 0 && random.IntN(8) > 0 {
			name = pick(random, route.query...)
		}
		value := pick(random, append([]string{"10", "0", "-1", "2026-01-31", "2026-01-31T00:00:00Z", "ups", "delivered", "oldest", "test"}, f.ids...)...)
		if random.IntN(2) == 0 {
			value = hostileText(random)
		}
		values.Add(name, value)
	}
	return values.Encode()
}

// setHeaders makes the headers of a request.
func (f *fuzzer) setHeaders(request *http.Request, by principal, contentType string, random *rand.Rand) {
	if by.key != "" {
		request.Header.Set("Authorization", "Bearer "+by.key)
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	for range random.IntN(3) {
		name := pick(random, "Accept", "Accept-Encoding", "Accept-Language", "Authorization", "Content-Type", "Content-Encoding", "Cookie", "Forwarded", "HX-Request", "Idempotency-Key", "If-Match", "If-Modified-Since", "If-None-Match", "Origin", "Range", "Referer", "Sec-Fetch-Site", "User-Agent", "X-Forwarded-For", "X-Forwarded-Host", "X-Http-Method-Override", "X-Request-Id", "Traceparent")
		value := pick(random, "*", "gzip", "application/pdf", "text/html", "bytes=0-", "bytes=5-1", "true", "1001", `"0"`, "cross-site", "identity;q=0")
		if random.IntN(2) == 0 {
			value = strings.Map(func(r rune) rune {
				if r < ' ' || r == 0x7f || r > 0xff {
					return '?' // the client sends no such header
				}
				return r
			}, hostileText(random))
		}
		if len(value) > 4000 {
			value = value[:4000]
		}
		request.Header.Set(name, value)
	}
}

// body makes the body of a request, and its type.
func (f *fuzzer) body(route fuzzRoute, random *rand.Rand) (body []byte, contentType string) {
	switch {
	case route.isForm:
		return f.form(random)
	case route.method == http.MethodGet && random.IntN(10) > 0:
		return nil, ""
	}

	contentType = "application/json"
	switch choice := random.IntN(10); {
	case choice == 0:
		return []byte(hostileText(random)), pick(random, contentType, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json; charset=utf-16", "")
	case choice < 4 && route.body != nil:
		body, _ = json.Marshal(schemaValue(route.body, random, 0))
	case route.example != nil:
		var value any
		_ = json.Unmarshal(route.example, &value) // a test of the API holds that it is JSON
		for range random.IntN(4) {
			value = mutate(value, random)
		}
		body, _ = json.Marshal(value)
	default:
		body, _ = json.Marshal(hostileValue(random, 0))
	}

	// Cut off, doubled, or with a byte that does not belong there.
	if len(body) > 0 {
		switch place := random.IntN(len(body)); random.IntN(30) {
		case 0:
			body = body[:place]
		case 1:
			body = append(body, body...)
		case 2:
			body[place] = byte(random.IntN(256))
		}
	}
	return body, contentType
}

// form makes a form from the fields that the pages have.
func (f *fuzzer) form(random *rand.Rand) (body []byte, contentType string) {
	values := url.Values{}
	for range random.IntN(12) {
		value := pick(random, append([]string{"", "on", "1", "2.5", "US", "CA", "90015", "save", "remove", "buy", "10.00", "ups", "ground"}, f.ids...)...)
		if random.IntN(2) == 0 {
			value = hostileText(random)
		}
		values.Add(pick(random, f.fields...), value)
	}
	if random.IntN(6) > 0 {
		return []byte(values.Encode()), "application/x-www-form-urlencoded"
	}

	var parts bytes.Buffer
	writer := multipart.NewWriter(&parts) // to memory, so nothing fails
	for name := range values {
		_ = writer.WriteField(name, values.Get(name))
	}
	file, _ := writer.CreateFormFile(pick(random, "file", "csv", "logo", "x"), hostileText(random))
	_, _ = file.Write([]byte(pick(random, "order,name,zip\n1,Ada,10118\n", "\x89PNG\r\n\x1a\n", "[sheet]\ncurrency,USD\n", hostileText(random))))
	_ = writer.Close()
	return parts.Bytes(), writer.FormDataContentType()
}

// schemaValue makes a value as a schema describes it, now and then another one.
func schemaValue(ref *openapi3.SchemaRef, random *rand.Rand, depth int) any {
	if ref == nil || ref.Value == nil || depth > 8 || random.IntN(15) == 0 {
		return hostileValue(random, depth)
	}
	schema := ref.Value
	for _, list := range []openapi3.SchemaRefs{schema.OneOf, schema.AnyOf, schema.AllOf} {
		if len(list) > 0 {
			return schemaValue(list[random.IntN(len(list))], random, depth+1)
		}
	}

	switch {
	case len(schema.Enum) > 0:
		return schema.Enum[random.IntN(len(schema.Enum))]
	case schema.Example != nil && random.IntN(2) == 0:
		return schema.Example
	case schema.Type.Includes("object"):
		object := map[string]any{}
		for name, property := range schema.Properties {
			if slices.Contains(schema.Required, name) || random.IntN(3) == 0 {
				object[name] = schemaValue(property, random, depth+1)
			}
		}
		return object
	case schema.Type.Includes("array"):
		list := make([]any, random.IntN(4))
		for i := range list {
			list[i] = schemaValue(schema.Items, random, depth+1)
		}
		return list
	case schema.Type.Includes("integer"), schema.Type.Includes("number"):
		return hostileNumber(random)
	case schema.Type.Includes("boolean"):
		return random.IntN(2) == 0
	}
	return hostileText(random)
}

// mutate returns a value with one part changed, removed or added.
func mutate(value any, random *rand.Rand) any {
	switch value := value.(type) {
	case map[string]any:
		if len(value) == 0 || random.IntN(12) == 0 {
			value[hostileText(random)] = hostileValue(random, 0)
			return value
		}
		name := pick(random, slices.Sorted(maps.Keys(value))...)
		if random.IntN(8) == 0 {
			delete(value, name)
		} else {
			value[name] = mutate(value[name], random)
		}
		return value
	case []any:
		if len(value) == 0 || random.IntN(6) == 0 {
			return append(value, hostileValue(random, 0))
		}
		i := random.IntN(len(value))
		value[i] = mutate(value[i], random)
		return value
	}
	return hostileValue(random, 0)
}

func hostileNumber(random *rand.Rand) any {
	return []any{0, 1, -1, 2.5, 1e-9, 1e9, 1e308, -1e308, 1 << 31, int64(1) << 62, 0.1, 99999999999, json.Number("1e400"), json.Number("-0"), json.Number("123456789012345678901234567890")}[random.IntN(15)]
}

func hostileValue(random *rand.Rand, depth int) any {
	switch random.IntN(8) {
	case 0:
		return nil
	case 1:
		return random.IntN(2) == 0
	case 2:
		return hostileNumber(random)
	case 3:
		if depth > 3 {
			return []any{}
		}
		return []any{hostileValue(random, depth+1), hostileValue(random, depth+1)}
	case 4:
		if depth > 3 {
			return map[string]any{}
		}
		return map[string]any{hostileText(random): hostileValue(random, depth+1)}
	}
	return hostileText(random)
}

// hostileTexts are texts that programs stumble over.
var hostileTexts = []string{
	"", " ", "\x00", "a\x00b", "\xff\xfe", "null", "true", "-1", "0", "NaN", "1e309", "99999999999999999999", "0x10", "1_000",
	"'", "''", `"`, `\`, "';--", "%", "%00", "%zz", "_", "*", "{}", "[]", "{{.}}", "${x}", "$1", "@account", "<script>", "</form>", "<!--",
	"../../etc/passwd", "/", "//example.com", "\\\\host\\share", "http://127.0.0.1:5432/", "https://[::1]/", "file:///etc/passwd", "javascript:alert(1)", "ftp://x", "https://example.com/" + "a?b#c",
	"\r\nX-Injected: 1", "\t", "\u202e", "\ufeff", "\u200d", "ı", "İ", "ß", "é", "e\u0301", "😀", "\U0010ffff", "山田", "Ω",
	"2026-02-30", "0000-01-01", "9999-12-31T23:59:59.999999999Z", "-0001-01-01T00:00:00Z", "2026-01-31T00:00:00+99:99", "24:00", "1970-01-01T00:00:00Z", "292277026596-12-04",
	"shp_", "shp_00000000000000000000000000", "shp_ZZZZZZZZZZZZZZZZZZZZZZZZZZ", "SHP_00000000000000000000000000", "evt_00000000000000000000000000", "acct_00000000000000000000000000", "rate_x.y", "sk_test_x",
	"US", "us", "XX", "10118", "00000", "+12125550177", "a@b", "@", "x@example.com", "10.00", "-10.00", "1,5", "1e3", "9" + "999999999999.99", "FAULT LIMITED",
	"true && false", "a.b.c", "parcel.weightLb >", "size(", "1/0", strings.Repeat("(", 500), strings.Repeat("[", 500), strings.Repeat("a", 300), strings.Repeat("é", 5000), strings.Repeat("a,", 3000),
}

func hostileText(random *rand.Rand) string {
	text := hostileTexts[random.IntN(len(hostileTexts))]
	switch random.IntN(12) {
	case 0:
		return text + hostileTexts[random.IntN(len(hostileTexts))]
	case 1:
		return fmt.Sprint(random.Int64())
	case 2:
		noise := make([]byte, random.IntN(40))
		for i := range noise {
			noise[i] = byte(random.IntN(256))
		}
		return string(noise)
	}
	return text
}
