package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// The reasons for an attempt.
const (
	TriggerAuto    = "auto"    // the event was recorded
	TriggerRetry   = "retry"   // an earlier attempt failed
	TriggerProbe   = "probe"   // a parked endpoint is tried
	TriggerDrain   = "drain"   // its backlog is sent
	TriggerManual  = "manual"  // a user asked for it again
	TriggerRecover = "recover" // a user asked for everything since a time
	TriggerTest    = "test"    // a user tests the endpoint
)

// A Delivery is one event to be sent to one endpoint, once.
type Delivery struct {
	Target  *Target
	Event   ship.EventID
	Body    []byte // signed and sent byte for byte
	Number  int    // of the attempts with this event, from 1
	Trigger string
}

// An Attempt is the result of a delivery.
type Attempt struct {
	store.WebhookAttempt
	// RetryAfter is how long the endpoint asks to wait, at most a day; zero if
	// it does not.
	RetryAfter time.Duration
}

// Delivered reports whether the endpoint has the event: it answered 2xx.
func (a *Attempt) Delivered() bool { return a.Outcome == OutcomeDelivered }

// Gone reports whether the endpoint wants no more events: it answered 410.
func (a *Attempt) Gone() bool { return a.Status == http.StatusGone }

// SenderOptions are the settings of a Sender. Zero values mean the documented
// defaults.
type SenderOptions struct {
	Policy         Policy
	Resolver       *net.Resolver  // nil is the system's
	RootCAs        *x509.CertPool // nil is the system's
	UserAgent      string
	Timeout        time.Duration // of the whole exchange
	ConnectTimeout time.Duration // of looking up and connecting, and of the handshake
	Log            *slog.Logger
}

// The bounds of an exchange.
const (
	exchangeTimeout = 10 * time.Second
	connectTimeout  = 5 * time.Second
	bodyTimeout     = 2 * time.Second // for the rest of an answer whose status is known
	maxHeader       = 32 << 10
	maxRead         = 16 << 10
	maxHead         = 2 << 10
	maxBody         = 4 << 10
	// Endpoints are many and most are quiet: idle connections are bounded in
	// all, and those that were used last stay. Any number of endpoints can
	// share a host, so hosts have no bound of their own.
	maxIdle     = 512
	idleTimeout = 60 * time.Second
)

// A Sender makes single attempts to deliver events. It follows no redirect,
// uses no proxy, sends nothing twice, and reads little of what comes back. It
// is safe for concurrent use.
type Sender struct {
	policy    Policy
	secure    *http.Transport
	plain     *http.Transport // nil unless the operator allows private networks
	dialers   []*dialer
	userAgent string
	timeout   time.Duration
	log       *slog.Logger
}

// NewSender returns a sender.
func NewSender(o SenderOptions) *Sender {
	if o.Resolver == nil {
		// The system's own resolver, but never the C library's, which takes
		// "127.1" and "0x7f000001" for addresses.
		o.Resolver = &net.Resolver{PreferGo: true}
	}
	if o.UserAgent == "" {
		o.UserAgent = "Waybill"
	}
	if o.Timeout == 0 {
		o.Timeout = exchangeTimeout
	}
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = connectTimeout
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}

	s := &Sender{
		policy:    o.Policy,
		userAgent: o.UserAgent,
		timeout:   o.Timeout,
		log:       o.Log,
	}
	s.secure = s.transport(o, &dialer{allows: s.policy.allows, resolver: o.Resolver, timeout: o.ConnectTimeout})
	if s.policy.opensNetworks() {
		s.plain = s.transport(o, &dialer{allows: s.policy.allowsPlain, resolver: o.Resolver, timeout: o.ConnectTimeout})
	}
	return s
}

