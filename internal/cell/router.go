package cell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// RouterConfig are the settings of a Router.
type RouterConfig struct {
	Places         *Map
	Shards         *Shards
	MaxBody        int64          // bytes of a body that are kept, to send it again
	TrustedProxies []netip.Prefix // whose X-Forwarded-For is passed on
	IsHTTPS        bool           // clients reach the router by https
	Log            *slog.Logger
}

// holdFor is how long a request waits for a shard that moves.
const holdFor = 3 * time.Second

// A Router sends each request to the cell that owns its shard. It has no state but
// the map, so there may be any number of routers.
//
// While a shard moves, its requests are held for up to 3 seconds. A cell answers
// 421 to a request of a shard that it does not own; nothing was done for it, so
// the map is read again and the request sent again.
type Router struct {
	RouterConfig
	proxy  *httputil.ReverseProxy
	target http.RoundTripper
}

// NewRouter returns a router. The map must be run by the caller.
func NewRouter(config RouterConfig) *Router {
	router := &Router{
		RouterConfig: config,
		target: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: 2 * time.Second}).DialContext,
			MaxIdleConnsPerHost: 256,
			IdleConnTimeout:     90 * time.Second,
			DisableCompression:  true,
		},
	}
	router.proxy = &httputil.ReverseProxy{
		Rewrite:      router.rewrite,
		Transport:    router,
		ErrorHandler: router.fail,
		ErrorLog:     slog.NewLogLogger(config.Log.Handler(), slog.LevelDebug),
	}
	return router
}

// A routed request is what is known of one while it is passed on.
type routed struct {
	shard ship.Shard
	known bool   // the request has a shard
	body  []byte // all of it, if it was small enough to keep
	kept  bool
}

type routedKey struct{}

// ServeHTTP passes a request on.
func (router *Router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
		router.serveHealth(w, r)
		return
	}

	about := &routed{}
	about.shard, about.known = router.Shards.Of(r)
	if !about.known {
		about.shard, about.known = shardOfCookie(r)
	} else if isDashboard(r) {
		router.remember(w, r, about.shard)
	}

	if err := router.keepBody(r, about); err != nil {
		return // the client hung up
	}
	router.proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), routedKey{}, about)))
}

func (router *Router) serveHealth(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/readyz" && len(router.Places.Cells()) == 0 {
		http.Error(w, "the directory has no cells", http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "ok\n") // the client may have disconnected
}

// keepBody reads a body that is small enough, so that it can be sent again. What
// was read of a larger one is put back before the rest.
func (router *Router) keepBody(r *http.Request, about *routed) error {
	if r.Body == nil || r.Body == http.NoBody {
		about.kept = true
		return nil
	}
	if r.ContentLength > router.MaxBody {
		return nil
	}

	read, err := io.ReadAll(io.LimitReader(r.Body, router.MaxBody+1))
	if err != nil {
		return err
	}
	if int64(len(read)) > router.MaxBody {
		rest := r.Body
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(read), rest), rest}
		return nil
	}

	about.body = read
	about.kept = true
	r.ContentLength = int64(len(read))
	r.Body = io.NopCloser(bytes.NewReader(read))
	return nil
}

// rewrite prepares a request for the cell: its own host stays, because the service
// compares it with the origin of forms.
func (router *Router) rewrite(p *httputil.ProxyRequest) {
	p.Out.URL.Scheme = "http" // RoundTrip sets the cell's
	p.Out.URL.Host = p.In.Host

	if address, err := netip.ParseAddrPort(p.In.RemoteAddr); err == nil {
		from := address.Addr().Unmap()
		if slices.ContainsFunc(router.TrustedProxies, func(n netip.Prefix) bool { return n.Contains(from) }) {
			p.Out.Header["X-Forwarded-For"] = p.In.Header["X-Forwarded-For"]
		}
	}
	p.SetXForwarded()
	if router.IsHTTPS {
		p.Out.Header.Set("X-Forwarded-Proto", "https")
	}
}

// Errors of requests that no cell answered.
var (
	errNoCell = errors.New("the directory has no cell for the request")
	errMoving = errors.New("the account is moving to another cell; send the request again")
)

