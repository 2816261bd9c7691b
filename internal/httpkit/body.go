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

// maxKeptBody bounds the buffers that are used again.
const maxKeptBody = 64 << 10

// ReadJSON reads the body of r, at most limit bytes, as strict JSON into the
// exchange, and gives r a body that can be read again. A body that is empty is
// none. The caller must call done when nothing of the body is used any more.
func (ex *Exchange) ReadJSON(w http.ResponseWriter, r *http.Request, limit int64) (done func(), err error) {
	buf := bodies.Get().(*bytes.Buffer)
	buf.Reset()
	done = func() {
		ex.JSON.Release()
		ex.JSON, ex.Body = nil, nil
		if buf.Cap() <= maxKeptBody {
			bodies.Put(buf)
		}
	}
	if err := ex.read(w, r, limit, buf); err != nil {
		done()
		return func() {}, err
	}
	return done, nil
}

func (ex *Exchange) read(w http.ResponseWriter, r *http.Request, limit int64, buf *bytes.Buffer) error {
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close")
		return tooLarge()
	}
	if _, err := buf.ReadFrom(http.MaxBytesReader(w, r.Body, limit)); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return tooLarge()
		}
		return ship.Coded(ship.Invalid, "malformed_json", "the body could not be read whole")
	}
	ex.Body = buf.Bytes()
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

func tooLarge() error {
	return ship.Coded(ship.Invalid, "body_too_large", "the body is larger than allowed")
}

// isJSON reports whether the content type is JSON in UTF-8.
func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media != "application/json" {
		return false
	}
	charset, ok := params["charset"]
	return !ok || strings.EqualFold(charset, "utf-8")
}
