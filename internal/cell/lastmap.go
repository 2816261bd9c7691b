package cell

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A router keeps the last map that it has read in a file, so it can start while the
// directory does not answer. A map that is out of date is harmless: cells refuse what is
// not theirs.

// keptMap is the map as it is in the file.
type keptMap struct {
	Version int        `json:"version"`
	ReadAt  time.Time  `json:"readAt"`
	Cells   []keptCell `json:"cells"`
	Shards  []keptRun  `json:"shards"`
}

type keptCell struct {
	Name    string    `json:"name"`
	URL     string    `json:"url"`
	AddedAt time.Time `json:"addedAt"`
}

// A keptRun is shards with following numbers at one place.
type keptRun struct {
	First int    `json:"first"`
	Last  int    `json:"last"`
	Cell  string `json:"cell"`
	Epoch int    `json:"epoch"`
}

const (
	keptVersion = 1

	// keepEvery is how often a map that has not changed is written again, so that a
	// router which starts from it knows how old it is.
	keepEvery = time.Minute
)

// keepMap writes a map to a file, which is whole at every moment.
func keepMap(path string, places *store.CellMap, readAt time.Time) error {
	kept := keptMap{Version: keptVersion, ReadAt: readAt}
	for _, cell := range places.Cells {
		kept.Cells = append(kept.Cells, keptCell(cell))
	}
	for first := 0; first < ship.Shards; {
		last := first
		for last+1 < ship.Shards && isSamePlace(places.Shards[last+1], places.Shards[first]) {
			last++
		}
		place := places.Shards[first]
		kept.Shards = append(kept.Shards, keptRun{First: first, Last: last, Cell: place.Cell, Epoch: place.Epoch})
		first = last + 1
	}

	text, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".map-*")
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}

// isSamePlace reports whether shards are in one cell. Whether one moves is not kept:
// that has ended when the file is read.
func isSamePlace(a, b store.ShardPlace) bool { return a.Cell == b.Cell && a.Epoch == b.Epoch }

// lastMap reads the map from a file.
func lastMap(path string) (places *store.CellMap, readAt time.Time, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, readAt, err
	}
	var kept keptMap
	if err := json.Unmarshal(text, &kept); err != nil {
		return nil, readAt, fmt.Errorf("%s: %w", path, err)
	}
	if kept.Version != keptVersion || len(kept.Cells) == 0 {
		return nil, readAt, fmt.Errorf("%s is no map of this version", path)
	}

	places = &store.CellMap{}
	for _, cell := range kept.Cells {
		places.Cells = append(places.Cells, store.Cell(cell))
	}
	known := 0
	for _, run := range kept.Shards {
		if run.First != known || run.Last < run.First || run.Last >= ship.Shards {
			return nil, readAt, fmt.Errorf("%s is not a map of all shards", path)
		}
		for shard := run.First; shard <= run.Last; shard++ {
			places.Shards[shard] = store.ShardPlace{Cell: run.Cell, Epoch: run.Epoch}
		}
		known = run.Last + 1
	}
	if known != ship.Shards {
		return nil, readAt, fmt.Errorf("%s is not a map of all shards", path)
	}
	return places, kept.ReadAt, nil
}

// isSameMap reports whether a map needs no other file.
func isSameMap(a, b *store.CellMap) bool {
	return a != nil && b != nil && reflect.DeepEqual(a.Cells, b.Cells) && a.Shards == b.Shards
}
