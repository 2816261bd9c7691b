package e2e

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/api"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/sheet"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/web"
	"github.com/waybillhq/waybill/test/proving"
)

// The most memory that one request may take, in MiB.
const (
	maxRaise     = 64
	maxListRaise = 96 // of a list of a hundred orders of the largest size: their text alone is 20 MiB
)

// TestNoRequestTakesMuchMemory sends the largest bodies that each operation of
// the API and each form of the dashboard accepts, in the shapes that cost their
// parsers most, one after the other.
//
// It measures the peak of the resident memory of the running binary, which is
// what the operator's limit and the kernel's OOM killer see: the heap, the
// garbage that the collector has not freed yet, stacks, and the memory of
// buffers outside the heap. A measurement inside the process would miss the
// last, and depend on when the collector last ran. The kernel resets the peak
// before each request.
func TestNoRequestTakesMuchMemory(t *testing.T) {
	needMemoryWalk(t)
	w := newWorld(t)
	account, key := w.account("memory")
	walk := &memoryWalk{T: t, key: key, account: account}
	walk.url, _ = w.serve()
	walk.signIn(w.database)

	// Large files come first, to a copy that has not served anything yet and has
	// time to give back what the one before has left: they are measured without
	// the garbage of other requests.
	walk.url, walk.pid = w.serve()
	start := time.Now()
	walk.settles = true
	for name, text := range hostileSheets() {
		walk.sendSheet(name, text)
	}
	for name, text := range map[string]string{"commas": fill(sheet.MaxBytes, ","), "the largest": largestSheet()} {
		walk.sendFile("sheet by form: "+name, "/rate-sheets", "csv", []byte(text), "name", sheetName, "for", "ups//")
	}
	for name, text := range hostileOrders() {
		walk.sendFile("orders: "+name, "/batches", "file", text)
	}
	for name, text := range hostileBatches() {
		walk.sendBatch(name, text)
	}
	for name, file := range hostileLogos(t) {
		walk.sendFile("logo: "+name, "/settings/logo", "logo", file)
	}
	walk.settles = false

	walk.warmUp()
	for _, operation := range api.Operations() {
		if operation.MaxBody == 0 {
			continue
		}
		for name, body := range hostileBodies(operation) {
			walk.sendJSON(operation, name, body)
		}
	}
	// EasyPost's API reads a body by what it says, without a schema.
	for _, path := range []string{"/v2/shipments", "/v2/customs_infos", "/v2/batches", "/v2/trackers/batch"} {
		operation := api.Operation{Method: http.MethodPost, Path: path, MaxBody: 256 << 10}
		for name, body := range hostileBodies(operation) {
			walk.sendJSON(operation, name, body)
		}
	}
	for _, form := range web.Forms() {
		for name, body := range hostileForms(int(form.MaxBytes)) {
			walk.sendForm(form, name, body)
		}
	}

	// What was stored in the largest size is read again, in every list.
	for i := range 100 {
		walk.sendJSON(api.Operation{Method: http.MethodPost, Path: "/v1/shipments"}, "the largest order", []byte(largestOrder(i)))
	}
	requests := len(walk.raises)
	most := slices.MaxFunc(walk.raises, func(a, b raise) int { return cmp.Compare(a.mib, b.mib) })
	walk.limit = maxListRaise
	for _, path := range []string{"/v1/shipments?limit=100", "/v1/events?limit=100", "/v1/rate-sheets", "/v1/rate-sheets/" + sheetName, "/v1/routing", "/v1/trackers?limit=100", "/v1/batches?limit=100", "/v1/pickups?limit=100", "/v1/manifests?limit=100"} {
		walk.get(path)
	}
	for _, page := range web.Pages() {
		walk.get(walk.fill(page))
	}
	walk.sendForm(web.Form{Path: "/app/{account}/{mode}/routing/backtest"}, "large orders", hostileForm{"application/x-www-form-urlencoded", []byte("which=published&last=1000")})
	t.Logf("%d requests in %s; the most memory was taken by %s", len(walk.raises), time.Since(start).Round(time.Second), walk.most())
	mostOfLists := slices.MaxFunc(walk.raises[requests:], func(a, b raise) int { return cmp.Compare(a.mib, b.mib) })
	proving.Report(t, "security.json", nil, map[string]any{
		"requests":     requests,
		"mostMiB":      proving.Round(most.mib),
		"mostBy":       most.name,
		"limitMiB":     maxRaise,
		"lists":        len(walk.raises) - requests,
		"listMiB":      proving.Round(mostOfLists.mib),
		"listBy":       mostOfLists.name,
		"listLimitMiB": maxListRaise,
	})
}

// memoryWalk sends requests and measures what they take.
type memoryWalk struct {
	*testing.T
	url, key, account string
	pid               int
	browser           *http.Client
	raises            []raise
	settles           bool // the program has time to give back memory before each request
	limit             float64
}

// A raise is how much memory one request took, in MiB.
type raise struct {
	name string
	mib  float64
}

