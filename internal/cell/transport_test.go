package cell_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/cell"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// copyOf is a copy of the service at an address, that counts its connections.
func copyOf(t testing.TB, address string, handler http.Handler) (end func(), at string, connections *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	connections = new(atomic.Int64)
	server := &http.Server{Handler: handler, ConnState: func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { server.Close() })
	return func() { server.Close() }, listener.Addr().String(), connections
}

// routerTo returns the address of a router to one cell.
func routerTo(t testing.TB, address string) string {
	t.Helper()
	return routerWith(t, address, cell.RouterConfig{})
}

// routerWith is routerTo with settings.
func routerWith(t testing.TB, address string, config cell.RouterConfig) string {
	t.Helper()
	main := &directory{}
	for i := range main.places.Shards {
		main.places.Shards[i].Cell = "one"
	}
	main.places.Cells = []store.Cell{{Name: "one", URL: "http://" + address, AddedAt: time.Unix(1, 0)}}
	places, err := cell.NewMap(t.Context(), main, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	config.Places = places
	config.Shards = shards
	config.MaxBody = 200 << 10
	config.Log = slog.New(slog.DiscardHandler)
	server := httptest.NewServer(cell.NewRouter(config))
	t.Cleanup(server.Close)
	return server.URL
}

func send(t *testing.T, method, url string, body io.Reader, header http.Header) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	if header != nil {
		r.Header = header
	}
	r.Header.Set("Authorization", "Bearer "+string(ship.NewKey(5, false)))
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(answer)
}

// TestRequestsOutliveTheirConnections restarts a copy of the service, whose connections
// the router has kept. Requests that may not be sent twice must not fail for that.
func TestRequestsOutliveTheirConnections(t *testing.T) {
	t.Parallel()
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Method) })
	end, address, connections := copyOf(t, "127.0.0.1:0", answer)
	router := routerTo(t, address)

	for range 5 {
		if status, got := send(t, http.MethodPost, router+"/v1/shipments", strings.NewReader("{}"), nil); status != http.StatusOK || got != "POST" {
			t.Fatalf("%d %s", status, got)
		}
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("five requests took %d connections", n)
	}

	end()
	copyOf(t, address, answer)
	if status, got := send(t, http.MethodPost, router+"/v1/shipments", strings.NewReader("{}"), nil); status != http.StatusOK {
		t.Errorf("after a restart: %d %s", status, got)
	}
}

// TestAnAnswerIsStreamed reads the first line of an answer that has no end, and hangs
// up.
func TestAnAnswerIsStreamed(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	_, address, _ := copyOf(t, "127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(ended)
	}))

	response, err := http.Get(routerTo(t, address) + "/app/updates")
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(response.Body).ReadString('\n')
	if err != nil || line != "data: 1\n" {
		t.Errorf("%q, %v", line, err)
	}
	response.Body.Close()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the cell does not learn that the client hung up")
	}
}

// TestAnswersAreThoseOfTheCell compares answers of all shapes with those that come
// without a router.
func TestAnswersAreThoseOfTheCell(t *testing.T) {
	t.Parallel()
	_, address, _ := copyOf(t, "127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/none":
			w.WriteHeader(http.StatusNoContent)
		case "/parts":
			fmt.Fprint(w, "one,")
			_ = http.NewResponseController(w).Flush()
			fmt.Fprint(w, "two")
		case "/last":
			w.Header().Set("Connection", "close")
			fmt.Fprint(w, "last")
		default:
			fmt.Fprintf(w, "%s %s?%s %d %v %s", r.Method, r.URL.EscapedPath(), r.URL.RawQuery, len(body), err, r.Header.Get("X-Own"))
		}
	}))
	router := routerTo(t, address)

	for _, path := range []string{"/none", "/parts", "/last", "/last", "/a%2Fb?c=d%20e", "/a?b=1;c=2&d=%zz&e=3", "/"} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete} {
			for _, size := range []int{0, 1, 5000, 100 << 10, 300 << 10} {
				if size > 0 && method != http.MethodPost {
					continue
				}
				header := http.Header{"X-Own": {"own"}}
				if size == 5000 {
					header.Set("Expect", "100-continue")
				}
				body := func() io.Reader {
					if size == 0 {
						return nil
					}
					return strings.NewReader(strings.Repeat("x", size))
				}
				wantStatus, want := send(t, method, "http://"+address+path, body(), header.Clone())
				status, got := send(t, method, router+path, body(), header.Clone())
				if status != wantStatus || got != want {
					t.Errorf("%s %s with %d bytes: %d %q, want %d %q", method, path, size, status, got, wantStatus, want)
				}
			}
		}
	}
}

