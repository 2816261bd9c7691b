// Package wire holds the JSON shapes that clients see: the answers of the API
// and the bodies of events are made of the same ones. It translates from the
// types of package ship and decides nothing; it does no I/O.
package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
	"time"
)

// timeLayout is RFC 3339 with milliseconds where there are any.
const timeLayout = "2006-01-02T15:04:05.999Z07:00"

// Time is t as clients see it: UTC with a trailing Z, milliseconds at most;
// empty for no time.
func Time(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	var buf [32]byte
	return string(t.UTC().AppendFormat(buf[:0], timeLayout))
}

// encoder is a JSON encoder with the buffer it writes to.
type encoder struct {
	buf bytes.Buffer
	enc *json.Encoder
}

var encoders = sync.Pool{New: func() any {
	e := new(encoder)
	e.enc = json.NewEncoder(&e.buf)
	e.enc.SetEscapeHTML(false)
	return e
}}

// maxKept bounds the buffers that are reused.
const maxKept = 64 << 10

// Marshal is v as JSON on one line, without a newline at its end. Text is not
// escaped for HTML.
func Marshal(v any) ([]byte, error) {
	e := encoders.Get().(*encoder)
	e.buf.Reset()
	if err := e.enc.Encode(v); err != nil {
		return nil, err // an encoder keeps its error, so it stays out of the pool
	}

	// The bytes belong to the buffer. One that the next caller writes to keeps
	// them; a large one is given away.
	text := bytes.TrimSuffix(e.buf.Bytes(), []byte("\n"))
	if e.buf.Cap() > maxKept {
		return text, nil
	}
	text = slices.Clone(text)
	encoders.Put(e)
	return text, nil
}
