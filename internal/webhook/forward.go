package webhook

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A Forwarder posts events to a program of the user who runs the command,
// signed like any delivery. It asks no Policy: unlike an endpoint, the address
// is the caller's own. It is safe for concurrent use.
type Forwarder struct {
	url    string
	secret string
	signer signer
	http   *http.Client
}

// NewForwarder returns a forwarder that posts to an address. If the secret is
// empty, a new one is generated.
func NewForwarder(address, secret string) (*Forwarder, error) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Hostname() == "" {
		return nil, errors.New("the forwarding address must be a URL such as http://localhost:3000/hook")
	}

	if secret == "" {
		key := newKeyMaterial()
		secret = key.secret()
	}
	encoded, ok := strings.CutPrefix(secret, secretPrefix)
	shared, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(shared) < 24 || len(shared) > 64 {
		return nil, errors.New("a secret must be whsec_ followed by 24 to 64 bytes in base64")
	}

	// Like a delivery, a forwarded event follows no redirect.
	client := &http.Client{
		Timeout:       exchangeTimeout,
		Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 1, IdleConnTimeout: idleTimeout},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &Forwarder{
		url:    address,
		secret: secret,
		signer: signer{SignV1, []signingKey{{shared: shared}}},
		http:   client,
	}, nil
}

// Secret returns what the program verifies signatures with.
func (f *Forwarder) Secret() string { return f.secret }

// Post sends an event once and returns the status of the answer. It returns an
// error if there is no answer.
func (f *Forwarder) Post(ctx context.Context, event string, body []byte) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}

	timestamp, signature := f.signer.sign(event, time.Now(), body)
	request.Header = http.Header{
		"Content-Type":  {"application/json"},
		"User-Agent":    {"Waybill/listen"},
		headerID:        {event},
		headerTimestamp: {timestamp},
		headerSignature: {signature},
	}

	response, err := f.http.Do(request)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // the user knows the address
		}
		return 0, fmt.Errorf("no response: %w", err)
	}
	defer response.Body.Close()

	// A body that is read to its end leaves the connection open for the next
	// event.
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxRead))
	return response.StatusCode, nil
}
