//go:build awskms || gcpkms || vault

package seal

import (
	"bytes"
	"context"
	"crypto/sha256"
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

// kms is a wrapper whose key never leaves its service: data keys are sent there
// to be wrapped. The layout is that of a sealed secret with another version,
// and the id is the key's address, hashed.
type kms struct {
	id      [idSize]byte
	encrypt func(ctx context.Context, plain []byte, binding string) ([]byte, error)
	decrypt func(ctx context.Context, sealed []byte, binding string) ([]byte, error)
}

const (
	kmsVersion = 2
	kmsTimeout = 10 * time.Second
	kmsAnswer  = 1 << 20
)

func newKMS(address string) *kms {
	sum := sha256.Sum256([]byte(address))
	return &kms{id: [idSize]byte(sum[:])}
}

func (k *kms) Wrap(ctx context.Context, key []byte, binding ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, kmsTimeout)
	defer cancel()

	sealed, err := k.encrypt(ctx, key, encodeBinding(binding))
	if err != nil {
		return nil, err
	}
	return append(k.header(), sealed...), nil
}

func (k *kms) Unwrap(ctx context.Context, wrapped []byte, binding ...string) ([]byte, error) {
	if k.Old(wrapped) {
		return nil, ErrNoKey
	}

	ctx, cancel := context.WithTimeout(ctx, kmsTimeout)
	defer cancel()
	return k.decrypt(ctx, wrapped[headerSize:], encodeBinding(binding))
}

// Old compares keys and not their versions: a service decrypts what older
// versions of its key encrypted.
func (k *kms) Old(wrapped []byte) bool { return !bytes.HasPrefix(wrapped, k.header()) }

func (k *kms) header() []byte { return append([]byte{kmsVersion}, k.id[:]...) }

// newClient returns a client for a key service. Redirects are not followed: a
// key service never sends one.
func newClient(trust *tls.Config) *http.Client {
	return &http.Client{
		Timeout: kmsTimeout,
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
	return fmt.Sprintf("the key service answered with status %d", e.code)
}

// exchange sends a request and reads a JSON answer.
func exchange(client *http.Client, request *http.Request, answer any) error {
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("the key service does not answer: %w", err)
	}
	defer func() { _ = response.Body.Close() }()

	body, err := io.ReadAll(io.LimitReader(response.Body, kmsAnswer))
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return &statusError{response.StatusCode, body}
	}
	if err != nil {
		return fmt.Errorf("the key service's answer was cut off: %w", err)
	}

	// The error of json.Unmarshal is dropped: it can quote the answer, which
	// holds a key in clear.
	if json.Unmarshal(body, answer) != nil {
		return errors.New("the key service's answer could not be read")
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
		return nil, nil, errors.New("the address of the key service is not one")
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