// most names the requests that took the most memory.
func (w *memoryWalk) most() string {
	sorted := slices.SortedFunc(slices.Values(w.raises), func(a, b raise) int { return cmp.Compare(b.mib, a.mib) })
	var list []string
	for _, taken := range sorted[:min(8, len(sorted))] {
		list = append(list, fmt.Sprintf("%s (%.0f MiB)", taken.name, taken.mib))
	}
	return strings.Join(list, ", ")
}

// signIn creates the first owner, and signs them in.
func (w *memoryWalk) signIn(database string) {
	w.Helper()
	opened, err := store.Open(w.Context(), store.Options{URL: database, Connections: 2})
	if err != nil {
		w.Fatal(err)
	}
	defer opened.Close()
	members, err := member.New(member.Config{Store: opened, BaseURL: w.url})
	if err != nil {
		w.Fatal(err)
	}
	link, err := members.SetupURL(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	_, token, _ := strings.Cut(link, "token=")

	jar, err := cookiejar.New(nil)
	if err != nil {
		w.Fatal(err)
	}
	w.browser = &http.Client{
		Jar:           jar,
		Timeout:       time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := w.browser.PostForm(w.url+"/app/setup", url.Values{
		"token":    {token},
		"name":     {"Dana"},
		"email":    {"dana@example.com"},
		"password": {"a long sentence about boxes"},
	})
	if err != nil || answer.StatusCode != http.StatusSeeOther {
		w.Fatalf("setup: %v %v", answer, err)
	}
	_ = answer.Body.Close()
}

// home is the address of the account's pages.
func (w *memoryWalk) home() string { return w.url + "/app/" + w.account + "/test" }

// warmUp uses the program as people do, so that what is loaded on first use is
// in memory.
func (w *memoryWalk) warmUp() {
	w.Helper()
	for range 5 {
		create(w.T, w.url, w.key)
		for _, page := range []string{"", "/shipments", "/rate-sheets", "/batches", "/settings", "/routing"} {
			answer, err := w.browser.Get(w.home() + page)
			if err != nil || answer.StatusCode != http.StatusOK {
				w.Fatalf("%s: %v %v", page, answer, err)
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
		}
	}
}

// measure sends a request and fails the test if it takes too much memory: the
// peak while it is served, less what the process had before it.
func (w *memoryWalk) measure(name string, client *http.Client, request *http.Request) {
	w.Helper()
	if w.settles {
		time.Sleep(350 * time.Millisecond)
	}
	before := residentMiB(w.T, w.pid)
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", w.pid), []byte("5"), 0); err != nil {
		w.Fatalf("the kernel does not reset the peak of the memory: %v", err)
	}

	answer, err := client.Do(request)
	if err != nil {
		// A server that refuses a body early closes the connection while it is
		// still being sent.
		w.Logf("%s: %v", name, err)
	} else {
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode >= http.StatusInternalServerError {
			w.Errorf("%s: %d", name, answer.StatusCode)
		}
	}

	taken := raise{name, statusMiB(w.T, w.pid, "VmHWM:") - before}
	w.raises = append(w.raises, taken)
	if limit := cmp.Or(w.limit, maxRaise); taken.mib > limit {
		w.Errorf("%s took %.0f MiB, want at most %.0f", name, taken.mib, limit)
	}
}

// newRequest returns a request whose body costs the test no copy.
func (w *memoryWalk) newRequest(method, address, contentType string, body []byte) *http.Request {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), method, address, bytes.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	return request
}

// sendSheet sends a rate sheet to the API.
func (w *memoryWalk) sendSheet(name, text string) {
	w.Helper()
	request := w.newRequest(http.MethodPut, w.url+"/v1/rate-sheets/"+sheetName, "application/json", []byte(`{"carrier":"ups","csv":`+quoteJSON(text)+`}`))
	request.Header.Set("Authorization", "Bearer "+w.key)
	w.measure("sheet by API: "+name, http.DefaultClient, request)
}

// sendBatch sends a batch to the API, and waits until its lines are settled: the
// requests after it are measured without it.
func (w *memoryWalk) sendBatch(name, text string) {
	w.Helper()
	request := w.newRequest(http.MethodPost, w.url+"/v1/batches", "application/x-ndjson", []byte(text))
	request.Header.Set("Authorization", "Bearer "+w.key)
	w.measure("batch by API: "+name, http.DefaultClient, request)

	var busy struct {
		Data []struct{ ID, Status string }
	}
	for range 600 {
		_, body := call(w.T, "GET", w.url+"/v1/batches?limit=1", w.key, "")
		if err := json.Unmarshal(body, &busy); err != nil {
			w.Fatalf("batches: %s", body)
		}
		if len(busy.Data) == 0 || busy.Data[0].Status == "done" {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, listed := range busy.Data {
		w.get("/v1/batches/" + listed.ID + "?limit=500")
	}
}

// sendFile uploads a file to a page of the account.
func (w *memoryWalk) sendFile(name, page, field string, file []byte, fields ...string) {
	w.Helper()
	var body bytes.Buffer
	parts := multipart.NewWriter(&body)
	for i := 0; i+1 < len(fields); i += 2 {
		_ = parts.WriteField(fields[i], fields[i+1]) // to memory
	}
	part, _ := parts.CreateFormFile(field, "file.csv")
	_, _ = part.Write(file)
	_ = parts.Close()
	w.measure(name, w.browser, w.newRequest(http.MethodPost, w.home()+page, parts.FormDataContentType(), body.Bytes()))
}

// sendJSON sends a body to an operation of the API.
func (w *memoryWalk) sendJSON(operation api.Operation, name string, body []byte) {
	w.Helper()
	request := w.newRequest(operation.Method, w.url+w.fill(operation.Path), "application/json", body)
	request.Header.Set("Authorization", "Bearer "+w.key)
	w.measure(operation.Method+" "+operation.Path+": "+name, http.DefaultClient, request)
}

// sendForm sends a form to the dashboard. Those that would end the session are
// sent by somebody who has none.
func (w *memoryWalk) sendForm(form web.Form, name string, body hostileForm) {
	w.Helper()
	client := w.browser
	if strings.HasSuffix(form.Path, "/logout") {
		client = http.DefaultClient
	}
	request := w.newRequest(http.MethodPost, w.url+w.fill(form.Path), body.contentType, body.body)
	w.measure("POST "+form.Path+": "+name, client, request)
}

// get asks for a page, or for a list of the API.
func (w *memoryWalk) get(path string) {
	w.Helper()
	request := w.newRequest(http.MethodGet, w.url+path, "", nil)
	client := w.browser
	if strings.HasPrefix(path, "/v1/") {
		request.Header.Set("Authorization", "Bearer "+w.key)
		client = http.DefaultClient
	}
	w.measure("GET "+path, client, request)
}

// fill replaces the parameters of a path.
func (w *memoryWalk) fill(path string) string {
	return strings.NewReplacer(
		"{account}", w.account,
		"{mode}", "test",
		"{name}", sheetName,
		"{carrier}", "ups",
		"{n}", "1",
		"{number}", "1",
		"{version}", "1",
		"{id}", "shp_00000000000000000000000000",
		"{token}", "x",
		"{$}", "",
	).Replace(path)
}

// sheetName is the name of the rate sheet of the walk.
const sheetName = "walk"

// statusMiB returns a line of the process's status, in MiB.
func statusMiB(t *testing.T, pid int, line string) float64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	var kib float64
	_, after, _ := strings.Cut(string(status), line)
	if _, err := fmt.Sscan(after, &kib); err != nil {
		t.Fatal(err)
	}
	return kib / 1024
}

// TestManyLargeFilesAtOnceStayWithinTheBudget sends more large rate sheets at
// the same moment than the memory for them can hold. Some are worked on, some
// wait, and the others learn when to come back.
func TestManyLargeFilesAtOnceStayWithinTheBudget(t *testing.T) {
	needMemoryWalk(t)
	const budgetMiB = 192
	w := newWorld(t)
	account, key := w.account("many")
	address, pid := w.serve(fmt.Sprintf("HEAVY_WORK_BYTES=%d", budgetMiB<<20))
	walk := &memoryWalk{T: t, url: address, key: key, account: account, pid: pid}
	create(t, address, key)
	idle := residentMiB(t, pid)

	body := []byte(`{"carrier":"ups","csv":` + quoteJSON(largestSheet()) + `}`)
	var group sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for range 40 {
		group.Go(func() {
			request := walk.newRequest(http.MethodPut, address+"/v1/rate-sheets/"+sheetName, "application/json", body)
			request.Header.Set("Authorization", "Bearer "+key)
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				return // refused while the body was still being sent
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()

			mu.Lock()
			defer mu.Unlock()
			statuses[answer.StatusCode]++
			if answer.StatusCode == http.StatusServiceUnavailable && answer.Header.Get("Retry-After") == "" {
				t.Error("a refusal does not say when to come back")
			}
		})
	}
	group.Wait()

	taken := statusMiB(t, pid, "VmHWM:") - idle
	t.Logf("%v, %.0f MiB", statuses, taken)
	if taken > budgetMiB+maxRaise {
		t.Errorf("they took %.0f MiB, want at most %d", taken, budgetMiB+maxRaise)
	}
	if statuses[http.StatusOK]+statuses[http.StatusCreated] == 0 || statuses[http.StatusInternalServerError] > 0 {
		t.Errorf("answers by status: %v", statuses)
	}
}

// needMemoryWalk skips the test unless it is asked for: what it measures depends
// on the moment of the collector, and one run in five was over a limit.
func needMemoryWalk(t *testing.T) {
	t.Helper()
	if os.Getenv("MEMORY_WALK") == "" {
		t.Skip("set MEMORY_WALK=1 to measure the memory of every request")
	}
}
