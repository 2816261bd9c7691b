package archive

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A Worker adds partitions to the archive that are past their retention, so that they
// can be dropped.
type Worker struct {
	Archive   Archive
	Store     *store.Store
	Retention store.Retention // of tables, where it is not the default
	Shipments time.Duration   // how long shipments are kept
	Log       *slog.Logger
}

// Work adds one partition, and returns how many it has added.
func (w Worker) Work(ctx context.Context) (int, error) {
	due, err := w.due(ctx)
	if err != nil {
		return 0, err
	}
	for _, partition := range due {
		if w.Archive.Has(partition) {
			continue
		}

		written, err := w.Archive.Add(ctx, w.Store, partition)
		if ship.KindOf(err) == ship.Conflict {
			return 0, nil // another copy is at it
		}
		if err != nil {
			return 0, err
		}
		w.Log.InfoContext(ctx, "partition archived", "partition", written.Partition, "rows", written.Rows, "bytes", written.Bytes)
		return 1, nil
	}
	return 0, nil
}

// due returns the partitions that are to be dropped. A year of shipments with open
// work is not: it still changes.
func (w Worker) due(ctx context.Context) ([]store.Partition, error) {
	list, err := w.Store.ExpiredPartitions(ctx, w.Retention)
	if err != nil {
		return nil, err
	}

	year, err := w.Store.ExpiredYear(ctx, w.Shipments)
	if ship.KindOf(err) == ship.NotFound {
		return list, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find the oldest year of shipments: %w", err)
	}
	open, err := w.Store.OpenWorkBefore(ctx, year.End, time.Now())
	if err != nil || open.Any() {
		return list, err
	}
	years, err := w.Store.YearPartitions(ctx, year)
	return append(list, years...), err
}
