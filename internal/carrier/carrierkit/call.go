// Package carrierkit is what drivers share: one HTTP exchange with its failures
// classified, tokens, addresses that fit, and the traffic to carriers with its
// quotas, bulkheads and breakers. It makes one attempt per call, logs nothing,
// and puts no secret into an error.
package carrierkit

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// answerLimit bounds an answer: the labels of many pieces fit, an endless body
// does not.
const answerLimit = 4 << 20

// An Encoding is how the bodies of an exchange are written.
type Encoding int

// The encodings.
const (
	JSON Encoding = iota
	XML
)

// A Call is one HTTP exchange with a carrier.
type Call struct {
	Method string
	URL    string
	Header http.Header
	// Encoding is that of the body and of the answer.
	Encoding Encoding
	Body     any // nil sends none
	// Effect marks a call that spends or returns money: if its answer is
	// lost, the error is ship.Uncertain instead of ship.Unavailable.
	Effect bool
	// Limit bounds the answer in bytes; zero means 4 MiB.
	Limit int64
	// Refusal reads the carrier's own words from the body of a 4xx answer.
	Refusal func(body []byte) ship.Refusal
}

// A File is an answer that is not decoded, such as a label.
type File struct {
	Status int // some carriers answer 202 as long as the file is not ready
	Data   []byte
}

// Do sends the call once and decodes the answer of a 2xx status into answer,
// which may be nil if there is none to read. A *File gets the answer as it is.
// Every error is a *ship.Error; its
// cause is a Status when the carrier answered with one.
func (c Call) Do(ctx context.Context, via carrier.Doer, answer any) error {
	if c.Effect {
		ctx = carrier.WithEffect(ctx)
	}
	var dialing connecting
	request, err := c.request(httptrace.WithClientTrace(ctx, dialing.trace()))
	if err != nil {
		return &ship.Error{Kind: ship.Internal, Message: "the request to the carrier could not be created", Err: err}
	}

	carrier.NoteAnswer(request, 0, nil)
	response, err := via.Do(request)
	if err != nil {
		return c.unanswered(err, &dialing)
	}
	defer response.Body.Close()

	body, err := c.read(response.Body)
	if err == nil {
		carrier.NoteAnswer(request, response.StatusCode, body)
	}
	file, isFile := answer.(*File)
	var tooLarge error
	if c.Encoding == JSON && !isFile {
		tooLarge = carrier.CheckJSON(body)
	}

	// A refusal is known by its status, even if its body was cut off or must
	// not be decoded.
	if response.StatusCode < 200 || response.StatusCode > 299 {
		if tooLarge != nil {
			body = nil
		}
		return c.refused(response, body)
	}
	if err != nil {
		return c.lost("the carrier's answer was cut off", err)
	}

	if answer == nil {
		return nil
	}
	if isFile {
		*file = File{Status: response.StatusCode, Data: body}
		return nil
	}
	if tooLarge != nil {
		return c.lost("the carrier's answer could not be read", tooLarge)
	}
	if err := c.decode(body, answer); err != nil {
		return c.lost("the carrier's answer could not be read", describe(err))
	}
	return nil
}

func (c Call) decode(body []byte, answer any) error {
	if c.Encoding == XML {
		return xml.Unmarshal(body, answer)
	}
	return json.Unmarshal(body, answer)
}

func (c Call) encode() ([]byte, error) {
	if c.Encoding == XML {
		text, err := xml.Marshal(c.Body)
		return append([]byte(xml.Header), text...), err
	}
	return json.Marshal(c.Body)
}

func (c Call) request(ctx context.Context) (*http.Request, error) {
	var body io.Reader
	if c.Body != nil {
		data, err := c.encode()
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, c.Method, c.URL, body)
	if err != nil {
		return nil, errors.New("the carrier's URL is not valid") // the parser's error repeats it
	}

	if c.Effect {
		// Without GetBody no transport can send the request a second time.
		request.GetBody = nil
	}

	for name, values := range c.Header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	mediaType := "application/json"
	if c.Encoding == XML {
		mediaType = "application/xml"
	}
	if c.Body != nil && request.Header.Get("Content-Type") == "" {
		request.Header.Set("Content-Type", mediaType)
	}
	if request.Header.Get("Accept") == "" {
		request.Header.Set("Accept", mediaType)
	}
	return request, nil
}

// read takes at most Limit bytes of the answer.
func (c Call) read(from io.Reader) ([]byte, error) {
	limit := c.Limit
	if limit == 0 {
		limit = answerLimit
	}
	body, err := io.ReadAll(io.LimitReader(from, limit+1))
	if err == nil && int64(len(body)) > limit {
		err = fmt.Errorf("more than %d bytes", limit)
	}
	return body, err
}

// unanswered is the error of an exchange without an answer.
func (c Call) unanswered(err error, dialing *connecting) error {
	if known, ok := errors.AsType[*ship.Error](err); ok {
		return known // the Doer itself did not send it
	}
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err // the outer error repeats the URL, which may contain a secret
	}

	// Only a request that never had a connection is certain not to have been
	// sent. Anything later may have reached the carrier.
	if dialing.failed() || dialFailed(err) {
		return &ship.Error{Kind: ship.Unavailable, Message: "the carrier could not be reached", Err: err}
	}
	return c.lost("the carrier did not answer", err)
}

// lost is the error of a request that the carrier may have acted on.
func (c Call) lost(message string, cause error) error {
	kind := ship.Unavailable
	if c.Effect {
		kind = ship.Uncertain
	}
	return &ship.Error{Kind: kind, Message: message, Err: cause}
}

// connecting observes how a transport obtains a connection. The transport says
// that it has one before it writes the first byte, on the caller's goroutine,
// so "it never had one" is proof that nothing was sent.
type connecting struct{ wanted, got atomic.Bool }

func (c *connecting) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) { c.wanted.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { c.got.Store(true) },
	}
}

func (c *connecting) failed() bool { return c.wanted.Load() && !c.got.Load() }

// dialFailed reports whether err can only come from before the request.
func dialFailed(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Op == "dial"
	}
	_, isDNS := errors.AsType[*net.DNSError](err)
	return isDNS
}

// describe says what is wrong with an answer without repeating any of it.
func describe(err error) error {
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s does not have the expected JSON type", mismatch.Field)
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("invalid JSON after %d bytes", syntax.Offset)
	}
	if syntax, ok := errors.AsType[*xml.SyntaxError](err); ok {
		return fmt.Errorf("invalid XML in line %d", syntax.Line)
	}
	if _, ok := errors.AsType[xml.UnmarshalError](err); ok {
		return errors.New("the XML does not have the expected elements")
	}
	return err
}

// redact hides the credentials that the call itself sent: some carriers repeat
// the request in their errors.
func (c Call) redact(text string) string {
	for name, values := range c.Header {
		if !isSecretName(name) {
			continue
		}
		for _, value := range values {
			if _, credential, ok := strings.Cut(value, " "); ok {
				value = credential
			}
			if value != "" {
				text = strings.ReplaceAll(text, value, "[secret]")
			}
		}
	}
	return text
}