// transport returns a pool of connections that d makes.
func (s *Sender) transport(o SenderOptions, d *dialer) *http.Transport {
	s.dialers = append(s.dialers, d)

	// HTTP/2 would put all deliveries to a host on one connection, where one
	// can hold up another; it costs more than HTTP/1.1 over warm connections,
	// and it repeats requests by itself when a server goes away.
	var protocols http.Protocols
	protocols.SetHTTP1(true)

	return &http.Transport{
		DialContext: d.dial,
		TLSClientConfig: &tls.Config{
			MinVersion:         tls.VersionTLS12,
			RootCAs:            o.RootCAs,
			ClientSessionCache: tls.NewLRUClientSessionCache(2 * maxIdle),
		},
		TLSHandshakeTimeout:    o.ConnectTimeout,
		Protocols:              &protocols,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdle,
		IdleConnTimeout:        idleTimeout,
		WriteBufferSize:        8 << 10,
	}
}

// Close ends the idle connections.
func (s *Sender) Close() {
	for _, t := range []*http.Transport{s.secure, s.plain} {
		if t != nil {
			t.CloseIdleConnections()
		}
	}
}

// Send delivers an event to an endpoint, in one request, and returns the
// result. A 2xx is success, whatever happens to the rest of the answer. When
// ctx ends before that, the attempt is cancelled and says nothing about the
// endpoint.
func (s *Sender) Send(ctx context.Context, d Delivery) Attempt {
	start := time.Now()
	target := d.Target
	result := Attempt{WebhookAttempt: store.WebhookAttempt{
		ID:       ship.NewAttemptID(target.Tenant.Shard(), start),
		Tenant:   target.Tenant,
		Endpoint: target.Endpoint,
		Event:    d.Event,
		Number:   d.Number,
		Trigger:  d.Trigger,
	}}

	clock := exchange{start: start}
	s.exchange(ctx, d, &result, &clock)
	clock.addTimings(&result)
	result.Timings.Total = time.Since(start)

	s.log.LogAttrs(ctx, slog.LevelInfo, "webhook attempt",
		slog.String("attempt", string(result.ID)),
		slog.String("endpoint", string(result.Endpoint)),
		slog.String("event", string(result.Event)),
		slog.Int("number", result.Number),
		slog.String("trigger", result.Trigger),
		slog.String("outcome", result.Outcome),
		slog.Int("status", result.Status),
		slog.Int64("ms", result.Timings.Total.Milliseconds()))
	return result
}

// exchange sends the request and reads the answer.
func (s *Sender) exchange(parent context.Context, d Delivery, result *Attempt, clock *exchange) {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	timer := time.AfterFunc(s.timeout, cancel)
	defer timer.Stop()

	transport := s.secure
	if d.Target.url.Scheme == "http" {
		transport = s.plain
	}
	if transport == nil {
		result.recordError(errNotAllowed, parent)
		return
	}

	// A transport and not a client: it follows no redirect.
	response, err := transport.RoundTrip(d.request(httptrace.WithClientTrace(ctx, clock.trace())))
	if err != nil {
		result.recordError(err, parent)
		return
	}

	// The status decides; the rest of the answer must not take long.
	timer.Reset(min(bodyTimeout, s.timeout-time.Since(clock.start)))
	result.recordResponse(response)
	_ = response.Body.Close()
}

// request returns the delivery as a request. Its body cannot be read a second
// time, so that no layer below sends it twice.
func (d *Delivery) request(ctx context.Context) *http.Request {
	target := d.Target

	// The target's header is shared by all requests, so it is copied.
	header := make(http.Header, len(target.header)+4)
	for name, value := range target.header {
		header[name] = value
	}

	if target.format != nil {
		for name, value := range target.format.Sign(target.secret, time.Now(), target.url, d.Body) {
			header[name] = value
		}
	} else {
		// The three values share one array, which saves two allocations per
		// delivery.
		timestamp, signature := target.signer.sign(string(d.Event), time.Now(), d.Body)
		values := []string{string(d.Event), timestamp, signature}
		header[headerID] = values[0:1:1]
		header[headerTimestamp] = values[1:2:2]
		header[headerSignature] = values[2:3:3]
	}

	request := &http.Request{
		Method:        http.MethodPost,
		URL:           target.url,
		Host:          target.url.Host,
		Header:        header,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Body:          io.NopCloser(bytes.NewReader(d.Body)),
		ContentLength: int64(len(d.Body)),
	}
	return request.WithContext(ctx)
}
