package conformance

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/waybillhq/waybill/internal/carrier"
)

// A fault is what goes wrong with one exchange. It decides itself whether the
// carrier gets to see the request.
type fault func(service carrier.Doer, r *http.Request) (*http.Response, error)

// dialFails: the carrier was never reached.
func dialFails(_ carrier.Doer, r *http.Request) (*http.Response, error) {
	return nil, failed(r, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED})
}

// cutAfterSend: the carrier acted, and its answer is lost.
func cutAfterSend(service carrier.Doer, r *http.Request) (*http.Response, error) {
	if resp, err := service.Do(r); err == nil {
		resp.Body.Close()
	}
	return nil, failed(r, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET})
}

// hang: the carrier acted, and never answers.
func hang(service carrier.Doer, r *http.Request) (*http.Response, error) {
	if resp, err := service.Do(r); err == nil {
		resp.Body.Close()
	}
	<-r.Context().Done()
	return nil, failed(r, r.Context().Err())
}

// cutInBody: the connection breaks in the middle of the answer.
func cutInBody(service carrier.Doer, r *http.Request) (*http.Response, error) {
	return reply(service, r, func(body []byte) io.Reader {
		return io.MultiReader(bytes.NewReader(body[:len(body)/2]), errorReader{io.ErrUnexpectedEOF})
	})
}

// hangInBody: half of the answer comes, and then nothing.
func hangInBody(service carrier.Doer, r *http.Request) (*http.Response, error) {
	return reply(service, r, func(body []byte) io.Reader {
		return io.MultiReader(bytes.NewReader(body[:len(body)/2]), waitReader{r})
	})
}

// truncate: half of the answer comes, and ends as if it were complete.
func truncate(service carrier.Doer, r *http.Request) (*http.Response, error) {
	return reply(service, r, func(body []byte) io.Reader { return bytes.NewReader(body[:len(body)/2]) })
}

// compressions are answers that a driver must understand: FedEx compresses
// every answer unasked, and gateways lose the header that says so.
var compressions = map[string]fault{
	"answer is gzip-compressed":                     compressedAs("gzip"),
	"answer is gzip-compressed and does not say so": compressedAs(""),
}

// compressedAs compresses the answer; the header calls it encoding.
func compressedAs(encoding string) fault {
	return func(service carrier.Doer, r *http.Request) (*http.Response, error) {
		resp, err := reply(service, r, func(body []byte) io.Reader { return bytes.NewReader(compress(body)) })
		if err == nil && encoding != "" {
			resp.Header.Set("Content-Encoding", encoding)
		}
		return resp, err
	}
}

// truncateCompressed: the answer is compressed, and half of it comes.
func truncateCompressed(service carrier.Doer, r *http.Request) (*http.Response, error) {
	resp, err := reply(service, r, func(body []byte) io.Reader {
		packed := compress(body)
		return bytes.NewReader(packed[:len(packed)/2])
	})
	if err == nil {
		resp.Header.Set("Content-Encoding", "gzip")
	}
	return resp, err
}

// corruptCompressed: the answer is compressed, and one of its bytes is changed
// in transit.
func corruptCompressed(service carrier.Doer, r *http.Request) (*http.Response, error) {
	resp, err := reply(service, r, func(body []byte) io.Reader {
		packed := compress(body)
		packed[len(packed)/2] ^= 0xff
		return bytes.NewReader(packed)
	})
	if err == nil {
		resp.Header.Set("Content-Encoding", "gzip")
	}
	return resp, err
}

// bomb: a small answer that unpacks to more than any answer may be.
func bomb(_ carrier.Doer, _ *http.Request) (*http.Response, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := io.Copy(w, io.MultiReader(
		strings.NewReader(`{"text":"`), io.LimitReader(letters{}, bigSize), strings.NewReader(`"}`)))
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, err
	}

	resp := response(http.StatusOK, &packed)
	resp.Header.Set("Content-Encoding", "gzip")
	return resp, nil
}

func compress(body []byte) []byte {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(body)
	if err := errors.Join(err, w.Close()); err != nil {
		panic(err) // a buffer takes everything
	}
	return packed.Bytes()
}

