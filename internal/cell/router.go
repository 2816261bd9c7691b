package cell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// RouterConfig are the settings of a Router.
type RouterConfig struct {
	Places         *Map
	Shards         *Shards
	MaxBody        int64          // bytes of a body that are kept, to send it again
	TrustedProxies []netip.Prefix // whose X-Forwarded-For is passed on
	IsHTTPS        bool           // clients reach the router by https
	AnswerTimeout  time.Duration  // until a cell has begun to answer; 0 for no limit
	WriteTimeout   time.Duration  // until a client has taken a part of an answer; 0 for no limit
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
	kept   atomic.Int64 // bytes of bodies that are kept
}

// maxKept is how many bytes of bodies a router keeps at once. Bodies beyond it are
// passed on as they arrive; only a request that meets a move cannot be sent again.
const maxKept = 64 << 20

// NewRouter returns a router. The map must be run by the caller.
func NewRouter(config RouterConfig) *Router {
	router := &Router{RouterConfig: config, target: newTransport(config.AnswerTimeout)}
	router.proxy = &httputil.ReverseProxy{
		Rewrite:      router.rewrite,
		Transport:    router,
		BufferPool:   &buffers{},
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

	if strings.HasPrefix(r.URL.Path, pagePath) && router.Shards.ArePagesUnknown != nil && router.Shards.ArePagesUnknown() {
		refuse(w, r, http.StatusServiceUnavailable, "service_unavailable", "Service unavailable", "the directory does not answer; send the request again")
		return
	}

	if router.WriteTimeout > 0 {
		w = &patientWriter{ResponseWriter: w, within: router.WriteTimeout}
	}
	about := &routed{}
	key, hasKey := keyOf(r)
	if hasKey {
		about.shard, about.known = key.Shard(), true
	} else {
		about.shard, about.known = router.Shards.Of(r)
	}
	if !about.known {
		about.shard, about.known = shardOfCookie(r)
	} else if isDashboard(r) {
		router.remember(w, r, about.shard)
	}

	// The bodies of strangers are not kept: they could fill the memory with them.
	drop, err := router.keepBody(r, about, hasKey)
	defer drop()
	if err != nil {
		refuse(w, r, http.StatusBadRequest, "malformed_json", "Malformed JSON", "the request body could not be read completely; send it again")
		return
	}
	router.proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), routedKey{}, about)))
}

// A patientWriter answers a client that must take each part of the answer in time. The
// whole has no limit: a page of the dashboard stays open for updates.
type patientWriter struct {
	http.ResponseWriter
	within time.Duration
}

func (p *patientWriter) extend() {
	_ = http.NewResponseController(p.ResponseWriter).SetWriteDeadline(time.Now().Add(p.within)) // a closed connection fails at the next write
}

// WriteHeader begins an answer.
func (p *patientWriter) WriteHeader(status int) {
	p.extend()
	p.ResponseWriter.WriteHeader(status)
}

// Write writes a part of an answer.
func (p *patientWriter) Write(part []byte) (int, error) {
	p.extend()
	return p.ResponseWriter.Write(part)
}

// Unwrap is for http.ResponseController.
func (p *patientWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (router *Router) serveHealth(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/readyz" && len(router.Places.Cells()) == 0 {
		http.Error(w, "the directory has no cells", http.StatusServiceUnavailable)
		return
	}
	if r.URL.Path == "/readyz" {
		_, _ = fmt.Fprintf(w, "ok\nmap of shards: read %d seconds ago\n", int(router.Places.Age().Seconds())) // the client may have disconnected
		return
	}
	_, _ = io.WriteString(w, "ok\n") // likewise
}

// keepBody reads the body of a request with a key, if it is small enough and there is
// room for it, so that it can be sent again. What was read of a larger one is put back
// before the rest. The caller must call drop when the request has ended.
func (router *Router) keepBody(r *http.Request, about *routed, hasKey bool) (drop func(), err error) {
	drop = func() {}
	if r.Body == nil || r.Body == http.NoBody {
		about.kept = true
		return drop, nil
	}
	if !hasKey || r.ContentLength > router.MaxBody {
		return drop, nil
	}

	room := r.ContentLength
	if room < 0 {
		room = router.MaxBody
	}
	if !router.takeRoom(room) {
		return drop, nil
	}
	drop = func() { router.kept.Add(-room) }
	return drop, router.readBody(r, about)
}

