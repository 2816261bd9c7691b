// Package cell divides an installation between databases. Guard makes a copy of
// the service refuse requests of shards that its cell does not own; Router sends
// every request to the cell that owns its shard. Neither reads the database for a
// request: both follow a map of shards in memory, and the fence in the database
// makes a stale map harmless.
package cell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// EpochHeader is in every answer of status 421: the epoch of the shard that the
// cell knows.
const EpochHeader = "Waybill-Shard-Epoch"

// Source is where the map comes from: the directory, or a cell's own database.
type Source interface {
	CellMap(ctx context.Context) (*store.CellMap, error)
	WatchShards(ctx context.Context, changed func()) error
}

// A Map is a map of shards in memory that follows its source.
type Map struct {
	source  Source
	log     *slog.Logger
	current atomic.Pointer[places]

	reading sync.Mutex
	readAt  time.Time // when the last reading began
	failure error     // of the last reading

	file   string         // that keeps the last map; empty for none
	kept   *store.CellMap // that is in the file
	keptAt time.Time
	known  atomic.Int64 // when the present map was read, in nanoseconds since 1970
	warned time.Time

	mu      sync.Mutex
	changed chan struct{} // closed when a map is read
}

// places is a map of shards with what routers need for every request.
type places struct {
	*store.CellMap
	addresses map[string]*url.URL // of cells, by name
	oldest    *url.URL            // of the cell for requests without a shard
}

func placesOf(read *store.CellMap) (*places, error) {
	found := &places{CellMap: read, addresses: map[string]*url.URL{}}
	var oldest time.Time
	for _, cell := range read.Cells {
		address, err := url.Parse(cell.URL)
		if err != nil {
			return nil, fmt.Errorf("cell %s: %w", cell.Name, err)
		}
		found.addresses[cell.Name] = address
		if found.oldest == nil || cell.AddedAt.Before(oldest) {
			found.oldest = address
			oldest = cell.AddedAt
		}
	}
	return found, nil
}

// How the map follows its source. A notification comes within milliseconds; the
// clock is for those that were missed.
const (
	readEvery   = 2 * time.Second
	watchPause  = time.Second
	readTimeout = 2 * time.Second
)

// NewMap reads the map from its source.
func NewMap(ctx context.Context, source Source, log *slog.Logger) (*Map, error) {
	m := &Map{source: source, log: log, changed: make(chan struct{})}
	return m, m.Read(ctx)
}

// NewKeptMap is NewMap for a map that is kept in a file. If the source does not answer,
// it is the one in the file.
func NewKeptMap(ctx context.Context, source Source, file string, log *slog.Logger) (*Map, error) {
	m := &Map{source: source, log: log, changed: make(chan struct{}), file: file}
	failure := m.Read(ctx)
	if failure == nil {
		return m, nil
	}

	last, readAt, err := lastMap(file)
	if err != nil {
		return nil, errors.Join(failure, fmt.Errorf("start from the last map: %w", err))
	}
	current, err := placesOf(last)
	if err != nil {
		return nil, errors.Join(failure, fmt.Errorf("start from the last map: %w", err))
	}
	m.current.Store(current)
	m.known.Store(readAt.UnixNano())
	log.WarnContext(ctx, "the directory does not answer: requests follow the last map of shards", "age", m.Age().Round(time.Second), "file", file, "error", failure)
	return m, nil
}

// Age returns how long ago the present map was read from its source.
func (m *Map) Age() time.Duration { return time.Since(time.Unix(0, m.known.Load())) }

// keep writes the map to its file, if it is another or a while has passed. A router
// whose disk is full goes on.
func (m *Map) keep(ctx context.Context, read *store.CellMap) {
	now := time.Now()
	if m.file == "" || isSameMap(m.kept, read) && now.Sub(m.keptAt) < keepEvery {
		return
	}
	if err := keepMap(m.file, read, now); err != nil {
		m.log.WarnContext(ctx, "keep the map of shards", "error", err)
		return
	}
	m.kept = read
	m.keptAt = now
}

// staleAfter is from when on a router warns that its map is old, once a minute.
const staleAfter = time.Minute

func (m *Map) warnStale(ctx context.Context) {
	age := m.Age()
	if age < staleAfter || time.Since(m.warned) < staleAfter {
		return
	}
	m.warned = time.Now()
	m.log.WarnContext(ctx, "the map of shards is old: the directory does not answer", "age", age.Round(time.Second))
}

// Run follows the source until ctx ends.
func (m *Map) Run(ctx context.Context) {
	notified := make(chan struct{}, 1)
	go m.watch(ctx, notified)

	clock := time.NewTicker(readEvery)
	defer clock.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-clock.C:
		case <-notified:
		}
		if err := m.Read(ctx); err != nil && ctx.Err() == nil {
			m.log.WarnContext(ctx, "read the map of shards", "error", err)
			m.warnStale(ctx)
		}
	}
}