// loseLabel: the answer lacks only its longest text, which in the answer to a
// purchase is the label. A label that is a file of its own is empty.
func loseLabel(service carrier.Doer, r *http.Request) (*http.Response, error) {
	return reply(service, r, func(body []byte) io.Reader {
		if isXML := bytes.HasPrefix(body, []byte("<")); isXML {
			return bytes.NewReader(body) // it has links to the label
		}
		if isJSON := bytes.HasPrefix(body, []byte("{")); !isJSON {
			return bytes.NewReader(nil)
		}

		var document any
		if err := json.Unmarshal(body, &document); err != nil {
			return errorReader{err}
		}

		longest := ""
		walk(document, func(text string) string {
			if len(text) > len(longest) {
				longest = text
			}
			return text
		})
		document = walk(document, func(text string) string {
			if text == longest {
				return ""
			}
			return text
		})

		without, err := json.Marshal(document)
		if err != nil {
			return errorReader{err}
		}
		return bytes.NewReader(without)
	})
}

// walk replaces every text of a JSON document.
func walk(document any, with func(string) string) any {
	switch value := document.(type) {
	case string:
		return with(value)
	case []any:
		for i := range value {
			value[i] = walk(value[i], with)
		}
	case map[string]any:
		for name := range value {
			value[name] = walk(value[name], with)
		}
	}
	return document
}

// bigSize is more than any answer may be.
const bigSize = 10 << 20

// tooBig: the answer is one text of 10 MiB.
func tooBig(_ carrier.Doer, _ *http.Request) (*http.Response, error) {
	return response(http.StatusOK, io.MultiReader(
		strings.NewReader(`{"text":"`), io.LimitReader(letters{}, bigSize), strings.NewReader(`"}`))), nil
}

// answer returns a fixed answer; the carrier does not see the request.
func answer(status int, body string, header ...string) fault {
	return func(carrier.Doer, *http.Request) (*http.Response, error) {
		resp := response(status, strings.NewReader(body))
		for i := 0; i+1 < len(header); i += 2 {
			resp.Header.Set(header[i], header[i+1])
		}
		return resp, nil
	}
}

// echo returns a refusal that repeats the whole request, credentials and all,
// as careless carriers do.
func echo(refusal Refusal) fault {
	return func(_ carrier.Doer, r *http.Request) (*http.Response, error) {
		var text strings.Builder
		fmt.Fprintf(&text, "bad request %s %s", r.URL, r.Header)
		if r.Body != nil {
			if body, err := io.ReadAll(r.Body); err == nil {
				text.Write(body)
			}
		}

		quoted, err := json.Marshal(text.String())
		if err != nil {
			return nil, err
		}
		body := fmt.Sprintf(refusal.Body, quoted[1:len(quoted)-1])
		return response(refusal.Status, strings.NewReader(body)), nil
	}
}

// reply lets the carrier answer and changes the body on the way back.
func reply(service carrier.Doer, r *http.Request, change func([]byte) io.Reader) (*http.Response, error) {
	resp, err := service.Do(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}

	// The changed body has another length than the header of the carrier says.
	resp.Body = io.NopCloser(change(body))
	resp.ContentLength = -1
	resp.Header.Del("Content-Length")
	return resp, nil
}

func response(status int, body io.Reader) *http.Response {
	return &http.Response{
		StatusCode:    status,
		Status:        http.StatusText(status),
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{"Content-Type": {"application/json"}},
		Body:          io.NopCloser(body),
		ContentLength: -1,
	}
}

// failed is the error in the manner of an http.Client.
func failed(r *http.Request, err error) error {
	return &url.Error{Op: r.Method, URL: r.URL.String(), Err: err}
}

type errorReader struct{ err error }

func (e errorReader) Read([]byte) (int, error) { return 0, e.err }

type waitReader struct{ r *http.Request }

func (w waitReader) Read([]byte) (int, error) {
	<-w.r.Context().Done()
	return 0, w.r.Context().Err()
}

type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}
