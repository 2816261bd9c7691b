package cell_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/cell"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// directory is a map that a test changes.
type directory struct {
	mu       sync.Mutex
	places   store.CellMap
	isDown   bool // it does not answer
	follower *cell.Map
	notify   []func()
}

func (d *directory) CellMap(ctx context.Context) (*store.CellMap, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isDown {
		d.mu.Unlock()
		<-ctx.Done()
		d.mu.Lock()
		return nil, ctx.Err()
	}
	return new(d.places), nil
}

func (d *directory) WatchShards(ctx context.Context, changed func()) error {
	d.mu.Lock()
	d.notify = append(d.notify, changed)
	d.mu.Unlock()
	changed()
	<-ctx.Done()
	return ctx.Err()
}

// put changes a place. When it returns, whoever follows the map knows.
func (d *directory) put(shard ship.Shard, place store.ShardPlace) {
	d.mu.Lock()
	d.places.Shards[shard] = place
	for _, changed := range d.notify {
		changed()
	}
	d.mu.Unlock()
	_ = d.follower.Read(context.Background()) // reads from memory
}

// world is two cells and a router. Each cell has its own map, as in life.
type world struct {
	t      *testing.T
	main   *directory
	own    map[string]*directory
	maps   map[*directory]*cell.Map
	router *httptest.Server
}

var shards = &cell.Shards{OfPage: func(token string) (ship.Shard, bool) { return 9, token == "page" }}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, main: &directory{}, own: map[string]*directory{}, maps: map[*directory]*cell.Map{}}
	for i := range w.main.places.Shards {
		w.main.places.Shards[i].Cell = "one"
	}

	for _, name := range []string{"one", "two"} {
		own := &directory{places: w.main.places}
		w.own[name] = own
		answer := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(rw, "%s %s %s", name, r.Host, body)
		})
		server := httptest.NewServer(cell.Guard(answer, name, w.follow(own), shards))
		t.Cleanup(server.Close)
		w.main.places.Cells = append(w.main.places.Cells, store.Cell{Name: name, URL: server.URL, AddedAt: time.Unix(int64(len(name)), 0)})
	}

	router := cell.NewRouter(cell.RouterConfig{Places: w.follow(w.main), Shards: shards, MaxBody: 1000, Log: slog.New(slog.DiscardHandler)})
	w.router = httptest.NewServer(router)
	t.Cleanup(w.router.Close)
	return w
}

func (w *world) follow(d *directory) *cell.Map {
	w.t.Helper()
	places, err := cell.NewMap(w.t.Context(), d, slog.New(slog.DiscardHandler))
	if err != nil {
		w.t.Fatal(err)
	}
	d.follower = places
	go places.Run(w.t.Context())
	w.maps[d] = places
	return places
}

// put changes a map, and waits until whoever follows it has noticed.
func (w *world) put(d *directory, shard ship.Shard, place store.ShardPlace) {
	w.t.Helper()
	d.put(shard, place)
	for deadline := time.Now().Add(10 * time.Second); w.maps[d].Place(shard) != place; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("shard %d is not at %v", shard, place)
		}
	}
}

// ask sends a request with a key of the shard.
func (w *world) ask(shard ship.Shard, body string) (int, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.router.URL+"/v1/shipments", bytes.NewBufferString(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Host = "waybill.example"
	r.Header.Set("Authorization", "Bearer "+string(ship.NewKey(shard, false)))
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(answer)
}

func (w *world) want(what string, shard ship.Shard, body, answer string) {
	w.t.Helper()
	if status, got := w.ask(shard, body); status != http.StatusOK || got != answer {
		w.t.Errorf("%s: %d %s, want %s", what, status, got, answer)
	}
}

func TestRequestsFollowTheirShard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.want("before", 5, "a", "one waybill.example a")

	// The cells know of the move, the router does not: it learns of it from a 421,
	// and sends the body again.
	moved := store.ShardPlace{Cell: "two", Epoch: 1}
	w.put(w.own["one"], 5, moved)
	w.put(w.own["two"], 5, moved)
	time.AfterFunc(100*time.Millisecond, func() { w.main.put(5, moved) })
	w.want("a router that is behind", 5, "b", "two waybill.example b")

	// The router knows, the cell that now owns the shard does not.
	back := store.ShardPlace{Cell: "one", Epoch: 2}
	w.put(w.main, 5, back)
	time.AfterFunc(200*time.Millisecond, func() { w.own["one"].put(5, back) })
	w.want("a cell that is behind", 5, "c", "one waybill.example c")
	w.want("another shard", 6, "d", "one waybill.example d")
}

func TestRequestsWaitForAMove(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(w.main, 5, store.ShardPlace{Cell: "one", MovingTo: "two"})
	began := time.Now()
	time.AfterFunc(300*time.Millisecond, func() {
		w.own["two"].put(5, store.ShardPlace{Cell: "two", Epoch: 1})
		w.main.put(5, store.ShardPlace{Cell: "two", Epoch: 1})
	})
	w.want("a shard that moves", 5, "a", "two waybill.example a")
	if took := time.Since(began); took < 250*time.Millisecond {
		t.Errorf("it was answered after %s, before the move ended", took)
	}

	// A move that takes longer is not waited for.
	w.put(w.main, 7, store.ShardPlace{Cell: "one", MovingTo: "two"})
	if status, answer := w.ask(7, "b"); status != http.StatusServiceUnavailable {
		t.Errorf("a move without an end: %d %s", status, answer)
	}
}

// TestADirectoryThatIsDownDelaysNobodyForLong has many requests find at once that the map
// is out of date, while the directory does not answer.
func TestADirectoryThatIsDownDelaysNobodyForLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(w.own["one"], 5, store.ShardPlace{Cell: "two", Epoch: 1})
	w.main.mu.Lock()
	w.main.isDown = true
	w.main.mu.Unlock()

	began := time.Now()
	var asking sync.WaitGroup
	for range 12 {
		asking.Go(func() {
			if status, answer := w.ask(5, "a"); status != http.StatusServiceUnavailable {
				t.Errorf("%d %s", status, answer)
			}
		})
	}
	asking.Wait()
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestTheShardOfARequest(t *testing.T) {
	t.Parallel()
	now := time.Now()
	account := string(ship.NewAccountID(77, now))
	for path, want := range map[string]ship.Shard{
		"/app/" + account + "/live/shipments/" + string(ship.NewShipmentID(78, now)): 77,
		"/in/" + string(ship.NewConnectionID(79, now)) + "/token":                    79,
		"/v1/shipments/" + string(ship.NewShipmentID(4095, now)) + "/label":          4095,
		"/track/page/return":               9,
		"/oauth/device?account=" + account: 77,
		"/oauth/token?account=" + account:  77,
	} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		if got, ok := shards.Of(r); !ok || got != want {
			t.Errorf("%s is of shard %d, %t; want %d", path, got, ok, want)
		}

		// A key comes first: a path may name what belongs to somebody else.
		r.Header.Set("Authorization", "Bearer "+string(ship.NewKey(3, true)))
		if got, ok := shards.Of(r); !ok || got != 3 {
			t.Errorf("%s with a key of shard 3 is of shard %d, %t", path, got, ok)
		}
	}
	for _, path := range []string{"/", "/app/login", "/v1/carriers", "/oauth/device", "/oauth/token?account=x", "/v1/carriers?account=" + account, "/track/other", "/app/x/" + string(ship.NewPersonID(now))} {
		if got, ok := shards.Of(httptest.NewRequest(http.MethodGet, path, nil)); ok {
			t.Errorf("%s is of shard %d", path, got)
		}
	}
}
