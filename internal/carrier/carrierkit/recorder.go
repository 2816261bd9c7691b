package carrierkit

import (
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/carrier"
)

// keptBody bounds what is kept of each body.
const keptBody = 1 << 20

// Recorder returns next with recording: the exchanges of an operation whose ctx
// asks for it are reported, without credentials and tokens, once they have
// ended, on a goroutine of their own. It sends nothing by itself, waits for
// nothing, and changes nothing of what is sent. Calls of no operation, such as
// a token's, are never reported.
func Recorder(next http.RoundTripper) http.RoundTripper { return &recorder{next} }

type recorder struct{ next http.RoundTripper }

// CloseIdleConnections ends the connections that are idle.
func (rec *recorder) CloseIdleConnections() {
	(&http.Client{Transport: rec.next}).CloseIdleConnections()
}

// RoundTrip sends the request.
func (rec *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	keep := carrier.ExchangesOf(request.Context())
	if keep == nil || carrier.OperationOf(request.Context()) == "" {
		return rec.next.RoundTrip(request)
	}

	recorded := &recording{
		keep:    keep,
		request: request,
		exchange: carrier.Exchange{
			Operation: carrier.OperationOf(request.Context()),
			At:        time.Now(),
			Method:    request.Method,
			URL:       cleanURL(request),
			Header:    request.Header,
		},
	}
	if request.Body != nil && request.Body != http.NoBody {
		copied := request.WithContext(request.Context())
		copied.Body = &recordedBody{ReadCloser: request.Body, copy: &recorded.sent}
		request = copied
	}

	response, err := rec.next.RoundTrip(request)
	if err != nil {
		recorded.end(nil, err)
		return nil, err
	}
	response.Body = &recordedBody{
		ReadCloser: response.Body,
		copy:       &recorded.received,
		done:       func(err error) { recorded.end(response, err) },
	}
	return response, nil
}

// recordedBody is a body that is copied as it is read, up to a limit.
type recordedBody struct {
	io.ReadCloser
	copy *excerpt
	done func(error) // at its end; may be nil
}

func (b *recordedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.copy.add(p[:n])
	if err != nil && b.done != nil {
		if err == io.EOF { //nolint:errorlint // the plain one is the end
			b.done(nil)
		} else {
			b.done(err)
		}
	}
	return n, err
}

func (b *recordedBody) Close() error {
	err := b.ReadCloser.Close()
	if b.done != nil {
		b.done(nil)
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

// content returns what was kept of the body, and whether that is all of it.
func (e *excerpt) content() ([]byte, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.text, e.size == len(e.text)
}

// recording is one exchange under way.
type recording struct {
	once           sync.Once
	keep           func(carrier.Exchange)
	request        *http.Request
	exchange       carrier.Exchange
	sent, received excerpt
}

// end reports the exchange.
func (r *recording) end(response *http.Response, err error) {
	r.once.Do(func() {
		r.exchange.Took = time.Since(r.exchange.At)
		go r.report(response, err) // a purchase does not wait for its record
	})
}

func (r *recording) report(response *http.Response, err error) {
	// A lost record costs nothing, so a panic must not end the process.
	defer func() { _ = recover() }()

	redact := redactor(r.request.Header)
	r.exchange.Header = cleanHeader(r.request.Header, redact)
	r.exchange.Body = redact(cleanBody(r.sent.content()))
	if response != nil {
		r.exchange.Status = response.StatusCode
		r.exchange.Answer = cleanHeader(response.Header, redact)
		r.exchange.Answered = redact(cleanBody(r.received.content()))
	}
	if err != nil {
		r.exchange.Error = redact(err.Error())
	}
	r.keep(r.exchange)
}

const secret = "[secret]"

// redactor returns a replacer for the credentials in a request's header,
// wherever the carrier repeats them.
func redactor(header http.Header) func(string) string {
	var pairs []string
	add := func(text string) {
		if len(text) >= 4 {
			pairs = append(pairs, text, secret)
		}
	}

	for name, values := range header {
		if !isSecretName(name) {
			continue
		}
		for _, value := range values {
			_, credential, hasScheme := strings.Cut(value, " ")
			if !hasScheme {
				credential = value
			}
			add(credential)

			// A carrier may repeat the parts of a basic authorization in plain
			// text.
			if plain, err := base64.StdEncoding.DecodeString(credential); err == nil {
				user, password, _ := strings.Cut(string(plain), ":")
				add(user)
				add(password)
			}
		}
	}
	return strings.NewReplacer(pairs...).Replace
}

func cleanHeader(header http.Header, redact func(string) string) http.Header {
	clean := http.Header{}
	for name, values := range header {
		for _, value := range values {
			if isSecretName(name) {
				value = secret
			}
			clean[name] = append(clean[name], redact(value))
		}
	}
	return clean
}

func cleanURL(request *http.Request) string {
	address := *request.URL
	address.User = nil
	query := address.Query()
	for name, values := range query {
		for i := range values {
			if isSecretName(name) {
				values[i] = secret
			}
		}
	}
	address.RawQuery = query.Encode()
	return address.String()
}

// cleanBody returns a body that may be kept: JSON without secrets and without
// the images of labels, the beginning of other text, and nothing of a file, nor
// of a body that was cut: it could end inside a secret.
func cleanBody(body []byte, complete bool) string {
	const shown = 2000
	switch text, ok := cleanJSON(body); {
	case len(body) == 0:
		return ""
	case !complete:
		return "[more than " + strconv.Itoa(len(body)) + " bytes left out]"
	case ok:
		return text
	case !utf8.Valid(body):
		return "[" + strconv.Itoa(len(body)) + " bytes of a file left out]"
	case len(body) <= shown:
		return string(body)
	}
	return strings.ToValidUTF8(string(body[:shown]), "\uFFFD") + "\n[" + strconv.Itoa(len(body)-shown) + " bytes left out]"
}