// takeRoom takes room for a body, if there is any.
func (router *Router) takeRoom(bytes int64) bool {
	if router.kept.Add(bytes) <= maxKept {
		return true
	}
	router.kept.Add(-bytes)
	return false
}

// readBody reads a body up to the limit of those that are kept.
func (router *Router) readBody(r *http.Request, about *routed) error {
	read, err := readAtMost(r.Body, r.ContentLength, router.MaxBody+1)
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

// readAtMost reads a body up to a limit. Most are small and have a length; room for the
// others grows as they arrive, so that an announced length alone takes no memory.
func readAtMost(body io.Reader, length, most int64) ([]byte, error) {
	if length < 0 || length > directBody {
		return io.ReadAll(io.LimitReader(body, most))
	}
	read := make([]byte, length)
	_, err := io.ReadFull(body, read)
	return read, err
}

// buffers are what answers are copied with.
type buffers struct{ pool sync.Pool }

const bufferSize = 16 << 10

// Get returns a buffer.
func (b *buffers) Get() []byte {
	if kept, ok := b.pool.Get().(*[bufferSize]byte); ok {
		return kept[:]
	}
	return make([]byte, bufferSize)
}

// Put takes a buffer back.
func (b *buffers) Put(used []byte) { b.pool.Put((*[bufferSize]byte)(used)) }

// rewrite prepares a request for the cell: its own host stays, because the service
// compares it with the origin of forms. So does its query, because the service refuses
// parameters that the proxy would leave out.
func (router *Router) rewrite(p *httputil.ProxyRequest) {
	p.Out.URL.Scheme = "http" // RoundTrip sets the cell's
	p.Out.URL.Host = p.In.Host
	p.Out.URL.RawQuery = p.In.URL.RawQuery

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
	giveUp := time.Now().Add(holdFor)

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
			_, _ = io.CopyN(io.Discard, response.Body, bufferSize) // the connection is used again
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
		case <-time.After(time.Until(giveUp)):
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
	places := router.Places.current.Load()
	if places.oldest == nil {
		return nil, false, errNoCell
	}
	if !about.known {
		return places.oldest, false, nil
	}

	place := places.Shards[about.shard]
	if place.MovingTo != "" {
		return nil, true, nil
	}
	target = places.addresses[place.Cell]
	if target == nil {
		return nil, false, fmt.Errorf("%w: shard %d is in %q", errNoCell, about.shard, place.Cell)
	}
	return target, false, nil
}

// send sends a request to a cell.
func (router *Router) send(r *http.Request, about *routed, target *url.URL) (*http.Response, error) {
	address := *r.URL
	address.Scheme = target.Scheme
	address.Host = target.Host
	out := new(http.Request)
	*out = *r
	out.URL = &address
	if about.kept && len(about.body) > 0 {
		out.Body = io.NopCloser(bytes.NewReader(about.body))
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(about.body)), nil }
	}
	return router.target.RoundTrip(out)
}

// fail answers a request that no cell answered. If a cell may have got one that changes
// something, the client must not take it for undone.
func (router *Router) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody waits
	}
	router.Log.WarnContext(r.Context(), "request was not routed", "error", err)

	detail := "the cell of the account does not respond; send the request again"
	switch {
	case errors.Is(err, errMoving):
		detail = errMoving.Error()
	case errors.Is(err, errNoCell):
		detail = errNoCell.Error()
	case errors.Is(err, errSent) && !isSafe(r):
		refuse(w, r, http.StatusServiceUnavailable, outcomeUnknown, "Outcome unknown",
			"the cell of the account did not answer, and may have done what was asked: check, or send the request again with the same Idempotency-Key")
		return
	}
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
