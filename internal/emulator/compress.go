package emulator

import (
	"compress/gzip"
	"net/http"
)

// compressedWriter compresses an answer.
type compressedWriter struct {
	http.ResponseWriter
	packer *gzip.Writer // nil until the head is written, and for an answer without a body
}

// WriteHeader begins the answer.
func (w *compressedWriter) WriteHeader(status int) {
	if w.packer == nil && status != http.StatusNoContent && status != http.StatusNotModified {
		w.Header().Del("Content-Length")
		w.Header().Set("Content-Encoding", "gzip")
		w.packer = gzip.NewWriter(w.ResponseWriter)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write writes plain text.
func (w *compressedWriter) Write(p []byte) (int, error) {
	if w.packer == nil {
		w.WriteHeader(http.StatusOK)
	}
	return w.packer.Write(p)
}

// Flush sends what was written so far.
func (w *compressedWriter) Flush() {
	if w.packer != nil {
		_ = w.packer.Flush()
	}
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// close ends the answer.
func (w *compressedWriter) close() {
	if w.packer != nil {
		_ = w.packer.Close()
	}
}
