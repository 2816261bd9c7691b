package site

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"sync"
)

// minCompressed is the size, in bytes, from which a page is compressed.
const minCompressed = 1 << 10

var gzipWriters = sync.Pool{New: func() any {
	writer, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // it fails only for an unknown level
	return writer
}}

// send answers with a page, compressed if the browser accepts that.
//
// The answer to a form is never compressed. It can hold a secret that was just
// made, such as an API key, beside what the form sent; the length of the two
// compressed together would give the secret away. The answer to a GET holds no
// secret.
func (v *Visit) send(status int, page string) {
	// Uncompressed answers vary as well: a cache must not mix the two up.
	header := v.Writer.Header()
	header.Add("Vary", "Accept-Encoding")

	accepted := strings.Contains(v.Request.Header.Get("Accept-Encoding"), "gzip")
	if v.Request.Method != http.MethodGet || len(page) < minCompressed || !accepted {
		v.Writer.WriteHeader(status)
		_, _ = io.WriteString(v.Writer, page) // the client may have disconnected
		return
	}

	header.Set("Content-Encoding", "gzip")
	v.Writer.WriteHeader(status)

	writer := gzipWriters.Get().(*gzip.Writer)
	writer.Reset(v.Writer)
	_, _ = io.WriteString(writer, page)
	_ = writer.Close()
	gzipWriters.Put(writer)
}
