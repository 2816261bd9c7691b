package cli

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/waybillhq/waybill/client"
)

// sink is a receiver of webhooks on this machine, with a page that shows what
// arrived. It belongs to "waybill dev" and listens on loopback alone.
type sink struct {
	listener net.Listener
	server   *http.Server

	mu      sync.Mutex
	secret  string
	count   int
	arrived []arrival // newest first
}

// arrival is a request as the page shows it.
type arrival struct {
	N        int
	At       time.Time
	Method   string
	Path     string
	ID       string
	Type     string
	Subject  string
	Sequence int
	About    string // what the tracking event says
	Verified bool
	Why      string // it is not
	Again    bool   // its id has arrived before
	Header   [][2]string
	Body     string
}

const (
	sinkAddress = "127.0.0.1:8081" // if the port is free
	sinkKeeps   = 200
	sinkBody    = 1 << 20
	sinkName    = "waybill dev sink"
)

// openSink listens on the usual port, or a free one.
func openSink() (*sink, error) {
	listener, err := net.Listen("tcp", sinkAddress)
	if err != nil {
		if listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return nil, fmt.Errorf("sink: %w", err)
		}
	}

	s := &sink{listener: listener}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page)
	mux.HandleFunc("GET /new", s.newArrivals)
	mux.HandleFunc("GET /favicon.ico", http.NotFound)
	mux.HandleFunc("/", s.receive)

	s.server = &http.Server{Handler: s.requireLocal(mux), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = s.server.Serve(listener) }() // it ends with close
	return s, nil
}

func (s *sink) url() string { return "http://" + s.listener.Addr().String() }

func (s *sink) close() { s.server.Close() }

// register makes the sink a webhook of the key's account. Sinks of earlier
// runs are removed.
func (s *sink) register(ctx context.Context, service *client.Client) error {
	list, err := service.Webhooks(ctx)
	if err != nil {
		return err
	}
	for _, endpoint := range list {
		if endpoint.Description == sinkName && s.isAbandoned(endpoint.URL) {
			if err := service.DeleteWebhook(ctx, endpoint.ID); err != nil {
				return err
			}
		}
	}

	created, err := service.CreateWebhook(ctx, client.WebhookRequest{URL: s.url() + "/hook", Description: sinkName})
	if err != nil {
		return err
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.secret = created.Secret
	return nil
}

// isAbandoned reports whether an earlier sink is gone: its address is this
// one's now, or nobody's. The sink of another "waybill dev" that still runs is
// left alone.
func (s *sink) isAbandoned(address string) bool {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == s.listener.Addr().String() {
		return true
	}

	connection, err := net.DialTimeout("tcp", parsed.Host, time.Second)
	if err != nil {
		return true
	}
	connection.Close()
	return false
}

// requireLocal rejects requests for other host names: a web page from elsewhere
// whose name resolves to this machine cannot read what arrived (DNS rebinding).
func (s *sink) requireLocal(next http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(s.listener.Addr().String())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "127.0.0.1:"+port && r.Host != "localhost:"+port {
			http.Error(w, "this page is only available on this machine", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// receive verifies a request and keeps it, also one that is not verified.
func (s *sink) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, sinkBody))
	if err != nil {
		http.Error(w, "the body was cut off", http.StatusBadRequest)
		return
	}
	received := arrival{
		At:     time.Now(),
		Method: r.Method,
		Path:   r.URL.RequestURI(),
		ID:     r.Header.Get("webhook-id"),
		Body:   indentJSON(body),
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		received.Header = append(received.Header, [2]string{name, strings.Join(r.Header[name], ", ")})
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	// A developer wants to see what was wrong with a request, so one whose
	// signature is invalid is decoded and shown too, marked as such.
	event, err := client.VerifyWebhook(s.secret, r.Header, body)
	received.Verified = err == nil
	if err != nil {
		received.Why = strings.TrimPrefix(err.Error(), "waybill: ")
		_ = json.Unmarshal(body, &event)
	}
	received.Type = event.Type
	received.Sequence = event.Sequence
	received.About = event.Data.Event.Description
	switch {
	case event.Data.Shipment != nil:
		received.Subject = event.Data.Shipment.ID
	case event.Data.Tracker != nil:
		received.Subject = event.Data.Tracker.ID
	}
	received.Again = received.ID != "" && slices.ContainsFunc(s.arrived, func(earlier arrival) bool { return earlier.ID == received.ID })

	s.count++
	received.N = s.count
	s.arrived = slices.Insert(s.arrived, 0, received)
	s.arrived = s.arrived[:min(len(s.arrived), sinkKeeps)]
	fmt.Fprintln(w, "thanks")
}

func indentJSON(body []byte) string {
	var indented bytes.Buffer
	if json.Indent(&indented, body, "", "  ") != nil {
		return string(body)
	}
	return indented.String()
}

//go:embed sink.html
var sinkHTML string

var sinkPage = template.Must(template.New("page").Parse(sinkHTML))

// page shows everything.
func (s *sink) page(w http.ResponseWriter, _ *http.Request) { s.show(w, "page", 0) }

// newArrivals shows what arrived after a number, for the page to put on top.
func (s *sink) newArrivals(w http.ResponseWriter, r *http.Request) {
	after, _ := strconv.Atoi(r.URL.Query().Get("after"))
	s.show(w, "arrivals", after)
}

func (s *sink) show(w http.ResponseWriter, name string, after int) {
	s.mu.Lock()
	list := slices.Clone(s.arrived)
	secret := s.secret
	s.mu.Unlock()

	view := struct {
		Secret   string
		URL      string
		Keeps    int
		Arrivals []arrival
	}{
		Secret: secret,
		URL:    s.url() + "/hook",
		Keeps:  sinkKeeps,
	}
	for _, received := range list {
		if received.N > after {
			view.Arrivals = append(view.Arrivals, received)
		}
	}

	// What arrived is shown escaped; the policy also keeps the page from
	// loading anything from elsewhere and from being framed.
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'")
	_ = sinkPage.ExecuteTemplate(w, name, view)
}
