package cell_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/cell"
)

// fuzzPatience is for inputs that are not complete: both sides wait for the rest.
const fuzzPatience = 10 * time.Millisecond

// A sight is a request as a server sees it.
type sight struct {
	method, address, key, body string
}

// sightOf reads a request. It is false if the body is not complete.
func sightOf(r *http.Request, address string) (sight, bool) {
	body, err := io.ReadAll(r.Body)
	return sight{
		method:  r.Method,
		address: address,
		key:     strings.Join(r.Header["Authorization"], ","),
		body:    string(body),
	}, err == nil
}

// isFrom reports whether a request at the cell is the one that a client sent. A client
// can name any header as one of the connection, and the router leaves it out.
func (s sight) isFrom(sent sight) bool {
	isKey := s.key == sent.key || s.key == ""
	isAddress := s.address == sent.address || s.method == http.MethodConnect
	return s.method == sent.method && isAddress && isKey && s.body == sent.body
}

// FuzzRequests sends what a client could send to a router, before a request that is
// sound. The cell behind it must get the requests that were sent, in their order, and none
// that was hidden in another.
func FuzzRequests(f *testing.F) {
	for _, seed := range []string{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST /a?b=%zz;c HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n1;a=b\r\na\r\n0\r\nX: y\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\na",
		"GET / HTTP/1.1\r\nHost: x\r\nConnection: Authorization, Content-Length\r\nAuthorization: Bearer a\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		"GET http:a HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://y/a HTTP/1.0\r\n\r\n",
		"CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
		"HEAD /a%2fb HTTP/1.1\r\nHost: x\r\n\r\nGET /c HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}

	f.Fuzz(func(t *testing.T, input []byte) {
		var mu sync.Mutex
		var got []sight
		_, address, _ := copyOf(t, "127.0.0.1:0", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if one, ok := sightOf(r, r.RequestURI); ok {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, one)
			}
		}))
		conn, err := net.Dial("tcp", strings.TrimPrefix(routerWith(t, address, cell.RouterConfig{AnswerTimeout: time.Second, WriteTimeout: time.Second}), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()

		input = append(bytes.Clone(input), "GET /end HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"...)
		_, _ = conn.Write(input) // the router may have closed it before the end
		_ = conn.SetReadDeadline(time.Now().Add(fuzzPatience))
		_, _ = io.Copy(io.Discard, conn)

		var sent []sight
		for reader := bufio.NewReader(bytes.NewReader(input)); ; {
			r, err := http.ReadRequest(reader)
			if err != nil {
				break
			}
			one, ok := sightOf(r, r.URL.RequestURI())
			if !ok {
				break
			}
			sent = append(sent, one)

			// Servers tolerate the line ends that old clients send behind a POST.
			if r.Method == http.MethodPost {
				ahead, _ := reader.Peek(4)
				_, _ = reader.Discard(len(ahead) - len(bytes.TrimLeft(ahead, "\r\n")))
			}
		}

		mu.Lock()
		defer mu.Unlock()
		left := sent
		for _, one := range got {
			for len(left) > 0 && !one.isFrom(left[0]) {
				left = left[1:]
			}
			if len(left) == 0 {
				t.Fatalf("the cell got %+v, which is not among the requests that were sent, or not in their order: %+v", got, sent)
			}
			left = left[1:]
		}
	})
}

// FuzzAnswers has a cell answer a request with anything. The answer to the next request
// must be its own, whatever was left of the first.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n0\r\nX: y\r\n\r\n",
		"HTTP/1.1 204 No Content\r\nContent-Length: 1\r\n\r\nx",
		"HTTP/1.1 304 Not Modified\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
		"HTTP/1.0 200 OK\r\n\r\nall of it",
		"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nless",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
	} {
		for method := range byte(3) {
			f.Add(method, []byte(seed))
		}
	}

	f.Fuzz(func(t *testing.T, method byte, answer []byte) {
		if bytes.Contains(bytes.ToLower(answer), []byte(" 421 ")) {
			return // a 421 is asked again for three seconds
		}
		router := strings.TrimPrefix(routerWith(t, answering(t, answer), cell.RouterConfig{AnswerTimeout: fuzzPatience, WriteTimeout: time.Second}), "http://")

		ask := func(method, path string, patience time.Duration) (int, string) {
			conn, err := net.Dial("tcp", router)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(patience))
			fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", method, path)
			response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
			if err != nil {
				return 0, ""
			}
			body, _ := io.ReadAll(response.Body) // cut off where the cell's is
			return response.StatusCode, string(body)
		}
		ask([]string{http.MethodGet, http.MethodHead, http.MethodPost}[method%3], "/first", 2*fuzzPatience)
		if status, body := ask(http.MethodPost, "/second", 10*time.Second); (status != http.StatusOK || body != "second") && status != http.StatusServiceUnavailable {
			t.Fatalf("the next request is answered with %d %q", status, body)
		}
	})
}

// answering is a cell that answers /first with anything, and all else with "second". It
// keeps connections open.
func answering(t *testing.T, answer []byte) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for reader := bufio.NewReader(conn); ; {
					r, err := http.ReadRequest(reader)
					if err != nil {
						return
					}
					if r.URL.Path == "/first" {
						_, _ = conn.Write(answer) // the router may have closed it
						continue
					}
					_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecond")
				}
			}()
		}
	}()
	return listener.Addr().String()
}
