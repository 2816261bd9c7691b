//go:build awskms || gcpkms || vault

package kms

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// How long a key service may take, and how much it may answer.
const (
	timeout     = 10 * time.Second
	answerLimit = 1 << 20
)

// newClient returns a client for a key service. Redirects are not followed: a
// key service never sends one.
func newClient(trust *tls.Config) *http.Client {
	return &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			TLSClientConfig:     trust,
			MaxIdleConnsPerHost: 4,
			IdleConnTimeout:     time.Minute,
			ForceAttemptHTTP2:   true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// A statusError is an answer that is not 2xx. It shows nothing of the answer,
// which may repeat the request.
type statusError struct {
	code int
	body []byte
}

func (e *statusError) Error() string {
	return fmt.Sprintf("the key service returned status %d", e.code)
}

// exchange sends a request and reads a JSON answer.
func exchange(client *http.Client, request *http.Request, answer any) error {
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("the key service does not respond: %w", err)
	}
	defer func() { _ = response.Body.Close() }()

	body, err := io.ReadAll(io.LimitReader(response.Body, answerLimit))
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return &statusError{response.StatusCode, body}
	}
	if err != nil {
		return fmt.Errorf("the response of the key service is incomplete: %w", err)
	}

	// The error of json.Unmarshal is dropped: it can quote the answer, which
	// holds a key in clear.
	if json.Unmarshal(body, answer) != nil {
		return errors.New("the response of the key service is not valid JSON")
	}
	return nil
}

// newRequest returns a POST of JSON, and its body.
func newRequest(ctx context.Context, url string, body any) (*http.Request, []byte, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, nil, err
	}

	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		return nil, nil, errors.New("the URL of the key service is invalid")
	}
	request.Header.Set("Content-Type", "application/json")
	return request, data, nil
}

// lookup is env without the second result: an empty value is the same as none.
func lookup(env func(string) (string, bool), name string) string {
	value, _ := env(name)
	return strings.TrimSpace(value)
}

// secretFile reads a short secret that another program keeps fresh.
func secretFile(path string) (string, error) {
	data, err := os.ReadFile(path)
	return strings.TrimSpace(string(data)), err
}
