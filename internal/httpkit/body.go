package httpkit

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"

	"github.com/waybillhq/waybill/internal/ship"
)

var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxKeptBody is the largest buffer that is used again.
const maxKeptBody = 64 << 10

// ReadJSON reads the body of r, at most limit bytes, as strict JSON into the
// exchange, and gives r a body that can be read again. An empty body counts as
// none. The caller must call done when nothing of the body is used any more.
func (ex *Exchange) ReadJSON(w http.ResponseWriter, r *http.Request, limit int64) (done func(), err error) {
	buffer := bodies.Get().(*bytes.Buffer)
	buffer.Reset()
	done = func() {
		// Body and JSON point into the buffer, which the next request may get.
		ex.JSON.Release()
		ex.JSON = nil
		ex.Body = nil
		if buffer.Cap() <= maxKeptBody {
			bodies.Put(buffer)
		}
	}

	if err := ex.read(w, r, limit, buffer); err != nil {
		done()
		return func() {}, err
	}
	return done, nil
}

func (ex *Exchange) read(w http.ResponseWriter, r *http.Request, limit int64, buffer *bytes.Buffer) error {
	// A body that announces itself as too large is not read at all, so the
	// connection cannot be used for another request.
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close")
		return tooLarge(limit)
	}

	// A buffer that grows on the way leaves as much garbage as it holds.
	if r.ContentLength > 0 {
		buffer.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	if _, err := buffer.ReadFrom(http.MaxBytesReader(w, r.Body, limit)); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return tooLarge(limit)
		}
		return ship.Coded(ship.Invalid, "malformed_json", "the request body could not be read completely; send it again")
	}

	ex.Body = buffer.Bytes()
	r.Body = io.NopCloser(bytes.NewReader(ex.Body))
	if len(ex.Body) == 0 {
		return nil
	}
	if !isJSON(r.Header.Get("Content-Type")) {
		return ship.Coded(ship.Invalid, "unsupported_media_type", "the body must be JSON, with Content-Type: application/json")
	}

	tape, err := ParseJSON(ex.Body)
	ex.JSON = tape
	return err
}

func tooLarge(limit int64) error {
	return ship.Coded(ship.Invalid, "body_too_large", "the request body is larger than %d bytes; send less in one request", limit)
}

// isJSON reports whether the content type is JSON in UTF-8.
func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}

	media, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || media != "application/json" {
		return false
	}
	charset, ok := parameters["charset"]
	return !ok || strings.EqualFold(charset, "utf-8")
}
