package emulator

import (
	"compress/gzip"
	"net/http"
)

// compressedWriter compresses an answer.
type compressedWriter struct {
	http.ResponseWriter
	compressor *gzip.Writer // nil until the header is written, and for a response without a body
}

// WriteHeader begins the answer.
func (w *compressedWriter) WriteHeader(status int) {
	if w.compressor == nil && status != http.StatusNoContent && status != http.StatusNotModified {
		w.Header().Del("Content-Length")
		w.Header().Set("Content-Encoding", "gzip")
		w.compressor = gzip.NewWriter(w.ResponseWriter)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write writes plain text.
func (w *compressedWriter) Write(p []byte) (int, error) {
	if w.compressor == nil {
		w.WriteHeader(http.StatusOK)
	}
	return w.compressor.Write(p)
}

// Flush sends what was written so far.
func (w *compressedWriter) Flush() {
	if w.compressor != nil {
		_ = w.compressor.Flush()
	}
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// close ends the answer.
func (w *compressedWriter) close() {
	if w.compressor != nil {
		_ = w.compressor.Close()
	}
}