// RoundTrip sends a request to the cell that owns its shard, and again after a
// 421 or when a move has ended.
func (router *Router) RoundTrip(r *http.Request) (*http.Response, error) {
	about, _ := r.Context().Value(routedKey{}).(*routed)
	timeout := time.NewTimer(holdFor)
	defer timeout.Stop()

	for {
		changed := router.Places.next()
		target, isMoving, err := router.choose(about)
		if err != nil {
			return nil, err
		}

		if !isMoving {
			asked := time.Now()
			response, err := router.send(r, about, target)
			if err != nil || response.StatusCode != http.StatusMisdirectedRequest || response.Header.Get(EpochHeader) == "" {
				return response, err
			}
			_ = response.Body.Close()
			if !about.kept {
				return nil, errMoving
			}

			// The map here is out of date, or that of the cell is: then the cell
			// is asked again in a moment.
			before := router.Places.Place(about.shard)
			_ = router.Places.readSince(r.Context(), asked) // a directory that is down does not stop requests
			if router.Places.Place(about.shard) != before {
				continue
			}
			changed = after(askAgain)
		}

		select {
		case <-changed:
		case <-timeout.C:
			return nil, errMoving
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}

// askAgain is after how long a cell that answered 421 is asked again.
const askAgain = 20 * time.Millisecond

// after returns a channel that is closed after the time.
func after(wait time.Duration) <-chan struct{} {
	over := make(chan struct{})
	time.AfterFunc(wait, func() { close(over) })
	return over
}

// choose returns the address of the cell for a request, or that its shard moves. A
// request without a shard goes to the oldest cell.
func (router *Router) choose(about *routed) (target *url.URL, isMoving bool, err error) {
	cells := router.Places.Cells()
	if len(cells) == 0 {
		return nil, false, errNoCell
	}

	chosen := slices.MinFunc(cells, func(a, b store.Cell) int { return a.AddedAt.Compare(b.AddedAt) })
	if about.known {
		place := router.Places.Place(about.shard)
		if place.MovingTo != "" {
			return nil, true, nil
		}
		i := slices.IndexFunc(cells, func(c store.Cell) bool { return c.Name == place.Cell })
		if i < 0 {
			return nil, false, fmt.Errorf("%w: shard %d is in %q", errNoCell, about.shard, place.Cell)
		}
		chosen = cells[i]
	}
	target, err = url.Parse(chosen.URL)
	return target, false, err
}

// send sends a request to a cell.
func (router *Router) send(r *http.Request, about *routed, target *url.URL) (*http.Response, error) {
	out := r.Clone(r.Context())
	out.URL.Scheme = target.Scheme
	out.URL.Host = target.Host
	if about.kept && len(about.body) > 0 {
		out.Body = io.NopCloser(bytes.NewReader(about.body))
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(about.body)), nil }
	}
	return router.target.RoundTrip(out)
}

// fail answers a request that no cell answered.
func (router *Router) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody waits
	}

	detail := "the cell of the account does not respond; send the request again"
	switch {
	case errors.Is(err, errMoving):
		detail = errMoving.Error()
	case errors.Is(err, errNoCell):
		detail = errNoCell.Error()
	}
	router.Log.WarnContext(r.Context(), "request was not routed", "error", err)
	refuse(w, r, http.StatusServiceUnavailable, "service_unavailable", "Service unavailable", detail)
}

// The dashboard's pages without an account, such as the one for signing in, follow
// the last account that the browser was at: its cell has the session.
const cellCookie = "waybill-shard"

func isDashboard(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/app/") }

func shardOfCookie(r *http.Request) (ship.Shard, bool) {
	cookie, err := r.Cookie(cellCookie)
	if err != nil || r.URL.Path != "/" && r.URL.Path != "/app" && !isDashboard(r) {
		return 0, false
	}
	n, err := strconv.ParseUint(cookie.Value, 10, 16)
	return ship.Shard(n), err == nil && n < ship.Shards
}

// remember gives the browser the shard of the account that it is at.
func (router *Router) remember(w http.ResponseWriter, r *http.Request, shard ship.Shard) {
	if present, ok := shardOfCookie(r); ok && present == shard {
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name:     cellCookie,
		Value:    strconv.Itoa(int(shard)),
		Path:     "/",
		HttpOnly: true,
		Secure:   router.IsHTTPS,
		SameSite: http.SameSiteLaxMode,
	})
}