// TestABodyThatCannotBeReadIsRefused sends a body in parts of which one has no length.
func TestABodyThatCannotBeReadIsRefused(t *testing.T) {
	t.Parallel()
	_, address, _ := copyOf(t, "127.0.0.1:0", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	conn, err := net.Dial("tcp", strings.TrimPrefix(routerTo(t, address), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST /v1/shipments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+string(ship.NewKey(5, false))+"\r\nTransfer-Encoding: chunked\r\n\r\nnothing\r\n")
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || response.StatusCode != http.StatusBadRequest {
		t.Errorf("%v, %v", response, err)
	}
}

// TestBodiesOfStrangersAreNotKept sends the beginnings of bodies. Without a key of the
// right form the cell gets the request at once, because the router reads nothing of it;
// with one, the router waits for the rest.
func TestBodiesOfStrangersAreNotKept(t *testing.T) {
	t.Parallel()
	came := make(chan string, 10)
	_, address, _ := copyOf(t, "127.0.0.1:0", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		came <- r.Header.Get("X-Name")
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	router := strings.TrimPrefix(routerTo(t, address), "http://")

	key := string(ship.NewKey(5, false))
	for name, authorization := range map[string]string{
		"nobody":           "",
		"a wrong checksum": "Authorization: Bearer " + key[:len(key)-1] + "~\r\n",
		"a key":            "Authorization: Bearer " + key + "\r\n",
	} {
		conn, err := net.Dial("tcp", router)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /v1/shipments HTTP/1.1\r\nHost: x\r\nX-Name: %s\r\n%sContent-Length: 1000\r\n\r\n{", name, authorization)

		patience := 5 * time.Second
		if name == "a key" {
			patience = 300 * time.Millisecond
		}
		select {
		case got := <-came:
			if got != name || name == "a key" {
				t.Errorf("the cell got %q while the body of %q arrives", got, name)
			}
		case <-time.After(patience):
			if name != "a key" {
				t.Errorf("the router waits for the body of %s", name)
			}
		}
	}
}

// breaking is a cell whose connections each get as many answers, and are cut off after the
// request behind them. It sends the methods of the requests that it got.
func breaking(t *testing.T, answers int) (address string, got <-chan string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	methods := make(chan string, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				reader := bufio.NewReader(conn)
				for n := 0; ; n++ {
					r, err := http.ReadRequest(reader)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, r.Body)
					methods <- r.Method
					if n >= answers {
						return
					}
					fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
				}
			}()
		}
	}()
	return listener.Addr().String(), methods
}

// TestAnUnansweredRequestIsNotCalledUndone has a cell die behind a request that it got. A
// client that reads that nothing was done would buy a second label.
func TestAnUnansweredRequestIsNotCalledUndone(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 2, 100 << 10, 300 << 10} {
		for _, of := range []struct {
			method, key, code string
		}{
			{http.MethodPost, "", `"code":"outcome_unknown"`},
			{http.MethodPost, "k", `"code":"outcome_unknown"`},
			{http.MethodDelete, "", `"code":"outcome_unknown"`},
			{http.MethodGet, "", `"code":"service_unavailable"`},
		} {
			if size > 0 && of.method != http.MethodPost {
				continue
			}
			address, _ := breaking(t, 0)
			header := http.Header{}
			if of.key != "" {
				header.Set("Idempotency-Key", of.key)
			}
			status, answer := send(t, of.method, routerTo(t, address)+"/v1/shipments", strings.NewReader(strings.Repeat("x", size)), header)
			isRetryable := strings.Contains(answer, `"retryable":true`)
			if status != http.StatusServiceUnavailable || !strings.Contains(answer, of.code) || isRetryable != (of.method == http.MethodGet || of.key != "") {
				t.Errorf("%s of %d bytes with key %q: %d %s", of.method, size, of.key, status, answer)
			}
		}
	}

	// Nobody listens there, so nothing was sent.
	end, address, _ := copyOf(t, "127.0.0.1:0", http.NotFoundHandler())
	end()
	for _, size := range []int{2, 300 << 10} {
		status, answer := send(t, http.MethodPost, routerTo(t, address)+"/v1/shipments", strings.NewReader(strings.Repeat("x", size)), nil)
		if status != http.StatusServiceUnavailable || !strings.Contains(answer, `"code":"service_unavailable"`) || !strings.Contains(answer, `"retryable":true`) {
			t.Errorf("%d bytes to nobody: %d %s", size, status, answer)
		}
	}
}

