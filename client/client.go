// Package client is the Go client of the service: typed requests and answers,
// retries that never do a thing twice, and iterators over pages.
//
//	c := client.New("sk_test_...", client.Options{BaseURL: "https://ship.example.com"})
//	sh, err := c.CreateShipment(ctx, client.ShipmentRequest{...})
//
// It needs the standard library alone.
package client

import (
	"crypto/rand"
	"net/http"
	"strings"
	"time"
)

// DefaultBaseURL is where "waybill dev" listens.
const DefaultBaseURL = "http://127.0.0.1:8080"

// Client calls the service with one API key. It is safe for concurrent use.
type Client struct {
	key       string
	base      string
	http      *http.Client
	attempts  int
	longest   time.Duration
	userAgent string
	wait      func(attempt int) time.Duration // between attempts
	answered  func(body []byte)               // may be nil
}

// Options are the settings of a Client. Zero values are the defaults.
type Options struct {
	BaseURL    string            // address of the service; DefaultBaseURL
	HTTPClient *http.Client      // one with a time-out of 40 s, longer than the service takes; redirects are never followed
	Transport  http.RoundTripper // of the default HTTPClient, such as one that goes through a proxy; the network
	Attempts   int               // of one call, the first included; 4. One never retries.
	MaxWait    time.Duration     // longest wait between two attempts; 30 s. A service that asks for more gets no retry.
	UserAgent  string            // in front of the client's own

	// Answered is called with the body of every answer in JSON that is no error, as it
	// was received; nil is not called.
	Answered func(body []byte)
}

// New returns a client that calls with the key.
func New(key string, o Options) *Client {
	c := &Client{
		key:       key,
		base:      strings.TrimRight(o.BaseURL, "/"),
		http:      o.HTTPClient,
		attempts:  o.Attempts,
		longest:   o.MaxWait,
		userAgent: strings.TrimSpace(o.UserAgent + " waybill-go/1"),
		wait:      backoff,
		answered:  o.Answered,
	}

	if c.base == "" {
		c.base = DefaultBaseURL
	}
	if c.http == nil {
		c.http = &http.Client{Transport: o.Transport, Timeout: 40 * time.Second}
	}
	c.http = withoutRedirects(c.http)
	if c.attempts <= 0 {
		c.attempts = 4
	}
	if c.longest <= 0 {
		c.longest = 30 * time.Second
	}
	return c
}

// withoutRedirects returns a copy of an HTTP client that does not follow redirects.
// A POST that is redirected becomes a GET, whose answer would be taken for that of
// the POST: nothing would be done, and there would be no error.
func withoutRedirects(caller *http.Client) *http.Client {
	own := *caller
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// A CallOption changes one call.
type CallOption func(*call)

// IdempotencyKey makes a call that has an effect safe to repeat with the same
// key, also by another process or after a crash: the answer of the first call
// is returned, and nothing is done again. Without it each call makes a key of
// its own, which covers the retries of that call alone; Error and NetworkError
// have it, so that a call whose answer was lost can be resumed.
func IdempotencyKey(key string) CallOption { return func(c *call) { c.idempotency = key } }

// NewIdempotencyKey returns a key that no other call has, for callers who keep the
// key before the call.
func NewIdempotencyKey() string { return "auto-" + rand.Text() }
