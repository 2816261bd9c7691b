package carrierkit

import (
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
)

// keptBody bounds what is kept of each body.
const keptBody = 1 << 20

// Recorder returns next, watched: the exchanges of an operation whose ctx asks
// for it are told, without credentials and tokens, once they have ended, on a
// goroutine of their own. It sends nothing by itself, waits for nothing, and
// changes nothing of what is sent. Calls of no operation, such as a token's, are never told.
func Recorder(next http.RoundTripper) http.RoundTripper { return &recorder{next} }

type recorder struct{ next http.RoundTripper }

// CloseIdleConnections ends the connections that are idle.
func (rec *recorder) CloseIdleConnections() {
	(&http.Client{Transport: rec.next}).CloseIdleConnections()
}

// RoundTrip sends the request.
func (rec *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	keep := carrier.ExchangesOf(req.Context())
	if keep == nil || carrier.OperationOf(req.Context()) == "" {
		return rec.next.RoundTrip(req)
	}
	n := &note{keep: keep, req: req, x: carrier.Exchange{
		Operation: carrier.OperationOf(req.Context()), At: time.Now(), Method: req.Method, URL: cleanURL(req), Header: req.Header,
	}}
	if req.Body != nil && req.Body != http.NoBody {
		watched := req.WithContext(req.Context())
		watched.Body = &overheard{ReadCloser: req.Body, said: &n.said}
		req = watched
	}
	resp, err := rec.next.RoundTrip(req)
	if err != nil {
		n.end(nil, err)
		return nil, err
	}
	resp.Body = &overheard{ReadCloser: resp.Body, said: &n.heard, done: func(err error) { n.end(resp, err) }}
	return resp, nil
}

// overheard is a body that is copied as it is read, up to a limit.
type overheard struct {
	io.ReadCloser
	said *excerpt
	done func(error) // at its end; may be nil
}

func (o *overheard) Read(p []byte) (int, error) {
	n, err := o.ReadCloser.Read(p)
	o.said.add(p[:n])
	if err != nil && o.done != nil {
		if err == io.EOF { //nolint:errorlint // the plain one is the end
			o.done(nil)
		} else {
			o.done(err)
		}
	}
	return n, err
}

func (o *overheard) Close() error {
	err := o.ReadCloser.Close()
	if o.done != nil {
		o.done(nil)
	}
	return err
}

// An excerpt is the beginning of a body, and how long it is.
type excerpt struct {
	mu   sync.Mutex
	text []byte
	size int
}

func (e *excerpt) add(p []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.size += len(p)
	e.text = append(e.text, p[:min(len(p), keptBody-len(e.text))]...)
}

// whole is the body, and whether that is all of it.
func (e *excerpt) whole() ([]byte, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.text, e.size == len(e.text)
}

// note is one exchange under way.
type note struct {
	once        sync.Once
	keep        func(carrier.Exchange)
	req         *http.Request
	x           carrier.Exchange
	said, heard excerpt
}

// end tells the exchange.
func (n *note) end(resp *http.Response, err error) {
	n.once.Do(func() {
		n.x.Took = time.Since(n.x.At)
		go n.tell(resp, err) // a purchase does not wait for what is kept of it
	})
}

func (n *note) tell(resp *http.Response, err error) {
	defer func() { _ = recover() }() // a record that is lost costs nothing
	hide := hidden(n.req.Header)
	n.x.Header, n.x.Body = cleanHeader(n.req.Header, hide), hide(cleanBody(n.said.whole()))
	if resp != nil {
		n.x.Status, n.x.Answer = resp.StatusCode, cleanHeader(resp.Header, hide)
		n.x.Answered = hide(cleanBody(n.heard.whole()))
	}
	if err != nil {
		n.x.Error = hide(err.Error())
	}
	n.keep(n.x)
}

const secret = "[secret]"

// hidden returns what replaces the credentials that a request's head sent,
// wherever the carrier repeats them.
func hidden(h http.Header) func(string) string {
	var pairs []string
	add := func(s string) {
		if len(s) >= 4 {
			pairs = append(pairs, s, secret)
		}
	}
	for name, values := range h {
		if !isSecretName(name) {
			continue
		}
		for _, v := range values {
			_, credential, two := strings.Cut(v, " ")
			if !two {
				credential = v
			}
			add(credential)
			if plain, err := base64.StdEncoding.DecodeString(credential); err == nil {
				user, password, _ := strings.Cut(string(plain), ":")
				add(user)
				add(password)
			}
		}
	}
	return strings.NewReplacer(pairs...).Replace
}

func cleanHeader(h http.Header, hide func(string) string) http.Header {
	clean := http.Header{}
	for name, values := range h {
		for _, v := range values {
			if isSecretName(name) {
				v = secret
			}
			clean[name] = append(clean[name], hide(v))
		}
	}
	return clean
}

func cleanURL(req *http.Request) string {
	u := *req.URL
	u.User = nil
	query := u.Query()
	for name, values := range query {
		for i := range values {
			if isSecretName(name) {
				values[i] = secret
			}
		}
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// cleanBody is a body that may be kept: JSON without secrets and without the
// pictures of labels, of other text its beginning, and nothing of what was cut:
// it could end inside a secret.
func cleanBody(body []byte, whole bool) string {
	const shown = 2000
	switch text, ok := cleanJSON(body); {
	case len(body) == 0:
		return ""
	case !whole:
		return "[more than " + strconv.Itoa(len(body)) + " bytes left out]"
	case ok:
		return text
	case len(body) <= shown:
		return strings.ToValidUTF8(string(body), "\uFFFD")
	}
	return strings.ToValidUTF8(string(body[:shown]), "\uFFFD") + "\n[" + strconv.Itoa(len(body)-shown) + " bytes left out]"
}
