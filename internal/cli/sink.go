package cli

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
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
	sinkAddress = "127.0.0.1:8081" // if nobody has it
	sinkKeeps   = 200
	sinkBody    = 1 << 20
	sinkName    = "the sink of waybill dev"
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
	mux.HandleFunc("GET /new", s.fresh)
	mux.HandleFunc("GET /favicon.ico", http.NotFound)
	mux.HandleFunc("/", s.take)
	s.server = &http.Server{Handler: s.local(mux), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = s.server.Serve(listener) }() // it ends with close
	return s, nil
}

func (s *sink) url() string { return "http://" + s.listener.Addr().String() }

func (s *sink) close() { s.server.Close() }

// register makes the sink a webhook of the key's account. Sinks of earlier
// runs are taken away.
func (s *sink) register(ctx context.Context, c *client.Client) error {
	list, err := c.Webhooks(ctx)
	if err != nil {
		return err
	}
	for _, w := range list {
		if w.Description == sinkName && s.abandoned(w.URL) {
			if err := c.DeleteWebhook(ctx, w.ID); err != nil {
				return err
			}
		}
	}
	made, err := c.CreateWebhook(ctx, client.WebhookRequest{URL: s.url() + "/hook", Description: sinkName})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secret = made.Secret
	return nil
}

// abandoned reports whether an earlier sink is gone: its address is this one's
// now, or nobody's.
func (s *sink) abandoned(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == s.listener.Addr().String() {
		return true
	}
	conn, err := net.DialTimeout("tcp", u.Host, time.Second)
	if err != nil {
		return true
	}
	conn.Close()
	return false
}

// local refuses pages of elsewhere that have their name point here.
func (s *sink) local(next http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(s.listener.Addr().String())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "127.0.0.1:"+port && r.Host != "localhost:"+port {
			http.Error(w, "this page is for this machine alone", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// take keeps a request.
func (s *sink) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, sinkBody))
	if err != nil {
		http.Error(w, "the body was cut off", http.StatusBadRequest)
		return
	}
	a := arrival{At: time.Now(), Method: r.Method, Path: r.URL.RequestURI(), ID: r.Header.Get("webhook-id"), Body: pretty(body)}
	for _, name := range sortedNames(r.Header) {
		a.Header = append(a.Header, [2]string{name, strings.Join(r.Header[name], ", ")})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := client.VerifyWebhook(s.secret, r.Header, body)
	if a.Verified = err == nil; !a.Verified {
		a.Why = strings.TrimPrefix(err.Error(), "waybill: ")
		_ = json.Unmarshal(body, &e)
	}
	a.Type, a.Sequence, a.About = e.Type, e.Sequence, e.Data.Event.Description
	switch {
	case e.Data.Shipment != nil:
		a.Subject = e.Data.Shipment.ID
	case e.Data.Tracker != nil:
		a.Subject = e.Data.Tracker.ID
	}
	a.Again = a.ID != "" && slices.ContainsFunc(s.arrived, func(b arrival) bool { return b.ID == a.ID })
	s.count++
	a.N = s.count
	s.arrived = slices.Insert(s.arrived, 0, a)
	s.arrived = s.arrived[:min(len(s.arrived), sinkKeeps)]
	fmt.Fprintln(w, "thanks")
}

func sortedNames(h http.Header) []string {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func pretty(body []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, body, "", "  ") != nil {
		return string(body)
	}
	return b.String()
}

//go:embed sink.html
var sinkHTML string

var sinkPage = template.Must(template.New("page").Parse(sinkHTML))

// page shows everything.
func (s *sink) page(w http.ResponseWriter, _ *http.Request) { s.show(w, "page", 0) }

// fresh shows what arrived after a number, for the page to put on top.
func (s *sink) fresh(w http.ResponseWriter, r *http.Request) {
	after, _ := strconv.Atoi(r.URL.Query().Get("after"))
	s.show(w, "arrivals", after)
}

func (s *sink) show(w http.ResponseWriter, name string, after int) {
	s.mu.Lock()
	list := slices.Clone(s.arrived)
	view := struct {
		Secret   string
		URL      string
		Keeps    int
		Arrivals []arrival
	}{s.secret, s.url() + "/hook", sinkKeeps, nil}
	s.mu.Unlock()
	for _, a := range list {
		if a.N > after {
			view.Arrivals = append(view.Arrivals, a)
		}
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'")
	_ = sinkPage.ExecuteTemplate(w, name, view)
}