// TestARequestIsSentAgainOnlyIfItMay has a cell cut a kept connection off behind the
// second request.
func TestARequestIsSentAgainOnlyIfItMay(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		method, key string
		times       int
	}{
		{http.MethodGet, "", 2},
		{http.MethodPost, "k", 2},
		{http.MethodPost, "", 1},
		{http.MethodPut, "", 1},
		{http.MethodDelete, "", 1},
	} {
		address, got := breaking(t, 1)
		router := routerTo(t, address)
		if status, answer := send(t, http.MethodGet, router+"/v1/shipments", nil, nil); status != http.StatusOK {
			t.Fatalf("%d %s", status, answer)
		}
		<-got
		header := http.Header{}
		if of.key != "" {
			header.Set("Idempotency-Key", of.key)
		}
		status, _ := send(t, of.method, router+"/v1/shipments", nil, header)
		if times := len(got); times != of.times || (status == http.StatusOK) != (times == 2) {
			t.Errorf("%s with key %q came %d times, want %d; the answer is %d", of.method, of.key, times, of.times, status)
		}
	}
}

// TestABrokenAnswerIsNotAskedForAgain has a cell answer with what is no HTTP, on a kept
// connection.
func TestABrokenAnswerIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	for _, broken := range []string{
		"nonsense\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2<<20) + "\r\n\r\n",
		strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 100_000),
	} {
		var asked atomic.Int64
		_, address, _ := copyOf(t, "127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked.Add(1) == 1 {
				return
			}
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(conn, broken)
			<-r.Context().Done() // of the server, at the end of the test
		}))
		router := routerWith(t, address, cell.RouterConfig{AnswerTimeout: 20 * time.Second})
		send(t, http.MethodGet, router+"/", nil, nil)
		status, answer := send(t, http.MethodGet, router+"/", nil, nil)
		if status != http.StatusServiceUnavailable || asked.Load() != 2 {
			t.Errorf("%.20q...: %d %.100s, asked %d times", broken, status, answer, asked.Load())
		}
	}
}

// TestACellThatHangsIsNotWaitedForForever sends requests of each way to a cell that
// answers none; one that has begun may take its time.
func TestACellThatHangsIsNotWaitedForForever(t *testing.T) {
	t.Parallel()
	ending := make(chan struct{})
	_, address, _ := copyOf(t, "127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/slow" {
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Second)
			fmt.Fprint(w, "done")
			return
		}
		<-ending
	}))
	t.Cleanup(func() { close(ending) })
	router := routerWith(t, address, cell.RouterConfig{AnswerTimeout: 500 * time.Millisecond})
	if status, answer := send(t, http.MethodGet, router+"/slow", nil, nil); status != http.StatusOK || answer != "done" {
		t.Errorf("an answer that takes its time: %d %s", status, answer)
	}

	began := time.Now()
	for _, size := range []int{0, 300 << 10} {
		status, answer := send(t, http.MethodPost, router+"/", strings.NewReader(strings.Repeat("x", size)), http.Header{"Idempotency-Key": {"k"}})
		if status != http.StatusServiceUnavailable || !strings.Contains(answer, "outcome_unknown") {
			t.Errorf("%d bytes: %d %s", size, status, answer)
		}
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("two requests took %s", took)
	}
}

// TestAClientThatReadsNothingIsLeft asks for an answer without an end, and reads none of it.
func TestAClientThatReadsNothingIsLeft(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	_, address, _ := copyOf(t, "127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		defer close(ended)
		for {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}))
	router := routerWith(t, address, cell.RouterConfig{WriteTimeout: 500 * time.Millisecond})
	conn, err := net.Dial("tcp", strings.TrimPrefix(router, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("the router still waits for the client")
	}
}

// TestRequestsThatAreRefusedKeepTheirConnection asks a cell again that answers 421.
func TestRequestsThatAreRefusedKeepTheirConnection(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	_, address, connections := copyOf(t, "127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 10 {
			w.Header().Set(cell.EpochHeader, "1")
			w.WriteHeader(http.StatusMisdirectedRequest)
			fmt.Fprint(w, "elsewhere")
		}
	}))
	if status, answer := send(t, http.MethodPost, routerTo(t, address)+"/", strings.NewReader("x"), nil); status != http.StatusOK || connections.Load() != 1 {
		t.Errorf("%d %s over %d connections", status, answer, connections.Load())
	}
}
