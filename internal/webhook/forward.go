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

// A Forwarder posts events to a program of the one who runs it, signed like
// any delivery. It asks no Policy: unlike an endpoint, the address is the
// caller's own. It is safe for concurrent use.
type Forwarder struct {
	url    string
	secret string
	signer signer
	http   *http.Client
}

// NewForwarder posts to an address. An empty secret makes a new one.
func NewForwarder(address, secret string) (*Forwarder, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, errors.New("the address to forward to must be like http://localhost:3000/hook")
	}
	if secret == "" {
		key := newKeyMaterial()
		secret = key.secret()
	}
	encoded, ok := strings.CutPrefix(secret, secretPrefix)
	shared, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(shared) < 24 || len(shared) > 64 {
		return nil, errors.New("a secret is whsec_ and 24 to 64 bytes as base64")
	}
	return &Forwarder{
		url: address, secret: secret, signer: signer{SignV1, []signingKey{{shared: shared}}},
		http: &http.Client{
			Timeout:       exchangeTimeout,
			Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 1, IdleConnTimeout: idleTimeout},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// Secret is what the program verifies signatures with.
func (f *Forwarder) Secret() string { return f.secret }

// Post sends an event once and returns the status of the answer. Without an
// answer it is an error.
func (f *Forwarder) Post(ctx context.Context, event string, body []byte) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	timestamp, signature := f.signer.sign(event, time.Now(), body)
	req.Header = http.Header{
		"Content-Type": {"application/json"}, "User-Agent": {"Waybill/listen"},
		headerID: {event}, headerTimestamp: {timestamp}, headerSignature: {signature},
	}
	resp, err := f.http.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // the address is known
		}
		return 0, fmt.Errorf("no answer: %w", err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxRead))
	return resp.StatusCode, nil
}
