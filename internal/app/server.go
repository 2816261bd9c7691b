package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"syscall"
	"time"

	"github.com/waybillhq/waybill/internal/config"
)

// server is one listener with its HTTP server.
type server struct {
	listener net.Listener
	http     *http.Server
}

// writeSlack is how much longer than a request its answer's last byte may
// take to leave.
const writeSlack = 5 * time.Second

func newServer(cfg config.Config, address, setting string, log *slog.Logger) (*server, error) {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("another program is already listening on %s: choose another address with %s, or port 0 for a free port: %w", address, setting, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}

	return &server{listener: listener, http: &http.Server{
		ReadHeaderTimeout: cfg.HeaderTimeout,
		ReadTimeout:       cfg.HeaderTimeout + cfg.RequestTimeout,
		WriteTimeout:      cfg.HeaderTimeout + cfg.RequestTimeout + writeSlack,
		IdleTimeout:       cfg.IdleTimeout,
		MaxHeaderBytes:    cfg.MaxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}}, nil
}

// serve answers requests until the server is stopped.
func (s *server) serve() error {
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("listener %s: %w", s.listener.Addr(), err)
	}
	return nil
}

// stop takes no new requests and waits for those under way until ctx ends.
func (s *server) stop(ctx context.Context) error {
	if err := s.http.Shutdown(ctx); err != nil {
		s.http.Close()
		return fmt.Errorf("requests were aborted: %w", err)
	}
	return nil
}

// localAddr returns an address under which a listener is reached from this
// host: one that listens on every address is reached as localhost.
func localAddr(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}

	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}

// isLoopback reports whether only this host reaches the address.
func isLoopback(listen string) bool {
	host, _, _ := net.SplitHostPort(listen)
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// addProfiles serves the profiles of this process. The command line is not
// among them: it may hold a password.
func addProfiles(mux *http.ServeMux) {
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", http.NotFound)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
}
