package cell_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/cell"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// TestARouterStartsWithItsLastMap: a router that is started while the directory does not
// answer sends requests where they went before, and says how old its map is.
func TestARouterStartsWithItsLastMap(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.main.put(7, store.ShardPlace{Cell: "two", Epoch: 3})
	w.main.put(8, store.ShardPlace{Cell: "one", Epoch: 1, MovingTo: "two"})
	file := filepath.Join(t.TempDir(), "router", "map.json")
	log := slog.New(slog.DiscardHandler)

	down := &directory{isDown: true}
	if _, err := cell.NewKeptMap(t.Context(), down, file, log); err == nil {
		t.Fatal("a router starts without a directory and without a map")
	}
	if _, err := cell.NewKeptMap(t.Context(), w.main, file, log); err != nil {
		t.Fatal(err)
	}

	last, err := cell.NewKeptMap(t.Context(), down, file, log)
	if err != nil {
		t.Fatal(err)
	}
	for shard, want := range map[ship.Shard]store.ShardPlace{
		7: {Cell: "two", Epoch: 3},
		8: {Cell: "one", Epoch: 1}, // that move has ended, whatever came of it
		9: {Cell: "one"},
	} {
		if place := last.Place(shard); place != want {
			t.Errorf("shard %d is at %+v, want %+v", shard, place, want)
		}
	}
	if age := last.Age(); age <= 0 || age > time.Hour {
		t.Errorf("the map is %s old", age)
	}
	if len(last.Cells()) != len(w.main.places.Cells) {
		t.Errorf("the cells are %v", last.Cells())
	}

	// When the directory is back, the map is its own.
	down.mu.Lock()
	down.isDown = false
	down.places = w.main.places
	down.places.Shards[9] = store.ShardPlace{Cell: "two", Epoch: 9}
	down.mu.Unlock()
	if err := last.Read(context.Background()); err != nil || last.Place(9).Cell != "two" {
		t.Errorf("afterwards shard 9 is at %+v, %v", last.Place(9), err)
	}
}

// noDirectory is a source that refuses connections.
type noDirectory struct{}

func (noDirectory) CellMap(context.Context) (*store.CellMap, error) {
	return nil, errors.New("connection refused")
}

func (noDirectory) WatchShards(context.Context, func()) error {
	return errors.New("connection refused")
}

func TestABrokenMapIsNotStartedFrom(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "map.json")
	for _, text := range []string{
		``, `{`, `{"version":2}`, `{"version":1}`,
		`{"version":1,"cells":[{"name":"one","url":"http://127.0.0.1:1"}],"shards":[{"first":0,"last":4094,"cell":"one"}]}`,
		`{"version":1,"cells":[{"name":"one","url":"http://127.0.0.1:1"}],"shards":[{"first":0,"last":4096,"cell":"one"}]}`,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := cell.NewKeptMap(t.Context(), noDirectory{}, file, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("a router starts from %q", text)
		}
	}
}

// TestARouterSaysHowOldItsMapIs reads what a probe reads.
func TestARouterSaysHowOldItsMapIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	response, err := http.Get(w.router.URL + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || !strings.HasPrefix(string(text), "ok\nmap of shards: read ") {
		t.Errorf("%d %s, %v", response.StatusCode, text, err)
	}
}
