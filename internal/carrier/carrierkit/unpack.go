package carrierkit

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
)

// unpacking decodes answers that a carrier compressed. FedEx compresses every
// answer, refusals too, whether or not the request accepts it; Go's own
// transport decodes only what it asked for itself.
//
// It sits below the recorder, so that exchanges are kept as plain text. What is
// unpacked is unpacked as it is read: whoever bounds what is read bounds what a
// small compressed body can grow to.
type unpacking struct{ next http.RoundTripper }

// CloseIdleConnections ends the connections that are idle.
func (u unpacking) CloseIdleConnections() {
	(&http.Client{Transport: u.next}).CloseIdleConnections()
}

// RoundTrip sends the request.
func (u unpacking) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := u.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}

	// The length and the encoding are those of the compressed body, and would
	// mislead whoever reads the plain one.
	declared := isGzip(resp.Header.Get("Content-Encoding"))
	if declared {
		resp.Header.Del("Content-Encoding")
		resp.Header.Del("Content-Length")
		resp.ContentLength = -1
		resp.Uncompressed = true
	}

	resp.Body = &unpackedBody{packed: resp.Body, declared: declared}
	return resp, nil
}

func isGzip(encoding string) bool {
	encoding = strings.TrimSpace(encoding)
	return strings.EqualFold(encoding, "gzip") || strings.EqualFold(encoding, "x-gzip")
}

// unpackedBody is the plain text of a body. The first two bytes decide whether
// it is compressed, because gateways lose the header or leave it on a body that
// they decoded. No text that carriers send begins with these bytes.
type unpackedBody struct {
	packed   io.ReadCloser
	declared bool // the header said that it is compressed

	plain io.Reader // nil until the first read
	err   error     // of the beginning
}

// Read reads plain text. A body that is damaged or ends too early is an error
// here, like a connection that breaks.
func (b *unpackedBody) Read(p []byte) (int, error) {
	if b.plain == nil && b.err == nil {
		b.plain, b.err = b.open()
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.plain.Read(p)
}

// Close closes the connection's body.
func (b *unpackedBody) Close() error { return b.packed.Close() }

func (b *unpackedBody) open() (io.Reader, error) {
	const magic = "\x1f\x8b"

	buffered := bufio.NewReader(b.packed)
	beginning, err := buffered.Peek(len(magic))
	switch {
	case string(beginning) == magic:
		return gzip.NewReader(buffered)

	case b.declared && len(beginning) == 1 && errors.Is(err, io.EOF):
		return nil, io.ErrUnexpectedEOF
	}

	// The error that ended the peek is returned again once the buffer has been
	// read.
	return buffered, nil
}
