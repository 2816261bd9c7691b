package web

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"sync"
)

// worthPacking is from how many bytes on a page is sent compressed.
const worthPacking = 1 << 10

var packers = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // the level is a good one
	return z
}}

// send answers with a page, compressed if the browser takes that. The answer
// to a form never is: it can hold a secret that was just made beside what the
// form sent, and the length of the two packed together would tell of it. What
// is only looked at holds no secret.
func (v *visit) send(status int, page string) {
	h := v.w.Header()
	h.Add("Vary", "Accept-Encoding")
	if v.r.Method != http.MethodGet || len(page) < worthPacking || !strings.Contains(v.r.Header.Get("Accept-Encoding"), "gzip") {
		v.w.WriteHeader(status)
		_, _ = io.WriteString(v.w, page) // the reader may have left
		return
	}
	h.Set("Content-Encoding", "gzip")
	v.w.WriteHeader(status)
	z := packers.Get().(*gzip.Writer)
	z.Reset(v.w)
	_, _ = io.WriteString(z, page)
	_ = z.Close()
	packers.Put(z)
}
