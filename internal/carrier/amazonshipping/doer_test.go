package amazonshipping_test

import (
	"bytes"
	"io"
	"net/http"
)

type doer func(*http.Request) (*http.Response, error)

// Do is carrier.Doer.
func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

func readAll(r *http.Request) ([]byte, error) {
	defer r.Body.Close()
	return io.ReadAll(r.Body)
}

func bodyOf(data []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(data)) }