// watch passes notifications on, and connects again when the connection is lost.
func (m *Map) watch(ctx context.Context, notified chan<- struct{}) {
	for ctx.Err() == nil {
		err := m.source.WatchShards(ctx, func() {
			select {
			case notified <- struct{}{}:
			default: // one waits already
			}
		})
		if err != nil && ctx.Err() == nil {
			m.log.DebugContext(ctx, "watch the map of shards", "error", err)
		}

		select {
		case <-time.After(watchPause):
		case <-ctx.Done():
		}
	}
}

// Read reads the map now.
func (m *Map) Read(ctx context.Context) error { return m.readSince(ctx, time.Now()) }

// readSince reads the map unless that has begun after the time already: many
// requests can find at once that it is out of date, also while its source is down.
func (m *Map) readSince(ctx context.Context, since time.Time) error {
	m.reading.Lock()
	defer m.reading.Unlock()
	if m.readAt.After(since) {
		return m.failure
	}

	m.readAt = time.Now()
	m.failure = m.read(ctx)
	return m.failure
}

// read reads the map. Others wait for it, so it does not end with one request.
func (m *Map) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	read, err := m.source.CellMap(ctx)
	if err != nil {
		return fmt.Errorf("read the map of shards: %w", err)
	}
	current, err := placesOf(read)
	if err != nil {
		return err
	}
	m.current.Store(current)
	m.known.Store(time.Now().UnixNano())
	m.keep(ctx, read)

	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.changed)
	m.changed = make(chan struct{})
	return nil
}

// Place returns where a shard is.
func (m *Map) Place(shard ship.Shard) store.ShardPlace { return m.current.Load().Shards[shard] }

// Cells returns all cells, by name.
func (m *Map) Cells() []store.Cell { return m.current.Load().Cells }

// next returns a channel that is closed when the map is read the next time.
func (m *Map) next() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed
}

// Guard answers 421 to requests of shards that are not in the cell, and passes
// all others on. Nothing was done for a request that it answers, so a router can
// send it again elsewhere.
func Guard(next http.Handler, name string, places *Map, shards *Shards) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shard, ok := shards.Of(r)
		if !ok {
			next.ServeHTTP(w, r)
			return
		}

		place := places.Place(shard)
		if place.Cell == name && place.MovingTo == "" {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set(EpochHeader, strconv.Itoa(place.Epoch))
		refuse(w, r, http.StatusMisdirectedRequest, "misdirected", "Misdirected request",
			fmt.Sprintf("this cell does not hold shard %d: send the request to a router", shard))
	})
}

// outcomeUnknown is the code of a problem that a request without a key must not be
// repeated after.
const outcomeUnknown = "outcome_unknown"

// refuse answers with a problem (RFC 9457).
func refuse(w http.ResponseWriter, r *http.Request, status int, code, title, detail string) {
	isRetryable := status != http.StatusBadRequest && (code != outcomeUnknown || isReplayable(r))
	w.Header().Set("Content-Type", "application/problem+json")
	if status != http.StatusBadRequest {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{ // the client may have disconnected
		"type":      "about:blank",
		"title":     title,
		"status":    status,
		"detail":    detail,
		"instance":  r.URL.EscapedPath(),
		"code":      code,
		"source":    "service",
		"retryable": isRetryable,
	})
}

// Shards finds the shard of a request: in its API key, or else in the first id of
// its path, which is an account's in the dashboard, a connection's in a carrier's
// push, and a shipment's in a signed link. A terminal that signs in names its account.
type Shards struct {
	// OfPage reads the shard from the token of a public tracking page. Tokens are
	// encrypted, so it takes the installation's keys.
	OfPage func(token string) (ship.Shard, bool)

	// ArePagesUnknown reports that the keys of the tokens are not known yet; nil if they
	// always are.
	ArePagesUnknown func() bool
}

const (
	pagePath   = "/track/"
	signInPath = "/oauth/"
)

// keyOf returns the API key of a request, and whether it has one whose form and
// checksum are right. Whether the key exists is for the cell to know.
func keyOf(r *http.Request) (ship.Key, bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") {
		token, _, _ = r.BasicAuth() // clients of other APIs send the key as a user
	}
	return ship.ParseKey(strings.TrimSpace(token))
}

// Of returns the shard of a request, and whether it has one.
func (s *Shards) Of(r *http.Request) (ship.Shard, bool) {
	if key, ok := keyOf(r); ok {
		return key.Shard(), true
	}

	path := r.URL.Path
	if rest, ok := strings.CutPrefix(path, pagePath); ok {
		token, _, _ := strings.Cut(rest, "/")
		return s.OfPage(token)
	}
	if strings.HasPrefix(path, signInPath) {
		return ship.ShardOfID(r.URL.Query().Get("account"))
	}
	for part := range strings.SplitSeq(path, "/") {
		if shard, ok := ship.ShardOfID(part); ok {
			return shard, true
		}
	}
	return 0, false
}
